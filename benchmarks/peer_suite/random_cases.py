"""Random programs of realistic shapes, the same for the same seed everywhere.

Needs Python alone.
"""

import math
import random

from .cases import Case, attention
from .program import Program, Value
from .random_graphs import random_graph


def between(rng: random.Random, least: int, most: int) -> int:
    """As many small numbers as large ones."""
    return round(math.exp(rng.uniform(math.log(least), math.log(most))))


def make(kind: str, name: str, program: Program, result: Value) -> Case:
    return Case(kind, name, [], None, program.finish(result))


def chain(rng: random.Random) -> Case:
    b, m, n, k, l = (between(rng, *limits) for limits in
                     ((1, 12), (16, 1024), (16, 512), (16, 512), (16, 1024)))
    program = Program()
    x, w, v = (program.argument(*shape) for shape in ((b, m, k), (b, k, l), (b, l, n)))
    result = program.batch_matmul(program.batch_matmul(x, w), v)
    return make("chain", f"{b} x {m} x {n} x {k} x {l}", program, result)


def random_attention(rng: random.Random) -> Case:
    heads, keys = between(rng, 1, 32), between(rng, 1, 4096)
    rows = rng.choice([keys, keys, 1, between(rng, 1, 64)])
    # The scores of all heads stay below 160 MB.
    heads = max(1, min(heads, 40_000_000 // (rows * keys)))
    d = rng.choice([32, 64, 80, 96, 128])
    causal = rows == keys and rng.random() < 0.25
    shape = f"{heads} x {rows} x {keys} x {d}" + (" causal" if causal else "")
    return attention(shape, heads, heads, rows, keys, d, causal)


def perceptron(rng: random.Random) -> Case:
    """With a gate, a norm before it or a residual behind it, or none of these."""
    rows = between(rng, 1, 1024)
    width, hidden = (rng.choice(sizes) for sizes in
                     ((256, 384, 512, 768, 1024), (512, 1024, 1536, 2048, 3072, 4096)))
    gated, normed, residual = (rng.random() < 0.3 for _ in range(3))
    program = Program()
    x, w1, w2 = (program.argument(*shape) for shape in
                 ((rows, width), (width, hidden), (hidden, width)))
    y = program.rms_norm(x, program.argument(width), 1e-5) if normed else x
    if gated:
        gate = program.matmul(y, program.argument(width, hidden))
        middle = program.gate(gate, program.matmul(y, w1))
    else:
        middle = program.gelu_tanh(program.bias(program.matmul(y, w1),
                                                program.argument(hidden)))
    result = program.matmul(middle, w2)
    if residual:
        result = program.plus(result, x)
    words = [word for word, is_there in
             (("gated", gated), ("normed", normed), ("residual", residual)) if is_there]
    name = " ".join([f"{rows} x {width} x {hidden} x {width}", *words])
    return make("mlp", name, program, result)


def two_convolutions(rng: random.Random) -> Case:
    """With ReLU after both, filters constant."""
    channels, middle, out = (8 * between(rng, 2, 64) for _ in range(3))
    size, stride = between(rng, 7, 112), rng.choice([1, 1, 1, 2])
    first, second = rng.choice([(1, 1), (3, 1), (1, 3), (3, 3)])
    # Neither image is above 16 MB, which leaves a call some ten milliseconds.
    size = min(size, math.isqrt(4_000_000 // max(channels, middle, out)))
    program = Program()
    x = program.argument(1, channels, size, size)
    for wide, narrow, window, step in ((middle, channels, first, stride),
                                       (out, middle, second, 1)):
        filters = program.weights(wide, narrow, window, window)
        x = program.relu(program.convolution(x, filters, step))
    name = (f"{channels} x {size}^2, {first}x{first} by {stride} to {middle}, "
            f"{second}x{second} to {out}")
    return make("convolutions", name, program, x)


def inverted_residual(rng: random.Random) -> Case:
    """Of mobilenet_v2 and its kind: wide inside, depthwise windows, constant filters."""
    channels, factor = 8 * between(rng, 2, 24), rng.choice([3, 4, 6, 6])
    size, stride = between(rng, 7, 112), rng.choice([1, 1, 1, 2])
    window = rng.choice([3, 3, 5])
    wide = factor * channels
    size = min(size, math.isqrt(4_000_000 // wide))
    out = channels if stride == 1 else 8 * between(rng, 2, 24)
    program = Program()
    x = program.argument(1, channels, size, size)
    y = program.relu6(program.convolution(x, program.weights(wide, channels, 1, 1), 1))
    y = program.relu6(program.depthwise(y, program.weights(wide, window, window),
                                        stride))
    y = program.convolution(y, program.weights(out, wide, 1, 1), 1)
    if stride == 1:
        y = program.plus(y, x)
    name = f"{channels} x {size}^2, {wide} inside, {window}x{window} by {stride} to {out}"
    return make("residual", name, program, y)


def graph(rng: random.Random) -> Case:
    """Of operators that wait for memory."""
    name, program, results = random_graph(rng)
    return Case("graph", name, [], None, program.finish(*results))


MAKERS = {"chain": chain, "attention": random_attention, "mlp": perceptron,
          "convolutions": two_convolutions, "residual": inverted_residual, "graph": graph}


def random_cases(count: int, seed: int, kinds: list[str]) -> list[Case]:
    """As many of each kind."""
    rng = random.Random(seed)
    return [MAKERS[kinds[index % len(kinds)]](rng) for index in range(count)]
