"""The tokenizer's habits that are undone, on a tokenizer small enough to see them."""

from untemplate.engines.llama.vocabulary import model_vocabulary
from untemplate.vocabulary import TokenKind

NORMAL, UNUSED, CONTROL, USER, BYTE = 4, 2, 8, 16, 32


class TinyModel:
    """Tokenises by the longest token, as llama.cpp does: user-defined tokens always, control
    tokens when told to; a SentencePiece one puts a space before every text."""

    bos_id = None

    def __init__(self, entries, vocabulary_type):
        self.entries = [(bytes([b]), BYTE, False) for b in range(256)] + entries
        self.vocabulary_type = vocabulary_type
        self.eos_id = next(i for i, entry in enumerate(self.entries) if entry[2])

    def tokens(self):
        return tuple(self.entries)

    def tokenize(self, text, *, special):
        data = text.encode()
        if self.vocabulary_type == 1 and data:
            data = b" " + data
        ids = []
        while data:
            usable = [
                (len(token), i)
                for i, (token, kind, _) in enumerate(self.entries)
                if token and data.startswith(token) and (special or kind != CONTROL)
            ]
            length, token_id = max(usable)
            ids.append(token_id)
            data = data[length:]
        return ids


ENTRIES = [
    (b"<call>", USER, False),
    (b"\n\n", USER, False),
    (b"<end>", CONTROL, True),
    (b"call", NORMAL, False),
    (b"", UNUSED, False),
    (b" hello", NORMAL, False),
]
CALL, BREAK, END, WORD, EMPTY, HELLO = range(256, 262)


def vocabulary(vocabulary_type=2):
    return model_vocabulary(TinyModel(ENTRIES, vocabulary_type))


def test_kinds_and_ends_are_those_of_the_model():
    v = vocabulary()
    kinds = [TokenKind(v.kinds[i]) for i in (0, CALL, END, WORD, EMPTY)]
    assert [kind.name for kind in kinds] == ["BYTE", "USER_DEFINED", "CONTROL", "NORMAL", "UNUSED"]
    assert v.ends == {END}
    assert v.tokens[EMPTY] == b""
    assert v.special["<call>"] == CALL


def test_a_marker_in_plain_text_is_spelt_with_ordinary_tokens():
    v = vocabulary()
    assert v.encode("a<call>", special=True) == [ord("a"), CALL]
    plain = v.encode("a<call><call>", special=False)
    assert plain == [ord("a"), ord("<"), WORD, ord(">"), ord("<"), WORD, ord(">")]
    assert END not in v.encode("<end>", special=False)


def test_a_run_of_line_breaks_is_no_marker():
    assert vocabulary().encode("\n\n", special=False) == [BREAK]


def test_a_sentencepiece_vocabulary_adds_no_space_to_plain_text():
    v = vocabulary(1)
    for text in ("x", "hello", " hello", "a<call>b", "\nx", "\n\n\n", ""):
        assert v.bytes_of(v.encode(text, special=False)) == text.encode(), text
    assert v.encode(" hello", special=False) == [HELLO]
