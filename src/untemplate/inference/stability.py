r"""Says where a template writes an earlier turn in another way than the model wrote it.

When a conversation goes on, its earlier turns are rendered again. Where the text of prompt and
output is not its beginning any more, the cache of the engine is lost from there on:

    find_changes(template, analysis.capabilities)
    -> (Loss("reasoning is dropped when a user message follows", "...<|im_start|>user\n"), ...)

Templates drop reasoning of earlier turns, close empty reasoning, write ids only once results
follow. A caller that wants a stable history replays the raw text of a turn instead.
"""

from untemplate.dialect import Field, Loss
from untemplate.errors import UntemplateError
from untemplate.inference import words
from untemplate.inference.examine import Examiner, Messages, result_of
from untemplate.inference.text import common_prefix
from untemplate.inference.words import Probe, calls_of_strings
from untemplate.template.capabilities import Capabilities
from untemplate.template.rendering import CompiledTemplate

__all__ = ["find_changes"]

_SHOWN = 80


def find_changes(template: CompiledTemplate, capabilities: Capabilities) -> tuple[Loss, ...]:
    """What changes in a turn when a user message, or the results of its calls, come after it."""
    examiner = Examiner(template, capabilities=capabilities)
    out: list[Loss] = []
    for has in _shapes(capabilities):
        probe = Probe(
            words.REASONING if "reasoning" in has else "",
            words.CONTENT if "content" in has else "",
            calls_of_strings(1) if "calls" in has else (),
        )
        for name, following in _followers(probe):
            change = _change(examiner, probe, following)
            if change:
                what, shown = change
                parts = " and ".join(has)
                out.append(Loss(f"a turn with {parts}: {what} when {name}", shown))
    return tuple(out)


def _shapes(capabilities: Capabilities) -> list[tuple[Field, ...]]:
    shapes: list[tuple[Field, ...]] = [("content",)]
    if capabilities.calls:
        shapes.append(("calls",))
        shapes.append(("content", "calls"))
    if capabilities.reasoning is not None:
        before: tuple[Field, ...] = ("reasoning",)
        shapes += [before + shape for shape in tuple(shapes)]
    return shapes


def _followers(probe: Probe) -> list[tuple[str, Messages]]:
    user = {"role": "user", "content": words.USER_3}
    if not probe.calls:
        return [("a user message follows", (user,))]
    results = tuple(result_of(c) for c in probe.calls)
    return [
        ("results follow", results),
        ("results and a user message follow", (*results, user)),
    ]


def _change(examiner: Examiner, probe: Probe, following: Messages) -> tuple[str, str] | None:
    """What is different at the first place where the texts part, and the text there."""
    try:
        setting = examiner.setting("user")
        alone = examiner.render((*setting.before, examiner.message(probe)))
        later = examiner.render((*setting.before, examiner.message(probe), *following))
    except UntemplateError as error:
        return "the template refuses to go on", str(error)
    turn = setting.cut(alone)
    parts = [probe.reasoning, probe.content, *(c.name for c in probe.calls)]
    written = [p for p in parts if p and p in turn]
    end = max((turn.rindex(p) + len(p) for p in written), default=0)
    shared = len(common_prefix(later, setting.prefix + turn)) - len(setting.prefix)
    if shared >= end:
        return None  # only what stands behind the last part is different: the end of the turn
    shown = later[len(setting.prefix) + max(0, shared - 20) :][:_SHOWN]
    if probe.reasoning in written and probe.reasoning not in later:
        return "reasoning is dropped", shown
    if probe.content in written and probe.content not in later:
        return "content is dropped", shown
    return "it is written in another way", shown
