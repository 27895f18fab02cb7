"""Dialects written by hand for the tests of reader and constraint, one for each shape of call."""

from untemplate.dialect import (
    END,
    CallBlock,
    Dialect,
    Edge,
    Hole,
    JsonText,
    Opening,
    Pairs,
    Prompt,
    Raw,
    TextBlock,
    Whole,
    Written,
)

_JSON_CALL = CallBlock(
    (
        '<tool_call>\n{"name": "',
        Hole.NAME,
        '", "arguments": ',
        Hole.ARGUMENTS,
        "}\n</tool_call>",
    ),
    Whole(JsonText()),
)
_CONTENT = TextBlock("content")
_REASONING = TextBlock("reasoning")

HERMES = Dialect(
    blocks={"content": _CONTENT, "call": _JSON_CALL},
    edges=(
        Edge("content", "call", "\n"),
        Edge("content", END, ""),
        Edge("call", "call", "\n"),
        Edge("call", END, ""),
    ),
    prompts=(Prompt("<|im_start|>assistant\n", (Opening("content"), Opening("call"))),),
    stops=("<|im_end|>",),
)
"""JSON in tags."""

_QWEN3_EDGES = (
    *HERMES.edges,
    Edge("reasoning", "content", "\n</think>\n\n"),
    Edge("reasoning", "call", "\n</think>\n\n"),
    Edge("reasoning", END, "\n</think>\n\n"),
)
QWEN3 = Dialect(
    blocks={"reasoning": _REASONING, **HERMES.blocks},
    edges=_QWEN3_EDGES,
    prompts=(
        Prompt(
            "<|im_start|>assistant\n",
            (Opening("content"), Opening("call"), Opening("reasoning", "<think>\n")),
        ),
        Prompt(
            "<|im_start|>assistant\n<think>\n\n</think>\n\n",
            (Opening("content"), Opening("call")),
            {"enable_thinking": False},
        ),
        Prompt("<|im_start|>assistant\n<think>\n", (Opening("reasoning"),)),
    ),
    stops=("<|im_end|>",),
)
"""Reasoning opened by the model, closed by the prompt, or opened by the prompt; JSON in tags."""

NEMO = Dialect(
    blocks={
        "content": _CONTENT,
        "call": CallBlock(
            (
                '{"name": "',
                Hole.NAME,
                '", "arguments": ',
                Hole.ARGUMENTS,
                ', "id": "',
                Hole.ID,
                '"}',
            ),
            Whole(JsonText()),
        ),
    },
    edges=(
        Edge("content", "call", "[TOOL_CALLS]["),
        Edge("content", END, ""),
        Edge("call", "call", ", "),
        Edge("call", END, "]"),
    ),
    prompts=(Prompt("[/INST]", (Opening("content"), Opening("call", "[TOOL_CALLS]["))),),
    stops=("</s>",),
)
"""A JSON array of calls with ids."""

CODER = Dialect(
    blocks={
        "content": _CONTENT,
        "call": CallBlock(
            (
                "<tool_call>\n<function=",
                Hole.NAME,
                ">\n",
                Hole.ARGUMENTS,
                "</function>\n</tool_call>",
            ),
            Pairs(
                head="",
                open="<parameter=",
                separator="",
                tail="",
                none="",
                types={
                    "string": Written(">\n", Raw(), "\n</parameter>\n"),
                    "integer": Written(">\n", JsonText(), "\n</parameter>\n"),
                    "number": Written(">\n", JsonText(), "\n</parameter>\n"),
                    "boolean": Written(">\n", JsonText(), "\n</parameter>\n"),
                    "null": Written(">\n", JsonText(), "\n</parameter>\n"),
                    "array": Written(">\n", JsonText(), "\n</parameter>\n"),
                    "object": Written(">\n", JsonText(), "\n</parameter>\n"),
                },
            ),
        ),
    },
    edges=HERMES.edges,
    prompts=HERMES.prompts,
    stops=("<|im_end|>",),
)
"""Tagged parameters, strings raw."""

DEEPSEEK = Dialect(
    blocks={
        "reasoning": _REASONING,
        "content": _CONTENT,
        "call": CallBlock(
            (
                "<｜tool▁call▁begin｜>",
                Hole.NAME,
                "<｜tool▁sep｜>",
                Hole.ARGUMENTS,
                "<｜tool▁call▁end｜>",
            ),
            Whole(JsonText()),
        ),
    },
    edges=(
        Edge("reasoning", "content", "</think>"),
        Edge("reasoning", "call", "</think><｜tool▁calls▁begin｜>"),
        Edge("content", "call", "<｜tool▁calls▁begin｜>"),
        Edge("content", END, ""),
        Edge("call", "call", ""),
        Edge("call", END, "<｜tool▁calls▁end｜>"),
    ),
    prompts=(
        Prompt(
            "<｜Assistant｜></think>",
            (Opening("content"), Opening("call", "<｜tool▁calls▁begin｜>")),
        ),
        Prompt("<｜Assistant｜><think>", (Opening("reasoning"),), {"thinking": True}),
    ),
    stops=("<｜end▁of▁sentence｜>",),
)
"""The name before bare JSON, a section around the calls, reasoning opened by the prompt."""

ALL = {
    "hermes": HERMES,
    "qwen3": QWEN3,
    "nemo": NEMO,
    "coder": CODER,
    "deepseek": DEEPSEEK,
}
