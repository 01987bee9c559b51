"""Operators spelled out in others agree with torch's own."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_mlir")

import torch.nn.functional as F  # noqa: E402

import chimera  # noqa: E402
import models  # noqa: E402
from chimera.backend import chimera as backend  # noqa: E402
from chimera.importers._decompositions import (  # noqa: E402
    cumulative_sum,
    find_extremum,
    group_norm,
    take_extremum,
)
from chimera.importers._images import convolution  # noqa: E402
from chimera.importers._resampling import (  # noqa: E402
    adaptive_average_of_images,
    interpolate,
    upsample,
)
from chimera.importers._sampling import grid_sampler  # noqa: E402


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)


def check_compiled(function: Any, *inputs: torch.Tensor) -> None:
    compiled = torch.compile(function, backend=backend)
    with torch.inference_mode():
        models.assert_equal(function(*inputs), compiled(*inputs))


def test_transposed_convolutions() -> None:
    generator = random.Random(0)
    seen = 0
    for _ in range(400):
        rank, groups = generator.choice([1, 2, 2, 3]), generator.choice([1, 1, 2, 3])
        channels, filters = (generator.randint(1, 3) for _ in range(2))
        drawn = []
        for _ in range(rank):
            taps, stride = generator.randint(1, 5), generator.randint(1, 4)
            size, padding = generator.randint(1, 6), generator.randint(0, taps - 1)
            extra = generator.randint(0, stride - 1)
            drawn.append((size, taps, stride, padding, extra))
        if any((n - 1) * s - 2 * p + k + e < 1 for n, k, s, p, e in drawn):
            continue
        sizes, taps, stride, padding, extra = (list(part) for part in zip(*drawn))
        x = torch.randn(2, groups * channels, *sizes)
        weight = torch.randn(groups * channels, filters, *taps)
        bias = generator.choice([None, torch.randn(groups * filters)])
        arguments = (x, weight, bias, stride, padding, [1] * rank, True, extra, groups)
        actual = convolution(*arguments)
        if actual is NotImplemented:
            assert max(stride) == 1
            continue
        expected = torch.ops.aten.convolution.default(*arguments)
        torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)
        seen += 1
    assert seen > 200


@pytest.mark.parametrize("taps, stride", [(2, 2), (4, 2), (3, 2), (2, 3)])
def test_transposed_convolutions_compiled(taps: int, stride: int) -> None:
    layer = torch.nn.ConvTranspose2d(12, 7, taps, stride=stride, padding=taps // 3)
    check_compiled(layer.eval(), torch.randn(2, 12, 9, 14))


def test_dilated_and_plain_ones_are_left_alone() -> None:
    x, weight = torch.randn(1, 2, 5, 5), torch.randn(2, 3, 3, 3)
    for stride, dilation, transposed in ((1, 1, True), (2, 2, True), (2, 1, False)):
        arguments = ([stride] * 2, [0, 0], [dilation] * 2, transposed, [0, 0], 1)
        assert convolution(x, weight, None, *arguments) is NotImplemented


@pytest.mark.parametrize("scales", [(2, 2), (3, 2), (4, 1), (8, 8)])
@pytest.mark.parametrize("sizes", [(5, 7), (1, 3), (6, 1)])
def test_interpolation(sizes: tuple[int, int], scales: tuple[int, int]) -> None:
    x = torch.randn(2, 3, *sizes)
    given = [n * scale for n, scale in zip(sizes, scales)]
    expected = F.interpolate(x, size=given, mode="bilinear")
    factors = [float(scale) for scale in scales]
    for actual in (
        upsample(x, given, False, None, mode="bilinear"),
        upsample(x, None, False, factors, mode="bilinear"),
    ):
        torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize(
    "options",
    [
        {"scale_factor": 2},
        {"size": (10, 21)},
        {"size": (9, 8)},
        {"size": (5, 7)},
        {"size": (3, 200)},
        {"scale_factor": 2, "align_corners": True},
        {"scale_factor": 2, "antialias": True},
        {"scale_factor": 0.4, "antialias": True, "mode": "bicubic"},
        {"scale_factor": 2.5},
        {"scale_factor": (1.3, 2.7)},
        {"scale_factor": 1.3, "recompute_scale_factor": True},
        {"scale_factor": 2, "mode": "nearest"},
        {"size": (11, 6), "mode": "bicubic"},
        {"scale_factor": 1.7, "mode": "bicubic", "align_corners": True},
    ],
)
def test_interpolation_with_options(options: dict[str, Any]) -> None:
    options = {"mode": "bilinear", **options}
    x = torch.randn(2, 3, 5, 7)
    torch.testing.assert_close(interpolate(x, **options), F.interpolate(x, **options))
    check_compiled(lambda x: F.interpolate(x, **options) * 1.5, x)


@pytest.mark.parametrize(
    "mode, sizes", [("linear", [9]), ("trilinear", [4, 3, 150]), ("bilinear", [90, 70])]
)
def test_interpolation_of_long_axes(mode: str, sizes: list[int]) -> None:
    x = torch.randn(2, 3, *([70, 5, 80][-len(sizes) :]))
    torch.testing.assert_close(
        interpolate(x, sizes, mode=mode), F.interpolate(x, sizes, mode=mode)
    )
    check_compiled(lambda x: F.interpolate(x, sizes, mode=mode), x)


def test_interpolation_of_narrow_types() -> None:
    x = torch.randn(1, 2, 9, 9, dtype=torch.bfloat16)
    expected = F.interpolate(x, scale_factor=3, mode="bilinear")
    actual = interpolate(x, scale_factor=3, mode="bilinear")
    assert actual.dtype == x.dtype
    torch.testing.assert_close(actual, expected)
    # What is no floating point number is left to torch.
    whole = torch.randint(0, 255, (1, 3, 4, 4), dtype=torch.uint8)
    torch.testing.assert_close(
        interpolate(whole, scale_factor=2, mode="bilinear"),
        F.interpolate(whole, scale_factor=2, mode="bilinear"),
    )


def test_exported_interpolation() -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            x = F.interpolate(x, size=(13, 9), mode="bicubic")
            x = F.adaptive_avg_pool2d(x, (5, 4))
            return F.interpolate(x, scale_factor=2.0, mode="bilinear")

    x, module = torch.randn(1, 2, 6, 7), Module()
    program = chimera.compile(torch.export.export(module, (x,)))
    models.assert_equal(module(x), torch.as_tensor(program(x)))


@pytest.mark.parametrize("size", [7, (5, 16), (None, 3), (20, 9), 4, (1, 1)])
def test_adaptive_average(size: Any) -> None:
    x = torch.randn(2, 3, 16, 12)
    expected = F.adaptive_avg_pool2d(x, size)
    torch.testing.assert_close(adaptive_average_of_images(x, size), expected)
    check_compiled(lambda x: F.adaptive_avg_pool2d(x, size), x)
    check_compiled(lambda x: F.adaptive_avg_pool2d(x[0], size), x)


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample(mode: str, padding: str, align_corners: bool) -> None:
    options = {"mode": mode, "padding_mode": padding, "align_corners": align_corners}
    codes = (["bilinear", "nearest"].index(mode),)
    codes += (["zeros", "border", "reflection"].index(padding),)
    for images, height, width in itertools.product((1, 3), (1, 5), (4, 7)):
        x = torch.randn(images, 3, height, width)
        grid = torch.randn(images, 6, 5, 2) * 1.7
        expected = F.grid_sample(x, grid, **options)
        actual = grid_sampler(x, grid, *codes, align_corners)
        torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    check_compiled(lambda x, grid: F.grid_sample(x, grid, **options), x, grid)
    if padding == "zeros":
        grid[0, 0] = math.nan
        grid[0, 1] = math.inf
        check_compiled(lambda x, g: F.grid_sample(x, g, **options)[:, :, 2:], x, grid)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_as_precise_as_f32(approximate: str) -> None:
    def function(x: torch.Tensor) -> Any:
        return F.gelu(x, approximate=approximate)

    x = torch.linspace(-8, 8, 4001)
    with torch.inference_mode():
        actual = torch.compile(function, backend=backend)(x).double()
    torch.testing.assert_close(actual, function(x.double()), atol=2e-6, rtol=0)


@pytest.mark.parametrize("options", [{}, {"dim": 1}, {"dim": -2, "keepdim": True}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extrema(
    name: str, dtype: torch.dtype, options: dict[str, Any]
) -> None:
    x = torch.randn(3, 40, 5)
    # Some are equal, and the first of them counts.
    x = (4 * x).to(torch.int32).to(dtype)
    if dtype.is_floating_point:
        x[0, 7, 1], x[0, 9, 1], x[2, :, 3] = float("nan"), float("nan"), -float("inf")
    expected = getattr(torch, name)(x, **options)
    actual = find_extremum(x, **options, largest=name == "argmax")
    assert actual.dtype == expected.dtype and torch.equal(actual, expected)
    if "dim" in options:
        both = take_extremum(x, **options, largest=name == "argmax")
        theirs = getattr(torch, name[3:])(x, **options)
        torch.testing.assert_close(both[0], theirs.values, equal_nan=True)
        assert torch.equal(both[1], theirs.indices)
    if dtype == torch.float32:
        compiled = torch.compile(
            lambda x: getattr(torch, name)(x, **options), backend=backend
        )
        with torch.inference_mode():
            assert torch.equal(compiled(x), expected)


@pytest.mark.parametrize("length", [1, 64, 65, 97, 1000, 5000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool])
def test_prefix_sums(length: int, dtype: torch.dtype) -> None:
    x = torch.randn(2, length, 3)
    x = x > 0 if dtype == torch.bool else (8 * x).to(dtype)
    actual, expected = cumulative_sum(x, 1), torch.cumsum(x, 1)
    torch.testing.assert_close(actual, expected, atol=1e-2, rtol=1e-5)


@pytest.mark.parametrize("dim", [0, 1, 2, -2])
@pytest.mark.parametrize("length", [1, 7, 16, 17, 70, 161])
def test_prefix_sums_along_any_dimension(dim: int, length: int) -> None:
    shape = [2, 3, 4]
    shape[dim] = length
    x = torch.randn(shape)
    assert torch.allclose(cumulative_sum(x, dim), torch.cumsum(x, dim), atol=1e-4)


@pytest.mark.parametrize("groups", [1, 4, 12])
@pytest.mark.parametrize("is_affine", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_group_norm(groups: int, is_affine: bool, dtype: torch.dtype) -> None:
    x = torch.randn(2, 12, 5, 7, dtype=dtype)
    weight, bias = (torch.randn(12, dtype=dtype) for _ in range(2))
    rest = (weight, bias) if is_affine else (None, None)
    expected = torch.native_group_norm(x, *rest, 2, 12, 35, groups, 1e-5)
    actual = group_norm(x, *rest, 2, 12, 35, groups, 1e-5)
    for one, other in zip(actual, expected):
        models.assert_equal(other.to(dtype), one)
    check_compiled(lambda x: F.silu(F.group_norm(x, groups, *rest)), x)


def test_prefix_sums_of_what_is_not_finite() -> None:
    x = torch.randn(3, 200)
    x[0, 100], x[1, 70], x[2, 3] = float("inf"), float("nan"), -float("inf")
    actual, expected = cumulative_sum(x, 1), torch.cumsum(x, 1)
    torch.testing.assert_close(actual, expected, equal_nan=True, atol=1e-4, rtol=1e-4)
    check_compiled(lambda x: torch.cumsum(x, 1), torch.randn(3, 200))
