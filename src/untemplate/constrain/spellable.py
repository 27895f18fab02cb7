r"""Whether a vocabulary can spell what a grammar can't do without; asked when it is compiled.

    VocabularyError: tool pay #/properties/to/enum: the vocabulary has no token for the bytes 04, f1

Most vocabularies have a token for each byte, some lack a few. What may be written another way (a
character in JSON by its code) or left out (one member of an enumeration) is no matter; the name of
a tool, a key that is required and a value that stands alone are.
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

from untemplate.dialect import CallBlock, Pairs
from untemplate.errors import VocabularyError
from untemplate.grammar import Grammar
from untemplate.grammar.answer import ANSWER
from untemplate.grammar.schema import Schemas
from untemplate.grammar.schema_atoms import Strings
from untemplate.grammar.schema_check import subschemas
from untemplate.vocabulary import Vocabulary

__all__ = ["check_spelling"]

_CODE = b"\\u0123456789abcdef"
"""What codes in JSON are written with."""


def check_spelling(grammar: Grammar, vocabulary: Vocabulary) -> None:
    """Raises VocabularyError with tool, pointer and bytes of the first thing without a spelling."""
    missing = _missing(vocabulary)
    if not missing:
        return
    blocks = [b for b in grammar.dialect.blocks.values() if isinstance(b, CallBlock)]
    is_raw = any(isinstance(b.arguments, Pairs) for b in blocks)
    for tool in grammar.tools:
        origin = f"tool {tool.name}"
        _check([tool.name], missing, origin, is_raw=True)
        _check_schema(json.dumps(tool.parameters), missing, origin, is_raw=is_raw)
    if grammar.response_schema is not None:
        _check_schema(json.dumps(grammar.response_schema), missing, ANSWER, is_raw=False)


@lru_cache(maxsize=8)
def _missing(vocabulary: Vocabulary) -> frozenset[int]:
    """Bytes that are no token of their own. O(tokens), so it is asked once."""
    return frozenset(range(256)) - {t[0] for t in vocabulary.tokens if len(t) == 1}


def _check_schema(text: str, missing: frozenset[int], origin: str, *, is_raw: bool) -> None:
    schemas = Schemas(json.loads(text), origin=origin, open_objects=True)
    pending = [schemas.root]
    while pending:
        place = pending.pop()
        schema = schemas.references.at(place)
        if not isinstance(schema, dict):
            continue
        at = f"{origin} {place.pointer}"
        if isinstance(required := schema.get("required"), list):
            for key in required:
                _check([str(key)], missing, f"{at}/required", is_raw=is_raw)
        match schemas.typed(place).string:
            case Strings(members) if "enum" in schema or "const" in schema:
                keyword = "enum" if "enum" in schema else "const"
                _check(members, missing, f"{at}/{keyword}", is_raw=is_raw)
            case _:
                pass
        pending += [schemas.references.inner(place, step) for step, _ in subschemas(schema)]


def _check(texts: Iterable[str], missing: frozenset[int], place: str, *, is_raw: bool) -> None:
    """Raises where none of the texts can be spelt."""
    lacking = [sorted(set(_lacking(text, missing, is_raw=is_raw))) for text in texts]
    if lacking and all(lacking):
        shown = ", ".join(f"{byte:02x}" for byte in lacking[0])
        raise VocabularyError(f"the vocabulary has no token for the bytes {shown}", place=place)


def _lacking(text: str, missing: frozenset[int], *, is_raw: bool) -> Iterator[int]:
    has_codes = not is_raw and missing.isdisjoint(_CODE)
    for character in text:
        if not has_codes or " " <= character <= "~":
            data = character.encode("utf-8", "surrogatepass")
            yield from (byte for byte in data if byte in missing)
