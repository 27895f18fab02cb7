"""Writes small GGUF files for the tests: metadata only, in the layout of version 3."""

import struct

_STRING, _ARRAY, _BOOL, _INT, _FLOAT = 8, 9, 7, 5, 6


def gguf_bytes(values, *, version=3):
    """A GGUF file with these keys: str, bytes, bool, int, float, or a list of one of them."""
    out = b"GGUF" + struct.pack("<IQQ", version, 0, len(values))
    for key, value in values.items():
        out += _text(key.encode())
        if isinstance(value, list):
            kind = _kind(value[0]) if value else _STRING
            out += struct.pack("<IIQ", _ARRAY, kind, len(value)) + b"".join(map(_value, value))
        else:
            out += struct.pack("<I", _kind(value)) + _value(value)
    return out


def _text(text):
    return struct.pack("<Q", len(text)) + text


def _kind(value):
    if isinstance(value, (str, bytes)):
        return _STRING
    return {bool: _BOOL, int: _INT, float: _FLOAT}[type(value)]


def _value(value):
    match value:
        case str():
            return _text(value.encode())
        case bytes():
            return _text(value)
        case bool():
            return struct.pack("<?", value)
        case int():
            return struct.pack("<i", value)
        case _:
            return struct.pack("<f", value)
