"""How a tool may be run: what a call may change, and every bound.

`effect` says what a call may change, and decides what the loop may do by itself:

    effect        runs while the reply   run again after   identical calls of   asks for
                  still streams          an exception      one reply share      approval
    read          yes                    once              yes                  no
    idempotent    no                     once              yes                  no
    write         no                     no                no                   no      (default)
    destructive   no                     no                no                   yes

The last two columns and the number of retries may be set; a retry of a call that is not safe to
repeat may not.
"""

from dataclasses import dataclass
from typing import Literal, TypedDict

from untemplate.budget.policy import Effect, Policy
from untemplate.errors import RequestError

__all__ = ["Rules", "RulesOptions", "rules"]

_EFFECTS: tuple[Effect, ...] = ("read", "idempotent", "write", "destructive")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one tool. Make one with `rules`, which fills in what follows from `effect`."""

    effect: Effect = "write"
    exclusive: bool = False
    """Runs alone: after all earlier calls of its reply, before all later ones."""
    timeout_s: float | None = 60.0
    retries: int = 0
    """How often it is run again after an exception (not a `ToolError`), by the host alone."""
    failures_max: int = 3
    """Replies in a row in which it may fail before it is withdrawn for the run."""
    abandoned_max: int = 4
    """Threads that may hang in it before it is withdrawn until one of them ends."""
    result_max: int = 16_384
    """Characters of a result that the model is shown."""
    approval: bool = False
    """Whether each call has to be approved before it runs."""
    on_cut: Literal["never", "partial"] = "never"
    """`partial`: a cut call of this read-only tool runs on the arguments that are complete."""
    cut_strings: tuple[str, ...] = ()
    """With `partial`: arguments whose beginning is of use too, as a search text."""
    guarded: tuple[str, ...] = ("confirm", "dry_run", "force")
    """With `partial`: arguments without which a cut call never runs, whatever their default."""
    in_thread: bool = True
    """False: a sync function runs on the event loop, for libraries that are bound to one thread.
    It blocks the loop and can't be timed out."""

    @property
    def is_repeatable(self) -> bool:
        """Whether running a call twice does no more than running it once."""
        return self.effect in ("read", "idempotent")

    @property
    def is_eager(self) -> bool:
        """Whether a call may start while the reply still streams."""
        return self.effect == "read" and not self.exclusive and not self.approval

    @property
    def policy(self) -> Policy:
        """What may be done with calls that are not sealed."""
        return Policy(self.effect, self.on_cut, self.cut_strings, self.guarded)


class RulesOptions(TypedDict, total=False):
    """The options of `rules`; the fields are those of `Rules`."""

    effect: Effect
    exclusive: bool
    timeout_s: float | None
    retries: int
    failures_max: int
    abandoned_max: int
    result_max: int
    approval: bool
    on_cut: Literal["never", "partial"]
    cut_strings: tuple[str, ...]
    guarded: tuple[str, ...]
    in_thread: bool


def rules(options: RulesOptions, *, place: str) -> Rules:
    """Rules with what follows from the effect filled in.

    Raises:
        RequestError: a bound is not positive, or a repetition is asked for that is not safe.
    """
    effect = options.get("effect", "write")
    if effect not in _EFFECTS:
        raise RequestError(f"effect has to be one of {', '.join(_EFFECTS)}", place=place)
    safe = effect in ("read", "idempotent")
    filled: RulesOptions = {
        "retries": 1 if safe else 0,
        "approval": effect == "destructive",
        **options,
    }
    made = Rules(**filled)
    if made.retries and not safe:
        raise RequestError(
            f"a {effect} tool can't be retried: declare it idempotent if it is", place=place
        )
    if made.on_cut == "partial" and effect != "read":
        raise RequestError("only a read tool may run on a part of its arguments", place=place)
    for bound in ("failures_max", "abandoned_max", "result_max"):
        if getattr(made, bound) < 1:
            raise RequestError(f"{bound} has to be at least 1", place=place)
    if made.timeout_s is not None and not made.timeout_s > 0:
        raise RequestError("timeout_s has to be positive, or None", place=place)
    return made
