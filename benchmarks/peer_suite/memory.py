"""Operations that wait for memory: norms, softmax, moves and reductions.

The large ones do not fit the outermost cache; the small ones are those of networks.
"""

import math

from .program import Program, Value, affine_map, tensor_type

EPSILON = 1e-5


class MemoryProgram(Program):
    """What these operations take beside what chains do."""

    def reduced(
        self, x: Value, body: list[str], dims=(), start=0.0, inputs=()
    ) -> Value:
        """Combines all dimensions of `x` but `dims`; `inputs` are other values with
        the dimensions they index."""
        loops = [f"d{i}" for i in range(len(x.shape))]
        which = [(x, range(len(loops))), *inputs]
        maps = [affine_map(loops, [loops[i] for i in index]) for _, index in which]
        maps.append(affine_map(loops, [loops[i] for i in dims]))
        kinds = ", ".join(
            '"parallel"' if i in dims else '"reduction"' for i in range(len(loops))
        )
        shape = tuple(x.shape[i] for i in dims)
        number, empty = self.constant(start), self.empty(shape)
        filled = self.add(
            shape,
            f"linalg.fill ins({number} : f32) "
            f"outs({empty.name} : {empty.type}) -> {empty.type}",
        )
        names = ", ".join(value.name for value, _ in which)
        types = ", ".join(value.type for value, _ in which)
        block = ", ".join(f"%i{i}: f32" for i in range(len(which)))
        lines = "".join(f"      {line}\n" for line in body)
        return self.add(
            shape,
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], "
            f"iterator_types = [{kinds}]}} ins({names} : {types}) "
            f"outs({filled.name} : {filled.type}) {{\n"
            f"    ^bb0({block}, %out: f32):\n{lines}"
            f"      linalg.yield %r : f32\n    }} -> {filled.type}",
        )

    def layer_norm(self, x: Value, weight: Value, bias: Value) -> Value:
        share = self.constant(1 / x.shape[1])
        least = self.constant(EPSILON)
        total = self.reduced(x, ["%r = arith.addf %out, %i0 : f32"], [0])
        mean = self.elementwise(
            [(total, [0])], total.shape, [f"%r = arith.mulf %i0, {share} : f32"]
        )
        squares = self.reduced(
            x,
            [
                "%d = arith.subf %i0, %i1 : f32",
                "%q = arith.mulf %d, %d : f32",
                "%r = arith.addf %out, %q : f32",
            ],
            [0],
            inputs=[(mean, [0])],
        )
        return self.elementwise(
            [(x, [0, 1]), (mean, [0]), (squares, [0]), (weight, [1]), (bias, [1])],
            x.shape,
            [
                "%d = arith.subf %i0, %i1 : f32",
                f"%v = arith.mulf %i2, {share} : f32",
                f"%s = arith.addf %v, {least} : f32",
                "%f = math.rsqrt %s : f32",
                "%n = arith.mulf %d, %f : f32",
                "%w = arith.mulf %n, %i3 : f32",
                "%r = arith.addf %w, %i4 : f32",
            ],
        )

    def softmax_along(self, x: Value, dim: int) -> Value:
        return self.result_of(
            f"linalg.softmax dimension({dim})", [x], self.empty(x.shape)
        )

    def gelu_erf(self, x: Value) -> Value:
        root, one, half = (self.constant(c) for c in (1 / math.sqrt(2), 1.0, 0.5))
        return self.elementwise(
            [(x, range(len(x.shape)))],
            x.shape,
            [
                f"%s = arith.mulf %i0, {root} : f32",
                "%e = math.erf %s : f32",
                f"%o = arith.addf %e, {one} : f32",
                f"%h = arith.mulf %o, {half} : f32",
                "%r = arith.mulf %i0, %h : f32",
            ],
        )

    def transposed(self, x: Value, order) -> Value:
        output = self.empty([x.shape[i] for i in order])
        return self.add(
            output.shape,
            f"linalg.transpose ins({x.name} : {x.type}) "
            f"outs({output.name} : {output.type}) "
            f"permutation = {list(order)}",
        )

    def concat(self, parts, dim: int) -> Value:
        shape = list(parts[0].shape)
        shape[dim] = sum(part.shape[dim] for part in parts)
        names = ", ".join(part.name for part in parts)
        types = ", ".join(part.type for part in parts)
        return self.add(
            shape,
            f"tensor.concat dim({dim}) {names} : ({types}) -> " + tensor_type(shape),
        )

    def part(self, x: Value, dim: int, offset: int, size: int) -> Value:
        shape = list(x.shape)
        shape[dim] = size
        offsets = [0] * len(shape)
        offsets[dim] = offset
        return self.add(
            shape,
            f"tensor.extract_slice {x.name}{offsets} {shape} "
            f"{[1] * len(shape)} : {x.type} to {tensor_type(shape)}",
        )

    def reshaped(self, x: Value, groups, shape) -> Value:
        """Splits or joins dimensions; `groups` are those of the longer shape."""
        target = Value("", tuple(shape))
        text = str([list(group) for group in groups])
        if len(shape) > len(x.shape):
            return self.add(
                shape,
                f"tensor.expand_shape {x.name} {text} "
                f"output_shape {list(shape)} : {x.type} into {target.type}",
            )
        return self.add(
            shape,
            f"tensor.collapse_shape {x.name} {text} : {x.type} " f"into {target.type}",
        )


