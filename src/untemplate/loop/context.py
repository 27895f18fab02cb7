"""What a running tool may ask of the loop: progress, and whether it should stop.

A function that has a parameter of this type gets it filled in; the model does not see it.

    def crawl(url: str, context: ToolContext) -> str:
        for page in pages(url):
            if context.is_cancelled:
                raise ToolError("stopped")
            context.progress(f"read {page}")

Async tools are cancelled by asyncio; a thread can't be, so a long sync tool should look at
`is_cancelled`. Both methods may be called from any thread.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["ToolContext"]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One execution of one call."""

    call_id: str
    name: str
    step: int
    attempt: int = 1
    report: Callable[[str], None] = field(default=lambda _: None, repr=False)
    _stops: list[bool] = field(default_factory=list[bool], repr=False)
    """Empty until the call is cancelled; an append is atomic, so no lock is needed."""

    def progress(self, text: str) -> None:
        """Tell the reader of the events how far the tool is."""
        self.report(text)

    @property
    def is_cancelled(self) -> bool:
        """Whether the result is not wanted any more: the call timed out or was cancelled."""
        return bool(self._stops)

    def cancel(self) -> None:
        """Tell the tool that its result is not wanted any more."""
        self._stops.append(True)
