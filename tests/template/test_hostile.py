"""No template takes more than a second or 500 MB; each says in one line where it was stopped."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.template.hostile import ENDLESS, REFUSED

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")


@pytest.fixture(scope="module")
def verdicts():
    child = subprocess.run(
        [sys.executable, Path(__file__).with_name("hostile.py")],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert child.returncode == 0, child.stderr[-2000:]
    lines = (json.loads(line) for line in child.stdout.splitlines())
    return {name: verdict for name, *verdict in lines}


@pytest.mark.parametrize("name", ENDLESS)
def test_endless_templates_are_stopped(verdicts, name):
    kind, said, seconds = verdicts[name]

    assert (kind, said) == ("LimitError", said)
    assert "\n" not in said
    assert re.match(r"template( line \d+)?: ", said), said
    assert seconds < 1.0


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_allowed_is_refused(verdicts, name):
    kind, said, seconds = verdicts[name]

    assert (kind, said) == ("TemplateError", said)
    assert "\n" not in said
    assert re.match(r"template( line \d+)?: ", said), said
    assert len(said) < 500
    assert seconds < 1.0
