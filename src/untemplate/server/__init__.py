"""An OpenAI-compatible HTTP server over one engine and one template; needs the extra `[server]`."""

from untemplate.server.app import create_app
from untemplate.server.settings import Settings

__all__ = ["Settings", "create_app"]
