"""Masks behind trees of draft tokens are those of going there one by one."""

import array
import random

import numpy as np
import pytest

from constrain.test_laws import SMALL, TOOLS, allowed
from dialects import ALL
from untemplate.constrain import Constraint, apply_mask, compile_grammar
from untemplate.grammar import build_grammar
from untemplate.message import ToolChoice


def started(name: str, rng: random.Random) -> Constraint:
    grammar = build_grammar(ALL[name], TOOLS, ToolChoice("required"))
    constraint = compile_grammar(grammar, SMALL).constraint()
    row = np.zeros(constraint.words, np.int32)
    for _ in range(rng.randrange(40)):
        constraint.fill(row, 60)
        if constraint.is_finished:
            break
        constraint.advance(rng.choice(allowed(row, SMALL.size)))
    return constraint


def drawn(constraint: Constraint, rng: random.Random) -> tuple[list[int], list[int]]:
    """A tree of drafts: most of its tokens are allowed."""
    tokens: list[int] = []
    parents: list[int] = []
    paths = [constraint.fork()]
    row = np.zeros(constraint.words, np.int32)
    for _ in range(rng.randrange(12)):
        parent = rng.randrange(len(paths))
        paths[parent].fill(row)
        token_id = rng.choice([*allowed(row, SMALL.size), rng.randrange(SMALL.size)])
        path = paths[parent].fork()
        path.advance(token_id)
        tokens.append(token_id)
        parents.append(parent - 1)
        paths.append(path)
    return tokens, parents


def alone(constraint: Constraint, tokens: list[int], parents: list[int], node: int) -> list[int]:
    """The tokens on the way to a node."""
    way: list[int] = []
    while node >= 0:
        way.append(tokens[node])
        node = parents[node]
    return way[::-1]


@pytest.mark.parametrize("remaining", [None, 90])
@pytest.mark.parametrize("name", ALL)
def test_rows_of_a_tree_are_those_of_its_paths(name, remaining):
    rng = random.Random(f"{name} {remaining}")
    expected = np.zeros(started(name, rng).words, np.int32)
    for _ in range(15):
        constraint = started(name, rng)
        tokens, parents = drawn(constraint, rng)
        rows = np.full((len(tokens) + 1, constraint.words), -1, np.int32)
        found = constraint.fill_tree(rows, tokens, parents, remaining)
        constraint.fill(expected, remaining)
        assert np.array_equal(rows[0], expected)
        for node in range(len(tokens)):
            fork = constraint.fork()
            way = alone(constraint, tokens, parents, node)
            taken = [fork.advance(token_id) for token_id in way]
            assert found[node] is all(taken)
            expected[:] = 0
            if found[node]:
                fork.fill(expected, None if remaining is None else remaining - len(way))
            assert np.array_equal(rows[node + 1], expected)
        assert np.array_equal(rows[0], first_row(constraint, remaining))


def first_row(constraint: Constraint, remaining: int | None) -> np.ndarray:
    row = np.zeros(constraint.words, np.int32)
    constraint.fill(row, remaining)
    return row


def test_trees_that_are_none_are_refused():
    constraint = started("hermes", random.Random(1))
    rows = np.zeros((2, constraint.words), np.int32)
    with pytest.raises(ValueError, match="one row more"):
        constraint.fill_tree(rows, [1, 2], [-1, 0])
    with pytest.raises(ValueError, match="token 0 needs a parent before it, not 0"):
        constraint.fill_tree(rows, [1], [0])
    with pytest.raises(ValueError, match="not -2"):
        constraint.fill_tree(rows, [1], [-2])


@pytest.mark.parametrize("name", ALL)
def test_rollback_comes_back_to_every_place(name):
    rng = random.Random(name)
    grammar = build_grammar(ALL[name], TOOLS, ToolChoice("required"))
    constraint = compile_grammar(grammar, SMALL).constraint()
    rows = [first_row(constraint, None)]
    for _ in range(80):
        if constraint.is_finished:
            break
        constraint.advance(rng.choice(allowed(rows[-1], SMALL.size)))
        rows.append(first_row(constraint, None))
        back = rng.randrange(min(4, len(rows)))
        constraint.rollback(back)
        del rows[len(rows) - back :]
        assert np.array_equal(first_row(constraint, None), rows[-1])
    with pytest.raises(ValueError, match="can be taken back"):
        constraint.rollback(1_000)


def test_a_mask_goes_into_any_memory():
    constraint = started("hermes", random.Random(2))
    expected = first_row(constraint, None)
    buffer = array.array("i", bytes(4 * constraint.words))
    constraint.fill(buffer)
    assert np.array_equal(np.asarray(buffer), expected)
    logits = np.zeros(SMALL.size + 7, np.float32)
    apply_mask(logits, buffer)
    assert np.flatnonzero(logits == 0).tolist() == allowed(expected, SMALL.size)


def test_a_batch_of_logits_takes_a_mask_for_each_row_or_one_for_all():
    constraint = started("hermes", random.Random(2))
    rows = np.full((3, constraint.words), -1, np.int32)
    constraint.fill(rows[1])
    logits = np.zeros((3, SMALL.size + 7), np.float16)
    apply_mask(logits, rows)
    for row, taken in zip(rows, logits, strict=True):
        assert np.flatnonzero(taken == 0).tolist() == [
            n for n in range(SMALL.size + 7) if n // 32 < len(row) and row[n // 32] >> n % 32 & 1
        ]
    logits = np.zeros((3, SMALL.size - 5), np.float64)
    apply_mask(logits, rows[1])
    assert (logits == logits[0]).all()
    assert np.flatnonzero(logits[0] == 0).tolist() == [
        n for n in allowed(rows[1], SMALL.size) if n < SMALL.size - 5
    ]


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
def test_a_mask_goes_into_a_tensor(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    constraint = started("hermes", random.Random(2))
    rows = torch.full((2, constraint.words), -1, dtype=torch.int32)
    constraint.fill(rows[1])
    expected = first_row(constraint, None)
    assert np.array_equal(rows[1].numpy(), expected)
    logits = torch.zeros((2, SMALL.size + 7), dtype=getattr(torch, kind))
    apply_mask(logits, rows)
    assert (logits[0] == 0).nonzero().flatten().tolist()[: SMALL.size] == list(range(SMALL.size))
    assert (logits[1] == 0).nonzero().flatten().tolist() == allowed(expected, SMALL.size)
    one = torch.zeros(SMALL.size, dtype=getattr(torch, kind))
    apply_mask(one, expected)
    assert (one == 0).nonzero().flatten().tolist() == allowed(expected, SMALL.size)
