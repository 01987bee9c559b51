"""Programs of several processes: which slice of an array each of them has."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .errors import ChimeraError

current: int | None = None
"""Which process this is for what moves exchanges, if that has been chosen."""


def find(function: dict[str, Any], process: int | None) -> int | None:
    """Which of the processes that the function runs as this one is.

    Raises ChimeraError unless `process`, or else the current one, is one of them.
    """
    grid = function.get("grid")
    if not grid:
        return process
    count = math.prod(grid)
    if process is None:
        process = current
    if process is None or not 0 <= process < count:
        raise ChimeraError(
            f"the program runs as {count} processes: say with process= which one "
            "this is, counted from 0"
        )
    return process


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
