"""Weights in the format of safetensors: a header of JSON, then the elements.

Arrays are written as they are in memory, one after the other, so that a model is
never in memory twice. The first starts at a cache line.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import _arrays

_ALIGNMENT = 64
_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}


def write(
    path: str | Path, weights: Mapping[str, Any], notes: Mapping[str, str]
) -> None:
    """Writes arrays by name, with `notes` as the file's metadata. Raises OSError."""
    header: dict[str, Any] = {"__metadata__": dict(notes)}
    arrays = []
    end = 0
    for name, weight in weights.items():
        array = _arrays.to_numpy(weight)
        is_bf16 = array.dtype.name == "uint16"
        element = "BF16" if is_bf16 else _NAMES[array.dtype.name]
        header[name] = {
            "dtype": element,
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
        arrays.append(weight)
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    temporary = Path(f"{path}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as stream:
            stream.write(struct.pack("<Q", len(text)))
            stream.write(text)
            for weight in arrays:
                _arrays.to_numpy(weight).tofile(stream)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
