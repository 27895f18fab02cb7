"""The face of the library: `ChatTemplate` and `Turn`."""

from untemplate.reader import Event
from untemplate.reader.specials import Spelled
from untemplate.turn.point import ResumePoint, TurnSnapshot
from untemplate.turn.template import ChatTemplate
from untemplate.turn.turn import Turn

__all__ = ["ChatTemplate", "Event", "ResumePoint", "Spelled", "Turn", "TurnSnapshot"]
