"""Laws 2, 3, 5 to 8 on inputs that a fuzzer breeds by the code they reach."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from families import names

SCRIPT = Path(__file__).parent / "coverage_guided.py"


RUNS = 60_000


@pytest.mark.laws
def test_law_07_inputs_bred_by_coverage(tmp_path):
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed: it is in the group `fuzz`, `make fuzz` installs it")
    if len(names()) < 20:
        pytest.skip("no corpus: the fuzzer takes families of it")
    command = [sys.executable, SCRIPT, tmp_path / "inputs", f"-runs={RUNS}", "-max_len=100"]
    ran = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert f"Done {RUNS} runs" in ran.stderr
