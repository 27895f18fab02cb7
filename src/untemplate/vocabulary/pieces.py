r"""How the pieces that tokenizer files list stand for bytes.

Three spellings are in use; all give back the exact bytes of one token.

- *byte level* (GPT-2): each byte is one printable letter, `Ġ` is a space, `Ċ` a line break;
- *SentencePiece*: `▁` is a space, `<0x0A>` is the byte 10, the rest is itself;
- *plain*: the piece is its text.

    from_byte_level("Ġcafé") == b" caf\xe9"             # é stands for the byte E9 alone
    from_sentencepiece("▁café") == b" caf\xc3\xa9"      # é is a character
"""

import re

__all__ = ["byte_token", "from_byte_level", "from_sentencepiece"]

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def _byte_letters() -> dict[str, int]:
    """The table of GPT-2's `bytes_to_unicode`, turned round."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in printable)
    letters.update((chr(0x100 + n), byte) for n, byte in enumerate(others))
    return letters


_LETTERS = _byte_letters()


def from_byte_level(piece: str) -> bytes:
    """Bytes of a byte-level piece; letters outside the table stand for themselves."""
    try:
        return bytes(map(_LETTERS.__getitem__, piece))
    except KeyError:
        return b"".join(
            bytes([_LETTERS[letter]]) if letter in _LETTERS else letter.encode("utf-8", "replace")
            for letter in piece
        )


def from_sentencepiece(piece: str, space: str = "▁") -> bytes:
    """Bytes of a SentencePiece piece that is no byte token."""
    return piece.replace(space, " ").encode("utf-8", "replace")


def byte_token(piece: str) -> bytes | None:
    """The byte that `<0x0A>` stands for, None for any other piece."""
    found = _BYTE_TOKEN.fullmatch(piece)
    return bytes.fromhex(found[1]) if found else None
