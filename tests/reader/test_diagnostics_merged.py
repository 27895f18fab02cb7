"""Diagnostics outside of calls are merged when there are many alike; those of calls never are."""

import json

from dialects import HERMES
from reader.feeding import feed, grammar_of
from untemplate.message import Diagnostic
from untemplate.reader import Diagnosed, Reader
from untemplate.reader.record import MOST_ALIKE

STRAY = "<tool_call> and "


def test_stray_markers_without_end_become_one_diagnostic_that_counts_them():
    many = 1000
    message, events = feed(grammar_of(HERMES), [(STRAY * many).encode()])
    *each, rest = [d for d in message.diagnostics if d.code == "not_a_call"]
    assert [d.count for d in each] == [1] * MOST_ALIKE
    assert rest.count == many - MOST_ALIKE
    assert rest.span == (MOST_ALIKE * len(STRAY), many * len(STRAY) - len(" and "))
    assert f"{many - MOST_ALIKE} times more" in rest.message
    assert [e.diagnostic for e in events if isinstance(e, Diagnosed)] == list(message.diagnostics)


def test_a_snapshot_keeps_the_count():
    reader = Reader(grammar_of(HERMES))
    reader.feed((STRAY * 30).encode())
    point = reader.snapshot()
    reader.feed((STRAY * 30).encode())
    reader.restore(point)
    assert reader.live.diagnostics[-1].count == 30 - MOST_ALIKE
    reader.feed((STRAY * 5).encode())
    assert reader.finish().diagnostics[-1].count == 35 - MOST_ALIKE


def test_what_is_wrong_with_calls_is_never_merged():
    call = json.dumps({"name": "f", "arguments": {"a": "x", "n": "no number"}})
    text = "\n".join(f"<tool_call>\n{call}\n</tool_call>" for _ in range(50))
    message, _ = feed(grammar_of(HERMES), [text.encode()])
    assert [d.code for d in message.diagnostics] == ["wrong_type"] * 50
    assert {d.count for d in message.diagnostics} == {1}


def test_a_diagnostic_stands_for_one_unless_it_says_more():
    assert Diagnostic("stray_marker", (0, 1), "a marker").count == 1
