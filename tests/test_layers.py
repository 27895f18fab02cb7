"""Which package may import which. This list is the architecture; docs/architecture.md draws it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/untemplate"

CORE = ["message", "vocabulary", "dialect", "grammar", "reader", "constrain"]
CORE += ["template", "inference", "budget", "turn"]
ALL = [*CORE, "wire", "engines", "loop", "server", "integrations"]

MAY_IMPORT = {
    "errors": [],
    "message": [],
    "vocabulary": ["message"],
    "dialect": ["message"],
    "grammar": ["message", "dialect"],
    "reader": ["message", "dialect", "grammar", "vocabulary"],
    "constrain": ["message", "dialect", "grammar", "vocabulary"],
    "template": ["message", "vocabulary"],
    "inference": ["message", "template", "dialect", "grammar", "reader"],
    "budget": ["message", "vocabulary", "dialect", "grammar", "constrain", "template"],
    "turn": CORE,
    "wire": ["message"],
    "engines": ["message", "vocabulary", "constrain", "turn", "wire"],
    "loop": ["message", "vocabulary", "reader", "budget", "turn", "engines", "wire"],
    "server": ALL,
    "integrations": ALL,
    "cli": [*ALL, "testing"],
    "testing": ALL,
}

EXTRAS = ["tokenizers", "starlette", "uvicorn", "msgspec", "pydantic", "httpx2", "mcp"]
EXTRAS += ["opentelemetry", "xllamacpp", "llama_cpp", "anyio"]


def package_of(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path):
    """Our packages that a module imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module or ""]
            if node.module == "untemplate":
                names = [f"untemplate.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (n.split(".")[1] for n in names if n.startswith("untemplate."))


MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or p.stem in MAY_IMPORT)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    package = package_of(path)
    allowed = {*MAY_IMPORT[package], package, "errors"}
    assert set(imports(path)) <= allowed


def test_every_package_is_in_the_list():
    assert {package_of(p) for p in SOURCE.rglob("*.py")} - {"__init__", "__main__"} <= {*MAY_IMPORT}


def loaded_by(code):
    """CPU seconds of a statement in a fresh interpreter, and the packages that it loads."""
    code = (
        f"import json, sys, time; start = time.process_time(); {code}; "
        "print(json.dumps([time.process_time() - start, list(sys.modules)]))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    seconds, modules = json.loads(out)
    return seconds, {name.split(".")[0] for name in modules}


def test_importing_the_library_is_quick():
    assert min(loaded_by("import untemplate")[0] for _ in range(3)) < 0.15


def test_the_core_imports_no_extra_and_nothing_heavy():
    _, packages = loaded_by("from untemplate import *")
    assert not packages & {*EXTRAS, "jinja2", "numpy", "jsonschema_rs", "click"}
