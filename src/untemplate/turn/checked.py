"""What a mask could not enforce, held against what was written.

Keywords that the grammar's report calls `checked` (a back-reference in a pattern, say) are enforced
by validation. It is done once, when the turn has ended, and only where there are such keywords;
what breaks them is returned as it is, with a diagnostic.
"""

import json
from collections.abc import Iterator

from untemplate.grammar import Grammar
from untemplate.grammar.validation import validator_of
from untemplate.message import JSON, Diagnostic, Message

__all__ = ["broken_keywords"]


def broken_keywords(message: Message, grammar: Grammar) -> Iterator[Diagnostic]:
    """One diagnostic for each complete call, or answer, that is not as its schema says."""
    if not message.tool_calls and grammar.response_schema is None:
        return
    checked = {keyword.origin for keyword in grammar.report().checked}
    if not checked:
        return
    schemas = {tool.name: tool.parameters for tool in grammar.tools}
    for call in message.tool_calls:
        if call.state != "complete" or f"tool {call.name}" not in checked:
            continue
        nullable = not grammar.options.open_objects
        text = call.arguments + call.closing
        if problem := _problem(schemas[call.name], text, nullable=nullable):
            yield Diagnostic("against_schema", call.span, f"{call.name}: {problem}")
    if message.tool_calls or message.end == "cut" or "response_schema" not in checked:
        return
    if problem := _problem(grammar.response_schema, message.content, nullable=False):
        span = (0, len(message.raw.encode("utf-8", "replace")))
        yield Diagnostic("against_schema", span, problem)


def _problem(schema: JSON, text: str, *, nullable: bool) -> str | None:
    """The first rule that a value breaks, and where; None where it breaks none."""
    try:
        value = json.loads(text)
    except ValueError:
        return None  # told by other diagnostics
    validator = validator_of(json.dumps(schema), nullable=nullable)
    error = None if validator is None else next(iter(validator.iter_errors(value)), None)
    if error is None:
        return None
    place = "".join(f"/{step}" for step in error.instance_path)
    return f"{place or 'the value'} is not as {error.kind.name} says"
