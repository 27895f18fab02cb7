"""Template in, dialect out: inference in order, then proof.

    analysis = analyse(template)
    analysis.dialect         # how the model writes a turn
    analysis.capabilities    # how the template wants to be asked
    analysis.proof           # what was checked, what is lost, what is not covered

The steps: find how the template wants to be asked (`form`), learn calls and their arguments
(`calls`), learn the frames of turns in each place (`frames`), the ends of turns (`stops`), the
generation prompts (`prompts`); build the graph of what the model may write (`graph`); add what is
written down where the template can't tell (`merge`); prove it (`prove`).
"""

import json
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock

from untemplate.dialect import (
    Before,
    CallBlock,
    Dialect,
    Given,
    History,
    Hole,
    Pattern,
    fill,
    generic,
    given_for,
)
from untemplate.dialect.response_template import from_response_template
from untemplate.errors import DialectError, UntemplateError
from untemplate.inference.arguments import bare_quote
from untemplate.inference.calls import CallShape, learn_calls
from untemplate.inference.examine import Examiner, Obstacle
from untemplate.inference.form import find_closers, find_form, id_of_index, repeats_ids
from untemplate.inference.frames import is_delimited, learn_history, refused_shapes
from untemplate.inference.graph import build_dialect
from untemplate.inference.merge import add_calls, merge
from untemplate.inference.prompts import Opened, collect_prompts
from untemplate.inference.prove import Proof, prove
from untemplate.inference.stops import find_stops
from untemplate.inference.store import Cache, key_of, load, save
from untemplate.message import JSON
from untemplate.template.capabilities import Capabilities, IdForm
from untemplate.template.rendering import CompiledTemplate

__all__ = ["Analysis", "analyse", "infer"]

_MOST_KEPT = 64


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found out about a template."""

    dialect: Dialect
    capabilities: Capabilities
    proof: Proof
    source: str
    """`inferred`, and the names of the written-down dialects that were added: `inferred + generic`
    for a template without tools; `given` for a caller's own."""
    notes: tuple[str, ...] = ()
    """What stood in the way, one line each."""
    renderings: int = 0


_kept: "OrderedDict[tuple[object, ...], Analysis]" = OrderedDict()
_lock = Lock()


def analyse(
    template: CompiledTemplate,
    *,
    seed: int = 0,
    messages: int = 6,
    cache: Cache | None = None,
    response_template: JSON = None,
) -> Analysis:
    """The dialect of a template with its proof; kept, so that the second time costs nothing.

    Args:
        template: what is analysed.
        seed: of the messages that the proof draws.
        messages: how many of them, in each place of a conversation.
        cache: where analyses are kept beyond this process.
        response_template: what the model's authors say about its replies; used where the template
            shows no calls.

    Raises:
        DialectError: the template renders no assistant turn at all.
    """
    tokens = tuple(_frozen(v) for v in template.special_tokens.values())
    said = json.dumps(response_template, sort_keys=True) if response_template else ""
    key = (template.source, tokens, seed, messages, said)
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
            return found
    analysis = _through(cache, template, seed, messages, said)
    with _lock:
        _kept[key] = analysis
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    return analysis


def _through(
    cache: Cache | None, template: CompiledTemplate, seed: int, messages: int, said: str
) -> Analysis:
    """The analysis from the caller's cache, or made now and put there."""
    if cache is None:
        return _analyse(template, seed, messages, said)
    key = key_of(template, said, seed=seed, messages=messages)
    text = cache.get(key)
    found = load(text) if text is not None else None
    if found is None:
        found = _analyse(template, seed, messages, said)
        cache.put(key, save(found))
    return found


def _frozen(value: JSON) -> object:
    return value if isinstance(value, (str, int, float, type(None))) else repr(value)


