"""Struct layouts: the right one is found by its defaults, every other is refused."""

import ctypes

import pytest

from untemplate.engines.llama import layout
from untemplate.errors import EngineError

CONTEXT = ("llama_context_params", layout._CONTEXT_LAYOUTS, layout._CONTEXT_DEFAULTS)
MODEL = ("llama_model_params", layout._MODEL_LAYOUTS, layout._MODEL_DEFAULTS)


def defaults_in(fields, defaults, noise=0xA5):
    """What a library with this layout returns: its defaults, and noise behind its end."""
    struct = type("made", (ctypes.Structure,), {"_fields_": fields})()
    for name, value in defaults.items():
        setattr(struct, name, value)
    return bytes(struct) + bytes([noise]) * (layout._ROOM - ctypes.sizeof(struct))


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in (CONTEXT, MODEL) for name in kind[1]]
)
def test_each_known_layout_is_recognised(kind, name):
    struct_name, layouts, defaults = kind
    raw = defaults_in(layouts[name], defaults)
    found, struct_type = layout.probe_struct(struct_name, raw, layouts, defaults)
    assert found == name
    assert ctypes.sizeof(struct_type) == layout._ROOM
    assert bytes(struct_type.from_buffer_copy(raw)) == raw


@pytest.mark.parametrize("kind", [CONTEXT, MODEL], ids=lambda kind: kind[0])
@pytest.mark.parametrize("added", [ctypes.c_bool, ctypes.c_int32, ctypes.c_size_t])
def test_a_field_added_anywhere_before_what_we_set_is_noticed(kind, added):
    struct_name, layouts, defaults = kind
    fields = list(layouts.values())[-1]
    ours = [i for i, (name, _) in enumerate(fields) if name in defaults]
    for at in range(ours[-1] + 1):
        changed = [*fields[:at], ("added", added), *fields[at:]]
        raw = defaults_in(changed, {**defaults, "added": 0})
        read = type("read", (ctypes.Structure,), {"_fields_": fields}).from_buffer_copy(raw)
        if all(getattr(read, name) == value for name, value in defaults.items()):
            # It slipped into padding, or among neighbours with the same default: then it must not
            # matter to any field that we write.
            for name in ("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "n_gpu_layers"):
                if name in defaults:
                    made = type("made", (ctypes.Structure,), {"_fields_": changed})
                    assert getattr(made, name).offset == getattr(type(read), name).offset
            continue
        with pytest.raises(EngineError, match=f"unknown layout of {struct_name}"):
            layout.probe_struct(struct_name, raw, {"known": fields}, defaults)


def test_two_layouts_that_both_fit_are_refused():
    name, layouts, defaults = CONTEXT
    raw = defaults_in(layouts["plain"], defaults)
    twice = {"one": layouts["plain"], "other": layouts["plain"]}
    with pytest.raises(EngineError, match="one and other"):
        layout.probe_struct(name, raw, twice, defaults)


def test_the_error_says_what_to_do():
    name, layouts, defaults = CONTEXT
    with pytest.raises(EngineError, match="UNTEMPLATE_LIBLLAMA") as caught:
        layout.probe_struct(name, bytes(layout._ROOM), layouts, defaults)
    assert "\n" not in str(caught.value)
