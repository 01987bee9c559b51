"""Random programs of realistic shapes, the same for the same seed everywhere.

Needs Python alone.
"""

import math
import random

from .cases import Case, attention
from .program import Program, Value


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


def random_cases(count: int, seed: int) -> list[Case]:
    """A third each of chains, attention and perceptrons."""
    rng = random.Random(seed)
    makers = [chain, random_attention, perceptron]
    return [makers[index % len(makers)](rng) for index in range(count)]