def _analyse(template: CompiledTemplate, seed: int, messages: int, said: str) -> Analysis:
    dialect, examiner, notes = infer(template)
    sources = ["inferred"]
    for given in given_for(template.source):
        dialect = merge(dialect, given)
        sources.append(given.name)
    if said and not _has_calls(dialect):
        try:
            stated = from_response_template(json.loads(said))
        except DialectError as error:
            notes += (str(error),)
        else:
            dialect = merge(dialect, Given("response_template", (), stated))
            sources.append("response_template")
    if not _has_calls(dialect):
        dialect = add_calls(dialect, generic())
        sources.append("generic")
    if not any(prompt.openings for prompt in dialect.prompts):
        raise DialectError(
            "it writes nothing of what an assistant says; is it a chat template?", place="template"
        )
    capabilities = examiner.capabilities
    proof = prove(template, dialect, capabilities, seed=seed, messages=messages, asked=examiner)
    notes += tuple(f"{what}: {why}" for what, why in examiner.refusals.items())
    source = " + ".join(sources)
    return Analysis(dialect, capabilities, proof, source, notes, examiner.renderings)


def _has_calls(dialect: Dialect) -> bool:
    return any(isinstance(b, CallBlock) for b in dialect.blocks.values())


def infer(template: CompiledTemplate) -> tuple[Dialect, Examiner, tuple[str, ...]]:
    """The dialect that the template alone shows, not yet proved."""
    examiner = Examiner(template)
    find_form(examiner)
    notes: tuple[str, ...] = ()
    try:
        shape = learn_calls(examiner)
        if shape is not None and Hole.NAME not in shape.block.pattern:
            shape = _with_names_in_ids(examiner)
        if shape is not None and (quote := bare_quote(shape.block.arguments)):
            examiner.change(bare_quote=quote)
            shape = learn_calls(examiner)
        if shape is not None:
            shape = _with_id(examiner, shape)
    except (Obstacle, UntemplateError) as error:
        notes += (f"calls: {error}",)
        shape = None
        examiner.change(calls=False)
    places: list[Before] = ["user", "later user"]
    if shape is not None and examiner.capabilities.tool_results:
        places.append("tool")
    opened = collect_prompts(examiner, tuple(places))
    histories = _histories(examiner, shape, places, opened)
    if histories and not is_delimited(histories[0]):
        # Some other field of a message: nothing tells its text from content.
        examiner.change(reasoning=None, history_switches={})
        histories = _histories(examiner, shape, places, opened)
    if not histories:
        why = next(iter(examiner.refusals.values()), "it refuses every message")
        raise DialectError(f"no assistant turn can be rendered: {why}", place="template")
    examiner.change(refused=refused_shapes(histories[0], examiner.refusals))
    stops = find_stops(examiner, histories[0], shape)
    closers = find_closers(examiner) if examiner.capabilities.reasoning is None else ()
    return build_dialect(shape, histories, opened, stops, closers), examiner, notes


def _with_names_in_ids(examiner: Examiner) -> CallShape | None:
    """The shape of calls of which only the id is written, if it is known how ids hold names."""
    blocks = [b for g in given_for(examiner.template.source) for b in g.dialect.blocks.values()]
    forms = [b.id_pattern for b in blocks if isinstance(b, CallBlock)]
    form = next((f for f in forms if Hole.NAME in f), None)
    if form is None:
        raise Obstacle("calls are written without the names of their tools")
    examiner.change(ids=_id_form(form))
    return learn_calls(examiner)


def _id_form(pattern: Pattern) -> IdForm:
    return IdForm(pattern=fill(pattern, {Hole.NAME: "{name}", Hole.INDEX: "{index}"}))


def _with_id(examiner: Examiner, shape: CallShape) -> CallShape:
    """The shape with the id that its calls are made to carry."""
    pattern = id_of_index(shape.block.pattern)
    if not pattern:
        return shape
    if repeats_ids(examiner):
        examiner.change(ids=_id_form(pattern))
    return replace(shape, block=replace(shape.block, id_pattern=pattern))


def _histories(
    examiner: Examiner, shape: CallShape | None, places: list[Before], opened: list[Opened]
) -> list[History]:
    """The places that differ from the first."""
    out: list[History] = []
    for before in places:
        prompts = [o.text for o in opened if o.before == before]
        prompts = prompts or [o.text for o in opened]
        try:
            history = learn_history(examiner, shape, before, prompts)
        except UntemplateError:
            continue
        if history is not None and not any(
            replace(h, before=before, openings=history.openings) == history for h in out
        ):
            out.append(history)
    return out
