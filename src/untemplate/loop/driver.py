"""Drives one run: reply, calls, reply, calls, until an answer or a limit.

    step:  request -> reply (streamed on) -> calls (some started already) -> outcomes -> history

Every step leaves the history valid before anything can raise: whatever interrupts it (a limit on
time, a cancellation, a model that fails, KeyboardInterrupt out of a tool), what runs is stopped,
each call gets its outcome and its tool message, and only then the interruption goes on its way.
"""

import asyncio
import inspect
import logging
import secrets
import time
from typing import cast

from untemplate.loop import feedback
from untemplate.loop.admission import Admission
from untemplate.loop.approval import ApprovalRequest, Decision, as_decision
from untemplate.loop.batch import Ask, Batch
from untemplate.loop.channel import Channel
from untemplate.loop.events import Done, StepFinished, StepStarted
from untemplate.loop.execution import Runner
from untemplate.loop.history import assistant_message, tool_message, used_ids
from untemplate.loop.model import Chat, ChatMessage, Request
from untemplate.loop.outcome import Outcome
from untemplate.loop.reply import ReplyReader, Written, is_cut
from untemplate.loop.result import Reason, RunResult, StepRecord, total
from untemplate.loop.resumption import Resumption
from untemplate.loop.settings import Settings
from untemplate.loop.state import Paused, dump_state
from untemplate.loop.telemetry import run_span
from untemplate.loop.threads import Raised
from untemplate.message import Message, ToolChoice, Usage

__all__ = ["Driver"]

_OUTPUT_TRIES = 3

_log = logging.getLogger("untemplate.loop")


