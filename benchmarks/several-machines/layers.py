"""Layers as users of PyTorch write them, for one process and for several.

Heads are counted from what projections leave, so that a layer is the same for a
process that has a part of them. `columns` and `rows` say which projections are cut
along columns and along rows.
"""

from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn


class Perceptron(nn.Module):
    columns, rows = ("first", "gate"), ("second",)

    def __init__(self, features, between, activate=F.relu, gated=False, bias=False):
        super().__init__()
        self.activate = activate
        self.first = nn.Linear(features, between, bias=bias)
        self.gate = nn.Linear(features, between, bias=bias) if gated else None
        self.second = nn.Linear(between, features, bias=bias)

    def forward(self, x):
        hidden = self.activate(self.first(x))
        return self.second(hidden * self.gate(x) if self.gate else hidden)


def turn(x, cos, sin):
    """Rotary embedding."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat((-high, low), -1) * sin


class Attention(nn.Module):
    """With a cache, the keys and values of earlier tokens come before its own."""

    columns, rows = ("q", "k", "v"), ("o",)

    def __init__(self, features, heads, sharing=1, bias=False, causal=False):
        super().__init__()
        self.size, self.sharing, self.causal = features // heads, sharing, causal
        self.q = nn.Linear(features, features, bias=bias)
        self.k = nn.Linear(features, features // sharing, bias=bias)
        self.v = nn.Linear(features, features // sharing, bias=bias)
        self.o = nn.Linear(features, features, bias=bias)

    def split(self, x):
        return x.view(*x.shape[:2], -1, self.size).transpose(1, 2)

    def repeat(self, x):
        """Heads of keys and values for all heads of queries that share them."""
        batch, heads, tokens, size = x.shape
        wide = x[:, :, None].expand(batch, heads, self.sharing, tokens, size)
        return wide.reshape(batch, heads * self.sharing, tokens, size)

    def forward(self, x, cos=None, sin=None, keys=None, values=None):
        q, k, v = (self.split(project(x)) for project in (self.q, self.k, self.v))
        if cos is not None:
            q, k = turn(q, cos, sin), turn(k, cos, sin)
        if keys is not None:
            k, v = torch.cat((keys, k), 2), torch.cat((values, v), 2)
        if self.sharing > 1:
            k, v = self.repeat(k), self.repeat(v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.o(y.transpose(1, 2).flatten(2))


class Bert(nn.Module):
    def __init__(self, features, heads, between):
        super().__init__()
        self.attention = Attention(features, heads, bias=True)
        self.perceptron = Perceptron(features, between, F.gelu, bias=True)
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.perceptron(x))


class Llama(nn.Module):
    """Of a whole text, or of one token with a cache."""

    def __init__(self, features, heads, sharing, between, causal):
        super().__init__()
        self.attention = Attention(features, heads, sharing, causal=causal)
        self.perceptron = Perceptron(features, between, F.silu, gated=True)
        self.norm1, self.norm2 = nn.RMSNorm(features), nn.RMSNorm(features)

    def forward(self, x, *others):
        x = x + self.attention(self.norm1(x), *others)
        return x + self.perceptron(self.norm2(x))


@dataclass
class Case:
    make: Callable[[], nn.Module]
    inputs: list[tuple[int, ...]]
    # Inputs of which a process has a part, and along which dimension.
    cut: dict[int, int] = field(default_factory=dict)

    def build(self):
        """The layer and its inputs, the same in every process."""
        torch.manual_seed(0)
        return self.make().eval(), [torch.randn(*shape) for shape in self.inputs]


CASES = {
    "MLP 256 x 512 x 2048 x 512": Case(lambda: Perceptron(512, 2048), [(256, 512)]),
    "MLP 512 x 1024 x 4096 x 1024": Case(lambda: Perceptron(1024, 4096), [(512, 1024)]),
    "gated MLP 256 x 1024 x 2816 x 1024": Case(
        lambda: Perceptron(1024, 2816, F.silu, gated=True), [(256, 1024)]
    ),
    "MLP 32 x 768 x 3072 x 768": Case(lambda: Perceptron(768, 3072), [(32, 768)]),
    "attention, 256 tokens, 1024 features, 16 heads": Case(
        lambda: Attention(1024, 16), [(1, 256, 1024)]
    ),
    "BERT layer, 128 tokens, 768 features, 12 heads": Case(
        lambda: Bert(768, 12, 3072), [(1, 128, 768)]
    ),
    "Llama layer, 128 tokens, 1024 features, 16 heads on 4": Case(
        lambda: Llama(1024, 16, 4, 2816, causal=True),
        [(1, 128, 1024), (128, 64), (128, 64)],
    ),
    "4 BERT layers, 128 tokens, 512 features, 8 heads": Case(
        lambda: nn.Sequential(*(Bert(512, 8, 2048) for _ in range(4))), [(1, 128, 512)]
    ),
    "Llama layer, 1 token after 1023, 2048 features, 16 heads on 4": Case(
        lambda: Llama(2048, 16, 4, 5632, causal=False),
        [(1, 1, 2048), (1, 128), (1, 128), (1, 4, 1023, 128), (1, 4, 1023, 128)],
        cut={3: 1, 4: 1},
    ),
}
