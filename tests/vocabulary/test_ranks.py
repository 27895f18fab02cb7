import base64
import json

import pytest

from untemplate.errors import VocabularyError
from untemplate.vocabulary import TokenKind, from_tekken, from_tiktoken


def b64(token):
    return base64.b64encode(token).decode()


def test_tiktoken(tmp_path):
    path = tmp_path / "q.tiktoken"
    path.write_text(f"{b64(b'a')} 0\n\n{b64(bytes([255]))} 1\n{b64(b' ab')} 3\n")
    v = from_tiktoken(path, {"<|end|>": 5}, eos="<|end|>")

    assert v.tokens == (b"a", b"\xff", b"", b" ab", b"", b"<|end|>")
    assert v.kinds[2] == TokenKind.UNUSED
    assert v.special == {"<|end|>": 5}
    assert v.ends == {5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("YQ== 0 1", "line 1 is not `base64 rank`, or a rank again"),
        ("YQ== 0\nYg== 0", "line 2 is not `base64 rank`, or a rank again"),
        ("YQ== " + "9" * 5000, "line 1 is not"),
        ("Y 0", "line 1 is not base64"),
        ("YQ== 999999999", "an id of 999999999"),
    ],
)
def test_broken_tiktoken(tmp_path, content, message):
    path = tmp_path / "q.tiktoken"
    path.write_text(content)

    with pytest.raises(VocabularyError, match=message) as caught:
        from_tiktoken(path, {})
    assert caught.value.place == str(path)


def tekken(**changes):
    return {
        "config": {"default_vocab_size": 5, "default_num_special_tokens": 2, "version": "v3"},
        "vocab": [
            {"rank": n, "token_bytes": b64(token), "token_str": None}
            for n, token in enumerate([b"a", b"\xff", b"cd", b"beyond"])
        ],
        "special_tokens": [
            {"rank": 0, "token_str": "<s>", "is_control": True},
            {"rank": 1, "token_str": "</s>", "is_control": True},
        ],
        **changes,
    }


def test_tekken(tmp_path):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken()))
    v = from_tekken(path, bos="<s>", eos="</s>")

    assert v.tokens == (b"<s>", b"</s>", b"a", b"\xff", b"cd")
    assert (v.bos, v.eos, v.special) == (0, 1, {"<s>": 0, "</s>": 1})


def test_tekken_without_names(tmp_path):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken(special_tokens=None)))

    assert from_tekken(path).tokens[:2] == (b"", b"")
    assert from_tekken(path).kinds[0] == TokenKind.UNUSED
    assert from_tekken(path, {"[INST]": 1}).special == {"[INST]": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config": {}}, "no `config` with sizes"),
        ({"vocab": None}, "no `vocab`"),
        ({"vocab": [{"rank": 9, "token_bytes": "YQ=="}]}, "`vocab` holds something"),
        ({"vocab": [{"rank": 0, "token_bytes": "Y"}]}, "rank 0 is not base64"),
        ({"special_tokens": [{}]}, "`special_tokens` holds something"),
    ],
)
def test_broken_tekken(tmp_path, changes, message):
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(tekken(**changes)))

    with pytest.raises(VocabularyError, match=message) as caught:
        from_tekken(path)
    assert caught.value.place == str(path)
