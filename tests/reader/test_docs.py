"""The page about reading: its example runs, and it lists every event."""

import re
from pathlib import Path
from typing import get_args

from untemplate.reader.events import Event

PAGE = (Path(__file__).parents[2] / "docs/reading.md").read_text(encoding="utf-8")


def test_the_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/reading.md", "exec"), {})
    out = capsys.readouterr().out
    assert "argument city Paris\n" in out
    assert 'live {"city": "Par\n' in out
    assert out.endswith('weather {"city": "Paris"} complete\n')


def test_every_event_is_listed():
    assert [e.__name__ for e in get_args(Event) if f"`{e.__name__}`" not in PAGE] == []
