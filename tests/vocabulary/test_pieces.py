from untemplate.vocabulary.pieces import byte_token, from_byte_level, from_sentencepiece


def test_byte_level_letters_are_the_256_bytes():
    letters = [chr(n) for n in range(0x21, 0x144) if n != 0x7F]
    spelt = [from_byte_level(letter) for letter in letters]

    assert sorted(b for b in spelt if len(b) == 1) == [bytes([n]) for n in range(256)]


def test_other_letters_stand_for_themselves():
    assert from_byte_level("Ġ日") == b" " + "日".encode()
    assert from_byte_level("a b") == b"a b"


def test_sentencepiece():
    assert from_sentencepiece("▁a▁") == b" a "
    assert from_sentencepiece("_a", space="_") == b" a"


def test_byte_tokens():
    assert byte_token("<0x0A>") == b"\n"
    assert byte_token("<0xff>") == b"\xff"
    assert byte_token("<0x0A") is None
    assert byte_token("a<0x0A>") is None
