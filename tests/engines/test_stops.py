"""Stop strings: the same result whatever the cuts."""

from hypothesis import given
from hypothesis import strategies as st

from untemplate.engines.stops import StopScanner

TEXT = st.text("ab<>", max_size=30).map(str.encode)
STOPS = st.lists(st.text("ab<>", min_size=1, max_size=5).map(str.encode), max_size=4)


def slow(text, stops):
    """Everything before the stop that is complete first; of those the one that began first."""
    for end in range(len(text) + 1):
        begins = [end - len(s) for s in stops if text[:end].endswith(s)]
        if begins:
            return text[: min(begins)], True
    return text, False


def scan(pieces, stops, **options):
    scanner = StopScanner(stops, **options)
    out = [scanner.feed(piece) for piece in pieces]
    if not scanner.stopped:
        out.append(scanner.finish())
    return b"".join(out), scanner.stopped


@given(TEXT, STOPS, st.data())
def test_any_cut_gives_what_the_whole_text_gives(text, stops, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    expected = slow(text, stops)
    assert scan([text], stops) == expected
    assert scan(pieces, stops) == expected
    assert scan([bytes([b]) for b in text], stops) == expected


@given(TEXT, STOPS)
def test_no_more_is_held_back_than_may_become_a_stop(text, stops):
    scanner = StopScanner(stops)
    given_out = b""
    for i, byte in enumerate(text):
        given_out += scanner.feed(bytes([byte]))
        if scanner.stopped:
            break
        held = text[len(given_out) : i + 1]
        assert not held or any(stop.startswith(held) for stop in stops)


def test_a_stop_that_began_before_a_cut_is_seen_after_it():
    assert scan([b"p>x"], [b"<stop>"], before=b"text<sto") == (b"", True)
    assert scan([b"px"], [b"<stop>"], before=b"text<sto") == (b"px", False)


def test_a_stop_that_lies_wholly_before_the_cut_does_not_count():
    assert scan([b"abc"], [b"<>", b"longer than that"], before=b"a<>b") == (b"abc", False)


def test_nothing_comes_after_a_stop():
    scanner = StopScanner([b"s"])
    assert scanner.feed(b"as") == b"a"
    assert scanner.feed(b"more") == b""
