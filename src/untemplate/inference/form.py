"""Finds how a template wants to be asked: variables, form of arguments, place of reasoning.

Everything is found by trying: a form is right when what was put in can be seen in what comes out.
Candidates for names of fields, variables and content parts are the names in the template's own
source, so none is listed here. What is found goes into the examiner's `Capabilities`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import product

from untemplate.dialect import Hole, Pattern
from untemplate.errors import TemplateError, UntemplateError
from untemplate.inference import words
from untemplate.inference.examine import NO_SWITCHES, Examiner, Messages, result_of
from untemplate.inference.words import Probe, calls_of_strings
from untemplate.message import JSON
from untemplate.template.capabilities import IdForm, ReasoningPlace

__all__ = ["find_closers", "find_form", "free_variables", "id_of_index", "repeats_ids"]

_MESSAGE_KEYS = frozenset(
    {"role", "content", "tool_calls", "name", "id", "tool_call_id", "type", "function"}
    | {"arguments", "text", "messages"}
)
_BARE_TOOL: Mapping[str, JSON] = {
    "type": "function",
    "function": {"name": words.NAMES[0], "description": "d", "parameters": {"type": "object"}},
}
"""A tool without parameters, said in the shortest way."""

_ODD_ID = "call-0.1:x"
_WORD_END = re.compile(r"[\w.:-]*$")
_WORD_START = re.compile(r"[\w.:-]*")
_UNDEFINED = re.compile(r"'(\w+)' is undefined")
_MOST_PARTS = 40


def find_form(examiner: Examiner) -> None:
    """Fill in the examiner's capabilities."""
    _find_variables(examiner)
    _find_content(examiner)
    _find_calls(examiner)
    _find_reasoning(examiner)
    _find_roles(examiner)


def _user(text: str = words.USER) -> Mapping[str, JSON]:
    return {"role": "user", "content": text}


def _try(
    examiner: Examiner, messages: Messages, switches: Mapping[str, JSON] = NO_SWITCHES
) -> str | None:
    try:
        return examiner.render(messages, switches=switches)
    except UntemplateError:
        return None


def _find_variables(examiner: Examiner) -> None:
    """Variables without which nothing renders: one that wants the tools, or any text."""
    for _ in range(4):
        try:
            examiner.render((_user(),), prompt=True)
        except TemplateError as error:
            missing = _UNDEFINED.search(error.message)
            if missing is None or missing[1] not in examiner.template.names.variables:
                return
            known = examiner.capabilities
            if not known.tools_text:
                examiner.change(tools_text=missing[1])
            else:
                examiner.change(variables={**known.variables, missing[1]: ""})
        except UntemplateError:
            return
        else:
            return


def _find_content(examiner: Examiner) -> None:
    """Content as a list of parts, where a string is refused or not written."""
    text = _try(examiner, (_user(),))
    if text is None or words.USER not in text:
        parts: JSON = [{"type": "text", "text": words.USER}]
        text = _try(examiner, ({"role": "user", "content": parts},))
        if text is not None and words.USER in text:
            examiner.change(content="parts")


def _find_calls(examiner: Examiner) -> None:
    """The first form of arguments and of absent content in which keys and values are visible."""
    probe = Probe(calls=calls_of_strings(1))
    wanted = [str(v) for v in probe.calls[0].arguments.values()]
    for form, nothing in product(("object", "string"), ("empty", "null")):
        examiner.change(arguments=form, no_content=nothing)
        text = _try(examiner, (_user(), examiner.message(probe)))
        if text is not None and all(v in text for v in wanted):
            return
    examiner.change(arguments="object", no_content="empty", calls=False)


# --------------------------------------------------------------------------------- reasoning


def _find_reasoning(examiner: Examiner) -> None:
    """The place whose text is written as it stands, and the switch that makes it so.

    The text holds quotes and a newline: a template that prints whole messages doesn't write it
    verbatim.
    """
    found = _best_place(examiner, {})
    if found is None or found[0] < 2:
        names = free_variables(examiner)
        together: Mapping[str, JSON] = dict.fromkeys(names, True)
        if names and _best_place(examiner, together) is not None:
            alone: list[dict[str, JSON]] = [{name: True} for name in names]
        else:
            alone = [{n: v} for n in names for v in ("high", False)]
        for switches in alone:
            other = _best_place(examiner, switches)
            if other is not None and (found is None or other[0] > found[0]):
                found = other
            if found is not None and found[0] == 2:
                break
    if found is not None:
        examiner.change(reasoning=found[1], history_switches=found[2])


def free_variables(examiner: Examiner) -> list[str]:
    """Variables that the template reads and that are not yet given."""
    known = examiner.capabilities
    return [
        name
        for name in examiner.template.names.variables
        if name not in known.variables and name != known.tools_text
    ]


def _best_place(
    examiner: Examiner, switches: Mapping[str, JSON]
) -> tuple[int, ReasoningPlace, Mapping[str, JSON]] | None:
    best: tuple[int, ReasoningPlace, Mapping[str, JSON]] | None = None
    for place in _candidates(examiner, switches):
        count = _count_seen(examiner, place, switches)
        if count and (best is None or count > best[0]):
            best = (count, place, switches)
        if count == 2:
            break
    return best


def _reasoning_text(number: int) -> str:
    return f"r{number:05d}qz\"\n'x"


