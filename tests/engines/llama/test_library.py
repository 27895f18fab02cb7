"""Finding and loading the library, and what it must export."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from untemplate.engines.llama import library as module
from untemplate.engines.llama.library import SYMBOLS, Library, find
from untemplate.errors import EngineError


@pytest.mark.model
def test_the_pinned_wheel_exports_every_symbol_we_call(library):
    for name in (*SYMBOLS, *module._BY_LAYOUT):
        assert hasattr(library.c, name), name
    assert library.layouts.names[1] in ("plain", "moe_cache")


@pytest.mark.model
def test_the_defaults_read_through_the_layouts_make_sense(library):
    params = library.layouts.context()
    assert (params.n_ctx, params.n_batch, params.n_seq_max) == (512, 2048, 1)
    assert not params.kv_unified
    assert 1 <= params.n_threads <= 512
    assert not library.layouts.model().vocab_only


@pytest.mark.model
def test_the_environment_is_set_before_the_library_is_loaded(library):
    code = (
        "import os; from untemplate.engines.llama.library import load; load(); "
        "print(os.environ['OMP_WAIT_POLICY'], os.environ['GGML_NO_BACKTRACE'])"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GGML_"))}
    done = subprocess.run([sys.executable, "-c", code], env=clean, capture_output=True, check=True)
    assert done.stdout.split() == [b"passive", b"1"]
    asked = {**clean, "OMP_WAIT_POLICY": "active"}
    done = subprocess.run([sys.executable, "-c", code], env=asked, capture_output=True, check=True)
    assert done.stdout.split() == [b"active", b"1"]


def test_the_environment_comes_first(tmp_path, monkeypatch):
    given = tmp_path / "libllama.so"
    given.write_bytes(b"")
    monkeypatch.setenv("UNTEMPLATE_LIBLLAMA", str(given))
    assert find() == given
    monkeypatch.setenv("UNTEMPLATE_LIBLLAMA", str(tmp_path / "nothing.so"))
    with pytest.raises(EngineError, match=r"UNTEMPLATE_LIBLLAMA=.*nothing\.so: no such file"):
        find()


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Makes the search see only packages under tmp_path."""
    monkeypatch.delenv("UNTEMPLATE_LIBLLAMA", raising=False)

    def folder(name):
        path = tmp_path / name
        return path if path.is_dir() else None

    monkeypatch.setattr(module, "_package_folder", folder)
    return tmp_path


def put(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    return path


def test_an_installed_llama_cpp_python_comes_before_the_wheel(packages):
    wheel = put(packages / "xllamacpp/xllamacpp.abi3.so")
    assert find() == wheel
    (packages / "llama_cpp").mkdir()
    assert find() == wheel
    other = put(packages / f"llama_cpp/lib/{module._library_name()}")
    assert find() == other


def test_without_any_the_error_names_the_three_ways(packages):
    with pytest.raises(EngineError, match=r"untemplate\[local\].*llama-cpp-python.*LIBLLAMA"):
        find()


def test_a_file_that_is_no_library_is_refused(tmp_path):
    path = put(tmp_path / "libllama.so")
    with pytest.raises(EngineError, match=r"libllama\.so: can't be loaded"):
        Library(path)


@pytest.mark.skipif(sys.platform != "linux", reason="the name of a library that is always there")
def test_a_library_that_is_not_llama_is_refused():
    with pytest.raises(EngineError, match=r"is not a llama\.cpp that we know: it lacks llama_"):
        Library(Path("libm.so.6"))
