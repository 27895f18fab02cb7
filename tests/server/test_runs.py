import asyncio
import threading

import pytest

from untemplate.server.failures import Refused
from untemplate.server.runs import Runs


def runs(limit: int = 2) -> Runs:
    return Runs(limit=limit, retry_after_s=1)


def test_results_come_in_order_and_then_the_error():
    async def use() -> list[int]:
        def work(should_stop):
            yield from range(100)
            raise ValueError("the end")

        got: list[int] = []
        with runs().start(work) as run:
            while len(got) < 100:
                got += await run.take(timeout_s=5)
            with pytest.raises(ValueError, match="the end"):
                await run.take(timeout_s=5)
        return got

    assert asyncio.run(use()) == list(range(100))


def test_silence_gives_nothing_and_loses_nothing():
    async def use() -> None:
        go_on = threading.Event()

        def work(should_stop):
            assert go_on.wait(5)
            yield 1

        with runs().start(work) as run:
            assert await run.take(timeout_s=0.01) == []
            go_on.set()
            assert await run.take(timeout_s=5) == [1]

    asyncio.run(use())


def test_leaving_stops_the_work_and_frees_its_place():
    async def use() -> None:
        ended = threading.Event()

        def work(should_stop):
            try:
                while not should_stop():
                    yield 1
            finally:
                ended.set()

        busy = runs(limit=1)
        with busy.start(work) as run:
            assert await run.take(timeout_s=5)
            with pytest.raises(Refused):
                busy.start(work)
        assert await asyncio.to_thread(ended.wait, 5)
        while busy.running:  # noqa: ASYNC110 - the thread has ended, its end is on the way
            await asyncio.sleep(0)
        with busy.start(work):
            pass

    asyncio.run(use())


def test_closing_stops_all():
    async def use() -> None:
        def work(should_stop):
            while not should_stop():
                yield 1

        two = runs()
        two.start(work)
        two.start(work)
        two.close()

    asyncio.run(use())