def layer_norm(rows: int, columns: int):
    program = MemoryProgram()
    x, weight, bias = (
        program.argument(*shape) for shape in ((rows, columns), (columns,), (columns,))
    )
    return (
        program,
        [program.layer_norm(x, weight, bias)],
        (lambda ops, x, w, b: ops.layer_norm(x, w, b, EPSILON)),
    )


def softmax(rows: int, columns: int, dim: int):
    program = MemoryProgram()
    result = program.softmax_along(program.argument(rows, columns), dim)
    return program, [result], lambda ops, x: ops.softmax(x, dim)


def row_softmax(rows: int, columns: int):
    return softmax(rows, columns, 1)


def column_softmax(rows: int, columns: int):
    return softmax(rows, columns, 0)


def add_rms_norm(rows: int, columns: int):
    program = MemoryProgram()
    x, y = (program.argument(rows, columns) for _ in range(2))
    weight = program.argument(columns)
    total = program.plus(x, y)

    def compute(ops, x, y, weight):
        total = x + y
        return total, ops.rms_norm(total, weight, EPSILON)

    return program, [total, program.rms_norm(total, weight, EPSILON)], compute


def bias_gelu(rows: int, columns: int):
    program = MemoryProgram()
    x, bias = program.argument(rows, columns), program.argument(columns)
    result = program.gelu_erf(program.bias(x, bias))
    return program, [result], lambda ops, x, bias: ops.gelu(x + bias)


def gelu(rows: int, columns: int):
    program = MemoryProgram()
    result = program.gelu_erf(program.argument(rows, columns))
    return program, [result], lambda ops, x: ops.gelu(x)


def transpose(rows: int, columns: int):
    program = MemoryProgram()
    result = program.transposed(program.argument(rows, columns), (1, 0))
    return program, [result], lambda ops, x: ops.stored(ops.swap(x))


def channel_shuffle(images: int, channels: int, height: int, width: int):
    """Two tensors as one with their channels in turns, split again."""
    program = MemoryProgram()
    shape = (images, channels, height, width)
    both = program.concat([program.argument(*shape) for _ in range(2)], 1)
    split = ([0], [1, 2], [3], [4])
    pairs = program.reshaped(both, split, (images, 2, channels, height, width))
    turns = program.reshaped(
        program.transposed(pairs, (0, 2, 1, 3, 4)), split, both.shape
    )
    results = [program.part(turns, 1, offset, channels) for offset in (0, channels)]

    def compute(ops, x, y):
        both = ops.concat([x, y], 1).reshape(images, 2, channels, height, width)
        turns = ops.permute(both, (0, 2, 1, 3, 4)).reshape(
            images, 2 * channels, height, width
        )
        return ops.stored(turns[:, :channels]), ops.stored(turns[:, channels:])

    return program, results, compute


