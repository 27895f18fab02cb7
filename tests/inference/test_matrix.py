"""The robustness matrix: what its cells mean, and that all templates have good ones."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from corpus import corpus_dir
from dialects import CODER, DEEPSEEK, HERMES, NEMO, QWEN3
from untemplate.cli import main
from untemplate.dialect import CallBlock
from untemplate.inference.matrix import COLUMNS, Cell, Row, matrix


def cells(dialect):
    (row,) = matrix([("x", dialect)])
    return row.cells


@pytest.mark.parametrize("dialect", [HERMES, QWEN3, NEMO, CODER, DEEPSEEK])
def test_what_is_in_order_is_read_and_what_is_not_is_marked(dialect):
    found = cells(dialect)
    for name in ("one call", "two calls", "optional first"):
        assert found[name] == Cell("read")
    assert found["parallel off"] == Cell("marked", "unrequested")
    assert "missing" in found["required missing"].why
    assert found["undeclared"] == Cell("marked", "undeclared_argument")
    assert found["wrong type"] == Cell("marked", "wrong_type")
    assert "unknown_tool" in found["unknown tool"].why
    assert found["text after"].kind == "marked"


def test_a_second_call_is_written_where_the_format_has_one():
    single = replace(
        HERMES, calls_max=1, edges=tuple(e for e in HERMES.edges if e.source != e.target)
    )
    assert cells(single)["two calls"].kind != "read"


def test_a_dialect_without_calls_has_no_row():
    blocks = {n: b for n, b in HERMES.blocks.items() if not isinstance(b, CallBlock)}
    assert list(matrix([("x", replace(HERMES, blocks=blocks))])) == []


def test_a_row_is_good_unless_a_cell_failed():
    assert Row("x", {"a": Cell("read"), "b": Cell("marked", "m")}).is_good
    assert not Row("x", {"a": Cell("read"), "b": Cell("failed", "raises")}).is_good


def test_the_command_has_a_line_for_each_template(tmp_path):
    name = "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja"
    source = (corpus_dir() / "templates" / name).read_text(encoding="utf-8")
    (tmp_path / "hermes.jinja").write_text(source, encoding="utf-8")
    (tmp_path / "broken.jinja").write_text("{% for m in messages %}", encoding="utf-8")
    result = CliRunner().invoke(main, ["matrix", "--templates", str(tmp_path)])
    lines = result.stdout.splitlines()
    assert lines[0].split("  ")[0] == "template"
    assert lines[1].split()[:3] == ["hermes", "ok", "ok"]
    assert lines[-1].startswith("1 templates, ")
    assert result.stderr.startswith("broken: ")
    result = CliRunner().invoke(main, ["matrix", "--templates", str(tmp_path), "--json"])
    (row,) = json.loads(result.stdout)
    assert set(row) == {"template", *COLUMNS}
    assert row["two calls"] == {"is": "read", "why": ""}
