"""What it costs to read a call while it is written, beside libraries that others use for that.

The output of a model comes in pieces of 4 bytes; after each piece the reader has to say what is
new. Ours is given the whole output, markers and all, and makes events and deltas of it. The others
are given the JSON text of the arguments alone, so they have less to do; none of them reads a call
that is not JSON. Most parse all that they have again at each piece; where that would take more than
ten seconds, 24 prefixes are timed and their mean is multiplied (marked ~).

CPU time of this process; ours the least of five runs. `make bench` installs the peers.
"""

import gc
import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from bench.peers import parsers
from untemplate.dialect import END, CallBlock, write_calls
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolCall
from untemplate.reader import Reader, deltas
from untemplate.turn import ChatTemplate

CODE = 'def f(x):\n    return "é" + x  # <b>\n'
PROSE = "Well, a < b and <b>bold</b> is so.\nIf x <y or y> z we go on; café is here. "
TOOL = Tool(
    "write_file",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "rows": {"type": "array"},
        },
    },
)
FORMATS = {
    "JSON": "Qwen-Qwen3-0.6B",
    "tagged": "Qwen3-Coder",
    "Python": "LFM2.5-8B-A1B",
    "Harmony": "openai-gpt-oss-120b",
    "own quotes": "google-gemma-4-31B-it",
}
KB = 1024
SAMPLES = 24
MOST_SECONDS = 10
ROUNDS = 5


