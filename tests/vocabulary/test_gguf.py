import random
import struct

import pytest
from tests.gguf_file import gguf_bytes

from untemplate.errors import VocabularyError
from untemplate.vocabulary.gguf import Gguf

VALUES = {"a.text": "é", "a.number": -7, "a.truth": True, "a.real": 0.5, "a.texts": ["x", b"\xff"]}


@pytest.fixture
def opened(tmp_path):
    def write_and_open(content):
        path = tmp_path / "m.gguf"
        path.write_bytes(content)
        return Gguf.open(path)

    return write_and_open


def test_values(opened):
    gguf = opened(gguf_bytes({**VALUES, "a.numbers": [1, 2, 3], "a.none": []}))

    assert gguf.text("a.text") == "é"
    assert gguf.integer("a.number") == -7
    assert gguf.values["a.truth"] is True
    assert gguf.values["a.real"] == 0.5
    assert gguf.texts("a.texts") == (b"x", b"\xff")
    assert gguf.integers("a.numbers") == (1, 2, 3)
    assert gguf.texts("a.none") == gguf.integers("a.none") == ()


def test_absent_keys(opened):
    gguf = opened(gguf_bytes({}, version=2))

    assert gguf.text("x") == ""
    assert gguf.integer("x") is None
    assert gguf.texts("x") == gguf.integers("x") == ()


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (lambda g: g.text("a.number"), "a.number is not a string"),
        (lambda g: g.integer("a.text"), "a.text is not an integer"),
        (lambda g: g.integer("a.truth"), "a.truth is not an integer"),
        (lambda g: g.texts("a.number"), "a.number is not an array of strings"),
        (lambda g: g.integers("a.texts"), "a.texts is not an array of integers"),
    ],
)
def test_wrong_types_name_the_key(opened, look, message):
    gguf = opened(gguf_bytes(VALUES))

    with pytest.raises(VocabularyError, match=message) as caught:
        look(gguf)
    assert caught.value.place.endswith("m.gguf")


HEAD = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"GG", "it ends inside the magic"),
        (b"PK\3\4 something else", "it does not begin with GGUF"),
        (b"GGUF" + struct.pack("<I", 1), "version 1 is not 2 or 3"),
        (b"GGUF" + struct.pack(">I", 3), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "it claims 1152921504606846976 keys"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**63), "ends inside key 0"),
        (HEAD + struct.pack("<I", 99), "k has the unknown type 99"),
        (HEAD + struct.pack("<IQ", 8, 2**62), "it ends inside k"),
        (HEAD + struct.pack("<IIQ", 9, 8, 2**62), "k claims 4611686018427387904 items"),
        (HEAD + struct.pack("<IIQ", 9, 10, 9_000_000), "it ends inside k"),
        (HEAD + struct.pack("<IIQ", 9, 8, 9_000_000), "it ends inside k"),
        (HEAD + struct.pack("<IIQ", 9, 9, 1), "k has the unknown type 9"),
    ],
)
def test_broken_files_say_where(opened, content, message):
    with pytest.raises(VocabularyError, match=message) as caught:
        opened(content)
    assert "\n" not in str(caught.value)


def test_every_cut_and_many_changes_are_errors_or_values(opened):
    whole = gguf_bytes({**VALUES, "a.numbers": [1, 2, 3]})
    rng = random.Random(7)
    for cut in range(len(whole)):
        with pytest.raises(VocabularyError):
            opened(whole[:cut])
    for _ in range(300):
        at = rng.randrange(len(whole))
        changed = whole[:at] + bytes([rng.randrange(256)]) + whole[at + 1 :]
        try:
            opened(changed)
        except VocabularyError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_a_missing_file(tmp_path):
    with pytest.raises(VocabularyError, match="can't be read"):
        Gguf.open(tmp_path / "nothing.gguf")
    with pytest.raises(VocabularyError, match="can't be read"):
        Gguf.open(tmp_path)