class Driver:
    """One run. `drive` is its only task; `channel` is how it tells, `result` what it gives."""

    def __init__(
        self, settings: Settings, chat: Chat, *, resumption: Resumption | None = None
    ) -> None:
        self._settings = settings
        self._chat: list[ChatMessage] = list(chat)
        self._resumption = resumption
        self._admission = Admission(settings.tools, settings.limits.calls)
        self._runner = Runner(settings.pool, settings.tasks_left, settings.tracer)
        self._ids = used_ids(chat)
        self._steps: list[StepRecord] = []
        self._step = 0
        self._usage = Usage()
        self._text = ""
        self._output: object = None
        self._output_tries = 0
        self._state: Paused | None = None
        self._asking = asyncio.Lock()
        self.channel = Channel()
        self.result: RunResult | None = None
        self.failure: BaseException | None = None
        """What the run has to raise after its last event."""

    @property
    def chat(self) -> Chat:
        """The conversation so far, valid whenever no step is open."""
        return tuple(self._chat)

    async def drive(self) -> None:
        """Run to the end. Sets `result`, whatever happens; raises only if it is cancelled."""
        reason: Reason = "error"
        clock = asyncio.timeout(self._settings.limits.time_s)
        try:
            with run_span(self._settings.tracer):
                async with clock:
                    reason = await self._run()
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - raised by the iterator
            if isinstance(error, TimeoutError) and clock.expired():
                reason = "time"
            else:
                reason = "cancelled" if isinstance(error, KeyboardInterrupt) else "error"
                self.failure = error
        finally:
            self.result = RunResult(
                reason,
                self.chat,
                self._text,
                self._output,
                self._usage,
                tuple(self._steps),
                None if self._state is None else dump_state(self._state),
            )
            self.channel.send(Done(self.result))
            self.channel.close()

    async def _run(self) -> Reason:
        choice = self._settings.choice
        reason: Reason | None = None
        if self._resumption is not None:
            await self._finish_paused(self._resumption)
            choice, reason = ToolChoice(parallel=choice.parallel), self._admission.ended
        while reason is None:
            if (reason := self._limit()) is not None:
                break
            record = await self._next_step(choice)
            choice = ToolChoice(parallel=choice.parallel)
            if self._state is not None:
                return "approval"
            if record.message.tool_calls:
                reason = self._admission.ended
                continue
            reason = self._judge(record.message)
            if reason is None:
                choice = ToolChoice("none")
        if reason in ("steps", "calls", "loop") and self._settings.limits.final_answer:
            record = await self._next_step(ToolChoice("none"))
            self._read_output(record.message)
        return reason

    def _limit(self) -> Reason | None:
        """The limit that forbids another reply."""
        limits = self._settings.limits
        if self._step >= limits.steps:
            return "steps"
        if limits.tokens is not None and self._spent() >= limits.tokens:
            return "tokens"
        return None

    def _judge(self, message: Message) -> Reason | None:
        """Whether a reply without calls ends the run; None: the model is asked again."""
        if is_cut(message):
            return "cut"
        problem = self._read_output(message)
        if problem is None:
            return "answer"
        self._output_tries += 1
        if self._output_tries >= _OUTPUT_TRIES:
            return "output"
        self._chat.append({"role": "user", "content": feedback.invalid_output(problem)})
        return None

    def _read_output(self, message: Message) -> str | None:
        """Take the value that an answer spells, if one is wanted; else what is wrong with it."""
        if self._settings.output is None:
            return None
        read = self._settings.output.read(message.content)
        if isinstance(read, str):
            return read
        self._output = read.value
        return None

    def _spent(self) -> int:
        return self._usage.prompt_tokens + self._usage.completion_tokens

    def _request(self, choice: ToolChoice) -> Request:
        settings = self._settings
        offered = tuple(
            t
            for t in self._admission.offered()
            if not self._runner.is_clogged(settings.tools[t.name])
        )
        names = {t.name for t in offered}
        if settings.tools and (choice.name not in names if choice.name else not names):
            choice = ToolChoice(parallel=choice.parallel)  # what was asked for is withdrawn
        window, limit = settings.max_tokens, settings.limits.tokens
        if window is not None and limit is not None:
            window = min(window, limit - self._spent())
        return Request(
            messages=self.chat,
            tools=offered,
            choice=choice,
            nonce=secrets.token_hex(12),
            max_tokens=window,
            output_schema=settings.output.schema if settings.output is not None else None,
        )

    async def _next_step(self, choice: ToolChoice) -> StepRecord:
        """Ask for a reply, run its calls, and write both into the history."""
        self._step += 1
        start = time.monotonic()
        self.channel.send(StepStarted(self._step))
        self._admission.start_reply(choice)
        batch = self._batch(self._ask if self._settings.approve is not None else None)
        reader = ReplyReader(
            self._settings.model,
            self._settings.fallback,
            step=self._step,
            tracer=self._settings.tracer,
            channel=self.channel,
            used_ids=self._ids,
            add=batch.add,
            is_eager=self._is_eager,
            check=self._check,
        )
        written: Written | None = None
        try:
            written = await reader.read(self._request(choice))
            batch.seal()
            await batch.wait()
        except BaseException:
            await self._stop(batch, written or Written(reader.close(), Usage(), 1), start)
            raise
        return self._record(written, batch, start)

    async def _stop(self, batch: Batch, written: Written, start: float) -> None:
        """Stop the calls of an interrupted step, and keep all that was received and done."""
        try:
            await batch.cancel()
        finally:
            kept = written.message
            if kept.tool_calls or kept.content or kept.reasoning_content:
                self._record(written, batch, start)

    def _check(self) -> None:
        """Raise what a tool has raised to end the run."""
        if self._runner.interrupt is not None:
            raise self._runner.interrupt

    def _is_eager(self, name: str) -> bool:
        tool = self._settings.tools.get(name)
        return tool is not None and tool.rules.is_eager

    def _batch(self, ask: Ask | None) -> Batch:
        return Batch(
            self._admission,
            self._runner,
            limit=self._settings.limits.concurrency,
            step=self._step,
            emit=self.channel.send,
            ask=ask,
        )

    def _record(self, written: Written, batch: Batch, start: float) -> StepRecord:
        """Write a step into the history; a paused one also into the state."""
        message, outcomes = written.message, batch.outcomes
        self._usage = total(self._usage, written.usage)
        self._text = message.content
        if batch.pending:
            self._state = Paused(
                self.chat,
                message,
                outcomes,
                tuple(batch.pending),
                self._step,
                self._usage,
                self._admission.dump(),
            )
        else:
            self._admission.settle(outcomes)
        self._chat.append(assistant_message(message))
        self._chat.extend(tool_message(o) for o in outcomes)
        seconds = time.monotonic() - start
        record = StepRecord(
            self._step,
            message,
            outcomes,
            written.usage,
            written.generations,
            written.costs,
            written.diagnosis,
            seconds,
            written.dropped,
        )
        self._steps.append(record)
        self.channel.send(StepFinished(record))
        self._check()
        return record

    async def _finish_paused(self, resumption: Resumption) -> None:
        """Run or refuse the calls that waited, and write the paused step into the history."""
        paused = resumption.paused
        start = time.monotonic()
        self._step, self._usage = paused.step, paused.usage
        self._admission.load(paused.admission)
        self._ids |= {c.id for c in paused.message.tool_calls}
        batch = self._batch(resumption.ask)
        written = Written(paused.message, Usage(), 0)
        try:
            for entry in resumption.entries(self._settings):
                batch.place(entry, is_news=not isinstance(entry, Outcome))
            batch.seal()
            await batch.wait()
        except BaseException:
            await self._stop(batch, written, start)
            raise
        self._record(written, batch, start)

    async def _ask(self, request: ApprovalRequest) -> Decision:
        """Ask the approver, one call at a time; an approver that fails has not approved."""
        approve = self._settings.approve
        assert approve is not None
        async with self._asking:
            try:
                if inspect.iscoroutinefunction(approve):
                    given: object = await approve(request)
                else:
                    given = await self._settings.pool.run("approval", lambda: approve(request))
                    if inspect.isawaitable(given):
                        given = await given
            except Exception:  # noqa: BLE001 - an approver may raise anything
                _log.exception("the approver failed on %s (%s)", request.name, request.id)
                return Decision(approved=False, reason="nobody could be asked")
            if isinstance(given, Raised):
                if isinstance(given.error, KeyboardInterrupt):
                    self._runner.interrupt = given.error
                _log.error("the approver failed on %s", request.name, exc_info=given.error)
                return Decision(approved=False, reason="nobody could be asked")
            return as_decision(cast("bool | Decision", given))
