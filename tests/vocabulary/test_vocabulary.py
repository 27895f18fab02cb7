import pytest

from untemplate.errors import VocabularyError
from untemplate.vocabulary import TokenKind, Vocabulary, byte_vocabulary


def test_byte_vocabulary_spells_everything():
    v = byte_vocabulary(["<|end|>", "<tool>"], eos="<|end|>")

    assert v.size == 258
    assert v.special == {"<|end|>": 256, "<tool>": 257}
    assert v.ends == {256}
    assert v.eos == 256
    assert v.encode is not None
    assert v.encode("é<tool>", special=True) == [0xC3, 0xA9, 257]
    assert v.bytes_of(v.encode("é<tool>", special=False)) == "é<tool>".encode()
    assert 257 not in v.encode("é<tool>", special=False)


def test_longest_special_wins():
    v = byte_vocabulary(["<a", "<a>"])

    assert v.encode is not None
    assert v.encode("<a><a", special=True) == [257, 256]


def test_equality_and_hash_ignore_the_encoder():
    one = Vocabulary(tokens=(b"a", b""))
    two = Vocabulary(tokens=(b"a", b""), encode=byte_vocabulary().encode)

    assert one == two
    assert hash(one) == hash(two)
    assert one.digest == two.digest


@pytest.mark.parametrize(
    "other",
    [
        Vocabulary(tokens=(b"ab",)),
        Vocabulary(tokens=(b"", b"ab")),
        Vocabulary(tokens=(b"a", b"b"), eos=1),
        Vocabulary(tokens=(b"a", b"b"), ends=frozenset({1})),
        Vocabulary(tokens=(b"a", b"b"), bos=1),
        Vocabulary(tokens=(b"a", b"b"), kinds=bytes([1, 3])),
    ],
)
def test_digest_tells_vocabularies_apart(other):
    assert Vocabulary(tokens=(b"a", b"b")) != other


def test_digest_is_stable_across_runs():
    assert Vocabulary(tokens=(b"a",)).digest == (
        "984bd0732ef56f59a35a36890b51012afd54f0d7e357df31febc2923d6eb8fcf"
    )


def test_special_holds_control_and_user_defined_but_not_padding():
    v = Vocabulary(
        tokens=(b"x", b"<e>", b"<t>", b"", b"<e>"),
        kinds=bytes(
            [
                TokenKind.NORMAL,
                TokenKind.CONTROL,
                TokenKind.USER_DEFINED,
                TokenKind.UNUSED,
                TokenKind.CONTROL,
            ]
        ),
    )

    assert v.special == {"<e>": 1, "<t>": 2}


def test_eos_is_always_an_end():
    assert Vocabulary(tokens=(b"a", b"b", b"c"), eos=2, ends=frozenset({1})).ends == {1, 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eos": 2}, "token id 2 is not one of the 2 tokens"),
        ({"bos": -1}, "token id -1 is not one of the 2 tokens"),
        ({"kinds": b"\1"}, "2 tokens but 1 kinds"),
    ],
)
def test_contradictions_are_refused(arguments, message):
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(tokens=(b"a", b"b"), **arguments)
