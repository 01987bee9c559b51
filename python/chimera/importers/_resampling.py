"""Interpolation and adaptive pooling as sums along one axis after the other.

torch computes for every pixel where it comes from, and looks it up there. Where sizes
are known, so is the matrix by which an axis is multiplied: torch's own operator tells
it when it is given unit vectors. A short axis is multiplied by all of the matrix; of
others, what is not zero is looked up at constant places.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from chimera.importers import require

COLUMN_LOOKUP = 32
"""Multiply-adds of vectors that take as long as collecting a vector from a row."""

ROW_LOOKUP = 2
"""The same of vectors that lie in other rows as they are wanted."""

MOST_WEIGHTS = 1 << 22
"""The largest matrix that is looked at."""

RANKS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
"""Axes that a mode of interpolation resizes."""


def interpolate(x: Any, *args: Any, **kwargs: Any) -> Any:
    """torch.nn.functional.interpolate, which torch spells out before it asks us."""
    functional = require("torch").nn.functional
    given = inspect.signature(functional.interpolate).bind(x, *args, **kwargs)
    given.apply_defaults()
    options = given.arguments
    mode, size, scale = (options[name] for name in ("mode", "size", "scale_factor"))
    result = NotImplemented
    if RANKS.get(mode) == x.dim() - 2 and not options["recompute_scale_factor"]:
        size, scale = (
            [value] * RANKS[mode] if isinstance(value, (int, float)) else value
            for value in (size, scale)
        )
        corners, antialias = bool(options["align_corners"]), options["antialias"]
        result = upsample(x, size, corners, scale, mode=mode, antialias=antialias)
    if result is NotImplemented:
        return functional.interpolate(x, *args, **kwargs)
    return result


def upsample(
    x: Any,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
    *,
    mode: str,
    antialias: bool = False,
) -> Any:
    """An interpolation of as many axes as its mode resizes."""
    lengths = x.shape[-RANKS[mode] :]
    if output_size is None:
        sizes = [math.floor(n * s) for n, s in zip(lengths, scale_factors or ())]
    else:
        sizes = list(output_size)

    def along(axis: int, vectors: Any) -> Any:
        scale = scale_factors[axis] if output_size is None else None
        return _interpolate_rows(
            vectors, sizes[axis], scale, align_corners, mode, antialias
        )

    return _resample(x, sizes, along)


def _interpolate_rows(
    vectors: Any,
    size: int,
    scale: float | None,
    align_corners: bool,
    mode: str,
    antialias: bool,
) -> Any:
    """Interpolates rows, as images of one row where a mode is one of images."""
    is_plane = mode == "bicubic" or antialias
    sizes, scales = ([1, size], [1.0, scale]) if is_plane else ([size], [scale])
    result = require("torch").nn.functional.interpolate(
        vectors[:, None, None] if is_plane else vectors[None],
        size=sizes if scale is None else None,
        scale_factor=scales if scale is not None else None,
        mode=mode if is_plane else "linear",
        align_corners=align_corners or None,
        antialias=antialias,
    )
    return result.reshape(len(vectors), size)


def adaptive_average(x: Any, output_size: Sequence[int]) -> Any:
    """Mean values of windows whose sizes differ."""
    sizes = list(output_size)
    lengths = x.shape[-len(sizes) :]
    if _are_known([*lengths, *sizes]) and all(
        size and n % size == 0 for n, size in zip(lengths, sizes)
    ):
        return NotImplemented

    def along(axis: int, vectors: Any) -> Any:
        pool = require("torch").nn.functional.adaptive_avg_pool1d
        return pool(vectors[None], sizes[axis])[0]

    return _resample(x, sizes, along)


def adaptive_average_of_images(x: Any, output_size: Any) -> Any:
    """torch.nn.functional.adaptive_avg_pool2d, which torch spells out like that."""
    sizes = [output_size] * 2 if isinstance(output_size, int) else output_size
    sizes = [n if size is None else size for n, size in zip(x.shape[-2:], sizes)]
    result = adaptive_average(x, sizes)
    if result is NotImplemented:
        return require("torch").nn.functional.adaptive_avg_pool2d(x, output_size)
    return result


class _Axis:
    """What an operator does along one axis, as it treats unit vectors."""

    def __init__(self, length: int, dtype: Any, along: Callable[[Any], Any]) -> None:
        torch = require("torch")
        matrix = along(torch.eye(length, dtype=dtype))
        size = matrix.shape[1]
        self.is_identity = torch.equal(matrix, torch.eye(length, size, dtype=dtype))
        self.length = length
        # A result needs inputs between a first and a last one.
        is_needed = (matrix != 0).float()
        first = is_needed.argmax(0)
        last = length - 1 - is_needed.flip(0).argmax(0)
        self.taps = int((last - first).max()) + 1
        first = first.clamp(max=length - self.taps)
        places = first + torch.arange(self.taps).reshape(-1, 1)
        self.weights = matrix.gather(0, places).unbind()
        self.places = places.unbind()
        self.matrix = matrix

    def multiply(self, x: Any, axis: int) -> Any:
        factor = _constant(self.matrix)
        if axis == x.dim() - 1:
            return x @ factor
        return (x.movedim(axis, -1) @ factor).movedim(-1, axis)

    def look_up(self, x: Any, axis: int) -> Any:
        """A sum over taps, each with a place and a weight for every result."""
        result = None
        for places, weights in zip(self.places, self.weights):
            rows = x.index_select(axis, _constant(places))
            column = [-1] + [1] * (x.dim() - 1 - axis)
            term = rows * _constant(weights).reshape(column)
            result = term if result is None else result + term
        return result


def _constant(tensor: Any) -> Any:
    """A tensor of the tracer's for one that it has not seen."""
    return require("torch").ops.aten.lift_fresh_copy.default(tensor)


def _are_known(sizes: Sequence[Any]) -> bool:
    return all(isinstance(size, int) for size in sizes)


def _resample(x: Any, sizes: Sequence[Any], along: Callable[[int, Any], Any]) -> Any:
    """x with an operator applied along each of its last axes, which get `sizes`."""
    torch = require("torch")
    before = x.dim() - len(sizes)
    lengths = x.shape[before:]
    if not x.dtype.is_floating_point or not _are_known([*lengths, *sizes]):
        return NotImplemented
    if any(not 0 < n * size <= MOST_WEIGHTS for n, size in zip(lengths, sizes)):
        return NotImplemented
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    modes = require("torch.utils._python_dispatch")
    with modes._disable_current_modes(), torch.no_grad():
        axes = {
            before + place: _Axis(n, wide.dtype, functools.partial(along, place))
            for place, n in enumerate(lengths)
        }
    if all(axis.is_identity for axis in axes.values()):
        return x.clone()
    lookups = {}
    # Products come first: they work on what rows are later made of.
    for number, axis in reversed(axes.items()):
        lookup = COLUMN_LOOKUP if number == x.dim() - 1 else ROW_LOOKUP
        if axis.is_identity:
            continue
        if axis.length <= lookup * axis.taps:
            wide = axis.multiply(wide, number)
        else:
            lookups[number] = axis
    for number, axis in reversed(lookups.items()):
        wide = axis.look_up(wide, number)
    return wide.contiguous().to(x.dtype)