def rotary(batch: int, heads: int, rows: int, depth: int):
    program = MemoryProgram()
    x = program.argument(batch, heads, rows, depth)
    cosine, sine = (program.argument(rows, depth) for _ in range(2))
    half = depth // 2
    first, second = (program.part(x, 3, offset, half) for offset in (0, half))
    negative = program.elementwise(
        [(second, range(4))], second.shape, ["%r = arith.negf %i0 : f32"]
    )
    turned = program.concat([negative, first], 3)
    result = program.elementwise(
        [(x, range(4)), (cosine, [2, 3]), (turned, range(4)), (sine, [2, 3])],
        x.shape,
        [
            "%c = arith.mulf %i0, %i1 : f32",
            "%s = arith.mulf %i2, %i3 : f32",
            "%r = arith.addf %c, %s : f32",
        ],
    )

    def compute(ops, x, cosine, sine):
        turned = ops.concat([-x[..., half:], x[..., :half]], -1)
        return x * cosine + turned * sine

    return program, [result], compute


def two_reductions(count: int):
    program = MemoryProgram()
    x = program.argument(count)
    largest = program.reduced(
        x, ["%a = math.absf %i0 : f32", "%r = arith.maximumf %out, %a : f32"]
    )
    squares = program.reduced(
        x, ["%q = arith.mulf %i0, %i0 : f32", "%r = arith.addf %out, %q : f32"]
    )
    return program, [largest, squares], (lambda ops, x: (abs(x).max(), (x * x).sum()))


def column_sums(rows: int, columns: int):
    program = MemoryProgram()
    result = program.reduced(
        program.argument(rows, columns), ["%r = arith.addf %out, %i0 : f32"], [1]
    )
    return program, [result], lambda ops, x: x.sum(0)


def norm_residual_relu(channels: int, pixels: int):
    """A batch norm whose statistics are known, and what follows it."""
    program = MemoryProgram()
    x, y = (program.argument(channels, pixels) for _ in range(2))
    scale, shift = (program.argument(channels) for _ in range(2))
    zero = program.constant(0)
    result = program.elementwise(
        [(x, [0, 1]), (y, [0, 1]), (scale, [0]), (shift, [0])],
        x.shape,
        [
            "%s = arith.mulf %i0, %i2 : f32",
            "%n = arith.addf %s, %i3 : f32",
            "%t = arith.addf %n, %i1 : f32",
            f"%r = arith.maximumf %t, {zero} : f32",
        ],
    )

    def compute(ops, x, y, scale, shift):
        return ops.relu(x * scale[:, None] + shift[:, None] + y)

    return program, [result], compute


# The function for each case, and the sizes it is given.
CASES = {
    "LayerNorm 8192 x 2048": (layer_norm, (8192, 2048)),
    "softmax 8192 x 2048": (row_softmax, (8192, 2048)),
    "add, RMSNorm 8192 x 2048": (add_rms_norm, (8192, 2048)),
    "bias, GELU 8192 x 2048": (bias_gelu, (8192, 2048)),
    "transpose 8192 x 2048": (transpose, (8192, 2048)),
    "column softmax 2048 x 8192": (column_softmax, (2048, 8192)),
    "channel shuffle 32 x 58 x 28 x 28": (channel_shuffle, (32, 58, 28, 28)),
    "rotary 8 x 32 x 512 x 128": (rotary, (8, 32, 512, 128)),
    "two reductions of 64 MiB": (two_reductions, (2**24,)),
    "sums of columns 8192 x 2048": (column_sums, (8192, 2048)),
    "sums of columns 512 x 1024": (column_sums, (512, 1024)),
    "LayerNorm 128 x 768": (layer_norm, (128, 768)),
    "GELU 128 x 3072": (gelu, (128, 3072)),
    "add, RMSNorm 128 x 512": (add_rms_norm, (128, 512)),
    "norm, residual, ReLU 64 x 3136": (norm_residual_relu, (64, 3136)),
}
