"""Programs exported from torch, written again in ops.py.

The files hold linalg with weights as arguments; a peer that imports torch or ONNX
gets the same function from here. Shapes come from the files.
"""

import dataclasses
from collections.abc import Callable

# How an argument is made (see data.py), and whether it is a weight.
INPUT = ("normal", False)
MATRIX = ("columns_in", True)
VECTOR = ("normal", True)
GAIN = ("near_one", True)


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    arguments: list[tuple[str, bool]]
    compute: Callable
    attends: bool = False
    # Whether keys after the query do not count; the first argument has the shape
    # of the queries then, in one head or several.
    causal: bool = False
    tolerance: float = 1e-4


def sdpa(ops, q, k, v):
    return ops.attention(q, k, v)


def sdpa_causal(ops, q, k, v):
    return ops.attention(q, k, v, causal=True)


def sdpa_mask(ops, q, k, v, mask):
    return ops.attention(q, k, v, mask=mask)


def mlp_relu(ops, x, w1, b1, w2, b2):
    return ops.linear(ops.relu(ops.linear(x, w1, b1)), w2, b2)


def mlp_gelu(ops, x, w1, b1, w2, b2):
    return ops.linear(ops.gelu(ops.linear(x, w1, b1), tanh=True), w2, b2)


def swiglu(ops, x, gate, up, down):
    return ops.linear(ops.silu(ops.linear(x, gate)) * ops.linear(x, up), down)


def split_heads(ops, x, heads):
    batch, rows, columns = x.shape
    x = x.reshape(batch, rows, heads, columns // heads)
    return ops.permute(x, (0, 2, 1, 3))


def merge_heads(ops, x):
    batch, heads, rows, d = x.shape
    return ops.permute(x, (0, 2, 1, 3)).reshape(batch, rows, heads * d)


def bert_layer(ops, x, mask, wq, bq, wk, bk, wv, bv, wo, bo, w1, b1, w2, b2,
               g1, h1, g2, h2):
    q, k, v = (split_heads(ops, ops.linear(x, w, b), 12)
               for w, b in ((wq, bq), (wk, bk), (wv, bv)))
    heads = merge_heads(ops, ops.attention(q, k, v, mask=mask))
    x = ops.layer_norm(x + ops.linear(heads, wo, bo), g1, h1, 1e-12)
    hidden = ops.gelu(ops.linear(x, w1, b1))
    return ops.layer_norm(x + ops.linear(hidden, w2, b2), g2, h2, 1e-12)


def vit_block(ops, x, g1, h1, wqkv, bqkv, wo, bo, g2, h2, w1, b1, w2, b2):
    batch, rows, columns = x.shape
    qkv = ops.linear(ops.layer_norm(x, g1, h1, 1e-6), wqkv, bqkv)
    qkv = ops.permute(qkv.reshape(batch, rows, 3, 12, columns // 12), (2, 0, 3, 1, 4))
    heads = merge_heads(ops, ops.attention(qkv[0], qkv[1], qkv[2]))
    x = x + ops.linear(heads, wo, bo)
    hidden = ops.gelu(ops.linear(ops.layer_norm(x, g2, h2, 1e-6), w1, b1))
    return x + ops.linear(hidden, w2, b2)


def mixer_block(ops, x, g1, h1, wt1, bt1, wt2, bt2, g2, h2, w1, b1, w2, b2):
    tokens = ops.swap(ops.layer_norm(x, g1, h1, 1e-6))
    tokens = ops.linear(ops.gelu(ops.linear(tokens, wt1, bt1)), wt2, bt2)
    x = x + ops.swap(tokens)
    hidden = ops.gelu(ops.linear(ops.layer_norm(x, g2, h2, 1e-6), w1, b1))
    return x + ops.linear(hidden, w2, b2)


def rotate(ops, x, cos, sin):
    half = x.shape[-1] // 2
    turned = ops.concat([-x[..., half:], x[..., :half]], -1)
    return x * cos + turned * sin


def llama_layer(ops, x, cos, sin, wq, wk, wv, wo, gate, up, down, g1, g2):
    normed = ops.rms_norm(x, g1, 1e-6)
    q = rotate(ops, split_heads(ops, ops.linear(normed, wq), 8), cos, sin)
    k = rotate(ops, split_heads(ops, ops.linear(normed, wk), 2), cos, sin)
    v = split_heads(ops, ops.linear(normed, wv), 2)
    heads = merge_heads(ops, ops.attention(q, k, v, causal=True))
    x = x + ops.linear(heads, wo)
    return x + swiglu(ops, ops.rms_norm(x, g2, 1e-6), gate, up, down)


MLP = [INPUT, MATRIX, VECTOR, MATRIX, VECTOR]
NORM = [GAIN, VECTOR]
LINEAR = [MATRIX, VECTOR]

MODELS = [
    Model("sdpa", [INPUT] * 3, sdpa, attends=True),
    Model("sdpa_causal", [INPUT] * 3, sdpa_causal, attends=True,
          causal=True),
    Model("sdpa_boolmask", [INPUT] * 3 + [("some_keys", False)], sdpa_mask,
          attends=True),
    Model("decode", [INPUT] * 3, sdpa, attends=True),
    Model("mlp_relu", MLP, mlp_relu),
    # Its file has 0.797724 for the square root of 2 / pi, which is 0.797885.
    Model("mlp_gelu", MLP, mlp_gelu, tolerance=1e-3),
    Model("swiglu", [INPUT] + [MATRIX] * 3, swiglu),
    Model("bert_layer", [INPUT, ("padding", False)] + LINEAR * 6 + NORM * 2, bert_layer,
          attends=True),
    Model("vit_b16_block", [INPUT] + NORM + LINEAR * 2 + NORM + LINEAR * 2, vit_block,
          attends=True),
    Model("mixer_block", [INPUT] + NORM + LINEAR * 2 + NORM + LINEAR * 2, mixer_block),
    Model("llama_layer",
          [INPUT, ("cosines", True), ("sines", True)] + [MATRIX] * 7 + [GAIN] * 2,
          llama_layer, attends=True,
          causal=True),
]
