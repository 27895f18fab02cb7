"""No marker is looked for by name, and no model: what a template tells is found by asking it."""

import ast
import re
from pathlib import Path

import untemplate
from untemplate.dialect import given_for

MARKERS = re.compile(
    r"<\|\w|\|>|<｜|</?think|tool_call>|\[TOOL|\[/?INST|\[/?THINK|<start_of|<end_of"
    r"|<function|<parameter|<invoke|im_start|im_end|to=functions"
)
MODELS = re.compile(
    r"\b(qwen|hermes|mistral|llama-?\d|gemma|deepseek|kimi|minimax|granite|command-?r|gpt-oss"
    r"|functionary|phi-?\d|glm|smollm|nemotron|harmony)",
    re.IGNORECASE,
)


FORMATS = ("dialect", "inference", "template", "grammar", "reader", "constrain", "turn")
"""The parts that deal with formats."""


def strings(*parts):
    """All string constants in these parts of the package that are not docstrings."""
    package = Path(untemplate.__file__).parent
    for path in sorted(p for part in parts for p in (package / part).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docs:
                yield f"{path.name}:{node.lineno}", node.value


def test_no_marker_stands_in_code():
    found = [(where, text) for where, text in strings(".") if MARKERS.search(text)]
    assert not found


def test_no_name_of_a_model_stands_in_code():
    found = [(where, text) for where, text in strings(*FORMATS) if MODELS.search(text)]
    assert not found


def test_a_template_of_unknown_markers_matches_no_data():
    assert given_for("{{ messages }} <<unknown>>") == ()
