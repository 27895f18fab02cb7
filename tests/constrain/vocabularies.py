"""A vocabulary large enough for what is only done where many tokens share a beginning."""

import itertools

from untemplate.vocabulary import TokenKind, Vocabulary

WORDS = (
    b"a", b"to", b"the", b"name", b"kind", b"amount", b"count", b"when", b"day", b"Paris", b"gift",
    b"ing", b"er", b"null", b"true", b"false", b"12", b"7", b"2025", b"-", b".", b"\xc3\xb6",
    b"\xe6\x97\xa5", b"\xe6\x97", b"\xf0\x9f", b"\\n", b"\\u00e9", b'\\"', b"<", b"tool", b"call",
)  # fmt: skip
BEFORE = (b"", b" ", b"\n", b"\n  ", b"  ", b'"', b' "', b'{"', b' {"', b',"', b', "', b'["', b"[")
AFTER = (
    b"", b'"', b'",', b'", ', b'","', b'":', b'": ', b'":"', b'": "', b'"}', b'"}}', b'"]', b'"\n',
    b'"\n}', b",", b", ", b"}", b"}}", b"]", b"]}", b" ", b"\n", b">", b'>"', b"?",
)  # fmt: skip


def wide_vocabulary(specials: list[str], eos: str = "<|im_end|>") -> Vocabulary:
    """All bytes, some ten thousand pieces as real vocabularies have them, and special tokens."""
    pieces = {bytes((b,)): None for b in range(256)}
    products = itertools.product(BEFORE, (*WORDS, b""), AFTER)
    pieces.update((piece, None) for parts in products if (piece := b"".join(parts)))
    tokens = [*pieces, b"twin", b"twin", *(s.encode() for s in specials)]
    kinds = [TokenKind.NORMAL] * (len(pieces) + 2) + [TokenKind.CONTROL] * len(specials)
    return Vocabulary(tuple(tokens), bytes(kinds), eos=len(pieces) + 2 + specials.index(eos))
