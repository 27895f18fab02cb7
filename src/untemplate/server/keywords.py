"""The header by which an answer names what of its schemas no mask could enforce.

    x-untemplate-checked: tool pay #/properties/to/pattern, response_schema #/multipleOf

What broke such a keyword all the same is in the answer's diagnostics.
"""

from collections.abc import Sequence
from urllib.parse import quote

from untemplate.grammar.report import Keyword

__all__ = ["CHECKED_HEADER", "told_in_header"]

CHECKED_HEADER = "x-untemplate-checked"
_MOST = 2_000
"""Clients and proxies bound headers; so long is safe with all of them."""


def told_in_header(keywords: Sequence[Keyword]) -> str:
    """Tool and pointer of each keyword, as far as a header holds them; not ASCII is quoted."""
    told: list[str] = []
    size = 0
    for number, keyword in enumerate(keywords):
        text = quote(f"{keyword.origin} {keyword.pointer}", safe=" #/$~^()[]*+?!:;.-_")
        size += len(text) + 2
        if size > _MOST:
            told.append(f"and {len(keywords) - number} more")
            break
        told.append(text)
    return ", ".join(told)
