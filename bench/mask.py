"""Masks for JSON Schemas, beside llguidance, xgrammar and outlines-core, in one process and thread.

    python -m venv PEERS && PEERS/bin/pip install -e . --group bench
    UNTEMPLATE_CORPUS=CORPUS PEERS/bin/python -m bench.mask --vs llguidance,xgrammar

The corpus has two sets of schemas, each with valid and invalid values: 400 parameter schemas of
tools, and 324 schemas from the wild. Values are written as `json.dumps` writes them, encoded by the
tokenizer, and checked token by token against the mask. *All-right*: the schema compiles, the mask
alone lets every valid value through and no invalid one. Objects are open, as the specification
says.

All times are CPU of the thread. `first mask`: from the schema to the first mask, with nothing
known of the schema. `new`: the same, and all masks and steps of one valid value. `known`: that
value again as a new request. Cold masks are those of the first value, warm ones those of its
second writing.
The last table asks for what an agent asks for: a call of a new tool, forced tokens not masked.
"""

import argparse
import gzip
import json
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from bench import tokenizers
from bench.mask_engines import ENGINES
from untemplate.constrain import compile_grammar, shared_masks
from untemplate.dialect import END, Hole, fill
from untemplate.grammar import build_grammar
from untemplate.message import Tool, ToolChoice
from untemplate.turn import ChatTemplate
from untemplate.vocabulary.huggingface import from_hf

now = time.thread_time_ns
SETS = {"tools": "bfcl", "wild": "jsonschemabench"}
_KEYWORD = re.compile(
    r"[`'\"]?(oneOf|anyOf|allOf|not|if|dependencies|dependentRequired|uniqueItems|"
    r"contains|propertyNames|pattern|format|unevaluated\w+|\$ref|minContains)\b"
)


