"""The operations that cases are written in, for numpy, torch and JAX.

A case is one function of `ops` and its arguments: with `NumpyOps` on f64 it is
the reference, with the others what a user of torch or JAX would write.
"""

import functools
import math


class NumpyOps:
    """Plain formulas, in the precision of the arguments."""

    def __init__(self):
        import numpy
        from scipy import special  # comes with JAX
        self.np, self.special = numpy, special

    def swap(self, x):
        return self.np.swapaxes(x, -1, -2)

    def permute(self, x, axes):
        return self.np.transpose(x, axes)

    def concat(self, parts, axis):
        return self.np.concatenate(parts, axis)

    def stored(self, x):
        """`x` in memory of its own, which moves would otherwise not make."""
        return self.np.ascontiguousarray(x)

    def relu(self, x):
        return self.np.maximum(x, 0)

    def silu(self, x):
        return x / (1 + self.np.exp(-x))

    def gelu(self, x, tanh=False):
        if tanh:
            inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
            return 0.5 * x * (1 + self.np.tanh(inner))
        return 0.5 * x * (1 + self.special.erf(x / math.sqrt(2)))

    def softmax(self, x, axis=-1):
        e = self.np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    def layer_norm(self, x, weight, bias, eps):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) / self.np.sqrt(variance + eps) * weight + bias

    def rms_norm(self, x, weight, eps):
        return x / self.np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight

    def linear(self, x, weight, bias=None):
        """`weight` is [out][in]."""
        y = x @ weight.T
        return y if bias is None else y + bias

    def affine(self, x, weight, bias):
        """`weight` is [in][out]."""
        return x @ weight + bias

    def convolution(self, x, filters, stride):
        """Channels first, with as much padding as keeps the size of images."""
        np, (rows, columns) = self.np, filters.shape[2:]
        x = np.pad(x, ((0, 0), (0, 0), (rows // 2,) * 2, (columns // 2,) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(x, (rows, columns), (2, 3))
        return np.einsum("nchwrs,fcrs->nfhw", windows[:, :, ::stride, ::stride],
                         filters, optimize=True)

    def attention(self, q, k, v, scale=None, causal=False, mask=None):
        """`mask` is true where a key counts, or a summand."""
        scale = scale or 1 / math.sqrt(q.shape[-1])
        copies = q.shape[-3] // k.shape[-3]
        k, v = (self.np.repeat(x, copies, axis=-3) for x in (k, v))
        scores = q @ self.swap(k) * scale
        if causal:
            mask = self.np.tri(q.shape[-2], k.shape[-2], dtype=bool)
        if mask is not None and mask.dtype == bool:
            scores = self.np.where(mask, scores, -math.inf)
        elif mask is not None:
            scores = scores + mask
        return self.softmax(scores) @ v


class JaxOps:
    def __init__(self):
        import jax
        self.jax, self.jnp = jax, jax.numpy

    def swap(self, x):
        return self.jnp.swapaxes(x, -1, -2)

    def permute(self, x, axes):
        return self.jnp.transpose(x, axes)

    def concat(self, parts, axis):
        return self.jnp.concatenate(parts, axis)

    def stored(self, x):
        return x

    def relu(self, x):
        return self.jax.nn.relu(x)

    def silu(self, x):
        return self.jax.nn.silu(x)

    def gelu(self, x, tanh=False):
        return self.jax.nn.gelu(x, approximate=tanh)

    def softmax(self, x, axis=-1):
        return self.jax.nn.softmax(x, axis=axis)

    def layer_norm(self, x, weight, bias, eps):
        mean = x.mean(-1, keepdims=True)
        variance = x.var(-1, keepdims=True)
        return (x - mean) * self.jax.lax.rsqrt(variance + eps) * weight + bias

    def rms_norm(self, x, weight, eps):
        mean = (x * x).mean(-1, keepdims=True)
        return x * self.jax.lax.rsqrt(mean + eps) * weight

    def linear(self, x, weight, bias=None):
        y = x @ weight.T
        return y if bias is None else y + bias

    def affine(self, x, weight, bias):
        return x @ weight + bias

    def convolution(self, x, filters, stride):
        pads = [(size // 2, size // 2) for size in filters.shape[2:]]
        return self.jax.lax.conv_general_dilated(x, filters, (stride, stride), pads)

    def attention(self, q, k, v, scale=None, causal=False, mask=None):
        jnp = self.jnp
        scale = scale or 1 / math.sqrt(q.shape[-1])
        # Query heads that share keys are one dimension more: nothing is copied.
        groups = q.reshape(*q.shape[:-3], k.shape[-3], -1, *q.shape[-2:])
        scores = jnp.einsum("...hgmd,...hld->...hgml", groups, k) * scale
        if causal:
            mask = jnp.tri(q.shape[-2], k.shape[-2], dtype=bool)
        if mask is not None and mask.dtype == bool:
            scores = jnp.where(mask, scores, -jnp.inf)
        elif mask is not None:
            scores = scores + mask
        result = jnp.einsum("...hgml,...hld->...hgmd", self.softmax(scores), v)
        return result.reshape(q.shape[:-1] + v.shape[-1:])


class TorchOps:
    """`fused` takes scaled_dot_product_attention, else attention is spelled out."""

    def __init__(self, fused):
        import torch
        self.torch, self.nn = torch, torch.nn.functional
        self.fused = fused

    def swap(self, x):
        return x.transpose(-1, -2)

    def permute(self, x, axes):
        return x.permute(axes)

    def concat(self, parts, axis):
        return self.torch.cat(parts, axis)

    def stored(self, x):
        return x.contiguous()

    def relu(self, x):
        return self.nn.relu(x)

    def silu(self, x):
        return self.nn.silu(x)

    def gelu(self, x, tanh=False):
        return self.nn.gelu(x, approximate="tanh" if tanh else "none")

    def softmax(self, x, axis=-1):
        return self.torch.softmax(x, axis)

    def layer_norm(self, x, weight, bias, eps):
        return self.nn.layer_norm(x, weight.shape, weight, bias, eps)

    def rms_norm(self, x, weight, eps):
        return self.nn.rms_norm(x, weight.shape, weight, eps)

    def linear(self, x, weight, bias=None):
        return self.nn.linear(x, weight, bias)

    def affine(self, x, weight, bias):
        return self.torch.addmm(bias, x, weight)

    def convolution(self, x, filters, stride):
        pads = [size // 2 for size in filters.shape[2:]]
        return self.nn.conv2d(x, filters, stride=stride, padding=pads)

    @functools.lru_cache
    def causal_mask(self, rows, columns):
        full = self.torch.full((rows, columns), -math.inf)
        return full.triu(1)

    def attention(self, q, k, v, scale=None, causal=False, mask=None):
        grouped = bool(q.shape[-3] != k.shape[-3])
        if self.fused:
            if k.stride(-1) != 1:
                k = k.contiguous()  # The fast kernel takes it only so.
            flat = q.dim() == 3
            if flat:
                q, k, v = (x.unsqueeze(0) for x in (q, k, v))
            result = self.nn.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, is_causal=causal, scale=scale,
                enable_gqa=grouped)
            return result.squeeze(0) if flat else result
        if grouped:
            copies = q.shape[-3] // k.shape[-3]
            k, v = (x.repeat_interleave(copies, -3) for x in (k, v))
        scale = scale or 1 / math.sqrt(q.shape[-1])
        scores = q @ self.swap(k) * scale
        if causal:
            mask = self.causal_mask(q.shape[-2], k.shape[-2])
        if mask is not None and mask.dtype == self.torch.bool:
            scores = scores.masked_fill(~mask, -math.inf)
        elif mask is not None:
            scores = scores + mask
        return self.torch.softmax(scores, -1) @ v
