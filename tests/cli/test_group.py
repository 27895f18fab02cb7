import subprocess
import sys

import pytest
from click.testing import CliRunner

from untemplate.cli import main


def run(*args: str, **options):
    return CliRunner().invoke(main, args, **options)


def test_help_lists_all_commands():
    for args in ((), ("--help",)):
        result = run(*args)
        assert result.exit_code == 0
        for command in ("serve", "chat", "models", "inspect", "render", "parse"):
            assert f"\n  {command}" in result.output


def test_help_imports_no_command():
    code = (
        "import sys\nfrom untemplate.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    for name in ("jinja2", "starlette", "pydantic", "msgspec", "numpy", "untemplate.turn"):
        assert f"'{name}'" not in done.stdout


def test_the_module_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "untemplate", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.returncode == 0
    assert "version" in done.stdout


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (["zork"], "untemplate: No such command 'zork'. (see"),
        (["--zork"], "untemplate: No such option '--zork'. (see"),
        (["models"], "untemplate: Missing command. (see"),
        (["models", "pull", "gpt-9"], "untemplate: Invalid value for"),
    ],
)
def test_a_wrong_call_is_one_line_and_status_2(args, error):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(error)
    assert result.stderr.count("\n") == 1


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette", None)
    for name in [m for m in sys.modules if m.startswith(("untemplate.server", "starlette."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "untemplate.cli.serve", raising=False)
    result = run("serve")
    assert result.exit_code == 2
    assert result.stderr == (
        "untemplate: starlette is not installed: pip install 'untemplate[server]'\n"
    )
