"""Operators on images spelled out such that each result is computed from what it needs.

torch-mlir spreads the pixels of a transposed convolution among zeros, which are
multiplied as well, and has a bilinear interpolation look up every pixel four times by
computed indices. With a whole stride or scale, pixels that are as far from one of the
input are convolutions, or mean values, of the input as it is.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Sequence
from typing import Any

from chimera.importers import require


def convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """A transposed convolution as one convolution for each phase of its strides.

    Phases that read the same pixels are one convolution.
    """
    sizes = [*x.shape[2:], *weight.shape[2:], x.shape[1]]
    if not transposed or any(not isinstance(size, int) for size in sizes):
        return NotImplemented
    if max(stride) == 1 or max(dilation) > 1 or 0 in sizes:
        return NotImplemented
    axes = [
        _Axis(n, k, s, p, extra)
        for n, k, s, p, extra in zip(
            x.shape[2:], weight.shape[2:], stride, padding, output_padding
        )
    ]
    phases = list(itertools.product(*(range(axis.stride) for axis in axes)))
    alike: dict[tuple[Any, ...], list[tuple[int, ...]]] = {}
    for phase in phases:
        reads = tuple(axis.reads(a) for axis, a in zip(axes, phase))
        alike.setdefault((reads, None if groups == 1 else phase), []).append(phase)
    parts: dict[tuple[int, ...], Any] = {}
    for (reads, _), members in alike.items():
        parts.update(_compute(x, weight, axes, reads, members, groups))
    result = _interleave([parts[phase] for phase in phases], axes)
    if bias is not None:
        result = result + bias.reshape(-1, *[1] * len(axes))
    return result


class _Axis:
    """One dimension: outputs `stride * q + phase` are those of a phase."""

    def __init__(
        self, length: int, taps: int, stride: int, padding: int, extra: int
    ) -> None:
        self.length, self.taps, self.stride = length, taps, stride
        self.padding = padding
        self.outputs = (length - 1) * stride - 2 * padding + taps + extra
        self.rows = -(-self.outputs // stride)

    def first_tap(self, phase: int) -> int:
        return (phase + self.padding) % self.stride

    def reads(self, phase: int) -> tuple[int, int]:
        """The taps of a phase, and the pixel its first output reads first."""
        taps = -(-(self.taps - self.first_tap(phase)) // self.stride)
        last = (phase + self.padding) // self.stride
        return max(taps, 0), last - taps + 1


def _compute(
    x: Any,
    weight: Any,
    axes: Sequence[_Axis],
    reads: Sequence[tuple[int, int]],
    phases: Sequence[tuple[int, ...]],
    groups: int,
) -> dict[tuple[int, ...], Any]:
    """The outputs of phases that read alike."""
    torch = require("torch")
    inner, outer = weight.shape[1], weight.shape[0] // groups
    filters = groups * inner
    if any(taps == 0 for taps, _ in reads):
        zeros = x.new_zeros([x.shape[0], filters, *(axis.rows for axis in axes)])
        return dict.fromkeys(phases, zeros)
    margins: list[int] = []
    for axis, (taps, first) in zip(reversed(axes), reversed(reads)):
        margins += [-first, first + taps - 1 + axis.rows - axis.length]
    image = torch.nn.functional.pad(x, margins)
    kernels = []
    for phase in phases:
        own = weight
        for place, (axis, a) in enumerate(zip(axes, phase), start=2):
            steps = slice(axis.first_tap(a), None, axis.stride)
            own = own[(slice(None),) * place + (steps,)]
        own = own.flip(list(range(2, own.dim())))
        taps_of = own.shape[2:]
        own = own.reshape(groups, outer, inner, *taps_of).transpose(1, 2)
        kernels.append(own.reshape(filters, outer, *taps_of))
    ones, none = [1] * len(axes), [0] * len(axes)
    result = torch.ops.aten.convolution.default(
        image, torch.cat(kernels), None, ones, none, ones, False, none, groups
    )
    return dict(zip(phases, result.split(filters, 1)))


def _interleave(parts: Sequence[Any], axes: Sequence[_Axis]) -> Any:
    """Puts the outputs of all phases, in order, where they belong."""
    torch = require("torch")
    batch, filters = parts[0].shape[:2]
    strides = [axis.stride for axis in axes]
    rows = [axis.rows for axis in axes]
    stacked = torch.stack(list(parts), 2).reshape(batch, filters, *strides, *rows)
    order = [0, 1]
    for place in range(len(axes)):
        order += [2 + len(axes) + place, 2 + place]
    whole = [axis.rows * axis.stride for axis in axes]
    result = stacked.permute(order).reshape(batch, filters, *whole)
    for place, axis in enumerate(axes, start=2):
        result = result.narrow(place, 0, axis.outputs)
    return result


def upsample_bilinear(
    x: Any,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Any:
    """A bilinear interpolation of whole scales as mean values of neighbours."""
    lengths = x.shape[-2:]
    if align_corners or any(not isinstance(n, int) for n in lengths):
        return NotImplemented
    if output_size is None:
        output_size = [math.floor(n * s) for n, s in zip(lengths, scale_factors or ())]
    if any(not isinstance(n, int) for n in output_size):
        return NotImplemented
    scales = [wanted // n for n, wanted in zip(lengths, output_size)]
    if any(n * s != w or s < 1 for n, s, w in zip(lengths, scales, output_size)):
        return NotImplemented
    if scale_factors is not None and list(scale_factors) != scales:
        return NotImplemented
    if not x.dtype.is_floating_point:
        return NotImplemented
    for axis, scale in zip((x.dim() - 2, x.dim() - 1), scales):
        x = _interpolate(x, axis, scale) if scale > 1 else x
    return x


def interpolate(x: Any, *args: Any, **kwargs: Any) -> Any:
    """torch.nn.functional.interpolate, which torch spells out before it asks us."""
    functional = require("torch").nn.functional
    given = inspect.signature(functional.interpolate).bind(x, *args, **kwargs)
    given.apply_defaults()
    result = NotImplemented
    options = given.arguments
    if options["mode"] == "bilinear" and not options["antialias"] and x.dim() == 4:
        size, scale = (
            [value, value] if isinstance(value, (int, float)) else value
            for value in (options["size"], options["scale_factor"])
        )
        result = upsample_bilinear(x, size, bool(options["align_corners"]), scale)
    if result is NotImplemented:
        return functional.interpolate(x, *args, **kwargs)
    return result


def _interpolate(x: Any, axis: int, scale: int) -> Any:
    torch = require("torch")
    length = x.shape[axis]
    first, last = x.narrow(axis, 0, 1), x.narrow(axis, length - 1, 1)
    padded = torch.cat([first, x, last], axis)
    phases = []
    for phase in range(scale):
        offset = (phase + 0.5) / scale - 0.5
        start, share = (0, offset + 1) if offset < 0 else (1, offset)
        low = padded.narrow(axis, start, length)
        phases.append(
            low + share * (padded.narrow(axis, start + 1, length) - low)
            if share
            else low
        )
    return torch.stack(phases, axis + 1).flatten(axis, axis + 1)
