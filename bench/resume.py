"""What it costs to finish a cut call: going on in place, against asking again.

200 calls of the embedded model over ten tools, greedy, all ten in the prompt, each cut after every
token. In place: each cut is gone on with from its resume point, with the cache kept. Asked again,
as hosts do that can't resume: the same request is written from its start, with its prompt in the
cache, and for each cut the time counts until the first token behind it. Ways that cost seconds are
measured at one cut of every tenth call: after other requests, from the saved state; without any
cache; and by the text of what was written (`continue_final_message`).

Counted are tokens that were evaluated before the cut and again after it (asking again, those that
were written again too), the time to the first new token, and calls that are byte for byte what the
uncut run wrote. Give a number to take that many calls instead of 200.
"""

import random
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.llama.engine import LlamaEngine
from untemplate.engines.llama.model import Model
from untemplate.engines.models import pull
from untemplate.engines.sampling import Sampling
from untemplate.message import Message, ToolChoice
from untemplate.turn import ChatTemplate, Turn

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from cut_calls import TOOLS, asks

CALLS = 200
SAMPLED = 10
"""Of so many calls one is finished in the slow ways too."""
GREEDY = Sampling(temperature=0)


@dataclass
class Cost:
    """One way to finish calls."""

    again: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    same: int = 0
    calls: int = 0

    def row(self, name: str) -> str:
        return (
            f"| {name} | {len(self.seconds)} | {statistics.median(self.again):.0f} "
            f"| {statistics.median(self.seconds):.3f} | {self.same} of {self.calls} |"
        )


class Bench:
    def __init__(self, engine: LlamaEngine, template: ChatTemplate) -> None:
        self.engine = engine
        self.template = template

    def begin(self, messages, tool, **options) -> Turn:
        choice = ToolChoice("required", tool.name, parallel=False)
        return self.template.turn(
            messages, tools=TOOLS, tool_choice=choice, nonce="bench", **options
        )

    def run(self, turn, **options) -> Message:
        options = {"sampling": GREEDY, "reuse": "exact", **options}
        *_, last = self.engine.generate(turn, **options)
        assert isinstance(last, Finished)
        return last.message

    def finish(self, cost: Cost, cut: Turn, make, **options) -> tuple[Turn, Message]:
        """Goes on with a turn, and notes what stood before its first new token."""
        evaluated = cut.batches[-1][1]
        started = time.perf_counter()
        turn = make()
        is_first = True
        message = None
        for event in self.engine.generate(
            turn, **{"sampling": GREEDY, "reuse": "exact", **options}
        ):
            match event:
                case Prompted(prompt, cached, _):
                    kept = cached if cached < prompt else max(evaluated, cached)
                    cost.again.append(max(0, evaluated - kept))
                case Generated() if is_first:
                    is_first = False
                    cost.seconds.append(time.perf_counter() - started)
                case Finished():
                    message = event.message
        assert message is not None
        return turn, message

    def at_every_token(self, cost: Cost, messages, tool, whole: Message) -> None:
        """Cut after each token, each time gone on with in place."""
        turn = self.begin(messages, tool)
        message = self.run(turn, max_tokens=1)
        while message.finish_reason == "length":
            point = turn.resume_point()
            turn, message = self.finish(cost, turn, lambda p=point: Turn.resumed(p), max_tokens=1)
        cost.calls += 1
        cost.same += message.raw == whole.raw

    def again(self, cost: Cost, messages, tool, whole: Message) -> None:
        """Written from the start: for a cut after n tokens, until token n + 1 is there."""
        started = time.perf_counter()
        turn = self.begin(messages, tool)
        prompt = len(turn.prompt_tokens(self.engine.vocabulary))
        new = prompt
        for event in self.engine.generate(turn, sampling=GREEDY, reuse="longest"):
            match event:
                case Prompted(_, cached, _):
                    new = prompt - cached
                case Generated(ids, _, _):
                    now = time.perf_counter() - started
                    last = len(turn.tokens)
                    cuts = range(max(last - len(ids), 1), last)
                    cost.seconds += [now] * len(cuts)
                    cost.again += [new + cut for cut in cuts]
                case Finished():
                    cost.calls += 1
                    cost.same += event.message.raw == whole.raw

    def crowd(self) -> None:
        """More other requests than there are caches."""
        for number in range(3):
            words = f"{number} Something else, and a good deal longer. " * 8
            self.run(self.begin([{"role": "user", "content": words}], TOOLS[0]), max_tokens=1)


def slow_ways(bench, forgetful, costs, ask, whole, size) -> None:  # noqa: PLR0917
    """One cut, finished after other requests, without a cache, and by its text."""
    messages, tool = ask
    for name, cost in costs.items():
        where = Bench(forgetful, bench.template) if "lost" in name else bench
        cut = where.begin(messages, tool)
        raw = where.run(cut, max_tokens=size).raw
        point = cut.resume_point()
        if "text" in name:
            answer = {"role": "assistant", "content": "", "untemplate": {"raw": raw}}
            chat = [*messages, answer]

            def make(chat=chat):
                return bench.begin(chat, tool, continue_final_message=True)

            options = {"reuse": "longest"}
        else:
            where.crowd()
            options = {}

            def make(point=point):
                return Turn.resumed(point)

        _, message = where.finish(cost, cut, make, **options)
        cost.calls += 1
        cost.same += message.raw == whole.raw


def main() -> None:
    calls = int(sys.argv[2]) if sys.argv[2:] and sys.argv[2].isdigit() else CALLS
    path = pull("smollm2")
    template = ChatTemplate.open(path)
    engine = LlamaEngine(Model(path), context_tokens=2048, sequences=2)
    # Without room for saved states, a cache that another request takes is lost.
    forgetful = LlamaEngine(Model(path), context_tokens=2048, sequences=2, saved_bytes=1)
    bench = Bench(engine, template)
    draw = random.Random(0)
    in_place, again = Cost(), Cost()
    slow = {"in place, after others": Cost(), "in place, cache lost": Cost(), "by its text": Cost()}
    for number, (messages, tool) in enumerate(asks(calls)):
        turn = bench.begin(messages, tool)
        whole = bench.run(turn)
        bench.at_every_token(in_place, messages, tool, whole)
        bench.again(again, messages, tool, whole)
        if number % SAMPLED == 0:
            size = draw.randrange(1, len(turn.tokens) - 1)
            slow_ways(bench, forgetful, slow, (messages, tool), whole, size)
    print(f"{calls} calls over {len(TOOLS)} tools.\n")
    print("| way | cuts | tokens evaluated again | time to a new one, s | the same bytes |")
    print("| --- | --: | --: | --: | --: |")
    for name, cost in {"in place, cache kept": in_place, **slow, "asked again": again}.items():
        print(cost.row(name), flush=True)
    engine.close()
    forgetful.close()


if __name__ == "__main__":
    main()
