"""Chat templates in the files that they come in.

In goes a path: a `.jinja` file, a GGUF file, or a Hugging Face folder. Out comes a
`TemplateSource`: the template, its named variants, and the special tokens that it may print.

    source = read_source("model.gguf")
    source.text(with_tools=True)             # the variant for conversations with tools
    source.compile(with_tools=True)          # ... ready to render

In a folder these are read, later ones winning: `chat_template` in tokenizer_config.json (one
template, or a list of named ones), chat_template.json, chat_template.jinja; named ones also from
additional_chat_templates/*.jinja. A model may name a template `tool_use`: then that one is for
conversations with tools, as in transformers.

Nothing is compiled here, so a broken template is found when it is compiled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from untemplate.errors import TemplateError, VocabularyError
from untemplate.message import JSON
from untemplate.template.meter import Allowance
from untemplate.template.rendering import CompiledTemplate
from untemplate.vocabulary.files import read_bytes, read_json_object
from untemplate.vocabulary.gguf import Gguf
from untemplate.vocabulary.huggingface import read_optional, special_tokens

__all__ = ["TemplateSource", "read_source"]

DEFAULT, WITH_TOOLS = "default", "tool_use"
"""Names that transformers gives a meaning."""

_GGUF_TOKENS = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "sep_token": "seperator_token_id",
    "pad_token": "padding_token_id",
    "mask_token": "mask_token_id",
}
"""What a template calls a token, and GGUF's key for its id (spelt as the format spells it)."""


@dataclass(frozen=True, slots=True)
class TemplateSource:
    """The templates of one model."""

    templates: Mapping[str, str]
    """Source by name; `default` is the one without a name."""
    special_tokens: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    """`bos_token`, `eos_token` and others that a template sees under their names."""
    response_template: JSON = None
    """What the model's authors say about the form of its replies, if they do."""
    origin: str = ""
    """Where it was read."""

    def text(self, *, with_tools: bool = False) -> str:
        """The source for conversations with or without tools."""
        names = (WITH_TOOLS, DEFAULT) if with_tools else (DEFAULT,)
        for name in names:
            if name in self.templates:
                return self.templates[name]
        if len(self.templates) == 1:
            return next(iter(self.templates.values()))
        known = ", ".join(self.templates)
        raise TemplateError(
            f"none of its chat templates is the default one ({known})"
            if known
            else "it has no chat template; give one as a .jinja file",
            place=self.origin,
        )

    def compile(
        self, *, with_tools: bool = False, allowance: Allowance | None = None
    ) -> CompiledTemplate:
        """That source, compiled with the model's special tokens."""
        return CompiledTemplate(
            self.text(with_tools=with_tools),
            special_tokens=self.special_tokens,
            allowance=allowance,
        )


def read_source(path: str | Path) -> TemplateSource:
    """Read the templates of a GGUF file, a folder, or a file that holds one template."""
    path = Path(path)
    if path.is_dir():
        return _from_folder(path)
    if path.suffix == ".gguf":
        return _from_gguf(path)
    return TemplateSource({DEFAULT: _read_text(path)}, origin=str(path))


def _from_gguf(path: Path) -> TemplateSource:
    try:
        gguf = Gguf.open(path)
        return source_of(gguf)
    except VocabularyError as error:
        raise TemplateError(error.message, place=error.place) from error


def source_of(gguf: Gguf) -> TemplateSource:
    """The templates in metadata that was read already."""
    key = "tokenizer.chat_template"
    names = [name for name in gguf.values if name == key or name.startswith(key + ".")]
    pieces = gguf.texts("tokenizer.ggml.tokens")
    tokens: dict[str, JSON] = {}
    for name, id_key in _GGUF_TOKENS.items():
        token_id = gguf.integer(f"tokenizer.ggml.{id_key}")
        if token_id is not None and 0 <= token_id < len(pieces):
            tokens[name] = pieces[token_id].decode("utf-8", "replace")
    return TemplateSource(
        {name.removeprefix(key).removeprefix(".") or DEFAULT: gguf.text(name) for name in names},
        tokens,
        origin=gguf.path,
    )


def _from_folder(folder: Path) -> TemplateSource:
    config = read_optional(folder / "tokenizer_config.json", TemplateError)
    templates = _listed(config.get("chat_template"), folder / "tokenizer_config.json")
    processor = folder / "chat_template.json"
    if processor.is_file():
        listed = read_json_object(processor, TemplateError).get("chat_template")
        templates |= _listed(listed, processor)
    if (folder / "chat_template.jinja").is_file():
        templates[DEFAULT] = _read_text(folder / "chat_template.jinja")
    for file in sorted(folder.glob("additional_chat_templates/*.jinja")):
        templates[file.stem] = _read_text(file)
    return TemplateSource(
        templates,
        special_tokens(folder, config, TemplateError),
        config.get("response_template"),
        str(folder),
    )


def _listed(value: JSON, path: Path) -> dict[str, str]:
    """`chat_template` is one template, or a list of objects with a name and a template each."""
    match value:
        case None:
            return {}
        case str(text):
            return {DEFAULT: text}
        case list(items):
            found: dict[str, str] = {}
            for item in items:
                match item:
                    case {"name": str(name), "template": str(text)}:
                        found[name] = text
                    case _:
                        break
            else:
                return found
        case _:
            pass
    raise TemplateError("chat_template is neither text nor a list of named texts", place=str(path))


def _read_text(path: Path) -> str:
    try:
        return read_bytes(path, TemplateError).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TemplateError(f"not UTF-8 at byte {error.start}", place=str(path)) from error
