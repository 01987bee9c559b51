"""How torch's composite operators are spelled for the compiler.

One table serves torch.export and torch.compile. It is torch-mlir's, with operators
replaced that torch-mlir cannot lower to linalg, or that it lowers to forms that the
compiler does not recognise as the norm or the softmax that they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from chimera.importers import require
from chimera.importers._images import convolution
from chimera.importers._resampling import adaptive_average, upsample
from chimera.importers._sampling import grid_sampler

MOST_PAIRS = 1 << 26
"""Elements that a decomposition may compare in pairs before it gives up."""

BLOCK = 16
"""Neighbours whose prefix sums are taken at once: all pairs of them are looked at."""

SHORT_BLOCK = 8
"""The same of elements that are no neighbours in memory: others are, which fill
vectors."""

MOST_SELECTED = 8
"""The longest topk that is written as one argmax after the other."""


@functools.cache
def table() -> dict[Any, Callable[..., Any]]:
    """Decompositions by operator, for torch.export and for torch.compile.

    Raises:
        MissingPackageError: torch or torch-mlir is not installed.
    """
    aten = require("torch").ops.aten
    theirs = require("torch_mlir.extras.fx_decomp_util").get_decomposition_table()
    ours = {
        aten.native_layer_norm.default: layer_norm,
        aten.native_group_norm.default: group_norm,
        aten.var.correction: variance,
        aten.var_mean.correction: variance_and_mean,
        aten.scaled_dot_product_attention.default: attention,
        aten._scaled_dot_product_flash_attention_for_cpu.default: flash_attention,
        aten._transformer_encoder_layer_fwd.default: encoder_layer,
        aten.convolution.default: convolution,
        aten.grid_sampler_2d.default: grid_sampler,
        aten._adaptive_avg_pool2d.default: adaptive_average,
        aten.adaptive_avg_pool1d.default: adaptive_average,
        **{
            overload: functools.partial(upsample, mode=mode, antialias=antialias)
            for overload, mode, antialias in (
                (aten.upsample_linear1d.vec, "linear", False),
                (aten.upsample_bilinear2d.vec, "bilinear", False),
                (aten.upsample_trilinear3d.vec, "trilinear", False),
                (aten.upsample_bicubic2d.vec, "bicubic", False),
                (aten._upsample_bilinear2d_aa.vec, "bilinear", True),
                (aten._upsample_bicubic2d_aa.vec, "bicubic", True),
            )
        },
        aten.cumsum.default: cumulative_sum,
        aten.argmax.default: functools.partial(find_extremum, largest=True),
        aten.argmin.default: functools.partial(find_extremum, largest=False),
        aten.max.dim: functools.partial(take_extremum, largest=True),
        aten.min.dim: functools.partial(take_extremum, largest=False),
        aten.topk.default: largest,
        aten.index_put.default: index_put,
        aten._unsafe_index_put.default: index_put,
        aten.index_copy.default: index_copy,
        aten.index_add.default: index_add,
        aten.constant_pad_nd.default: pad,
        aten.gelu.default: gelu,
        aten.erfc.default: lambda x: 1 - x.erf(),
        aten.hypot.default: lambda x, y: (x * x + y * y).sqrt(),
        aten.isfinite.default: is_finite,
    }
    random = {aten.bernoulli.default, aten.native_dropout.default}
    return {**{k: v for k, v in theirs.items() if k not in random}, **ours}


def _widen(x: Any) -> Any:
    """x in the precision in which sums over it are taken."""
    torch = require("torch")
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def layer_norm(
    x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    """Layer norm with its sums in f32; torch-mlir takes the variance in f64."""
    axes = list(range(x.dim() - len(shape), x.dim()))
    wide = _widen(x.contiguous())
    mean = wide.mean(axes, keepdim=True)
    centred = wide - mean
    scale = ((centred * centred).mean(axes, keepdim=True) + eps).rsqrt()
    result = centred * scale
    if weight is not None:
        result = result * weight
    if bias is not None:
        result = result + bias
    return result.to(x.dtype), mean.to(x.dtype), scale.to(x.dtype)


def group_norm(
    x: Any,
    weight: Any,
    bias: Any,
    images: int,
    channels: int,
    pixels: int,
    groups: int,
    eps: float,
) -> tuple[Any, Any, Any]:
    """Group norm like a layer norm of each group; torch-mlir finds the scale of each
    channel first, in index arithmetic, and reads the images again for it."""
    size = channels // groups
    wide = _widen(x.contiguous()).reshape(images, groups, size, pixels)
    mean = wide.mean([2, 3], keepdim=True)
    centred = wide - mean
    scale = ((centred * centred).mean([2, 3], keepdim=True) + eps).rsqrt()
    result = centred * scale
    if weight is not None:
        result = result * weight.reshape(1, groups, size, 1)
    if bias is not None:
        result = result + bias.reshape(1, groups, size, 1)
    statistics = (value.reshape(images, groups).to(x.dtype) for value in (mean, scale))
    return result.reshape(x.shape).to(x.dtype), *statistics


def variance_and_mean(
    x: Any,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Any:
    """Variance in two passes, in f32."""
    if not x.dtype.is_floating_point:
        return NotImplemented
    axes = list(dim) if dim else list(range(x.dim()))
    wide = _widen(x)
    mean = wide.mean(axes, keepdim=True)
    centred = wide - mean
    count = math.prod(x.shape[axis] for axis in axes)
    freedom = count - (1 if correction is None else correction)
    result = (centred * centred).sum(axes, keepdim=True) / freedom
    if not keepdim:
        result, mean = (_drop_axes(value, axes) for value in (result, mean))
    return result.to(x.dtype), mean.to(x.dtype)


def variance(x: Any, dim: Sequence[int] | None = None, **options: Any) -> Any:
    """The variance of variance_and_mean."""
    both = variance_and_mean(x, dim, **options)
    return both if both is NotImplemented else both[0]


def _drop_axes(x: Any, axes: Sequence[int]) -> Any:
    dropped = {axis % x.dim() for axis in axes} if x.dim() else set()
    return x.reshape([n for axis, n in enumerate(x.shape) if axis not in dropped])


def attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention as two products and the softmax that the compiler recognises.

    A row that is masked out as a whole gives zeros, as torch's does. Only such rows
    need a guard, and it looks at the maximum and the sum of a row, not at each score.
    """
    return _attend(query, key, value, attn_mask, is_causal, scale, enable_gqa)[0]


