"""Where the corpus is, for the tests that need it: 70 chat templates, cases, schemas."""

import os
from pathlib import Path

import pytest


def corpus_dir() -> Path:
    """The corpus folder, or a skip that says why; in CI a missing corpus is a failure."""
    folder = Path(
        os.environ.get("UNTEMPLATE_CORPUS") or Path(__file__).parents[2] / "shared/corpus"
    )
    if folder.is_dir():
        return folder
    reason = f"no corpus at {folder}: set UNTEMPLATE_CORPUS to its folder"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def template_source(name: str) -> str:
    """Source of one chat template of the corpus, by its name without `.jinja`."""
    return (corpus_dir() / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
