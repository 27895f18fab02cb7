r"""In which of its two senses a grammar takes a text that a model is known to write.

    admitted_by(grammar, ["<tool_call>\n{...}\n</tool_call>"])    # "mask"
    admitted_by(grammar, ["<tool_call>{...}</tool_call>"])        # "reading"

- `mask`: strictly. The machine behind the masks allows it byte by byte, and the end of the turn
  behind it.
- `reading`: leniently. It is spelt in another way than the template does, or leaves something out;
  it is read all the same, as complete calls.
- `none`: not at all.

The text may be a whole turn, or begin where the first call does: then it is asked for behind each
way that leads to a call, from each of the marks on that way.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from untemplate.dialect import END, CallBlock, Opening, TextBlock
from untemplate.errors import UntemplateError
from untemplate.grammar import Grammar, build_grammar
from untemplate.grammar.marks import marks
from untemplate.message import ToolCall
from untemplate.reader import Reader
from untemplate.vocabulary import byte_vocabulary

__all__ = ["Admitted", "admitted_by"]

Admitted = Literal["mask", "reading", "none"]


def admitted_by(grammar: Grammar, texts: Iterable[str]) -> Admitted:
    """How the grammar takes one of these texts, to the end of the turn."""
    known, grammars = tuple(texts), (grammar, _from_calls(grammar))
    if any(_allows(g, t) for g in grammars for t in known):
        return "mask"
    return "reading" if any(_reads(g, t) for g in grammars for t in known) else "none"


def _from_calls(grammar: Grammar) -> Grammar:
    """The same grammar for a turn that begins in content, or on the way to a call."""
    dialect = grammar.dialect
    contents = (n for n, b in dialect.blocks.items() if b == TextBlock("content"))
    openings = (*(Opening(n) for n in contents), *dict.fromkeys(_ways(grammar)))
    prompt = replace(grammar.prompt, openings=openings)
    return build_grammar(
        dialect,
        grammar.tools,
        grammar.choice,
        prompt=prompt,
        options=grammar.options,
        response_schema=grammar.response_schema,
    )


def _ways(grammar: Grammar) -> Iterator[Opening]:
    """Each way to a call, from each of its marks on."""
    dialect = grammar.dialect
    given = [(o.block, o.literal) for p in dialect.prompts for o in p.openings]
    for target, literal in (*given, *((e.target, e.literal) for e in dialect.edges)):
        if isinstance(dialect.blocks.get(target), CallBlock):
            rest = literal.lstrip()
            yield Opening(target, rest)
            for mark in marks(literal):
                rest = rest[rest.find(mark) + len(mark) :].lstrip()
                yield Opening(target, rest)


def _allows(grammar: Grammar, text: str) -> bool:
    from untemplate.constrain import compile_grammar  # noqa: PLC0415  numpy is heavy

    stops = grammar.dialect.stops or ("</s>",)
    vocabulary = byte_vocabulary(stops, eos=stops[0])
    ends = [vocabulary.special[stop] for stop in stops]
    try:
        compiled = compile_grammar(grammar, vocabulary)
    except UntemplateError:
        return False
    # A recorded text may stop in front of what the template writes last.
    lasts = dict.fromkeys(e.literal for e in grammar.dialect.edges if e.target == END)
    for last in ("", *lasts):
        constraint = compiled.constraint()
        if constraint.feed((text + last).encode("utf-8", "surrogatepass")) and (
            constraint.is_finished or any(map(constraint.allows, ends))
        ):
            return True
    return False


def _reads(grammar: Grammar, text: str) -> bool:
    reader = Reader(grammar)
    reader.feed(text.encode("utf-8", "surrogatepass"))
    message = reader.finish("stop")
    calls = message.tool_calls
    return message.end == "complete" and len(calls) > 0 and all(map(_is_whole, calls))


def _is_whole(call: ToolCall) -> bool:
    return call.state == "complete" and set(call.arguments_state.values()) <= {"complete"}
