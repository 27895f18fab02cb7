"""Adds what is written down to what was inferred: blocks, edges, openings, stops.

Inference knows the exact literals of a template; a written-down dialect knows what the template
doesn't tell. The generic dialect brings calls to a template without tools: content and reasoning
lead to its calls wherever they lead to the end of the turn.
"""

from dataclasses import replace

from untemplate.dialect import END, CallBlock, Dialect, Edge, Given, Opening, Prompt
from untemplate.grammar.marks import marks

__all__ = ["add_calls", "merge"]


def merge(inferred: Dialect, given: Given) -> Dialect:
    """The inferred dialect with the parts that are written down."""
    other = given.dialect
    blocks = {**inferred.blocks, **other.blocks}
    written = {
        n: b
        for n, b in inferred.blocks.items()
        if n in other.blocks and isinstance(b, CallBlock) and b != other.blocks[n]
    }
    edges: dict[tuple[str, str, tuple[str, ...]], Edge] = {}
    # What stands between two calls of one kind is known where the template writes two.
    repeated = {e.source for e in inferred.edges if e.source == e.target}
    added = (e for e in other.edges if not (e.source == e.target and e.source in repeated))
    for edge in (*inferred.edges, *added):
        if edge.source in blocks and edge.target in (*blocks, END):
            edges.setdefault((edge.source, edge.target, marks(edge.literal)), edge)
    calls = [n for n, b in blocks.items() if isinstance(b, CallBlock)]
    says_more = any(e.source in calls and e.target in calls for e in other.edges)
    return replace(
        inferred,
        blocks=blocks,
        written={**inferred.written, **written},
        edges=tuple(edges.values()),
        prompts=tuple(_with_openings(p, other) for p in inferred.prompts),
        stops=tuple(dict.fromkeys((*inferred.stops, *other.stops))),
        calls_max=other.calls_max if says_more else inferred.calls_max,
        note="\n".join(n for n in (inferred.note, other.note) if n),
    )


def _with_openings(prompt: Prompt, other: Dialect) -> Prompt:
    """The openings that the written-down dialect has for a prompt with the same end."""
    for theirs in other.prompts:
        if prompt.text.endswith(theirs.text):
            known = {(o.block, marks(o.literal)) for o in prompt.openings}
            more = tuple(o for o in theirs.openings if (o.block, marks(o.literal)) not in known)
            return replace(prompt, openings=prompt.openings + more)
    return prompt


def add_calls(inferred: Dialect, generic: Dialect) -> Dialect:
    """The dialect of a template without calls, with those of the generic one."""
    name, block = next((n, b) for n, b in generic.blocks.items() if isinstance(b, CallBlock))
    edges = [*inferred.edges, *(e for e in generic.edges if e.source == name)]
    lead = next((e.literal for e in generic.edges if e.target == name and e.source != name), "")
    for edge in inferred.edges:
        if edge.target == END:
            edges.append(Edge(edge.source, name, edge.literal + lead, "given"))
        elif edge.source == "reasoning" and edge.target == "content":
            edges.append(Edge(edge.source, name, edge.literal, "given"))
    prompts = tuple(
        replace(
            p,
            openings=p.openings
            + tuple(Opening(name, o.literal) for o in p.openings if o.block == "content"),
        )
        for p in inferred.prompts
    )
    return replace(
        inferred,
        blocks={**inferred.blocks, name: block},
        edges=tuple(edges),
        prompts=prompts,
        calls_max=generic.calls_max,
        polyfill=generic.polyfill,
        note="\n".join(n for n in (inferred.note, generic.note) if n),
    )
