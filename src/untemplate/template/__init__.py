"""From a conversation to a prompt: chat templates, their sandbox, and the files they come in."""

from untemplate.template.capabilities import Capabilities
from untemplate.template.history import prepare
from untemplate.template.marking import MarkedPrompt, control_tokens, render_marked
from untemplate.template.meter import Allowance
from untemplate.template.rendering import CompiledTemplate, Names
from untemplate.template.source import TemplateSource, read_source
from untemplate.template.tools import plain_tools, prepare_tools

__all__ = [
    "Allowance",
    "Capabilities",
    "CompiledTemplate",
    "MarkedPrompt",
    "Names",
    "TemplateSource",
    "control_tokens",
    "plain_tools",
    "prepare",
    "prepare_tools",
    "read_source",
    "render_marked",
]