def flash_attention(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    """The operator that torch's dispatcher puts for attention on CPUs."""
    if dropout_p != 0.0:
        return NotImplemented
    result, top, total = _attend(
        query, key, value, attn_mask, is_causal, scale, grouped=False
    )
    return result, (top + total.log()).squeeze(-1)


def _attend(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    causal: bool,
    scale: float | None,
    grouped: bool,
) -> tuple[Any, Any, Any]:
    torch = require("torch")
    if grouped and key.dim() >= 3:
        heads = query.shape[-3]
        key, value = (_repeat_heads(x, heads // x.shape[-3]) for x in (key, value))
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _widen(torch.matmul(query, key.transpose(-2, -1))) * factor
    if causal:
        rows = torch.arange(query.shape[-2], device=query.device).unsqueeze(-1)
        columns = torch.arange(key.shape[-2], device=query.device)
        scores = torch.where(columns <= rows, scores, -math.inf)
    if mask is not None and mask.dtype == torch.bool:
        scores = torch.where(mask, scores, -math.inf)
    elif mask is not None:
        scores = scores + mask
    top = scores.amax(-1, keepdim=True)
    if mask is not None:
        top = torch.where(top == -math.inf, 0.0, top)
    weights = (scores - top).exp()
    total = weights.sum(-1, keepdim=True)
    divisor = torch.where(total == 0.0, 1.0, total) if mask is not None else total
    result = torch.matmul((weights / divisor).to(value.dtype), value)
    return result.to(query.dtype), top, total


def _repeat_heads(x: Any, times: int) -> Any:
    if times == 1:
        return x
    *batch, heads, length, width = x.shape
    wide = x.unsqueeze(-3).expand(*batch, heads, times, length, width)
    return wide.reshape(*batch, heads * times, length, width)


def encoder_layer(
    x: Any,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    proj_weight: Any,
    proj_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *weights: Any,
) -> Any:
    """The one operator that nn.TransformerEncoderLayer becomes for inference.

    The weights are those of both norms and both products after the attention; a mask
    may follow.
    """
    functional = require("torch").nn.functional
    if x.dim() != 3 or any(value is not None for value in weights[8:]):
        return NotImplemented
    scale_1, shift_1, scale_2, shift_2, up, up_bias, down, down_bias = weights[:8]

    def normalise(value: Any, scale: Any, shift: Any) -> Any:
        return layer_norm(value, [embed_dim], scale, shift, eps)[0]

    def mix(value: Any) -> Any:
        batch, length, _ = value.shape
        parts = functional.linear(value, qkv_weight, qkv_bias).chunk(3, -1)
        heads = [part.unflatten(-1, [num_heads, -1]).transpose(1, 2) for part in parts]
        mixed = attention(*heads).transpose(1, 2).reshape(batch, length, embed_dim)
        return functional.linear(mixed, proj_weight, proj_bias)

    def feed(value: Any) -> Any:
        wide = functional.linear(value, up, up_bias)
        wide = functional.gelu(wide) if use_gelu else wide.relu()
        return functional.linear(wide, down, down_bias)

    if norm_first:
        x = x + mix(normalise(x, scale_1, shift_1))
        return x + feed(normalise(x, scale_2, shift_2))
    x = normalise(x + mix(x), scale_1, shift_1)
    return normalise(x + feed(x), scale_2, shift_2)


def gelu(x: Any, *, approximate: str = "none") -> Any:
    """GELU by tanh; torch-mlir has the root of 2 / pi to four digits."""
    if approximate != "tanh":
        return NotImplemented
    wide = _widen(x)
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * (wide * wide * wide))
    return (0.5 * wide * (1 + inner.tanh())).to(x.dtype)


def cumulative_sum(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Prefix sums of blocks, to which those of what comes before are added."""
    torch = require("torch")
    if dtype is None:
        dtype = x.dtype if x.dtype.is_floating_point else torch.int64
    if x.dim() == 0:
        return x.to(dtype)
    length = x.shape[dim]
    if isinstance(length, int) and x.numel() * min(length, 2 * BLOCK) > MOST_PAIRS:
        return NotImplemented
    return _prefix_sums(x.to(dtype), dim % x.dim()).contiguous()


def _prefix_sums(x: Any, dim: int) -> Any:
    """Those along a dimension: in blocks, where it is long and its size known."""
    pad = require("torch").nn.functional.pad
    length, behind = x.shape[dim], 2 * (x.dim() - 1 - dim)
    block = BLOCK if behind == 0 else SHORT_BLOCK
    if not isinstance(length, int) or length <= 2 * block:
        return _masked_sums(x, dim)
    blocks = -(-length // block)
    padded = pad(x, (0,) * behind + (0, blocks * block - length))
    sums = _masked_sums(padded.unflatten(dim, (blocks, block)), dim + 1)
    whole = sums.narrow(dim, 0, blocks - 1).select(dim + 1, block - 1)
    before = pad(_prefix_sums(whole, dim), (0,) * behind + (1, 0))
    return (
        (sums + before.unsqueeze(dim + 1)).flatten(dim, dim + 1).narrow(dim, 0, length)
    )


def _masked_sums(x: Any, dim: int) -> Any:
    """Prefix sums as sums under a triangular mask, side by side in memory."""
    torch = require("torch")
    places = torch.arange(x.shape[dim], device=x.device)
    above = places.unsqueeze(-1) <= places
    above = above.reshape(*above.shape, *[1] * (x.dim() - 1 - dim))
    terms = torch.where(above, x.unsqueeze(dim + 1), 0)
    return terms.sum(dim, dtype=x.dtype)


def find_extremum(
    x: Any, dim: int | None = None, keepdim: bool = False, *, largest: bool
) -> Any:
    """The first place of the extremum, which is a reduction of its own.

    A reduction that carries a number and its place has a choice in every step, which
    no vector makes.
    """
    torch = require("torch")
    if x.dim() == 0 or x.dtype == torch.bool:
        return NotImplemented
    if dim is None:
        if keepdim:
            return NotImplemented
        x, dim = x.reshape(-1), 0
    length = x.shape[dim]
    shape = [1] * x.dim()
    shape[dim] = length
    places = _places(length, x.device).reshape(shape)
    extremum = (x.amax if largest else x.amin)(dim, keepdim=True)
    found = x == extremum
    if x.dtype.is_floating_point:
        # The extremum of a row with one that is no number is the first such.
        found = found | (x != x)
    return torch.where(found, places, length).amin(dim, keepdim=keepdim).long()


def _places(length: Any, device: Any) -> Any:
    """Numbers from 0 on, narrow where they are few: a vector has twice as many."""
    torch = require("torch")
    narrow = isinstance(length, int) and length < 1 << 31
    return torch.arange(
        length, device=device, dtype=torch.int32 if narrow else torch.int64
    )


def take_extremum(x: Any, dim: int, keepdim: bool = False, *, largest: bool) -> Any:
    """The extremum and the first place of it."""
    place = find_extremum(x, dim, keepdim, largest=largest)
    if place is NotImplemented:
        return NotImplemented
    return (x.amax if largest else x.amin)(dim, keepdim=keepdim), place


def largest(
    x: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    """A short topk as one argmax after the other."""
    torch = require("torch")
    if not isinstance(k, int) or not 0 < k <= MOST_SELECTED:
        return NotImplemented
    if x.dim() == 0 or not x.dtype.is_floating_point:
        return NotImplemented
    limits = torch.finfo(x.dtype)
    places = _places(x.shape[dim], x.device)
    places = places.reshape(
        [-1 if axis == dim % x.dim() else 1 for axis in range(x.dim())]
    )
    left = (x if largest else -x).clamp(limits.min, limits.max)
    indices = []
    for _ in range(k):
        index = left.argmax(dim, keepdim=True)
        indices.append(index)
        left = torch.where(places == index, -math.inf, left)
    index = torch.cat(indices, dim)
    return x.gather(dim, index), index


def index_put(
    x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False
) -> Any:
    """Writes at one row of positions, or under a mask, as selections."""
    torch = require("torch")
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if accumulate or len(given) != 1:
        return NotImplemented
    axis, index = given[0]
    if index.dtype in (torch.bool, torch.uint8):
        if index.dtype == torch.uint8 or values.dim() != 0:
            return NotImplemented
        shape = [1] * axis + list(index.shape)
        mask = index.reshape(shape + [1] * (x.dim() - len(shape)))
        return torch.where(mask, values, x)
    if index.dim() != 1:
        return NotImplemented
    shape = list(x.shape)
    shape[axis] = index.shape[0]
    return _write_rows(x, axis, index, values.expand(shape))


def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    """Writes at a row of positions, which is how a cache of keys grows."""
    if x.dim() == 0:
        return NotImplemented
    return _write_rows(x, dim % x.dim(), index.reshape(-1), source)


def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Sums into a row of positions: each place of x looks for what it gets."""
    torch = require("torch")
    if x.dim() == 0 or x.dtype == torch.bool:
        return NotImplemented
    length, count = x.shape[dim], index.numel()
    sizes = (length, count, source.numel())
    if not all(isinstance(size, int) for size in sizes):
        return NotImplemented
    if count == 0 or length * source.numel() > MOST_PAIRS:
        return NotImplemented
    rows = source.movedim(dim, -1).unsqueeze(-2)
    places = torch.arange(length, device=x.device).unsqueeze(-1)
    sums = torch.where(places == index.reshape(-1), rows, 0).sum(-1, dtype=x.dtype)
    return x + sums.movedim(-1, dim).contiguous() * alpha


def _write_rows(x: Any, axis: int, index: Any, rows: Any) -> Any:
    """x with rows at index: each place of x looks whether and where it is named."""
    torch = require("torch")
    length, count = x.shape[axis], index.shape[0]
    if isinstance(count, int) and count == 0:
        return x.clone()
    index = torch.where(index < 0, index + length, index)
    column = [1] * (x.dim() - axis - 1)
    places = torch.arange(length, device=x.device)
    if isinstance(count, int) and count == 1:
        return torch.where((places == index).reshape([-1, *column]), rows, x)
    named = places.unsqueeze(-1) == index
    order = torch.arange(count, device=x.device)
    last = torch.where(named, order, -1).amax(-1)
    chosen = rows.index_select(axis, last.clamp(min=0))
    return torch.where((last >= 0).reshape([-1, *column]), chosen, x)


def pad(x: Any, widths: Sequence[int], value: float = 0) -> Any:
    """Padding whose negative widths are slices, which linalg's pad has not."""
    if not any(isinstance(width, int) and width < 0 for width in widths):
        return NotImplemented
    for position in range(0, len(widths), 2):
        axis = x.dim() - 1 - position // 2
        cut_low, cut_high = (
            max(0, -width) for width in widths[position : position + 2]
        )
        x = x.narrow(axis, cut_low, x.shape[axis] - cut_low - cut_high)
    rest = [max(0, width) for width in widths]
    if not any(rest):
        return x.clone()
    return require("torch").ops.aten.constant_pad_nd.default(x, rest, value)


def is_finite(x: Any) -> Any:
    """Whether a value is neither infinite nor no number."""
    torch = require("torch")
    if not x.dtype.is_floating_point:
        return torch.ones_like(x, dtype=torch.bool)
    return x.abs() < math.inf
