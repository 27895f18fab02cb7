"""Laws 2, 3, 5, 7 and 8 on inputs that a fuzzer breeds by the code they reach."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from families import names

SCRIPT = Path(__file__).parent / "coverage_guided.py"


@pytest.mark.laws
def test_law_07_inputs_bred_by_coverage(tmp_path):
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed: it is in the group `fuzz`, `make fuzz` installs it")
    if len(names()) < 20:
        pytest.skip("no corpus: the fuzzer takes families of it")
    command = [sys.executable, SCRIPT, tmp_path / "inputs", "-runs=20000", "-max_len=300"]
    ran = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-4000:]
    assert "Done 20000 runs" in ran.stderr