def schemas(name):
    """The schemas of a set, with their values."""
    corpus = Path(os.environ.get("UNTEMPLATE_CORPUS", "../shared/corpus"))
    with gzip.open(corpus / f"schemas/{SETS[name]}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Tally:
    """What one engine did on one set with one vocabulary."""

    def __init__(self):
        self.handled = self.right = self.all = 0
        self.valid = [0, 0]
        self.invalid = [0, 0]
        self.wrong = Counter()
        self.times = {k: [] for k in ("first", "new", "known", "cold", "warm")}

    def count(self, engine, vocabulary, row):
        """Runs one schema."""
        self.all += 1
        tests = [(t["valid"], json.dumps(t["data"])) for t in row["tests"]]
        tests = [(good, vocabulary.encode(text, special=False)) for good, text in tests]
        start = now()
        try:
            kept = engine.compile(row["schema"])
            request = engine.start(kept)
            request.fill()
            self.times["first"].append(now() - start)
        except Exception as error:  # noqa: BLE001  each engine has its own
            self.wrong["refused: " + reason(str(error))] += 1
            self.valid[1] += sum(good for good, _ in tests)
            self.invalid[1] += sum(not good for good, _ in tests)
            return
        self.handled += 1
        timed = next((ids for good, ids in tests if good), None)
        if timed is not None:
            self.time(engine, kept, timed, self.times["first"][-1])
        faults = {"valid value refused": 0, "invalid value accepted": 0}
        for good, ids in tests:
            accepted = self.accepts(engine.start(kept), ids, vocabulary.eos)
            counts = self.valid if good else self.invalid
            counts[0] += accepted == good
            counts[1] += 1
            if accepted != good:
                faults["valid value refused" if good else "invalid value accepted"] += 1
        self.right += not any(faults.values())
        for fault, number in faults.items():
            if number:
                self.wrong[f"{fault}: {keywords(row['schema'])}"] += 1

    @staticmethod
    def accepts(request, ids, eos):
        """Whether every token is in its mask, and the value may end."""
        for token_id in ids:
            request.fill()
            if not request.row[token_id >> 5] >> (token_id & 31) & 1:
                return False
            if not request.advance(token_id):
                return False
        return bool(request.ends(eos))

    def time(self, engine, kept, ids, first):
        """Masks and steps of one value, twice. The first mask was made already."""
        cold, spent = self.masks(engine.start(kept), ids)
        self.times["cold"] += cold
        self.times["new"].append(first + spent)
        start = now()
        request = engine.start(kept)
        for token_id in ids:
            request.fill()
            if not request.advance(token_id):
                break
        self.times["known"].append(now() - start)
        self.times["warm"] += self.masks(engine.start(kept), ids)[0]

    @staticmethod
    def masks(request, ids):
        """The time of each mask, and of all with their steps."""
        found = []
        begun = now()
        for token_id in ids:
            start = now()
            request.fill()
            found.append(now() - start - TICK)
            if not request.advance(token_id):
                break
        return found, now() - begun - 2 * TICK * len(found)


def tick():
    """What reading the clock takes."""
    start = now()
    for _ in range(10_000):
        now()
    return (now() - start) // 10_000


TICK = tick()


def reason(message):
    """The keyword that an error is about, or how it begins."""
    found = _KEYWORD.search(message)
    return found[1] if found else " ".join(message.split())[:60]


def keywords(schema):
    """The less common keywords of a schema."""
    found = sorted(set(_KEYWORD.findall(json.dumps(schema))))
    return ", ".join(found) or "plain"


def quantiles(values, unit, *parts):
    """p50 / p95 / ... / max."""
    if not values:
        return "–"
    values = sorted(values)
    at = [values[min(int(len(values) * p), len(values) - 1)] for p in parts] + [values[-1]]
    return " / ".join(f"{v / unit:.3g}" if v / unit < 100 else f"{v / unit:.0f}" for v in at)


def report(name, engines, named, folder, limit):
    """One table."""
    vocabulary_name, vocabulary = named
    rows = schemas(name)
    rows = rows[:: max(len(rows) // (limit or len(rows)), 1)]
    print(f"\n### {len(rows)} schemas, {name}, vocabulary of {vocabulary_name}\n")
    print(
        "| engine | handled | all-right | valid accepted | invalid rejected "
        "| first mask ms p50 / p95 / max | new ms | known ms "
        "| cold mask µs p50 / p95 / p99 / max | warm mask µs |"
    )
    print("|---" * 10 + "|")
    notes = []
    for engine_name in engines:
        engine = ENGINES[engine_name](folder, vocabulary)
        tally = Tally()
        for row in rows:
            tally.count(engine, vocabulary, row)
        times = tally.times
        cells = [
            f"{tally.handled}", f"{tally.right} ({100 * tally.right / tally.all:.1f} %)",
            "{}/{}".format(*tally.valid), "{}/{}".format(*tally.invalid),
            *(quantiles(times[k], 1e6, 0.5, 0.95) for k in ("first", "new", "known")),
            *(quantiles(times[k], 1e3, 0.5, 0.95, 0.99) for k in ("cold", "warm")),
        ]  # fmt: skip
        print(f"| {engine_name} | " + " | ".join(cells) + " |", flush=True)
        wrong = "; ".join(f"{what} ({n})" for what, n in tally.wrong.most_common())
        notes.append(f"{engine_name}, not all-right: {wrong or 'none'}.")
    print("\n" + "\n\n".join(notes), flush=True)


def call_ids(dialect, tool, arguments, vocabulary):
    """A turn that is one call."""
    block = dialect.blocks["call"]
    values = {Hole.NAME: tool.name, Hole.ARGUMENTS: block.arguments.write(arguments)}
    opening = next(o for o in dialect.prompts[0].openings if o.block == "call")
    end = next(e for e in dialect.edges if e.source == "call" and e.target == END)
    text = opening.literal + fill(block.pattern, values) + end.literal
    return [*vocabulary.encode(text, special=True), vocabulary.eos]


def write(constraint, ids):
    """Writes a turn as an engine does: what is forced is not masked. The number of masks."""
    row = np.zeros((1, constraint.words), np.int32)[0]
    at = count = 0
    while True:
        forced = constraint.forced()
        if forced and ids[at : at + len(forced)] == forced:
            for token_id in forced:
                constraint.advance(token_id)
            at += len(forced)
            continue
        if at < len(ids) or not count:
            constraint.fill(row)
            count += 1
        if at >= len(ids):
            return count
        assert row[ids[at] >> 5] >> (ids[at] & 31) & 1, "the template's own call is refused"
        constraint.advance(ids[at])
        at += 1


def report_calls(vocabulary, folder, limit):
    """A call of a new tool, and 60 tools at once, as the model's own template writes them."""
    dialect = ChatTemplate.open(folder).dialect
    if "call" not in dialect.blocks:
        print("\nThe template has no calls.")
        return
    new, known, masks, first, tools = [], [], [], [], []
    for row in schemas("tools")[:limit]:
        value = next((t["data"] for t in row["tests"] if t["valid"]), None)
        if value is None:
            continue
        tool = Tool(re.sub(r"\W", "_", row["name"]), "", row["schema"])
        tools.append(tool)
        ids = call_ids(dialect, tool, value, vocabulary)
        for times in (new, known):
            start = now()
            grammar = build_grammar(dialect, (tool,), ToolChoice("required"))
            constraint = compile_grammar(grammar, vocabulary).constraint()
            count = write(constraint, ids)
            times.append(now() - start)
        masks.append(count)
    for at in range(0, max(len(tools) - 60, 1), 30):
        some = tuple({t.name: t for t in tools[at : at + 60]}.values())
        start = now()
        grammar = build_grammar(dialect, some, ToolChoice("auto"))
        write(compile_grammar(grammar, vocabulary).constraint(), [])
        first.append(now() - start)
    print("\n| calls in the template's own form | ms p50 / p95 / max |\n|---|---|")
    print(
        f"| a new tool: compile, {sum(masks) / len(masks):.0f} masks and all steps "
        f"| {quantiles(new, 1e6, 0.5, 0.95)} |"
    )
    print(f"| the same again | {quantiles(known, 1e6, 0.5, 0.95)} |")
    print(f"| 60 tools: first mask | {quantiles(first, 1e6, 0.5, 0.95)} |")
    print(f"\nShared by all grammars: {shared_masks(vocabulary)}", flush=True)


def main(arguments=()):
    """The tables that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.mask", description=__doc__)
    parser.add_argument("--vs", default="", help="peers, by comma: " + ", ".join(ENGINES))
    parser.add_argument("--vocabularies", default="llama3_1,qwen3")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument(
        "--limit", type=int, help="about so many schemas of each set, evenly spaced"
    )
    options = parser.parse_args(list(arguments))
    engines = ["untemplate", *filter(None, options.vs.split(","))]
    for name in options.vocabularies.split(","):
        folder = tokenizers.folder(name)
        vocabulary = from_hf(folder)
        vocabulary.encode("", special=False)
        if name == "qwen3":
            report_calls(vocabulary, folder, options.limit)
        for kind in options.sets.split(","):
            report(kind, engines, (name, vocabulary), folder, options.limit)


if __name__ == "__main__":
    main(sys.argv[1:])
