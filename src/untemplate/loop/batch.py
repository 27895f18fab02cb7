"""The calls of one reply: started in call order, finished in any, answered in call order.

    batch.add(call)          for each call, sealed ones while the reply still streams
    batch.seal()             the reply has ended: everything admitted may run
    await batch.wait()       one outcome per call, in call order
    await batch.cancel()     the same, at once: what runs is cancelled, what waits never starts

At most `limit` calls run at a time, and no task exists for one that waits. An exclusive call waits
for all before it and holds back all after it. Before `seal` only calls of read-only tools start,
and only while nothing else stands before them, so that a read never overtakes a write.

Every call has exactly one outcome when `wait` or `cancel` returns, whatever happened.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from untemplate.loop import feedback
from untemplate.loop.admission import Admission
from untemplate.loop.approval import ApprovalRequest, Decision, digest
from untemplate.loop.events import LoopEvent, ToolFinished, ToolProgress, ToolStarted
from untemplate.loop.execution import Ready, Runner
from untemplate.loop.model import CallSize
from untemplate.loop.outcome import Outcome
from untemplate.message import Diagnostic, ToolCall

__all__ = ["Ask", "Batch"]

Ask = Callable[[ApprovalRequest], Awaitable[Decision]]


class Batch:
    """The calls of one reply. Belongs to one event loop and one task."""

    def __init__(
        self,
        admission: Admission,
        runner: Runner,
        *,
        limit: int,
        step: int,
        emit: Callable[[LoopEvent], None],
        ask: Ask | None,
    ) -> None:
        self._admission = admission
        self._runner = runner
        self._limit = limit
        self._step = step
        self._emit = emit
        self._ask = ask
        self._entries: list[Ready | Outcome] = []
        self._outcomes: list[Outcome | None] = []
        self._followers: dict[int, list[int]] = {}
        self._next = 0
        self._running: dict[asyncio.Task[Outcome], int] = {}
        self._exclusive = False
        self._is_sealed = False
        self._is_closed = False
        self._crash: BaseException | None = None
        self._done = asyncio.Event()
        self.pending: list[ApprovalRequest] = []
        """Calls that wait for an approval, since nobody is there to be asked."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(
        self, call: ToolCall, repaired: Sequence[Diagnostic] = (), size: CallSize | None = None
    ) -> None:
        """Admit a call and start it as soon as it may; see `Admission.admit`."""
        self.place(self._admission.admit(call, repaired, size))

    def place(self, entry: Ready | Outcome, *, is_news: bool = True) -> None:
        """The next call, already admitted or answered."""
        self._entries.append(entry)
        self._outcomes.append(None)
        number = len(self._entries) - 1
        if isinstance(entry, Outcome):
            self._finish(number, entry, is_news=is_news)
        elif self._is_closed:  # it came too late to be started
            self._finish(number, _cancelled(entry))
            self._next = len(self._entries)
        self._pump()

    def seal(self) -> None:
        """No further call will come; calls with side effects may start."""
        self._is_sealed = True
        self._pump()

    async def wait(self) -> tuple[Outcome, ...]:
        """All outcomes, when the last call is through."""
        await self._done.wait()
        if self._crash is not None:
            raise self._crash
        return self.outcomes

    async def cancel(self) -> tuple[Outcome, ...]:
        """Stop everything and wait until it has stopped; at most some seconds for stubborn tools.

        Raises:
            CancelledError: the caller was cancelled meanwhile; all outcomes are there even so.
        """
        self._close()
        cancelled: asyncio.CancelledError | None = None
        while self._running:
            try:
                await asyncio.wait(self._running)
                await asyncio.sleep(0)  # the callbacks of the tasks come after
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled
        return self.outcomes

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """One per call, in call order; only after `wait` or `cancel`."""
        found = tuple(o for o in self._outcomes if o is not None)
        assert len(found) == len(self._entries)
        return found

    def _close(self) -> None:
        self._is_closed = True
        for task in self._running:
            task.cancel()
        for number in range(self._next, len(self._entries)):
            if self._outcomes[number] is None:
                self._finish(number, _cancelled(self._entries[number]))
        self._next = len(self._entries)
        self._is_sealed = True
        self._pump()

    def _pump(self) -> None:
        """Start what may be started, in call order."""
        while self._next < len(self._entries):
            entry, number = self._entries[self._next], self._next
            if isinstance(entry, Ready) and not self._start(entry, number):
                break
            self._next += 1
        if self._is_sealed and self._next == len(self._entries) and not self._running:
            self._done.set()

    def _start(self, ready: Ready, number: int) -> bool:
        """Start one call; False if it has to wait."""
        rules = ready.tool.rules
        if not self._is_sealed and not (rules.is_eager and not ready.note):
            return False
        if ready.same_as is not None:
            first = self._outcomes[ready.same_as]
            if first is None:
                self._followers.setdefault(ready.same_as, []).append(number)
            else:
                self._finish(number, replace(first, call=ready.call, attempts=0))
            return True
        if rules.approval and self._ask is None:
            self.pending.append(_request(ready))
            self._finish(number, Outcome(ready.call, "pending", feedback.pending(ready.tool.name)))
            return True
        if self._exclusive or len(self._running) >= self._limit:
            return False
        if rules.exclusive and self._running:
            return False
        self._exclusive = rules.exclusive
        task = asyncio.create_task(self._one(ready))
        self._running[task] = number
        task.add_done_callback(self._ended)
        return True

    async def _one(self, ready: Ready) -> Outcome:
        started = False
        try:
            if ready.tool.rules.approval and self._ask is not None:
                decision = await self._ask(_request(ready))
                if not decision.approved:
                    text = feedback.denied(ready.tool.name, decision.reason)
                    return Outcome(ready.call, "denied", text)
            self._emit(ToolStarted(ready.call))
            started = True
            report = partial(self._report, ready.call, asyncio.get_running_loop())
            return await self._runner.run(ready, self._step, report)
        except asyncio.CancelledError:
            return _cancelled(ready, started=started)

    def _report(self, call: ToolCall, loop: asyncio.AbstractEventLoop, text: str) -> None:
        """Progress, from whichever thread the tool runs in."""
        event = ToolProgress(call.id, call.name, text)
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._emit, event)

    def _ended(self, task: "asyncio.Task[Outcome]") -> None:
        number = self._running.pop(task)
        if not self._running:
            self._exclusive = False
        entry = self._entries[number]
        if task.cancelled():
            outcome = _cancelled(entry)
        elif (error := task.exception()) is not None:
            self._crash = self._crash or error
            outcome = _cancelled(entry, started=True)
        else:
            outcome = task.result()
        self._finish(number, outcome)
        if self._runner.interrupt is not None or self._crash is not None:
            self._close()
        self._pump()

    def _finish(self, number: int, outcome: Outcome, *, is_news: bool = True) -> None:
        self._outcomes[number] = outcome
        if is_news:
            self._emit(ToolFinished(outcome))
        for follower in self._followers.pop(number, ()):
            call = _call(self._entries[follower])
            self._finish(follower, replace(outcome, call=call, attempts=0))


def _request(ready: Ready) -> ApprovalRequest:
    call, name = ready.call, ready.tool.name
    return ApprovalRequest(
        call.id,
        name,
        ready.arguments,
        ready.tool.rules.effect,
        digest(call.id, name, ready.arguments),
    )


def _call(entry: Ready | Outcome) -> ToolCall:
    return entry.call


def _cancelled(entry: Ready | Outcome, *, started: bool = False) -> Outcome:
    call = entry.call
    return Outcome(
        call, "cancelled", feedback.cancelled(call.name, started=started), started=started
    )
