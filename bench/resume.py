"""What it costs to finish a cut call: going on in place, against asking again.

Calls of the embedded model, greedy, with five tools in the prompt, are cut in the middle. Then each
is finished in five ways: in place with its cache; in place after other requests, from the saved
state; in place without any cache; by its text (`continue_final_message`); and by asking again, as
hosts do that can't resume, with the prompt in the cache. Counted: tokens that had to be evaluated
before the first new one (for asking again, also those that had to be written again), the time to
the first new token, and calls that are byte for byte what the uncut run wrote.
"""

import statistics
import time
from dataclasses import dataclass, field

from untemplate.engines.events import Finished, Generated, Prompted
from untemplate.engines.llama.engine import LlamaEngine
from untemplate.engines.llama.model import Model
from untemplate.engines.models import pull
from untemplate.engines.sampling import Sampling
from untemplate.message import Message, Tool, ToolChoice
from untemplate.turn import ChatTemplate, ResumePoint, Turn

COUNT = 6
GREEDY = Sampling(temperature=0)
CHOICE = ToolChoice("required", "send_note", parallel=False)


def tool(name, description, **properties):
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Tool(name, description, parameters)


TEXT = {"type": "string", "maxLength": 40}
TOOLS = [
    tool("send_note", "Send a note to somebody", to=TEXT, text=TEXT),
    tool("get_weather", "Get the current weather in a city", city=TEXT),
    tool("calculate", "Evaluate an arithmetic expression", expression=TEXT),
    tool("set_timer", "Set a timer", minutes={"type": "integer"}, label=TEXT),
    tool("list_files", "List the files of a folder", path=TEXT, deep={"type": "boolean"}),
]


@dataclass
class Cost:
    """One way to finish calls."""

    evaluated: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    same: int = 0


@dataclass
class Cut:
    """A call that was cut in the middle, and the whole one."""

    messages: list[dict[str, str]]
    point: ResumePoint
    raw: str
    whole: Message


class Bench:
    def __init__(self, engine: LlamaEngine, template: ChatTemplate) -> None:
        self.engine = engine
        self.template = template

    def begin(self, messages, **options) -> Turn:
        return self.template.turn(
            messages, tools=TOOLS, tool_choice=CHOICE, nonce="bench", **options
        )

    def run(self, turn, **options) -> Message:
        options = {"sampling": GREEDY, "reuse": "exact", **options}
        *_, last = self.engine.generate(turn, **options)
        assert isinstance(last, Finished)
        return last.message

    def cuts(self) -> list[Cut]:
        found = []
        for number in range(COUNT):
            text = f"Send a note to person {number} that the meeting is at {number + 8} o'clock."
            messages = [{"role": "user", "content": text}]
            turn = self.begin(messages)
            whole = self.run(turn)
            half = self.begin(messages)
            cut = self.run(half, max_tokens=len(turn.tokens) * 2 // 3)
            found.append(Cut(messages, half.resume_point(), cut.raw, whole))
        return found

    def finish(self, cost: Cost, turn: Turn, cut: Cut, *, again: bool, **options) -> None:
        """Finishes a call and notes what stood before its first new token."""
        started = time.perf_counter()
        written = len(turn.tokens)
        before = len(turn.prompt_tokens(self.engine.vocabulary)) + written
        known = len(cut.point.tokens) if again else 0
        message = None
        first = None
        options = {"sampling": GREEDY, "reuse": "exact", **options}
        for event in self.engine.generate(turn, **options):
            match event:
                case Prompted(prompt, cached, _):
                    kept = cached if cached < prompt else turn.batches[-1][1] if turn.batches else 0
                    cost.evaluated.append(before - max(kept, cached) + known)
                case Generated() if first is None and len(turn.tokens) > written + known:
                    first = time.perf_counter() - started
                case Finished():
                    message = event.message
        assert message is not None
        assert first is not None
        cost.seconds.append(first)
        cost.same += message.raw == cut.whole.raw

    def crowd(self) -> None:
        """More other requests than there are caches."""
        for number in range(3):
            words = f"{number} Something else, and a good deal longer. " * 8
            self.run(self.begin([{"role": "user", "content": words}]), max_tokens=1)


def main() -> None:
    path = pull("smollm2")
    template = ChatTemplate.open(path)
    engine = LlamaEngine(Model(path), context_tokens=1024, sequences=2)
    # Without room for saved states, a cache that another request takes is lost.
    forgetful = LlamaEngine(Model(path), context_tokens=1024, sequences=2, saved_bytes=1)
    bench = Bench(engine, template)
    cuts = bench.cuts()

    def by_text(cut: Cut) -> Turn:
        answer = {"role": "assistant", "content": "", "untemplate": {"raw": cut.raw}}
        return bench.begin([*cut.messages, answer], continue_final_message=True)

    def in_place(cut: Cut) -> Turn:
        return Turn.resumed(cut.point)

    ways = [
        ("in place, cache kept", in_place, {}),
        ("in place, after others", in_place, {}),
        ("in place, cache lost to others", in_place, {}),
        ("by its text", by_text, {"reuse": "longest"}),
        ("asked again", lambda cut: bench.begin(cut.messages), {"reuse": "longest"}),
    ]
    print("| way | tokens before the first new one | time to it, s | the same bytes |")
    print("| --- | --: | --: | --: |")
    for name, turn_of, options in ways:
        cost = Cost()
        bench.engine = forgetful if "lost" in name else engine
        for cut in cuts:
            # The cut turn is what ran last, in its cache; then, maybe, others.
            bench.run(bench.begin(cut.messages), max_tokens=len(cut.point.tokens))
            if "others" in name:
                bench.crowd()
            bench.finish(cost, turn_of(cut), cut, again=name == "asked again", **options)
        print(
            f"| {name} | {statistics.median(cost.evaluated):.0f} "
            f"| {statistics.median(cost.seconds):.2f} | {cost.same} of {len(cuts)} |"
        )
    engine.close()
    forgetful.close()


if __name__ == "__main__":
    main()