def text_of(size):
    return CODE * (size // len(CODE.encode()))


def rows_of(size):
    rows, used = [], 0
    while used < size:
        n = len(rows)
        rows.append({"id": n, "name": f"row {n}", "ok": n % 2 == 0, "score": n / 2})
        used += len(json.dumps(rows[-1])) + 2
    return rows


SHAPES = {
    "1 KB": [{"path": "a.py", "content": text_of(KB)}],
    "4 KB": [{"path": "a.py", "content": text_of(4 * KB)}],
    "16 KB": [{"path": "a.py", "content": text_of(16 * KB)}],
    "64 KB": [{"path": "a.py", "content": text_of(64 * KB)}],
    "rows, 64 KB": [{"path": "a", "rows": rows_of(64 * KB)}],
    "20 calls, 64 KB": [{"path": f"{n}.py", "content": text_of(64 * KB // 20)} for n in range(20)],
}


def pieces_of(text, size=4):
    return [text[at : at + size] for at in range(0, len(text), size)]


# ------------------------------------------------------------------------------------------- ours


@dataclass
class Cost:
    """Of one reading."""

    seconds: float
    flat: float
    """Cost of the last quarter of the pieces over that of the first."""


def dialects():
    folder = Path(
        os.environ.get("UNTEMPLATE_CORPUS") or Path(__file__).parents[2] / "shared/corpus"
    )
    found = {}
    for name, template in FORMATS.items():
        path = folder / "templates" / f"{template}.jinja"
        if path.is_file():
            source = path.read_text(encoding="utf-8")
            found[name] = ChatTemplate(source, bos_token="<s>", eos_token="</s>").dialect
    return found


def output(dialect, calls):
    """What a model writes that makes these calls."""
    prompt = dialect.prompts[0]
    name = next(n for n, b in dialect.blocks.items() if isinstance(b, CallBlock))
    ways = [o.literal for o in prompt.openings if o.block == name]
    for opening in prompt.openings:
        ways += [
            opening.literal + e.literal
            for e in dialect.edges_from(opening.block)
            if e.target == name
        ]
    end = next((e.literal for e in dialect.edges_from(name) if e.target == END), "")
    written = [
        ToolCall(n, f"abcdefgh{n}", TOOL.name, json.dumps(a, ensure_ascii=False))
        for n, a in enumerate(calls)
    ]
    return (ways[0] + write_calls(replace(dialect, written={}), name, written) + end).encode()


def read_once(grammar, pieces):
    reader = Reader(grammar)
    quarter = max(1, len(pieces) // 4)
    parts = [pieces[:quarter], pieces[quarter:-quarter], pieces[-quarter:]]
    clock = [time.process_time()]
    for part in parts:
        for piece in part:
            deltas(reader.feed(piece))
        clock.append(time.process_time())
    message = reader.finish()
    end = time.process_time()
    first, last = clock[1] - clock[0], clock[3] - clock[2]
    return Cost(end - clock[0], last / max(first, 1e-9)), message


def ours(grammar, data, *, size=4, calls=(), rounds=ROUNDS):
    """The least cost of some rounds; more of them where one is short."""
    pieces = pieces_of(data, size)
    costs = []
    rounds = max(rounds, 5000 // len(pieces))
    for _ in range(rounds):
        gc.collect()
        cost, message = read_once(grammar, pieces)
        costs.append(cost)
    assert [json.loads(c.arguments) for c in message.tool_calls] == list(calls)
    return Cost(min(c.seconds for c in costs), min(c.flat for c in costs))


# ------------------------------------------------------------------------------------------ peers


def seconds(run):
    started = time.process_time()
    run()
    return time.process_time() - started


def parsed_again(peer, text):
    """Seconds to parse all that there is at each piece, and whether it is an estimate."""
    pieces = pieces_of(text)
    ends = [(2 * n + 1) * len(pieces) // (2 * SAMPLES) + 1 for n in range(SAMPLES)]
    mean = sum(seconds(lambda e=e: peer.again(text[: 4 * e])) for e in ends) / SAMPLES
    if mean * len(pieces) > MOST_SECONDS:
        return mean * len(pieces), True

    def run():
        for end in range(1, len(pieces) + 1):
            peer.again(text[: 4 * end])

    return seconds(run), False


def streamed(peer, text):
    feed, value = peer.stream()
    pieces = pieces_of(text)
    if peer.name == "openai-python":
        pieces = [parsers.openai_piece(p) for p in pieces]

    def run():
        for piece in pieces:
            feed(piece)

    found = seconds(run)
    assert value() == json.loads(text)
    return found, False


def theirs(peer, calls):
    costs = []
    for arguments in calls if len(calls) < 20 else calls[:1]:
        text = json.dumps(arguments, ensure_ascii=False)
        costs.append(parsed_again(peer, text) if peer.again else streamed(peer, text))
    times = len(calls) // len(costs)  # calls of one size cost the same
    return sum(c[0] for c in costs) * times, any(c[1] for c in costs)


# ----------------------------------------------------------------------------------------- tables


def shown(cost, *, is_estimate=False):
    digits = 3 if cost < 1 else 1 if cost < 100 else 0
    return f"{'~' if is_estimate else ''}{cost:.{digits}f}"


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def beside_peers(grammar, dialect):
    row("CPU seconds, pieces of 4 bytes", *SHAPES)
    row("---", *["--:"] * len(SHAPES))
    costs = [
        ours(grammar, output(dialect, calls), calls=calls).seconds for calls in SHAPES.values()
    ]
    row("**untemplate** (whole output)", *map(shown, costs))
    for peer in parsers.installed():
        found = [theirs(peer, calls) for calls in SHAPES.values()]
        row(f"{peer.name} {peer.version}", *(shown(c, is_estimate=e) for c, e in found))
        ratios = [c / own for (c, _), own in zip(found, costs, strict=True)]
        row("  times ours", *(f"{r:.0f}×" if r >= 10 else f"{r:.1f}×" for r in ratios))
    if missing := parsers.absent():
        print(f"\nNot installed: {', '.join(missing)}.")


def by_format(found):
    heads = ["64 KB", "by 1 byte", "by 16 bytes", "256 KB", "rows", "20 calls", "prose"]
    row("ours by format, CPU seconds (last quarter / first)", *heads)
    row("---", *["--:"] * len(heads))
    calls = {name: SHAPES[name] for name in ("64 KB", "rows, 64 KB", "20 calls, 64 KB")}
    big = [{"path": "a.py", "content": text_of(256 * KB)}]
    prose = (PROSE * (64 * KB // len(PROSE.encode()))).encode()
    for name, dialect in found.items():
        grammar = build_grammar(dialect, [TOOL], prompt=dialect.prompts[0])
        string = output(dialect, calls["64 KB"])
        costs = [
            ours(grammar, string, calls=calls["64 KB"]),
            ours(grammar, string, size=1, calls=calls["64 KB"], rounds=3),
            ours(grammar, string, size=16, calls=calls["64 KB"]),
            ours(grammar, output(dialect, big), calls=big, rounds=3),
        ]
        cells = [f"{shown(c.seconds)} ({c.flat:.2f})" for c in costs]
        for shape in ("rows, 64 KB", "20 calls, 64 KB"):
            if len(calls[shape]) > (dialect.calls_max or 20):
                cells.append("–")
                continue
            data = output(dialect, calls[shape])
            cells.append(shown(ours(grammar, data, calls=calls[shape]).seconds))
        cells.append(shown(ours(grammar, prose).seconds))
        row(name, *cells)
    if missing := [n for n in FORMATS if n not in found]:
        print(f"\nNo corpus, so without: {', '.join(missing)}.")


def main():
    found = dialects()
    by_format(found)
    print()
    if "JSON" in found:
        dialect = found["JSON"]
        beside_peers(build_grammar(dialect, [TOOL], prompt=dialect.prompts[0]), dialect)


if __name__ == "__main__":
    main()
