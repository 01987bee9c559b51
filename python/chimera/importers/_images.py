"""Transposed convolutions spelled out such that no zero is multiplied.

torch-mlir spreads the pixels of the input among zeros. Results that lie as far from a
pixel of the input, a phase, are a convolution of the input as it is.
"""

from __future__ import annotations

import itertools
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
