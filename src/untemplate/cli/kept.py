"""Analyses of templates and tries of vocabularies, kept in files so that they are made once.

    opened = open_template(path)          # the second time, and in the next process, from the file
    warm(model.vocabulary)                # so that the first mask need not wait for the trie

The folder is `UNTEMPLATE_ANALYSES`, or `analyses` in the cache; if that variable is empty, none are
kept. Names of files are hashes of all that an analysis depends on, so a file never has to change;
what can't be read or written is made again, in silence. Of each kind the oldest files go.
"""

import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import untemplate
from untemplate.engines.models import cache_dir
from untemplate.turn import ChatTemplate
from untemplate.vocabulary import Vocabulary

__all__ = ["KeptAnalyses", "KeptFiles", "open_template", "warm"]

_CODE = ("dialect", "grammar", "inference", "reader", "template")
"""What analyses come from."""


class KeptFiles:
    """The files of a folder that end alike, up to so many."""

    def __init__(self, folder: Path, suffix: str, most: int) -> None:
        self._folder = folder
        self._suffix = suffix
        self._most = most

    def get(self, key: str) -> bytes | None:
        try:
            return (self._folder / f"{key}{self._suffix}").read_bytes()
        except OSError:
            return None

    def put(self, key: str, data: bytes) -> None:
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            # Two commands may write the same file: each writes its own and puts it in place.
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(self._folder / f"{key}{self._suffix}")
            self._forget()

    def _forget(self) -> None:
        files = sorted(self._folder.glob(f"*{self._suffix}"), key=lambda f: f.stat().st_mtime)
        for file in files[: -self._most]:
            file.unlink(missing_ok=True)


class KeptAnalyses:
    """Analyses in files, as `untemplate.inference.Cache` wants them."""

    def __init__(self, folder: Path) -> None:
        self._files = KeptFiles(folder, ".json", 200)

    def get(self, key: str) -> str | None:
        data = self._files.get(key)
        try:
            return None if data is None else data.decode()
        except UnicodeDecodeError:
            return None

    def put(self, key: str, text: str) -> None:
        self._files.put(key, text.encode("utf-8", "replace"))


def _root(inside: str) -> Path | None:
    """The folder that the user names, else one inside the cache; None if nothing is to be kept."""
    given = os.environ.get("UNTEMPLATE_ANALYSES")
    if given == "":
        return None
    return Path(given) if given else cache_dir() / inside


@cache
def _kept() -> KeptAnalyses | None:
    root = _root("analyses")
    return KeptAnalyses(root / _version()) if root else None


def _version() -> str:
    """Changes with the code that makes analyses, in a checkout too."""
    package = Path(untemplate.__file__).parent
    files = (f for part in _CODE for f in (package / part).rglob("*") if f.is_file())
    return f"{max(f.stat().st_mtime_ns for f in files):x}"


@cache
def _kept_tries() -> KeptFiles | None:
    root = _root("")
    return KeptFiles(root / "tries", ".npz", 8) if root else None


def warm(vocabulary: Vocabulary) -> None:
    """Makes what masks need of a vocabulary, from the file that was kept of it."""
    from untemplate.constrain.trie import TokenTrie, token_trie  # noqa: PLC0415  numpy is heavy
    from untemplate.constrain.trie_store import key_of, load, save  # noqa: PLC0415  as above

    kept = _kept_tries()

    def make(vocabulary: Vocabulary) -> TokenTrie:
        found = load(vocabulary, kept.get(key_of(vocabulary))) if kept else None
        if found is None:
            found = TokenTrie(vocabulary)
            if kept:
                kept.put(key_of(vocabulary), save(found, vocabulary))
        return found

    token_trie(vocabulary, make)


def open_template(path: Path, *, dialect: Path | None = None) -> ChatTemplate:
    """A template of a file, GGUF or folder, with the analysis that was kept of it."""
    return ChatTemplate.open(path, dialect=dialect, cache=_kept())
