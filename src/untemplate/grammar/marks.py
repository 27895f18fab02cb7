r"""Splits a literal into marks: the pieces that a model either writes whole or not at all.

    marks('\n<a>\n<b=')      -> ('<a>', '<b=')
    marks('[X][{"name": "') -> ('[X]', '[{"name":', '"')

White space is not part of a mark: between marks any space is structure. A mark is *distinctive*
when it can't be taken for prose or JSON; only such a mark may start a call whose earlier marks the
model left out.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from untemplate.dialect import Pairs

__all__ = ["is_distinctive", "marks", "openings"]

# A bracketed word with its brackets (attributes inside included), or a run without space that
# stops where the next bracketed word begins. The bracket that ends a list in front of a fence is a
# mark of its own: models put the fence on a new line.
_OPENING, _CLOSING = "«‹【〈⟨「⟦", "»›】〉⟩」⟧"
_OTHER = rf"[{_OPENING}][^\s{_OPENING}{_CLOSING}][^{_OPENING}{_CLOSING}]*[{_CLOSING}]?"
_BRACKETED = rf"<<[^<>\s][^<>]*(?:>>)?|<[^<>\s][^<>]*>?|\[/?[A-Z][A-Z0-9_ ]*\]|{_OTHER}"
_MARK = re.compile(rf"{_BRACKETED}|\](?=`)|(?:(?!{_BRACKETED}|\]`)\S)+")


@lru_cache(maxsize=1024)
def marks(literal: str) -> tuple[str, ...]:
    """The marks of a literal, in order; a lone bracket sticks to its right neighbour.

    One that closes sticks only to a neighbour that holds another of its kind.
    """
    out: list[str] = []
    glued = ""
    end = 0
    for found in _MARK.finditer(literal):
        if glued and (found.start() != end or (glued in "])" and glued not in found.group())):
            out.append(glued)
            glued = ""
        piece, end = glued + found.group().rstrip(), found.end()
        glued = ""
        if len(piece) == 1 and not piece.isalnum() and piece not in "\"'{}:,":
            glued = piece
        else:
            out.append(piece)
    if glued:
        out.append(glued)
    return tuple(out)


def is_distinctive(mark: str) -> bool:
    """Whether the mark alone shows that a marker was meant, as `<function=` but not `{"name":`."""
    return (
        len(mark) > 3
        and any(c.isalnum() for c in mark)
        and not mark[0].isalnum()
        and not mark.startswith(("{", '"', "[{", "("))
    )


def openings(pairs: Pairs, keys: Iterable[str]) -> tuple[str, ...]:
    """What begins a pair with one of these keys, if that shows by itself.

    Inside a raw string a reader takes it for the sign of a closer that was forgotten.
    """
    opener = pairs.open.strip()
    if not is_distinctive(opener):
        return ()
    forms = dict.fromkeys(w.before.split()[0] for w in pairs.types.values() if w.before.strip())
    return tuple(opener + key + form for key in keys for form in forms)
