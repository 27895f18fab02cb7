r"""Asks a template: renders probe conversations and cuts the assistant's turn out of the text.

    examiner.turn(Probe(content="c00001qz"))     # "<|im_start|>assistant\nc00001qz<|im_end|>\n"

The turn is what the template writes with the message less what it writes without it. Mostly that
is the end of the text; a few templates write more after every conversation, and in a few the text
before the turn changes when the turn is there. `Setting` holds how the cut is made in one place of
the conversation. An `Examiner` also holds what is known so far of how the template wants to be
asked; it counts its renderings.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from untemplate.dialect import Before
from untemplate.errors import TemplateError, UntemplateError
from untemplate.inference import words
from untemplate.inference.text import common_prefix, common_suffix, is_torn, whole_prefix
from untemplate.inference.words import Call, Probe
from untemplate.message import JSON
from untemplate.template.capabilities import Capabilities
from untemplate.template.history import prepare
from untemplate.template.rendering import CompiledTemplate

__all__ = ["Examiner", "Obstacle", "Setting"]

NO_SWITCHES: Mapping[str, JSON] = {}

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""What templates that ask for the date are told."""

Messages = tuple[Mapping[str, JSON], ...]


class Obstacle(Exception):  # noqa: N818 - not an error: why a template can't be described, a finding
    """What stands in the way of describing a template."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One place of a conversation, and how a turn there is cut out of a rendering."""

    before: Messages
    prefix: str
    suffix: str
    closed: str
    """The conversation before the turn, without a generation prompt."""
    opened: str
    """The same with one."""

    def cut(self, whole: str) -> str:
        """The turn inside a rendering of the conversation that ends with it."""
        end = len(whole) - len(self.suffix)
        if not whole.startswith(self.prefix) or not whole.endswith(self.suffix):
            raise Obstacle("the text around the turn changes with the turn")
        return whole[len(self.prefix) : end]

    @property
    def prompt(self) -> str:
        """What is written after the conversation to open the turn."""
        if self.opened.startswith(self.closed) and self.opened != self.closed:
            return self.opened[len(self.closed) :]
        if self.opened.startswith(self.prefix):
            return self.opened[len(self.prefix) :]
        shared = len(whole_prefix(self.opened, len(common_prefix(self.opened, self.prefix))))
        # The last message may be written in another way while it is the last.
        return self.opened[max(shared, _end_of_last(self.opened)) :]


