r"""Small rules about bytes and characters that every frame needs.

whole_characters(b"a\xe2\x82", 0, 3) -> 1        decoded(b"a\xff", 0, 2) -> ("a\ufffd", (1, 2))
"""

import re

__all__ = [
    "SPACE",
    "UTF8",
    "UTF8_BEGUN",
    "Data",
    "common_suffix",
    "decoded",
    "overlap",
    "past_space",
    "whole_characters",
]

Data = bytes | bytearray
"""What is being read. Long stretches that wait for a decision are held in one growing array."""

UTF8 = (
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xe0[\xa0-\xbf][\x80-\xbf]"
    rb"|\xed[\x80-\x9f][\x80-\xbf]|[\xf1-\xf3][\x80-\xbf]{3}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
)
"""An expression for one character that is not ASCII."""
UTF8_BEGUN = rb"[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?+|[\xf0-\xf4][\x80-\xbf]{0,2}+"
"""The beginning of one whose last byte is not there yet."""
SPACE = b" \t\r\n"
_SPACES = re.compile(rb"[ \t\r\n]+")


def past_space(data: Data, at: int) -> int:
    """The position of the next byte that is no white space."""
    found = _SPACES.match(data, at)
    return found.end() if found else at


def whole_characters(data: Data, start: int, end: int) -> int:
    """The end of the last whole UTF-8 character in data[start:end]; bytes that are none count."""
    for back in range(1, min(4, end - start + 1)):
        byte = data[end - back]
        if byte < 0x80:
            return end
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF8 else 1
            return end - back if length > back else end
    return end


def decoded(data: Data, start: int, end: int) -> tuple[str, tuple[int, int] | None]:
    """The text of data[start:end], and where the first bytes stand that are not UTF-8."""
    piece = bytes(data[start:end])
    try:
        return piece.decode(), None
    except UnicodeDecodeError as error:
        return piece.decode("utf-8", "replace"), (start + error.start, start + error.end)


def overlap(data: Data, mark: bytes, at: int) -> int:
    """How many bytes at the end of data[at:] may be the beginning of the mark."""
    size = len(data)
    start = data.find(mark[0], max(at, size - len(mark) + 1))
    while start >= 0:
        if mark.startswith(bytes(data[start:])):
            return size - start
        start = data.find(mark[0], start + 1)
    return 0


def common_suffix(a: bytes, b: bytes) -> int:
    """The length of the longest common ending."""
    size = 0
    while size < min(len(a), len(b)) and a[-1 - size] == b[-1 - size]:
        size += 1
    return size