def _candidates(examiner: Examiner, switches: Mapping[str, JSON]) -> list[ReasoningPlace]:
    """Fields that are visible when all are filled at once; then types of content parts."""
    names = examiner.template.names
    strings = [s for s in names.strings if s.isidentifier()]
    fields = sorted({*names.attributes, *strings} - _MESSAGE_KEYS)
    texts = {name: _reasoning_text(n) for n, name in enumerate(fields)}
    visible: set[str] = set()
    for probe in (Probe(content=words.CONTENT), Probe(calls=calls_of_strings(1))):
        message = {**examiner.message(probe), **texts}
        rendered = _try(examiner, (_user(), message), switches)
        if rendered is None:  # one of the fields is no text: try each alone
            visible = set(fields)
            break
        visible |= {name for name, text in texts.items() if text in rendered}
    places = [ReasoningPlace("field", name) for name in sorted(visible)]
    if not switches and _takes_parts(examiner):
        parts = [s for s in strings if s not in _MESSAGE_KEYS][:_MOST_PARTS]
        places += [ReasoningPlace("part", name) for name in parts]
    return places


def _takes_parts(examiner: Examiner) -> bool:
    """Whether the text of a part is written without a dump of the part."""
    parts: JSON = [{"type": "text", "text": words.CONTENT}]
    text = _try(examiner, (_user(), {"role": "assistant", "content": parts}))
    return text is not None and words.CONTENT in text and "'text'" not in text


def _count_seen(examiner: Examiner, place: ReasoningPlace, switches: Mapping[str, JSON]) -> int:
    """In how many of two messages the reasoning is written: beside content, beside a call."""
    before = examiner.capabilities
    reasoning, count = _reasoning_text(0), 0
    examiner.change(reasoning=place)
    for probe in (Probe(reasoning, words.CONTENT), Probe(reasoning, "", calls_of_strings(1))):
        text = _try(examiner, (_user(), examiner.message(probe)), switches)
        count += text is not None and reasoning in text and probe.content in text
    examiner.change(reasoning=before.reasoning)
    return count


def find_closers(examiner: Examiner) -> tuple[str, ...]:
    """Texts of the template's source at which it cuts content, dropping what stands before."""
    out: list[str] = []
    for text in examiner.template.names.strings:
        if len(text) < 3 or text.isalnum() or any(c.isspace() for c in text):
            continue
        message = examiner.message(Probe(content=f"a00001qz{text}{words.CONTENT}"))
        whole = _try(examiner, (_user(), message, _user(words.USER_2)))
        if whole is not None and words.CONTENT in whole and "a00001qz" not in whole:
            out.append(text)
    return tuple(out)


# ------------------------------------------------------------------------------------- roles


def _find_roles(examiner: Examiner) -> None:
    """Which roles are written."""
    for role in ("system", "developer"):
        text = _try(examiner, ({"role": role, "content": words.SYSTEM}, _user()))
        examiner.change(**{role: text is not None and words.SYSTEM in text})
    if examiner.capabilities.calls:
        _find_results(examiner)
    plain = _try(examiner, (_user(),))
    examiner.change(tools=plain is not None and words.NAMES[0] in plain)
    bare = examiner.another(tools=(_BARE_TOOL,))
    examiner.change(whole_schemas=plain is not None and _try(bare, (_user(),)) is None)


def _find_results(examiner: Examiner) -> None:
    """Whether results are written, and whether an id of any form is taken."""
    call = calls_of_strings(1)[0]
    text = _try_results(examiner, call)
    examiner.change(tool_results=text is not None and words.RESULT in text)
    if text is None:
        return
    odd = replace(call, id=_ODD_ID)
    if _try_results(examiner, odd) is None:
        examiner.change(ids=IdForm(length=len(call.id)))


def _try_results(examiner: Examiner, call: words.Call) -> str | None:
    message = examiner.message(Probe(calls=(call,)))
    return _try(examiner, (_user(), message, result_of(call), *_goes_on()))


def _goes_on() -> Messages:
    """An answer after the results: some templates look at ids only then."""
    return ({"role": "assistant", "content": words.CONTENT},)


def id_of_index(pattern: Pattern) -> Pattern:
    """The id that is made of other holes: the word around name and index, or a quoted index.

    `<|call|>functions.NAME:0<|args|>` has `functions.NAME:0`; `{"id": "0", ...}` has `0`.
    """
    if Hole.ID in pattern or Hole.INDEX not in pattern:
        return ()
    if Hole.NAME in pattern:
        first, last = sorted((pattern.index(Hole.NAME), pattern.index(Hole.INDEX)))
        between = "".join(p for p in pattern[first:last] if not isinstance(p, Hole))
        if not set(between) & set("<>\"' "):
            before, after = _literal(pattern, first - 1), _literal(pattern, last + 1)
            lead, trail = _WORD_END.search(before), _WORD_START.match(after)
            parts = (lead[0] if lead else "", *pattern[first : last + 1], trail[0] if trail else "")
            return tuple(p for p in parts if p)
    at = pattern.index(Hole.INDEX)
    before, after = _literal(pattern, at - 1), _literal(pattern, at + 1)
    return (Hole.INDEX,) if before.endswith(': "') and after.startswith('"') else ()


def _literal(pattern: Pattern, at: int) -> str:
    part = pattern[at] if 0 <= at < len(pattern) else ""
    return "" if isinstance(part, Hole) else part


def repeats_ids(examiner: Examiner) -> bool:
    """Whether a result is written with the id that it is given."""
    call = calls_of_strings(1)[0]
    text = _try_results(examiner, call)
    return text is not None and call.id in text
