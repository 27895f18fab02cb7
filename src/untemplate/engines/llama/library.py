"""Finds, loads and declares llama.cpp's shared library.

In: nothing but the environment. Out: one `Library` per process and path, with every C function
that we call declared, its struct layouts proved, its log kept for error messages.

    library = load()
    library.c.llama_max_devices()

Where it looks, in this order: `UNTEMPLATE_LIBLLAMA` (a file), an installed llama-cpp-python, the
`xllamacpp` wheel, whose extension module exports the whole C API. The wheel does not promise that,
so its version is pinned and the symbols are checked here.

Two variables must stand in the environment before the library is loaded. `OMP_WAIT_POLICY=passive`:
OpenMP's spinning barriers collapse to a hundredth of the speed as soon as another process wants the
same cores. `GGML_NO_BACKTRACE=1`: a failed assertion would otherwise start a debugger.
"""

import ctypes
import importlib.util
import os
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

from untemplate.engines.llama.layout import BatchStruct, Layouts, probe
from untemplate.errors import EngineError

__all__ = ["SYMBOLS", "Library", "find", "load"]

_pointer = ctypes.c_void_p
_i32 = ctypes.c_int32
_u32 = ctypes.c_uint32
_i32_array = ctypes.POINTER(ctypes.c_int32)
_size = ctypes.c_size_t
_text = ctypes.c_char_p
_bool = ctypes.c_bool

_Log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
_WARNING = 3
"""ggml's log levels: 2 info, 3 warning, 4 error, 5 goes on with the line before."""

SYMBOLS: dict[str, tuple[Any, list[Any]]] = {
    "llama_backend_init": (None, []),
    "llama_log_set": (None, [_Log, _pointer]),
    "ggml_backend_reg_count": (_size, []),
    "ggml_backend_load_all_from_path": (None, [_text]),
    "llama_model_free": (None, [_pointer]),
    "llama_model_get_vocab": (_pointer, [_pointer]),
    "llama_model_n_ctx_train": (_i32, [_pointer]),
    "llama_model_has_decoder": (_bool, [_pointer]),
    "llama_model_has_encoder": (_bool, [_pointer]),
    "llama_model_desc": (_i32, [_pointer, _text, _size]),
    "llama_model_meta_count": (_i32, [_pointer]),
    "llama_model_meta_key_by_index": (_i32, [_pointer, _i32, _text, _size]),
    "llama_model_meta_val_str_by_index": (_i32, [_pointer, _i32, _text, _size]),
    "llama_vocab_type": (_i32, [_pointer]),
    "llama_vocab_n_tokens": (_i32, [_pointer]),
    "llama_vocab_bos": (_i32, [_pointer]),
    "llama_vocab_eos": (_i32, [_pointer]),
    "llama_vocab_eot": (_i32, [_pointer]),
    "llama_vocab_get_attr": (_i32, [_pointer, _i32]),
    "llama_vocab_is_eog": (_bool, [_pointer, _i32]),
    "llama_tokenize": (_i32, [_pointer, _text, _i32, _i32_array, _i32, _bool, _bool]),
    "llama_token_to_piece": (_i32, [_pointer, _i32, _text, _i32, _i32, _bool]),
    "llama_free": (None, [_pointer]),
    "llama_n_ctx_seq": (_u32, [_pointer]),
    "llama_n_batch": (_u32, [_pointer]),
    "llama_n_seq_max": (_u32, [_pointer]),
    "llama_set_n_threads": (None, [_pointer, _i32, _i32]),
    "llama_set_abort_callback": (None, [_pointer, _pointer, _pointer]),
    "llama_get_memory": (_pointer, [_pointer]),
    "llama_memory_seq_rm": (_bool, [_pointer, _i32, _i32, _i32]),
    "llama_memory_seq_pos_max": (_i32, [_pointer, _i32]),
    "llama_decode": (_i32, [_pointer, BatchStruct]),
    "llama_get_logits_ith": (_pointer, [_pointer, _i32]),
    "llama_state_seq_get_size": (_size, [_pointer, _i32]),
    "llama_state_seq_get_data": (_size, [_pointer, _pointer, _size, _i32]),
    "llama_state_seq_set_data": (_size, [_pointer, _pointer, _size, _i32]),
}
"""C functions whose signatures don't hang on a struct layout: result and arguments."""

