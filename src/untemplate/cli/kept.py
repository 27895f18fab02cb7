"""Analyses of templates kept in files, so that a command need not make them again.

    opened = open_template(path)          # the second time, and in the next process, from the file

The folder is `UNTEMPLATE_ANALYSES`, or `analyses` in the cache; if that variable is empty, none are
kept. Names of files are hashes of all that an analysis depends on, so a file never has to change;
what can't be read or written is made again, in silence. After `_MOST` files the oldest go.
"""

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import untemplate
from untemplate.engines.models import cache_dir
from untemplate.turn import ChatTemplate

__all__ = ["KeptAnalyses", "open_template"]

_MOST = 200
_CODE = ("dialect", "grammar", "inference", "reader", "template")
"""What analyses come from."""


class KeptAnalyses:
    """The files of a folder, as `untemplate.inference.Cache` wants them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> str | None:
        try:
            return (self._folder / f"{key}.json").read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None

    def put(self, key: str, text: str) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            # Two commands may write the same file: each writes its own and puts it in place.
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
            Path(name).replace(self._folder / f"{key}.json")
            self._forget()

    def _forget(self) -> None:
        files = sorted(self._folder.glob("*.json"), key=lambda f: f.stat().st_mtime)
        for file in files[:-_MOST]:
            file.unlink(missing_ok=True)


@cache
def _kept() -> KeptAnalyses | None:
    given = os.environ.get("UNTEMPLATE_ANALYSES")
    if given is not None:
        return KeptAnalyses(Path(given) / _version()) if given else None
    return KeptAnalyses(cache_dir() / "analyses" / _version())


def _version() -> str:
    """Changes with the code that makes analyses, in a checkout too."""
    package = Path(untemplate.__file__).parent
    files = (f for part in _CODE for f in (package / part).rglob("*") if f.is_file())
    return f"{max(f.stat().st_mtime_ns for f in files):x}"


def open_template(path: Path, *, dialect: Path | None = None) -> ChatTemplate:
    """A template of a file, GGUF or folder, with the analysis that was kept of it."""
    return ChatTemplate.open(path, dialect=dialect, cache=_kept())
