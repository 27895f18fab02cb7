"""The sentinels of the probes: names, keys, values and texts that no template contains.

All are fixed, so that the declared tools are the same in every probe and what stands before the
turn is rendered once. None is part of another, and a number in one never grows in width.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from untemplate.dialect import JsonType
from untemplate.message import JSON

__all__ = [
    "CONTENT",
    "KEYS",
    "NAMES",
    "NASTY",
    "REASONING",
    "RESULT",
    "RICH",
    "SAMPLES",
    "SYSTEM",
    "TOOLS",
    "USER",
    "USER_2",
    "USER_3",
    "Call",
    "Probe",
    "calls_of_strings",
    "value",
]

NAMES = ("n00001qz", "n00002qz", "n00003qz", "n00004qz")
IDS = ("i00001qza", "i00002qza", "i00003qza", "i00004qza")
"""Nine letters and digits: some templates insist on that."""
REASONING = "r00001qz"
CONTENT = "c00001qz"
USER, USER_2, USER_3 = "u00001qz", "u00002qz", "u00003qz"
SYSTEM, RESULT = "s00001qz", "t00001qz"
NASTY = "a\"b\\c\nd é <&>'x"

KEYS: Mapping[JsonType, tuple[str, ...]] = {
    "string": ("k00001qz", "k00002qz", "k00021qz"),
    "integer": ("k00011qz",),
    "number": ("k00012qz",),
    "boolean": ("k00013qz",),
    "null": ("k00014qz",),
    "array": ("k00015qz",),
    "object": ("k00016qz",),
}

RICH: dict[str, JSON] = {
    "a": NASTY,
    "b": 5,
    "c": {"d": [1, True, None, "e"], "f": 2.5},
    "g": [],
    "h": {},
}

SAMPLES: Mapping[JsonType, tuple[JSON, ...]] = {
    "string": ("s7z", NASTY),
    "integer": (71234, -5),
    "number": (1.5, -0.25),
    "boolean": (True, False),
    "null": (None,),
    "array": ([1, True, None, 'x"é', [2.5], {"y": "z"}], [7]),
    "object": (RICH, {"q": 1}),
}


def value(number: int) -> str:
    """A string value: `v00003qz`."""
    return f"v{number:05d}qz"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a probe."""

    name: str
    id: str
    arguments: Mapping[str, JSON]


@dataclass(frozen=True, slots=True)
class Probe:
    """An assistant message of a probe conversation; empty parts are not there."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[Call, ...] = field(default=())


def calls_of_strings(count: int, arguments: int = 2, *, first: int = 0) -> tuple[Call, ...]:
    """So many calls, each with so many string arguments, all values different."""
    return tuple(
        Call(
            NAMES[first + n],
            IDS[first + n],
            {
                key: value(10 * (first + n) + at)
                for at, key in enumerate(KEYS["string"][:arguments])
            },
        )
        for n in range(count)
    )


TOOLS: tuple[dict[str, JSON], ...] = (
    {
        "type": "function",
        "function": {
            "name": NAMES[0],
            "description": "d",
            "parameters": {
                "type": "object",
                "properties": {KEYS["string"][0]: {"type": "string", "description": "d"}},
                "required": [],
            },
        },
    },
)
"""What every probe declares. One small tool: many templates take long to write schemas, and none
looks at a schema when it writes a call; the proof declares its tools in full."""
