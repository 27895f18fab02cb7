"""Daemon threads: bounded, reused, left behind."""

import asyncio
import contextvars
import threading

from untemplate.loop.threads import Raised, ThreadPool


def test_results_and_exceptions_of_every_kind():
    def fail(error):
        raise error

    async def main():
        pool = ThreadPool(2)
        assert await pool.run("f", lambda: 42) == 42
        for error in (ValueError("x"), SystemExit(3), KeyboardInterrupt(), StopIteration(1)):
            got = await pool.run("f", lambda error=error: fail(error))
            assert isinstance(got, Raised)
            assert got.error is error

    asyncio.run(main())


def test_bounded_and_reused():
    seen, running, most, lock = set(), 0, 0, threading.Lock()

    def work():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            seen.add(threading.get_ident())
        threading.Event().wait(0.002)
        with lock:
            running -= 1

    async def main():
        pool = ThreadPool(3)
        await asyncio.gather(*(pool.run("f", work) for _ in range(50)))

    asyncio.run(main())
    assert most == 3
    assert len(seen) == 3


def test_an_abandoned_thread_gives_its_place_to_another():
    release = threading.Event()

    async def main():
        pool = ThreadPool(1)
        hung = asyncio.create_task(pool.run("hang", release.wait))
        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(pool.run("f", lambda: 1))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        hung.cancel()
        assert await waiting == 1
        assert pool.abandoned("hang") == 1
        assert await pool.run("f", lambda: 2) == 2
        release.set()
        while pool.abandoned("hang"):  # noqa: ASYNC110 - it changes in another thread
            await asyncio.sleep(0.001)
        assert await pool.run("f", lambda: 3) == 3

    asyncio.run(main())


def test_a_job_that_waits_is_never_run_when_cancelled():
    release, ran = threading.Event(), []

    async def main():
        pool = ThreadPool(1)
        first = asyncio.create_task(pool.run("f", release.wait))
        second = asyncio.create_task(pool.run("f", lambda: ran.append(1)))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.sleep(0)
        release.set()
        await first
        assert await pool.run("f", lambda: 2) == 2

    asyncio.run(main())
    assert ran == []


def test_context_variables_go_along():
    name = contextvars.ContextVar("name", default="?")

    async def main():
        name.set("inner")
        return await ThreadPool(1).run("f", name.get)

    assert asyncio.run(main()) == "inner"
