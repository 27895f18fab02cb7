"""Analyses kept in files."""

import json
import sys
from dataclasses import replace

import pytest

from corpus import template_source
from untemplate.cli import kept as kept_module
from untemplate.cli.kept import KeptAnalyses, KeptFiles, warm
from untemplate.constrain import trie, trie_store
from untemplate.inference import analyse
from untemplate.template.rendering import CompiledTemplate
from untemplate.vocabulary import byte_vocabulary


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


def test_only_the_newest_are_kept(tmp_path):
    kept = KeptFiles(tmp_path, ".json", 3)
    (tmp_path / "of another kind").touch()
    for number in range(5):
        kept.put(f"k{number}", b"%d" % number)
    assert len(list(tmp_path.iterdir())) == 4
    assert kept.get("k4") == b"4"


def test_tries_are_kept_and_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("UNTEMPLATE_ANALYSES", str(tmp_path))
    kept_module._kept_tries.cache_clear()
    made = []
    monkeypatch.setattr(
        trie_store,
        "load",
        lambda v, data, load=trie_store.load: made.append(load(v, data)) or made[-1],
    )
    vocabulary = byte_vocabulary(["<kept>"], eos="<kept>")
    warm(vocabulary)
    (file,) = (tmp_path / "tries").iterdir()
    trie._held.cache_clear()  # as in another process
    warm(vocabulary)
    assert made[0] is None
    assert trie.token_trie(vocabulary) is made[1]
    file.write_bytes(b"damaged")
    trie._held.cache_clear()
    warm(vocabulary)
    assert made[2] is None
    assert trie_store.load(vocabulary, file.read_bytes()) is not None
    kept_module._kept_tries.cache_clear()


def test_a_folder_that_can_not_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    kept = KeptAnalyses(tmp_path / "file" / "below")
    kept.put("k", "text")
    assert kept.get("k") is None
