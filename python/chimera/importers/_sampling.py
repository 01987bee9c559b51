"""Images looked up at computed places, which are the same for all channels.

torch spells this out with four indices for every element that is looked up. Here a
pixel has one index, into the rows of an image end to end.
"""

from __future__ import annotations

import itertools
from typing import Any

from chimera.importers import require

BILINEAR, NEAREST = 0, 1
ZEROS, BORDER, REFLECTION = 0, 1, 2


def grid_sampler(
    x: Any, grid: Any, interpolation: int, padding: int, align_corners: bool
) -> Any:
    """Pixels of x around the places of a grid, of which the image is -1 to 1."""
    torch = require("torch")
    height, width = x.shape[2:]
    if interpolation not in (BILINEAR, NEAREST) or x.dtype != grid.dtype:
        return NotImplemented
    if x.dtype not in (torch.float32, torch.float64) or 0 in x.shape:
        return NotImplemented
    if not all(isinstance(size, int) for size in (height, width)):
        return NotImplemented
    axes = [
        _place(grid[..., number], size, padding, align_corners)
        for number, size in ((1, height), (0, width))
    ]
    if interpolation == NEAREST:
        corners = [[(place.round(), None)] for place in axes]
    else:
        corners = [_neighbours(place) for place in axes]
    result = None
    for (row, row_share), (column, column_share) in itertools.product(*corners):
        term = _look_up(x, row, column)
        if row_share is not None:
            term = term * (row_share * column_share).unsqueeze(1)
        if padding == ZEROS:
            inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
            term = torch.where(inside.unsqueeze(1), term, 0)
        result = term if result is None else result + term
    return result


def _neighbours(place: Any) -> list[tuple[Any, Any]]:
    """The pixels on both sides of a place, each with its share."""
    low = place.floor()
    share = place - low
    return [(low, 1 - share), (low + 1, share)]


def _place(x: Any, size: int, padding: int, align_corners: bool) -> Any:
    """Where in a row of pixels a place from -1 to 1 is."""
    place = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
    if padding == REFLECTION:
        low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
        place = _reflect(place, low, high)
    return place if padding == ZEROS else place.clamp(0, size - 1)


def _reflect(place: Any, low: float, high: float) -> Any:
    """A place outside of an interval, thrown back by its ends until it is inside."""
    torch = require("torch")
    span = high - low
    if span == 0:
        return torch.zeros_like(place)
    distance = (place - low).abs()
    turns = (distance / span).floor()
    rest = distance - turns * span
    is_odd = turns - 2 * (turns / 2).floor() > 0
    return low + torch.where(is_odd, span - rest, rest)


def _look_up(x: Any, row: Any, column: Any) -> Any:
    """The pixels of all channels at whole places, the nearest ones of those outside."""
    images, channels, height, width = x.shape
    # Places that are no numbers become whole ones that are clamped.
    row, column = row.int().clamp(0, height - 1), column.int().clamp(0, width - 1)
    index = (row * width + column).long().reshape(row.shape[0], 1, -1)
    pixels = x.flatten(2)
    if isinstance(images, int) and images == 1:
        found = pixels.index_select(2, index.reshape(-1))
    else:
        found = pixels.gather(2, index.expand(-1, channels, -1))
    return found.reshape(images, channels, *row.shape[1:])
