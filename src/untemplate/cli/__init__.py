"""The command line: one thin file for each command, imported when the command is called."""

from untemplate.cli.group import main

__all__ = ["main"]
