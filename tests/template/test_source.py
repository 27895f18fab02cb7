import json

import pytest
from tests.gguf_file import gguf_bytes

from untemplate.errors import TemplateError
from untemplate.template import read_source

HI = [{"role": "user", "content": "Hi"}]


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def test_a_file_with_a_template(tmp_path):
    write(tmp_path, t__jinja="\ufeffé")
    source = read_source(tmp_path / "t.jinja")

    assert source.text() == source.text(with_tools=True) == "é"
    assert source.origin.endswith("t.jinja")


def test_a_folder_with_one_template(tmp_path):
    write(
        tmp_path,
        tokenizer_config__json={
            "chat_template": "{{ bos_token }}{{ eos_token }}{{ pad_token }}{{ image_token }}",
            "bos_token": {"content": "<s>", "lstrip": False},
            "image_token": "<img>",
            "add_bos_token": True,
            "response_template": {"x": 1},
        },
        special_tokens_map__json={"eos_token": "</s>", "bos_token": "no"},
    )
    source = read_source(tmp_path)

    tokens = {"bos_token": "<s>", "eos_token": "</s>", "image_token": "<img>"}
    assert source.special_tokens == tokens
    assert source.compile().render(HI, add_generation_prompt=True) == "<s></s><img>"
    assert source.response_template == {"x": 1}


def test_named_templates(tmp_path):
    write(
        tmp_path,
        tokenizer_config__json={
            "chat_template": [
                {"name": "default", "template": "plain"},
                {"name": "tool_use", "template": "tools"},
            ]
        },
    )
    source = read_source(tmp_path)

    assert source.text() == "plain"
    assert source.text(with_tools=True) == "tools"
    assert source.compile(with_tools=True).source == "tools"


def test_files_beside_the_config_win(tmp_path):
    write(
        tmp_path,
        tokenizer_config__json={"chat_template": "config"},
        chat_template__json={"chat_template": "processor"},
    )
    assert read_source(tmp_path).text() == "processor"
    write(tmp_path, chat_template__jinja="file")
    (tmp_path / "additional_chat_templates").mkdir()
    write(tmp_path / "additional_chat_templates", tool_use__jinja="tools")
    source = read_source(tmp_path)

    assert source.text() == "file"
    assert source.text(with_tools=True) == "tools"


def test_the_only_template_is_taken_whatever_its_name(tmp_path):
    templates = [{"name": "rag", "template": "rag"}]
    write(tmp_path, tokenizer_config__json={"chat_template": templates})

    assert read_source(tmp_path).text() == "rag"


def test_gguf(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(
        gguf_bytes(
            {
                "tokenizer.chat_template": "{{ bos_token }}{{ eos_token }}",
                "tokenizer.chat_template.tool_use": "tools",
                "tokenizer.chat_templates": ["tool_use"],
                "tokenizer.ggml.tokens": ["<s>", "</s>"],
                "tokenizer.ggml.bos_token_id": 0,
                "tokenizer.ggml.eos_token_id": 1,
                "tokenizer.ggml.padding_token_id": 99,
            }
        )
    )
    source = read_source(path)

    assert source.templates.keys() == {"default", "tool_use"}
    assert source.special_tokens == {"bos_token": "<s>", "eos_token": "</s>"}
    assert source.compile().render(HI, add_generation_prompt=True) == "<s></s>"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "it has no chat template; give one as a .jinja file"),
        ({"tokenizer_config__json": "{"}, "not JSON"),
        ({"tokenizer_config__json": "[]"}, "not a JSON object"),
        ({"tokenizer_config__json": {"chat_template": 7}}, "chat_template is neither text nor"),
        ({"tokenizer_config__json": {"chat_template": [7]}}, "chat_template is neither text nor"),
        (
            {
                "tokenizer_config__json": {
                    "chat_template": [
                        {"name": "a", "template": ""},
                        {"name": "b", "template": ""},
                    ]
                }
            },
            r"none of its chat templates is the default one \(a, b\)",
        ),
    ],
)
def test_broken_folders_say_what_is_wrong(tmp_path, files, message):
    write(tmp_path, **files)

    with pytest.raises(TemplateError, match=message) as caught:
        read_source(tmp_path).text()
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jinja", b"\xff\xfe", "not UTF-8 at byte 0"),
        ("m.gguf", b"GGUF", "it ends inside the version"),
        ("m.gguf", gguf_bytes({}), "it has no chat template"),
        ("m.gguf", gguf_bytes({"tokenizer.chat_template": 7}), "tokenizer.chat_template is not"),
    ],
)
def test_broken_files_say_what_is_wrong(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(TemplateError, match=message) as caught:
        read_source(tmp_path / name).text()
    assert name in str(caught.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(TemplateError, match="can't be read: No such file"):
        read_source(tmp_path / "t.jinja")
