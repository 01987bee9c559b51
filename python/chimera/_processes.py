"""Programs of several processes: which slice of an array each of them has."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .errors import ChimeraError


def check(function: dict[str, Any], process: int | None) -> None:
    """Raises ChimeraError unless `process` is one that the function runs as."""
    grid = function.get("grid")
    if not grid:
        return
    count = math.prod(grid)
    if process is None or not 0 <= process < count:
        raise ChimeraError(
            f"the program runs as {count} processes: say with process= which one "
            "this is, counted from 0"
        )


def take(function: dict[str, Any], index: int, value: Any, process: int | None) -> Any:
    """What `process` has of `value`, which is argument `index` as a whole."""
    parts = function.get("argument_parts", ())
    part = parts[index] if index < len(parts) else None
    if part is None:
        return value
    value = value if hasattr(value, "shape") else numpy.asarray(value)
    if list(value.shape) != part["shape"]:
        raise TypeError(
            f"argument {index} has the shape {part['shape']} as a whole, "
            f"not {list(value.shape)}"
        )
    position = numpy.array(numpy.unravel_index(process, function["grid"]))
    offsets = numpy.array(part["steps"]) @ position
    return value[
        tuple(
            slice(int(offset), int(offset) + size)
            for offset, size in zip(offsets, part["sizes"])
        )
    ]
