"""The page of diagnostics and the reader's source name the same codes."""

import ast
import re
from pathlib import Path
from typing import get_args

import untemplate
from untemplate.message import DiagnosticCode

PAGE = Path(__file__).parents[1] / "docs" / "diagnostics.md"
CODES = set(get_args(DiagnosticCode))


def listed(page):
    """Codes in the first column of the tables of codes."""
    tables = page.partition("## What models get wrong")[0]
    cells = re.findall(r"^\|([^|]*)\|", tables, re.MULTILINE)
    return [code for cell in cells for code in re.findall(r"`(\w+)`", cell)]


def written():
    """String constants of the package, but for the list of codes itself."""
    for path in Path(untemplate.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_list = isinstance(node, ast.Assign) and "DiagnosticCode" in ast.dump(node.targets[0])
            if is_list:
                for inner in ast.walk(node):
                    inner.value = None
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_the_page_lists_every_code_once():
    codes = listed(PAGE.read_text(encoding="utf-8"))
    assert sorted(codes) == sorted(CODES)


def test_every_code_is_told_somewhere():
    assert set(written()) >= CODES


def test_the_table_of_slips_names_only_known_codes():
    slips = PAGE.read_text(encoding="utf-8").partition("## What models get wrong")[2]
    last = re.findall(r"\|([^|]*)\|$", slips, re.MULTILINE)
    assert {code for cell in last for code in re.findall(r"`(\w+)`", cell)} <= CODES
