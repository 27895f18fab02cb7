"""Analyses kept in files."""

import json
import sys
from dataclasses import replace

import pytest

from corpus import template_source
from untemplate.cli.kept import KeptAnalyses
from untemplate.inference import analyse
from untemplate.template.rendering import CompiledTemplate


@pytest.fixture
def compiled():
    return CompiledTemplate(template_source("Qwen3-Coder"))


def test_an_analysis_is_written_once_and_read_again(tmp_path, compiled):
    kept = KeptAnalyses(tmp_path / "new" / "folder")
    first = analyse(compiled, seed=501, cache=kept)
    (file,) = (tmp_path / "new" / "folder").iterdir()
    plain = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**plain, "notes": ["from the file"]}), encoding="utf-8")
    sys.modules["untemplate.inference.analyse"]._kept.clear()  # as in another process
    again = analyse(compiled, seed=501, cache=kept)
    assert again == replace(first, notes=("from the file",))


def test_only_the_newest_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("untemplate.cli.kept._MOST", 3)
    kept = KeptAnalyses(tmp_path)
    for number in range(5):
        kept.put(f"k{number}", str(number))
    assert len(list(tmp_path.iterdir())) == 3
    assert kept.get("k4") == "4"


def test_a_folder_that_can_not_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    kept = KeptAnalyses(tmp_path / "file" / "below")
    kept.put("k", "text")
    assert kept.get("k") is None
