"""A GGUF model: loading, metadata, tokenizer, vocabulary."""

import pytest

from untemplate.engines.llama.model import Model
from untemplate.engines.llama.vocabulary import model_vocabulary
from untemplate.errors import EngineError
from untemplate.vocabulary import TokenKind

pytestmark = pytest.mark.model

TEXTS = [
    "Hello, world",
    "  leading and trailing  ",
    "línea\n\n\ttabs\r\n",
    "日本語 🙂 \u200b é e\u0301",
    '{"name": "get_weather", "arguments": {"city": "Zürich \\"x\\""}}',
    "a" * 2000,
    "",
]


@pytest.fixture(scope="module")
def vocabulary(model):
    return model_vocabulary(model)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("special", [True, False])
def test_tokens_spell_the_text(vocabulary, text, special):
    assert vocabulary.bytes_of(vocabulary.encode(text, special=special)) == text.encode()


def test_markers_are_tokens_only_where_they_are_meant(vocabulary):
    for text, token_id in vocabulary.special.items():
        if vocabulary.kinds[token_id] == TokenKind.CONTROL:
            assert vocabulary.encode(text, special=True) == [token_id]
        spelt = vocabulary.encode(f"a{text}b", special=False)
        if text.strip():
            assert not set(spelt) & set(vocabulary.special.values()), text
            assert vocabulary.bytes_of(spelt) == f"a{text}b".encode()


def test_the_vocabulary_indexes_the_logits(model, vocabulary):
    assert vocabulary.size == model.n_vocab
    assert vocabulary.eos in vocabulary.ends
    assert len(vocabulary.kinds) == vocabulary.size
    assert model.text_of(vocabulary.eos).encode() == vocabulary.tokens[vocabulary.eos]


def test_the_template_and_its_special_tokens_are_there(model):
    assert "messages" in model.chat_template
    assert model.metadata["general.architecture"]
    assert model.trained_context >= 512
    assert model.text_of(None) == ""
    assert model.description


def test_a_nul_and_half_a_surrogate_do_not_end_the_text(vocabulary):
    assert vocabulary.bytes_of(vocabulary.encode("a\0b", special=False)).startswith(b"a")
    assert vocabulary.bytes_of(vocabulary.encode("a\ud800b", special=False)) == b"a?b"


def test_a_path_may_be_a_string(model_path, library):
    model = Model(str(model_path), library=library)
    assert model.path == model_path
    model.close()


def test_a_file_that_is_not_there_or_no_gguf_is_one_clear_line(library, tmp_path):
    with pytest.raises(EngineError, match=r"no\.gguf: can't be read: No such file"):
        Model(tmp_path / "no.gguf")
    (tmp_path / "text.gguf").write_text("hello")
    with pytest.raises(EngineError, match="is not a GGUF file"):
        Model(tmp_path / "text.gguf")


@pytest.mark.parametrize("size", [4, 1000, 1_000_000])
def test_a_cut_file_is_one_clear_line(model_path, library, tmp_path, size):
    cut = tmp_path / "cut.gguf"
    with model_path.open("rb") as file:
        cut.write_bytes(file.read(size))
    with pytest.raises(EngineError, match=r"cut\.gguf: can't be loaded: \S") as caught:
        Model(cut)
    assert "\n" not in str(caught.value)


def test_an_id_that_is_no_token_is_refused(model):
    for token_id in (-1, model.n_vocab):
        with pytest.raises(EngineError, match="is not in the vocabulary"):
            model.piece(token_id)
