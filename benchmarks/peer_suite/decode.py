"""A layer of a language model that makes one token from quantized weights.

Weights are codes of eight bits with a scale for each row, or of four bits with a scale
for each group of a row; everything else is f32. The cache holds the token's own key and
value already: they are results too, for whoever keeps it.
"""

import dataclasses
import math

from .memory import MemoryProgram
from .program import Value

EPSILON = 1e-6


@dataclasses.dataclass(frozen=True)
class Layer:
    heads: int
    kv_heads: int
    depth: int
    hidden: int
    keys: int
    bits: int
    # Neighbours in a row that share a scale; 0 if the whole row does.
    group: int

    @property
    def width(self) -> int:
        return self.heads * self.depth

    @property
    def element(self) -> str:
        return f"i{self.bits}"

    @property
    def name(self) -> str:
        scales = f"groups of {self.group}" if self.group else "a scale a row"
        return (f"llama layer {self.width}, {self.hidden}, {self.heads}/{self.kv_heads} "
                f"heads, {self.keys} keys, {scales}")

    def matrices(self) -> list[tuple[int, int]]:
        """Queries, keys, values, output, gate, up, down: [out][in]."""
        width, kept = self.width, self.kv_heads * self.depth
        return [(width, width), (kept, width), (kept, width), (width, width),
                (self.hidden, width), (self.hidden, width), (width, self.hidden)]

    def scale_shape(self, matrix) -> tuple[int, ...]:
        rows, columns = matrix
        return (rows, columns // self.group, 1) if self.group else (rows,)

    def usual_scale(self, matrix) -> float:
        """So that what is multiplied keeps its size."""
        deviation = {8: 73, 4: 4.6}[self.bits]
        return 1 / (deviation * math.sqrt(matrix[1]))

    def state_shapes(self) -> list[tuple[int, ...]]:
        """The token, cosines and sines of its position, keys, values."""
        cache = (self.kv_heads, self.keys, self.depth)
        return [(1, self.width), (self.depth,), (self.depth,), cache, cache]

    def norm_shapes(self) -> list[tuple[int, ...]]:
        return [(self.width,)] * 2

    def weight_shapes(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        return [(matrix, self.scale_shape(matrix)) for matrix in self.matrices()]


# ---- linalg

class DecodeProgram(MemoryProgram):
    def dequantized(self, codes: Value, scales: Value) -> Value:
        """Rows of f32."""
        body = [f"%w = arith.sitofp %i0 : {codes.element} to f32",
                "%r = arith.mulf %w, %i1 : f32"]
        rows, columns = codes.shape
        if len(scales.shape) == 1:
            return self.mapped([(codes, [0, 1]), (scales, [0])], codes.shape, body, "%r",
                               "f32")
        groups = scales.shape[1]
        shape = (rows, groups, columns // groups)
        parts = self.expanded(codes, "[[0], [1, 2]]", shape)
        # A group's one scale stands at 0 of the last dimension.
        flat = self.collapsed(scales, "[[0], [1, 2]]", (rows, groups))
        scaled = self.mapped([(parts, range(3)), (flat, [0, 1])], shape, body, "%r", "f32")
        return self.collapsed(scaled, "[[0], [1, 2]]", codes.shape)

    def expanded(self, x: Value, groups: str, shape) -> Value:
        return self.add(shape, f"tensor.expand_shape {x.name} {groups} output_shape "
                        f"{list(shape)} : {x.type} into {Value('', shape, x.element).type}",
                        x.element)

    def collapsed(self, x: Value, groups: str, shape) -> Value:
        return self.add(shape, f"tensor.collapse_shape {x.name} {groups} : {x.type} "
                        f"into {Value('', shape, x.element).type}", x.element)

    def linear(self, x: Value, codes: Value, scales: Value) -> Value:
        weights = self.dequantized(codes, scales)
        columns = self.empty(weights.shape[::-1])
        turned = self.add(columns.shape, f"linalg.transpose ins({weights.name} : "
                          f"{weights.type}) outs({columns.name} : {columns.type}) "
                          "permutation = [1, 0]")
        return self.matmul(x, turned)

    def rotated(self, x: Value, cosine: Value, sine: Value) -> Value:
        """[heads][1][depth], as memory.rotary has it."""
        half = x.shape[2] // 2
        first, second = (self.part(x, 2, offset, half) for offset in (0, half))
        negative = self.elementwise([(second, range(3))], second.shape,
                                    ["%r = arith.negf %i0 : f32"])
        turned = self.concat([negative, first], 2)
        return self.elementwise(
            [(x, range(3)), (cosine, [2]), (turned, range(3)), (sine, [2])], x.shape,
            ["%c = arith.mulf %i0, %i1 : f32", "%s = arith.mulf %i2, %i3 : f32",
             "%r = arith.addf %c, %s : f32"])

    def split(self, x: Value, heads: int) -> Value:
        return self.expanded(
            self.collapsed(x, "[[0, 1]]", (x.shape[1],)), "[[0, 1, 2]]",
            (heads, 1, x.shape[1] // heads))

    def merged(self, x: Value) -> Value:
        width = math.prod(x.shape)
        return self.expanded(self.collapsed(x, "[[0, 1, 2]]", (width,)), "[[0, 1]]",
                             (1, width))


def write(layer: Layer) -> str:
    program = DecodeProgram()
    x, cosine, sine, keys, values, first, second = (
        program.argument(*shape) for shape in (*layer.state_shapes(),
                                               *layer.norm_shapes()))
    wq, wk, wv, wo, gate, up, down = (
        (program.argument(*codes, element=layer.element), program.argument(*scales))
        for codes, scales in layer.weight_shapes())
    normed = program.rms_norm(x, first, EPSILON)
    q = program.rotated(program.split(program.linear(normed, *wq), layer.heads), cosine,
                        sine)
    k = program.rotated(program.split(program.linear(normed, *wk), layer.kv_heads), cosine,
                        sine)
    v = program.split(program.linear(normed, *wv), layer.kv_heads)
    copies = layer.heads // layer.kv_heads
    if copies > 1:
        keys, values = (program.repeat(cache, copies) for cache in (keys, values))
    scores = program.scale(program.batch_matmul(q, keys, transposed=True),
                           1 / math.sqrt(layer.depth))
    heads = program.batch_matmul(program.softmax(scores), values)
    x = program.plus(x, program.linear(program.merged(heads), *wo))
    normed = program.rms_norm(x, second, EPSILON)
    hidden = program.gate(program.linear(normed, *gate), program.linear(normed, *up))
    return program.finish(program.plus(x, program.linear(hidden, *down)), k, v)


# ---- what it computes

def compute(layer: Layer, ops, x, cosine, sine, keys, values, first, second, *rest):
    np = ops.np
    wq, wk, wv, wo, gate, up, down = zip(rest[::2], rest[1::2])

    def linear(x, weights):
        codes, scales = weights
        scales = scales.reshape(len(codes), -1, 1)
        groups = codes.reshape(*scales.shape[:2], -1).astype(np.float64)
        return x @ (groups * scales).reshape(codes.shape).T

    def split(x, heads):
        return x.reshape(heads, 1, -1)

    def rotated(x):
        half = x.shape[-1] // 2
        turned = ops.concat([-x[..., half:], x[..., :half]], -1)
        return x * cosine + turned * sine

    normed = ops.rms_norm(x, first, EPSILON)
    q, k = (rotated(split(linear(normed, w), heads))
            for w, heads in ((wq, layer.heads), (wk, layer.kv_heads)))
    v = split(linear(normed, wv), layer.kv_heads)
    x = x + linear(ops.attention(q, keys, values).reshape(1, -1), wo)
    normed = ops.rms_norm(x, second, EPSILON)
    hidden = ops.silu(linear(normed, gate)) * linear(normed, up)
    return [x + linear(hidden, down), k, v]
