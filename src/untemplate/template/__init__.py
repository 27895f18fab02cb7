"""From a conversation to a prompt: chat templates, their sandbox, and the files they come in."""

from untemplate.template.meter import Allowance
from untemplate.template.rendering import CompiledTemplate, Names

__all__ = ["Allowance", "CompiledTemplate", "Names"]
