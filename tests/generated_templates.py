"""Chat templates drawn at random: markers, separators, order and nesting of all parts.

What is drawn is also the answer: `Drawn` knows how its model writes, so a test can compare.
"""

import random
from dataclasses import dataclass

_WORDS = ("call", "tool", "act", "fn", "use", "think", "plan", "say", "out", "role", "turn", "msg")
_BRACKETS = (("<", ">"), ("<|", "|>"), ("[", "]"), ("<<", ">>"), ("«", "»"))
_SPACES = ("", "", "\n", "\n\n", " ")
_STYLES = ("json", "array", "named", "pairs", "keyed")


@dataclass(frozen=True)
class Drawn:
    """A template, and how it writes."""

    source: str
    reasoning: bool
    style: str
    parallel: bool


class _Drawing:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.brackets = self.chance.choice(_BRACKETS)
        self.words = self.chance.sample(_WORDS, 8)
        self.reasoning = self.chance.random() < 0.6
        self.style = self.chance.choice(_STYLES)
        self.parallel = self.chance.random() < 0.8

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
        if self.reasoning:
            before = self.mark(1) + self.space()
            after = self.space() + self.mark(1, closing=True) + self.space()
            lines.append(
                f"{{%- if m.reasoning_content %}}{{{{ {_text(before)} + m.reasoning_content"
                f" + {_text(after)} }}}}{{% endif %}}"
            )
        lines.append("{%- if m.content %}{{ m.content }}{% endif %}")
        if self.chance.random() < 0.3:
            lines.append("{%- if m.tool_calls and m.content %}{{ '\\n' }}{% endif %}")
        lines += self.calls()
        lines.append(f"{{{{- {_text(end + self.chance.choice(('', chr(10))))} }}}}")
        opened = _text(f"{self.mark(0)}assistant{gap}")
        lines.append(
            f"{{%- endfor %}}{{% if add_generation_prompt %}}{{{{ {opened} }}}}{{% endif %}}"
        )
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
            return [f"{{{{- {start} + c.name + {middle} + {arguments} + '}}' }}}}"]
        if self.style == "keyed":
            return [
                f"{{{{- '{{\"' + c.name + '\": ' + {arguments} + '}}' }}}}".replace("}}'", "}'")
            ]
        if self.style == "named":
            return [f"{{{{- c.name + {_text(self.mark(4))} + {arguments} }}}}"]
        gap = self.space()
        return [
            f"{{{{- c.name + {_text(self.mark(4) + gap)} }}}}",
            "{%- for k, v in c.arguments.items() %}",
            f"{{{{- {_text(self.mark(5))} + k + {_text(self.mark(6))} }}}}",
            "{{- v if v is string else v|tojson }}",
            f"{{{{- {_text(self.mark(5, closing=True) + gap)} }}}}",
            "{%- endfor %}",
        ]


def _text(text: str) -> str:
    """The text as a string constant of Jinja."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def draw(seed: int) -> Drawn:
    """One template; the same seed gives the same."""
    drawing = _Drawing(seed)
    return Drawn(drawing.template(), drawing.reasoning, drawing.style, drawing.parallel)