_BY_LAYOUT = (
    "llama_model_default_params",
    "llama_context_default_params",
    "llama_batch_get_one",
    "llama_model_load_from_file",
    "llama_init_from_model",
)


class Library:
    """One loaded libllama: `c` holds the declared functions, `layouts` the struct types."""

    def __init__(self, path: Path) -> None:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        os.environ.setdefault("GGML_NO_BACKTRACE", "1")
        self.path = path
        try:
            self.c = ctypes.CDLL(str(path))
        except OSError as error:
            raise EngineError(f"can't be loaded: {error}", place=str(path)) from None
        missing = [name for name in (*SYMBOLS, *_BY_LAYOUT) if not hasattr(self.c, name)]
        if missing:
            raise EngineError(
                f"is not a llama.cpp that we know: it lacks {', '.join(missing[:3])}"
                f"{' and more' if len(missing) > 3 else ''}",
                place=str(path),
            )
        for name, (result, arguments) in SYMBOLS.items():
            function = self.c[name]
            function.restype = result
            function.argtypes = arguments
            setattr(self.c, name, function)
        self.layouts: Layouts = probe(self.c)
        self.c.llama_model_load_from_file.restype = _pointer
        self.c.llama_model_load_from_file.argtypes = [_text, self.layouts.model_type]
        self.c.llama_init_from_model.restype = _pointer
        self.c.llama_init_from_model.argtypes = [_pointer, self.layouts.context_type]
        self._complaints: deque[str] = deque(maxlen=8)
        self._log = _Log(self._keep_complaint)  # kept alive: C holds its address
        self.c.llama_log_set(self._log, None)
        if not self.c.ggml_backend_reg_count():
            # Backends are files beside it. Not `load_all`: that looks in the working folder too.
            self.c.ggml_backend_load_all_from_path(os.fsencode(path.parent))
        self.c.llama_backend_init()

    def _keep_complaint(self, level: int, text: bytes | None, _user_data: object) -> None:
        if level >= _WARNING and text:
            self._complaints.append(text.decode("utf-8", "replace"))

    def complaint(self) -> str:
        """The last warnings and errors that C printed, on one line; forgets them."""
        lines = "".join(self._complaints).split("\n")
        self._complaints.clear()
        return "; ".join(line.strip() for line in lines if line.strip())


_loaded: dict[Path, Library] = {}
_loading = threading.Lock()


def load(path: Path | None = None) -> Library:
    """The library at `path`, or the first one found; each is loaded once per process."""
    chosen = (path or find()).resolve()
    with _loading:
        if chosen not in _loaded:
            _loaded[chosen] = Library(chosen)
        return _loaded[chosen]


def find() -> Path:
    """Path of the libllama to use, without loading it."""
    given = os.environ.get("UNTEMPLATE_LIBLLAMA")
    if given:
        if not Path(given).is_file():
            raise EngineError("no such file", place=f"UNTEMPLATE_LIBLLAMA={given}")
        return Path(given)
    for folder, name in (
        (_package_folder("llama_cpp"), f"lib/{_library_name()}"),
        (_package_folder("xllamacpp"), "xllamacpp.abi3.so"),
    ):
        if folder is not None and (folder / name).is_file():
            return folder / name
    raise EngineError(
        "no llama.cpp found: run `pip install 'untemplate[local]'` (Linux x86-64), or "
        "`pip install llama-cpp-python`, or set UNTEMPLATE_LIBLLAMA to a libllama file"
    )


def _package_folder(name: str) -> Path | None:
    # Only the place is asked for: importing these packages would load the library our way too late.
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _library_name() -> str:
    if sys.platform == "win32":
        return "llama.dll"
    return "libllama.dylib" if sys.platform == "darwin" else "libllama.so"
