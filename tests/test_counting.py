"""The step counter of the tests: same work, same count, whatever ran before."""

import gc
import weakref

from counting import Steps, steps


class Node:
    """One end of a cycle that only the collector frees."""


def work():
    return [[str(n)] for n in range(2_000)]


def test_a_step_is_a_call():
    few, many = (steps(lambda n=n: [len("a") for _ in range(n)]) for n in (10, 50))
    assert many - few == 40


def test_garbage_of_others_is_not_counted():
    clean = steps(work)
    threshold = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1_000)  # it would come in the middle of the work
    try:
        node = Node()
        node.self = node
        watched = weakref.ref(node, lambda _: [str(n) for n in range(100)])
        del node
        assert steps(work) == clean
        assert watched() is not None
    finally:
        gc.set_threshold(*threshold)


def test_the_collector_is_left_as_it_was():
    with Steps():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with Steps():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
