"""What can be set about the server; the defaults are for one user on one machine."""

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and intervals."""

    body_bytes: int = 8 << 20
    """Largest request."""
    requests: int = 32
    """Requests that are worked on or wait for their turn; one more is refused with a 429."""
    retry_after_s: int = 5
    """What a refused client is told to wait."""
    ping_s: float = 15.0
    """A stream that has nothing to say for so long says that it is alive."""
    resume_points: int = 256
    """Cut answers that a client may go on with exactly; the oldest is forgotten."""
    resume_s: float = 600.0
    """For how long."""

    def __post_init__(self) -> None:
        bounds = self.body_bytes, self.requests, self.retry_after_s, self.ping_s
        if min(*bounds, self.resume_points, self.resume_s) <= 0:
            raise ValueError(f"settings must be positive: {self}")
