"""The structs of llama.h that cross the border by value, and the proof that they lie as we think.

llama.cpp changes its parameter structs without notice: between two builds of one year
`llama_context_params` gained a field in its middle, which would shift every boolean after it. A
wrong layout does not fail, it sets other options. So nothing is assumed: the library is asked for
its defaults, into a buffer larger than any layout, and the one layout is taken under which all
known defaults stand in their places. If none or several fit, the library is refused.

    layouts = probe(library)          # EngineError when this build is unknown
    params = layouts.context()        # a ctypes struct holding the library's defaults
    params.n_ctx = 2048

The checks cover every field that we set and the neighbours of those fields. They can't see a field
that is added at the very end; such a field keeps its default, because the defaults are copied
whole, with everything that stands behind the last field we know.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from untemplate.errors import EngineError

__all__ = ["BatchStruct", "Layouts", "probe", "probe_struct"]

_ROOM = 512
"""Bytes of the buffer into which a struct of unknown size is returned."""

_pointer = ctypes.c_void_p
_i32 = ctypes.c_int32
_u32 = ctypes.c_uint32
_f32 = ctypes.c_float
_bool = ctypes.c_bool
_size = ctypes.c_size_t

_Fields = list[tuple[str, Any]]


class BatchStruct(ctypes.Structure):
    """`llama_batch`: parallel arrays of n_tokens entries."""

    _fields_ = [
        ("n_tokens", _i32),
        ("token", ctypes.POINTER(_i32)),
        ("embd", _pointer),
        ("pos", ctypes.POINTER(_i32)),
        ("n_seq_id", ctypes.POINTER(_i32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(_i32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


_MODEL_POINTERS: _Fields = [("devices", _pointer), ("tensor_buft_overrides", _pointer)]
_MODEL_MIDDLE: _Fields = [
    ("main_gpu", _i32),
    ("tensor_split", _pointer),
    ("progress_callback", _pointer),
    ("progress_callback_user_data", _pointer),
    ("kv_overrides", _pointer),
    ("vocab_only", _bool),
]

_MODEL_LAYOUTS: dict[str, _Fields] = {
    "load_mode": [
        *_MODEL_POINTERS,
        ("n_gpu_layers", _i32),
        ("split_mode", _i32),
        ("load_mode", _i32),
        ("lazy_mode", _i32),
        *_MODEL_MIDDLE,
        ("check_tensors", _bool),
        ("use_extra_bufts", _bool),
        ("no_host", _bool),
        ("no_alloc", _bool),
        ("load_mtp", _bool),
    ],
}
_MODEL_DEFAULTS: dict[str, object] = {
    "devices": None,
    "tensor_buft_overrides": None,
    "n_gpu_layers": -1,
    "split_mode": 1,
    "load_mode": -1,
    "main_gpu": 0,
    "tensor_split": None,
    "progress_callback": None,
    "progress_callback_user_data": None,
    "kv_overrides": None,
    "vocab_only": False,
    "check_tensors": False,
    "use_extra_bufts": True,
    "no_host": False,
    "no_alloc": False,
}

_CONTEXT_HEAD: _Fields = [
    ("n_ctx", _u32),
    ("n_batch", _u32),
    ("n_ubatch", _u32),
    ("n_seq_max", _u32),
    ("n_rs_seq", _u32),
    ("n_outputs_max", _u32),
    ("n_outputs_max_per_seq", _u32),
    ("n_threads", _i32),
    ("n_threads_batch", _i32),
    ("ctx_type", _i32),
    ("rope_scaling_type", _i32),
    ("pooling_type", _i32),
    ("attention_type", _i32),
    ("flash_attn_type", _i32),
    ("rope_freq_base", _f32),
    ("rope_freq_scale", _f32),
    ("yarn_ext_factor", _f32),
    ("yarn_attn_factor", _f32),
    ("yarn_beta_fast", _f32),
    ("yarn_beta_slow", _f32),
    ("yarn_orig_ctx", _u32),
    ("defrag_thold", _f32),
    ("cb_eval", _pointer),
    ("cb_eval_user_data", _pointer),
    ("type_k", _i32),
    ("type_v", _i32),
]
_CONTEXT_TAIL: _Fields = [
    ("abort_callback", _pointer),
    ("abort_callback_data", _pointer),
    ("embeddings", _bool),
    ("offload_kqv", _bool),
    ("no_perf", _bool),
    ("op_offload", _bool),
    ("swa_full", _bool),
    ("kv_unified", _bool),
    ("samplers", _pointer),
    ("n_samplers", _size),
    ("ctx_other", _pointer),
]

_CONTEXT_LAYOUTS: dict[str, _Fields] = {
    # build 11434, which llama-cpp-python 0.3.36 carries
    "plain": [*_CONTEXT_HEAD, *_CONTEXT_TAIL],
    # build 11549 and later
    "moe_cache": [*_CONTEXT_HEAD, ("moe_cache_size", _size), *_CONTEXT_TAIL],
}
_CONTEXT_DEFAULTS: dict[str, object] = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "rope_scaling_type": -1,
    "pooling_type": -1,
    "attention_type": -1,
    "flash_attn_type": -1,
    "rope_freq_base": 0.0,
    "yarn_ext_factor": -1.0,
    "yarn_orig_ctx": 0,
    "defrag_thold": -1.0,
    "cb_eval": None,
    "cb_eval_user_data": None,
    "type_k": 1,
    "type_v": 1,
    "abort_callback": None,
    "abort_callback_data": None,
    "embeddings": False,
    "offload_kqv": True,
    "no_perf": True,
    "op_offload": True,
    "swa_full": True,
    "kv_unified": False,
    "samplers": None,
    "n_samplers": 0,
    "ctx_other": None,
}


class _Raw(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint8 * _ROOM)]


Struct = TypeVar("Struct", bound=ctypes.Structure)


@dataclass(frozen=True, slots=True)
class Layouts:
    """The struct types that fit one loaded library, and makers of their defaults."""

    model_type: type[ctypes.Structure]
    context_type: type[ctypes.Structure]
    model: Callable[[], Any]
    context: Callable[[], Any]
    names: tuple[str, str]
    """Which of the known layouts these are, for `--version` output and bug reports."""


def probe(library: ctypes.CDLL) -> Layouts:
    """Finds the layouts of one library by its own defaults, or refuses it."""
    model_name, model_type = probe_struct(
        "llama_model_params",
        _defaults(library, "llama_model_default_params"),
        _MODEL_LAYOUTS,
        _MODEL_DEFAULTS,
    )
    context_name, context_type = probe_struct(
        "llama_context_params",
        _defaults(library, "llama_context_default_params"),
        _CONTEXT_LAYOUTS,
        _CONTEXT_DEFAULTS,
    )
    _check_batch(library)
    library.llama_model_default_params.restype = model_type
    library.llama_context_default_params.restype = context_type
    return Layouts(
        model_type,
        context_type,
        library.llama_model_default_params,
        library.llama_context_default_params,
        (model_name, context_name),
    )


def probe_struct(
    name: str, raw: bytes, layouts: dict[str, _Fields], defaults: dict[str, object]
) -> tuple[str, type[ctypes.Structure]]:
    """The one layout under which `raw` holds all `defaults`; each carries spare room at its end."""
    fitting: list[tuple[str, type[ctypes.Structure]]] = []
    for layout_name, fields in layouts.items():
        size = ctypes.sizeof(_struct(name, fields))
        struct_type = _struct(name, [*fields, ("_spare", ctypes.c_uint8 * (_ROOM - size))])
        values = struct_type.from_buffer_copy(raw)
        if all(getattr(values, field) == default for field, default in defaults.items()):
            fitting.append((layout_name, struct_type))
    if len(fitting) == 1:
        return fitting[0]
    found = "none" if not fitting else " and ".join(layout for layout, _ in fitting)
    raise EngineError(
        f"unknown layout of {name} (known ones that fit: {found}); "
        "install the pinned wheel (pip install 'untemplate[local]') or set UNTEMPLATE_LIBLLAMA "
        "to another build of llama.cpp",
        place="libllama",
    )


def _struct(name: str, fields: _Fields) -> type[ctypes.Structure]:
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _defaults(library: ctypes.CDLL, function_name: str) -> bytes:
    # A struct this large is returned through a pointer on every ABI, and the callee writes only
    # its own size, so a buffer that is too large is safe where one too small is not.
    function = library[function_name]
    function.restype = _Raw
    function.argtypes = []
    return bytes(function())


def _check_batch(library: ctypes.CDLL) -> None:
    tokens = (_i32 * 3)(1, 2, 3)
    get_one = library.llama_batch_get_one
    get_one.restype = BatchStruct
    get_one.argtypes = [ctypes.POINTER(_i32), _i32]
    batch: BatchStruct = get_one(tokens, 3)
    others = (batch.embd, batch.pos, batch.n_seq_id, batch.seq_id, batch.logits)
    if batch.n_tokens != 3 or batch.token[2] != 3 or any(others):
        raise EngineError("unknown layout of llama_batch", place="libllama")
