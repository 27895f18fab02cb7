"""Chat templates drawn at random: markers, separators, order and nesting of all parts.

What is drawn is also the answer: `Drawn` knows how its model writes, so a test can compare.
"""

import random
from dataclasses import dataclass

_WORDS = ("call", "tool", "act", "fn", "use", "think", "plan", "say", "out", "role", "turn", "msg")
_BRACKETS = (
    *(("<", ">"), ("<|", "|>"), ("[", "]"), ("<<", ">>"), ("«", "»"), ("【", "】"), ("<｜", "｜>")),
    *(("<start_of_", ">"), ("##", ":")),
)
_SPACES = ("", "", "\n", "\n\n", " ")
_STYLES = ("json", "array", "named", "pairs", "keyed", "elements", "attributes", "late name")
_VALUES = (
    "v if v is string else v|tojson",
    "v|tojson",
    "(v|e) if v is string else v|tojson",
    (
        "('\"' + (v|replace('\\\\', '\\\\\\\\')|replace('\"', '\\\\\"')) + '\"') if v is string"
        " else v|tojson"
    ),
)


@dataclass(frozen=True)
class Drawn:
    """A template, and how it writes."""

    source: str
    reasoning: bool
    style: str
    parallel: bool
    runs: bool
    """Its markers have no brackets, so that two of them in a row look like one."""


class _Drawing:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.brackets = self.chance.choice(_BRACKETS)
        self.runs = self.brackets == ("##", ":")
        self.words = self.chance.sample(_WORDS, 8)
        self.reasoning = self.chance.random() < 0.6
        self.style = self.chance.choice(_STYLES)
        self.parallel = self.chance.random() < 0.8
        self.trims = self.chance.choice(("", "", "|trim"))

    def maybe(self, share: float = 0.3) -> bool:
        return self.chance.random() < share

    def space(self) -> str:
        return self.chance.choice(_SPACES)

    def mark(self, number: int, *, closing: bool = False) -> str:
        left, right = self.brackets
        word = self.words[number]
        return f"{left}{'/' * closing}{word.upper() if left == '[' else word}{right}"

    def template(self) -> str:
        end, gap = self.mark(0, closing=True), self.space()
        header = f"{_text(self.mark(0))} + m.role + {_text(gap)}"
        lines = [
            f"{{%- if tools %}}{{{{ {_text(self.mark(7))} + (tools|tojson) }}}}{{% endif %}}",
            "{%- for m in messages %}",
            f"{{{{- {header} }}}}",
        ]
        opened = self.mark(0) + "assistant" + gap
        prompt = _shown(opened)
        if self.reasoning:
            before = self.mark(1) + self.space()
            after = self.space() + self.mark(1, closing=True) + self.space()
            lines.append(
                f"{{%- if m.reasoning_content %}}{{{{ {_text(before)} + "
                f"(m.reasoning_content{self.trims}) + {_text(after)} }}}}{{% endif %}}"
            )
            if self.maybe():
                prompt += f"{{%- if enable_thinking %}}{_shown(before)}{{%- endif %}}"
            elif self.maybe():
                prompt += f"{{%- if not enable_thinking|default(true) %}}{_shown(before + after)}"
                prompt += "{%- endif %}"
        content = f"{{%- if m.content %}}{{{{ m.content{self.trims} }}}}{{% endif %}}"
        lines.append(content)
        if self.maybe():
            lines.append("{%- if m.tool_calls and m.content %}{{ '\\n' }}{% endif %}")
        lines += self.calls()
        lines.append(f"{{{{- {_text(end + self.chance.choice(('', chr(10))))} }}}}")
        lines.append(f"{{%- endfor %}}{{% if add_generation_prompt %}}{prompt}{{% endif %}}")
        return "\n".join(lines)

    def calls(self) -> list[str]:
        section = self.style == "array" or self.chance.random() < 0.5
        before = self.mark(2) + self.space() if section else ""
        after = self.space() + self.mark(2, closing=True) if section else ""
        joint = self.space()
        opening, closing = self.mark(3) + self.space(), self.space() + self.mark(3, closing=True)
        if self.style == "array":
            before, after, opening, closing = f"{before}[", f"]{after}", "", ""
            joint = self.chance.choice((",", ", ", ",\n"))
        refusal = (
            "{%- if m.tool_calls|length > 1 %}{{ raise_exception('one call only') }}{% endif %}"
        )
        return [
            f"{{%- if m.tool_calls %}}{{{{ {_text(before)} }}}}",
            *([] if self.parallel else [refusal]),
            "{%- for t in m.tool_calls %}{% set c = t.function %}",
            f"{{{{- {_text(opening)} }}}}",
            *self.call(),
            f"{{{{- {_text(closing)} }}}}",
            f"{{%- if not loop.last %}}{{{{ {_text(joint)} }}}}{{% endif %}}{{% endfor %}}",
            f"{{{{- {_text(after)} }}}}{{% endif %}}",
        ]

    def call(self) -> list[str]:
        name, key = self.chance.choice((("name", "arguments"), ("tool", "args"), ("fn", "input")))
        arguments = "(c.arguments|tojson)"
        if self.style in ("json", "array"):
            start, middle = _text(f'{{"{name}": "'), _text(f'", "{key}": ')
            lead = ""
            if self.maybe():
                start = _text('{"id": "')
                between = _text(f'", "{name}": "')
                lead = f"t.id + {between} + "
            return [f"{{{{- {start} + {lead}c.name + {middle} + {arguments} + '}}' }}}}"]
        if self.style == "late name":
            start, middle = _text(f'{{"{key}": '), _text(f', "{name}": "')
            return [f"{{{{- {start} + {arguments} + {middle} + c.name + '\"}}' }}}}"]
        if self.style == "keyed":
            return [
                f"{{{{- '{{\"' + c.name + '\": ' + {arguments} + '}}' }}}}".replace("}}'", "}'")
            ]
        if self.style == "named":
            index = f" + {_text(':')} + (loop.index0|string)" if self.maybe() else ""
            return [f"{{{{- c.name{index} + {_text(self.mark(4))} + {arguments} }}}}"]
        return self.pairs()

    def pairs(self) -> list[str]:
        gap = self.space()
        value = self.chance.choice(_VALUES)
        before, after = _text(self.mark(5)), _text(self.mark(5, closing=True) + gap)
        if self.style == "elements":
            left, right = "<", ">"
            before, after = _text(left), f"{_text(left + '/')} + k + {_text(right + gap)}"
            middle = _text(right)
        elif self.style == "attributes":
            before, middle = _text('<arg name="'), _text('">')
            after = _text("</arg>" + gap)
        else:
            middle = _text(self.mark(6))
        return [
            f"{{{{- c.name + {_text(self.mark(4) + gap)} }}}}",
            "{%- for k, v in c.arguments.items() %}",
            f"{{{{- {before} + k + {middle} }}}}",
            f"{{{{- {value} }}}}",
            f"{{{{- {after} }}}}",
            "{%- endfor %}",
        ]


def _text(text: str) -> str:
    """The text as a string constant of Jinja."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def _shown(text: str) -> str:
    return f"{{{{- {_text(text)} }}}}"


def draw(seed: int) -> Drawn:
    """One template; the same seed gives the same."""
    drawing = _Drawing(seed)
    return Drawn(
        drawing.template(), drawing.reasoning, drawing.style, drawing.parallel, drawing.runs
    )
