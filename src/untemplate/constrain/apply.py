"""Masks put upon logits, of one token or of a batch: arrays, or tensors of any kind and device."""

import sys
from typing import Any

import numpy as np

__all__ = ["apply_mask"]


def apply_mask(logits: Any, row: Any) -> None:
    """Sets the logits of all tokens that are not allowed to minus infinity, in place.

    O(size of `logits`), without a copy of them. Logits beyond the mask (padding of the model) are
    refused too.

    Args:
        logits: floats of shape (..., tokens): an array, a buffer, or a torch tensor of any float
            type on any device.
        row: int32 words of shape (words,), or (..., words) with a mask for each row of logits;
            an array, a buffer, or a tensor of the CPU.
    """
    words = np.ascontiguousarray(row)
    refused = np.unpackbits(~words.view(np.uint8), axis=-1, bitorder="little").view(np.bool_)
    # numpy knows neither bfloat16 nor devices, and whoever has a tensor has imported torch.
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(logits, torch.Tensor):
        size = min(refused.shape[-1], logits.shape[-1])
        bits = torch.from_numpy(refused[..., :size]).to(logits.device)
        logits[..., :size].masked_fill_(bits, -np.inf)
        logits[..., size:] = -np.inf
        return
    values: Any = np.asarray(logits)
    size = min(refused.shape[-1], values.shape[-1])
    np.copyto(values[..., :size], -np.inf, where=refused[..., :size])
    values[..., size:] = -np.inf
