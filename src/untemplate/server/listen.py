"""Listening on an address: uvicorn, set up for one user on one machine."""

import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from untemplate.errors import RequestError

__all__ = ["listen"]

_KEEP_ALIVE_S = 75
"""Longer than clients keep idle connections, so that none writes into one that just closed."""
_SHUTDOWN_S = 3


def listen(app: ASGIApp, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Serves until it is interrupted; `ready` is told the address, which matters for port 0.

    Raises:
        RequestError: the address can't be had.
    """
    with _bound(host, port) as bound:
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{bound.getsockname()[1]}")
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
        uvicorn.Server(config).run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen()  # from here on clients wait instead of being turned away
    except OSError as error:
        bound.close()
        raise RequestError(
            f"can't listen there ({error.strerror or error}); choose another --port or --host",
            place=f"{host}:{port}",
        ) from None
    return bound
