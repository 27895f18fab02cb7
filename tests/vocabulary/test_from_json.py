import json
import threading

import pytest

from untemplate.errors import VocabularyError
from untemplate.vocabulary import TokenKind, from_tokenizer_json
from untemplate.vocabulary.pieces import from_byte_level

PRINTED = (chr(n) for n in range(0x21, 0x144) if n != 0x7F)
LETTERS = sorted((c for c in PRINTED if len(from_byte_level(c)) == 1), key=from_byte_level)
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": False,
    "use_regex": False,
}


def added(token_id, content, *, special):
    return {
        "id": token_id,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }


def byte_level_file(**changes):
    """256 bytes, three merges, a control token and an added word."""
    vocab = {letter: n for n, letter in enumerate(LETTERS)}
    vocab |= {"he": 256, "ll": 257, "hell": 258}
    return {
        "version": "1.0",
        "added_tokens": [added(259, "<|end|>", special=True), added(260, "<call>", special=False)],
        "normalizer": None,
        "pre_tokenizer": BYTE_LEVEL,
        "post_processor": BYTE_LEVEL,
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": [["h", "e"], ["l", "l"], ["he", "ll"]],
        },
        **changes,
    }


def sentencepiece_file(**changes):
    """Byte fallback, with the space before a text that Llama 2 has."""
    byte_tokens = [f"<0x{n:02X}>" for n in range(256)]
    pieces = ["<unk>", "<s>", "</s>", *byte_tokens, "▁", "a", "b", "▁a", "\n"]
    return {
        "version": "1.0",
        "added_tokens": [
            added(0, "<unk>", special=True),
            added(1, "<s>", special=True),
            added(2, "</s>", special=True),
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": "▁"},
                {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": {piece: n for n, piece in enumerate(pieces)},
            "merges": [["▁", "a"]],
        },
        **changes,
    }


@pytest.fixture
def read(tmp_path):
    def write_and_read(file, **options):
        path = tmp_path / "tokenizer.json"
        path.write_text(file if isinstance(file, str) else json.dumps(file), encoding="utf-8")
        return from_tokenizer_json(path, **options)

    return write_and_read


def test_byte_level(read):
    v = read(byte_level_file(), eos="<|end|>", size=264)

    assert v.tokens[:256] == tuple(bytes([n]) for n in range(256))
    assert v.tokens[256:] == (b"he", b"ll", b"hell", b"<|end|>", b"<call>", b"", b"", b"")
    assert v.kinds[258:262] == bytes(
        [TokenKind.NORMAL, TokenKind.CONTROL, TokenKind.USER_DEFINED, TokenKind.UNUSED]
    )
    assert v.special == {"<|end|>": 259, "<call>": 260}
    assert v.ends == {259}
    assert v.size == 264


def test_ids_that_are_left_out_have_no_bytes(read):
    v = read({"model": {"type": "WordLevel", "vocab": {"a": 0, "c": 2}}})

    assert v.tokens == (b"a", b"", b"c")
    assert v.kinds[1] == TokenKind.UNUSED


def test_byte_level_encodes(read):
    pytest.importorskip("tokenizers")
    v = read(byte_level_file())
    assert v.encode is not None

    assert v.encode("hello<|end|><call>", special=True) == [258, ord("o"), 259, 260]
    plain = v.encode("hello<|end|><call>", special=False)
    assert not {259, 260} & set(plain)
    assert v.bytes_of(plain) == b"hello<|end|><call>"
    assert v.encode("", special=True) == []


def test_sentencepiece(read):
    v = read(sentencepiece_file(), bos="<s>", eos="</s>")

    assert v.tokens[3 + 0x0A] == b"\n"
    assert v.tokens[259:] == (b" ", b"a", b"b", b" a", b"\n")
    assert v.kinds[3] == TokenKind.BYTE
    assert (v.bos, v.eos) == (1, 2)


def test_sentencepiece_encodes_no_space_before_the_text(read):
    pytest.importorskip("tokenizers")
    v = read(sentencepiece_file())
    assert v.encode is not None

    for text in ("ab", " ab", "\nab", "é", "</s>", ""):
        for special in (True, False):
            ids = v.encode(text, special=special)
            assert v.bytes_of(ids) == text.encode()
            assert (2 in ids) == (special and "</s>" in text)
    assert v.bytes_of(v.encode("a</s>b", special=False)) == b"a</s>b"
    assert v.bytes_of(v.encode("a</s>b", special=True)) == b"a</s> b"


def test_metaspace_and_unigram(read):
    v = read(
        {
            "added_tokens": [added(0, "<s>", special=True)],
            "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
            "model": {"type": "Unigram", "unk_id": 1, "vocab": [["<s>", 0.0], ["▁a", -1.5]]},
        }
    )

    assert v.tokens == (b"<s>", b" a")


def test_pieces_without_a_decoder_are_text(read):
    file = {"model": {"type": "WordLevel", "vocab": {"é": 0, "b": 1}}}

    assert read(file).tokens == ("é".encode(), b"b")


def test_several_ids_may_spell_the_same(read):
    v = read(sentencepiece_file())

    assert [i for i, token in enumerate(v.tokens) if token == b"\n"] == [13, 263]


def test_a_control_token_that_merges_make_stays_text(read):
    """The model itself can build `hell`; as a control token it must not come out of plain text."""
    pytest.importorskip("tokenizers")
    v = read(byte_level_file(added_tokens=[added(258, "hell", special=True)]))
    assert v.encode is not None

    assert v.encode("hello", special=True) == [258, ord("o")]
    assert v.encode("hello", special=False) == [256, 257, ord("o")]


def test_threads_may_share_it(read):
    pytest.importorskip("tokenizers")
    v = read(byte_level_file())
    found = []

    def work():
        assert v.encode is not None
        found.extend(tuple(v.encode("hello", special=n % 2 == 0)) for n in range(100))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(found) == {(258, ord("o"))}
    assert len(found) == 800


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("", "not JSON: Expecting value"),
        ("[1]", "not a JSON object"),
        ('{"a":' * 100_000, "not JSON"),
        ({}, "model is not an object"),
        ({"model": {}}, "model.vocab is neither an object nor a list"),
        ({"model": {"vocab": {"a": "b"}}}, "model.vocab holds something that is no piece"),
        ({"model": {"vocab": [["a", 0], 7]}}, "model.vocab holds something that is no piece"),
        ({"model": {"vocab": {"a": 10**12}}}, "an id of 1000000000000"),
        ({"model": {"vocab": {"a": 0}}, "added_tokens": [{}]}, "added_tokens holds something"),
        (
            {"model": {"vocab": {"a": 0}}, "decoder": {"type": "WordPiece"}},
            "a decoder of the types",
        ),
        (
            {"model": {"vocab": {"a": 0}, "continuing_subword_prefix": "##"}},
            "pieces with a prefix or suffix for word borders",
        ),
    ],
)
def test_broken_files_say_what_is_wrong(read, file, message):
    with pytest.raises(VocabularyError, match=message) as caught:
        read(file)
    assert caught.value.place.endswith("tokenizer.json")
    assert "\n" not in str(caught.value)


def test_unknown_eos(read):
    with pytest.raises(VocabularyError, match="no token is '<eos>'"):
        read(byte_level_file(), eos="<eos>")


def test_files_that_the_library_refuses(read):
    pytest.importorskip("tokenizers")
    v = read({"model": {"type": "Nothing", "vocab": {"a": 0}}})
    assert v.encode is not None

    with pytest.raises(VocabularyError, match="tokenizers refuses it"):
        v.encode("a", special=True)


def test_ids_that_the_library_changes(read):
    pytest.importorskip("tokenizers")
    v = read(byte_level_file(added_tokens=[added(300, "<|end|>", special=True)]))
    assert v.encode is not None

    with pytest.raises(VocabularyError, match=r"does not give '<.end.>' the id 300"):
        v.encode("a", special=True)