class Examiner:
    """A template under examination."""

    def __init__(
        self,
        template: CompiledTemplate,
        *,
        tools: Messages = words.TOOLS,
        capabilities: Capabilities | None = None,
        system: bool = False,
    ) -> None:
        self.template = template
        self.tools = tools
        self.capabilities = capabilities or Capabilities()
        self.system = system
        """Whether a system message stands before every conversation."""
        self.renderings = 0
        self.refusals: dict[str, str] = {}
        """What was asked, and why the template refused it."""
        self._settings: dict[tuple[Before, str], Setting] = {}

    def another(
        self, *, tools: Messages | None = None, system: bool | None = None, **facts: Any
    ) -> "Examiner":
        """One that asks the same template in another way."""
        known = replace(self.capabilities, **facts)
        tools = self.tools if tools is None else tools
        system = self.system if system is None else system
        return Examiner(self.template, tools=tools, capabilities=known, system=system)

    def change(self, **facts: Any) -> None:
        """Note how the template wants to be asked."""
        known = replace(self.capabilities, **facts)
        if known != self.capabilities:
            self.capabilities = known
            self._settings.clear()

    def render(
        self,
        messages: Messages,
        *,
        prompt: bool = False,
        switches: Mapping[str, JSON] = NO_SWITCHES,
    ) -> str:
        """The conversation as text, or TemplateError."""
        self.renderings += 1
        known = self.capabilities
        given: dict[str, JSON] = {**known.variables, **known.history_switches, **switches}
        if known.tools_text:
            given[known.tools_text] = json.dumps(self.tools)
        return self.template.render(
            messages, self.tools, add_generation_prompt=prompt, now=_NOW, **given
        )

    # ------------------------------------------------------------------ conversations

    def message(self, probe: Probe) -> Mapping[str, JSON]:
        """The probe as the template wants it."""
        message: dict[str, JSON] = {"role": "assistant", "content": probe.content}
        if probe.reasoning:
            message["reasoning_content"] = probe.reasoning
        if probe.calls:
            message["tool_calls"] = [_call(c) for c in probe.calls]
        return prepare([message], replace(self.capabilities, calls_max=None)).messages[0]

    def before(self, place: Before) -> Messages:
        """The conversation that stands before a turn in this place."""
        messages: list[Mapping[str, JSON]] = [{"role": "user", "content": words.USER}]
        if self.system:
            messages.insert(0, {"role": "system", "content": words.SYSTEM})
        if place == "later user":
            messages.append(self.message(Probe(content="a00001qz")))
            messages.append({"role": "user", "content": words.USER_2})
        elif place == "tool":
            name = str(_name_of(self.tools[-1]))
            call = Call(name, "i00009qza", {words.KEYS["string"][0]: words.value(90)})
            messages.append(self.message(Probe(calls=(call,))))
            messages.append(result_of(call))
        return prepare(messages, self.capabilities).messages

    def prompt(self, place: Before, switches: Mapping[str, JSON]) -> str:
        """What is written after the conversation to open a turn there."""
        before = self.before(place)
        opened = self.render(before, prompt=True, switches=switches)
        usual = self._settings.get((place, "{}"))
        if usual is not None and opened == usual.opened:
            return usual.prompt
        closed = self.render(before, switches=switches)
        if opened != closed and opened.startswith(closed):
            return opened[len(closed) :]
        return self.setting(place, switches).prompt

    def turn(
        self, probe: Probe, place: Before = "user", switches: Mapping[str, JSON] = NO_SWITCHES
    ) -> str:
        """What the template writes for this message, with the header of the turn."""
        setting = self.setting(place, switches)
        return setting.cut(self.render((*setting.before, self.message(probe)), switches=switches))

    def try_turn(
        self, probe: Probe, place: Before = "user", switches: Mapping[str, JSON] = NO_SWITCHES
    ) -> str | None:
        """The same, or None when the template refuses the message."""
        try:
            return self.turn(probe, place, switches)
        except (UntemplateError, Obstacle) as error:
            kinds = [k for k in ("reasoning", "content", "calls") if getattr(probe, k)]
            self.refusals.setdefault(f"{'+'.join(kinds)} after {place}", str(error))
            return None

    def setting(self, place: Before, switches: Mapping[str, JSON] = NO_SWITCHES) -> Setting:
        """How a turn is cut out of a rendering there."""
        key = (place, json.dumps(switches, sort_keys=True))
        found = self._settings.get(key)
        if found is None:
            found = self._settings[key] = self._find_setting(self.before(place), switches)
        return found

    def _find_setting(self, before: Messages, switches: Mapping[str, JSON]) -> Setting:
        closed = self.render(before, switches=switches)
        opened = self.render(before, prompt=True, switches=switches)
        wholes = self._wholes(before, switches, content="c", calls=True)
        if wholes and all(w.startswith(closed) for w in wholes):
            return Setting(before, closed, "", closed, opened)
        wholes += self._wholes(before, switches, content="d", reasoning=words.REASONING)
        if not wholes:
            raise TemplateError("the template renders no assistant message at all")
        prefix, suffix = self._around(closed, opened, wholes)
        return Setting(before, prefix, suffix, closed, opened)

    def _wholes(
        self,
        before: Messages,
        switches: Mapping[str, JSON],
        *,
        content: str,
        reasoning: str = "",
        calls: bool = False,
    ) -> list[str]:
        """Renderings of the conversation with different turns at its end."""
        probes = [Probe(reasoning, f"{content}00001qz")]
        if calls and self.capabilities.calls:
            probes.append(Probe(calls=words.calls_of_strings(1)))
        out: list[str] = []
        for probe in probes:
            try:
                out.append(self.render((*before, self.message(probe)), switches=switches))
            except UntemplateError:
                continue
        return out

    def _around(self, closed: str, opened: str, wholes: list[str]) -> tuple[str, str]:
        """What stands before and after the turn."""
        head = min(len(common_prefix(closed, w)) for w in wholes)
        tail = min(len(common_suffix(closed, w)) for w in wholes)
        places = [
            at
            for at in range(head, len(closed) - tail - 1, -1)
            if not is_torn(closed, at) and not self._splits_special(closed, at)
        ]
        if not places:
            agreed = common_prefix(*wholes)
            with_prompt = common_prefix(agreed, opened)
            if _end_of_last(with_prompt) == _end_of_last(agreed) > 0:
                agreed = with_prompt
            return whole_prefix(agreed, len(agreed)), ""
        if opened.startswith(closed):
            # Several cuts write the same: the turn begins like the generation prompt.
            prompt = opened[len(closed) :]
            at = max(places, key=lambda i: min(len(common_prefix(prompt, w[i:])) for w in wholes))
        else:
            at = places[0]
        return closed[:at], closed[at:]

    def _splits_special(self, text: str, at: int) -> bool:
        specials = (str(v) for v in self.template.special_tokens.values() if v)
        return any(
            found.start() < at < found.end()
            for special in specials
            for found in re.finditer(re.escape(special), text)
        )


def _end_of_last(conversation: str) -> int:
    """Where the last message of a conversation ends, without what is written behind it."""
    asked = (words.USER, words.USER_2, words.RESULT)
    return max(conversation.rfind(a) + len(a) if a in conversation else 0 for a in asked)


def _name_of(tool: Mapping[str, JSON]) -> JSON:
    function = tool["function"]
    return function["name"] if isinstance(function, dict) else ""


def _call(call: Call) -> JSON:
    return {
        "id": call.id,
        "type": "function",
        "function": {
            "name": call.name,
            "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
        },
    }


def result_of(call: Call) -> Mapping[str, JSON]:
    """The message with the result of a call."""
    return {
        "role": "tool",
        "tool_call_id": call.id,
        "name": call.name,
        "content": words.RESULT,
    }


def positions(text: str, parts: Iterable[str]) -> list[tuple[int, int]]:
    """Where the parts stand in the text, in order."""
    return sorted(f.span() for p in parts if p for f in re.finditer(re.escape(p), text))
