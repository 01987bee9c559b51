# ===- processes.py - Random programs for several processes -----------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""What several processes share: products of matrices and of batches of them, with
weights as they are or transposed, and the moves and reductions of `moves`. Most
sizes divide by the number of processes.

Some programs say how tensors are cut. Some round their arguments to small
integers, which makes them exact: in whatever order sums are taken, the bits are
those of the reference."""

from fuzz_programs.moves import Moves

SIZES = [4, 8, 12, 16, 20, 32, 48, 64]
OTHER_SIZES = [1, 2, 3, 5, 6, 7, 9, 15]
LARGEST_OPERAND = 1 << 15
LARGEST_ARGUMENT = 3
# Integers up to this are exact in f32.
LARGEST_EXACT = 1 << 24


class Processes(Moves):
    def __init__(self, name, rng, processes):
        super().__init__(name, rng)
        self.annotated, self.exact = self.chance(0.4), self.chance(0.3)
        self.grid = [processes]
        if processes == 4 and self.chance(0.5):
            self.grid = [2, 2]
        self.element = "f32"
        # The largest absolute value of each tensor of an exact program.
        self.bounds = {}

    def build(self):
        rank = self.rng.choice([2, 2, 3])
        value = self.argument(self.dims(self.random_extent(99) for _ in range(rank)))
        kept = []
        for _ in range(self.rng.randint(3, 7)):
            value = self.rng.choice(self.steps())(value)
            if self.chance(0.15):
                kept.append(value)
        self.results = [self.mark(value) if self.annotated else value]
        self.results += [v for v in kept[:1] if v is not value]

    def steps(self):
        moves = [self.turn, self.join, self.cut, self.expand, self.collapse]
        others = [self.compute, self.activate, self.double, self.fold]
        softmax = [] if self.exact else [self.soften]
        return [self.multiply] * 5 + others * 2 + moves + softmax

    # Sizes and arguments.

    def dims(self, shape):
        return super().dims(list(shape))

    def random_extent(self, limit):
        return min(limit, self.rng.choice(OTHER_SIZES if self.chance(0.1) else SIZES))

    def argument(self, dims, element="f32"):
        value = super().argument(dims, element)
        if self.annotated and self.chance(0.4):
            value = self.mark(value)
        if not self.exact:
            return value
        largest = self.constant(LARGEST_ARGUMENT)
        return self.elementwise(
            [value],
            f"%s = arith.mulf %a, {largest} : f32",
            "%r = math.roundeven %s : f32",
        )

    def mark(self, value):
        """Says how `value` is cut."""
        axes = [[] for _ in value.dims]
        for axis, size in enumerate(self.grid):
            fitting = [
                i
                for i, dim in enumerate(value.dims)
                if not axes[i] and self.extents[dim] % size == 0
            ]
            if fitting and self.chance(0.8):
                axes[self.rng.choice(fitting)].append(axis)
        sharding = self.emit(
            f"shard.sharding @{self.name}_grid split_axes = {axes} : !shard.sharding",
            [],
        )
        return self.emit(
            f"shard.shard {value.name} to {sharding.name} : {self.type_of(value)}",
            value.dims,
        )

    def text(self):
        shape = "x".join(map(str, self.grid))
        grid = f"  shard.grid @{self.name}_grid(shape = {shape})\n"
        return grid * self.annotated + super().text()

    # Bounds. A step that would make numbers too large to be exact is left out.

    def bound(self, value):
        return self.bounds.get(value.name, LARGEST_ARGUMENT)

    def is_too_large(self, bound):
        return self.exact and bound > LARGEST_EXACT

    def bounded(self, value, bound):
        self.bounds[value.name] = bound
        return value

    # Products.

    def multiply(self, x):
        """By a weight, of which a batch has one for each of its matrices."""
        if len(x.dims) not in (2, 3) or self.size(x.dims) > LARGEST_OPERAND:
            return x
        *batch, rows, inner = x.dims
        bound = self.bound(x) * LARGEST_ARGUMENT * self.extents[inner]
        if self.is_too_large(bound):
            return x
        (columns,) = self.dims([self.random_extent(99)])
        own = batch + [inner, columns]
        if self.chance(0.3):
            turned = batch + [columns, inner]
            weight = self.transpose(self.argument(turned), own)
        else:
            weight = self.argument(own)
        dims = batch + [rows, columns]
        filled = self.fill(0.0, dims)
        made = self.emit(
            f"linalg.{'batch_' * len(batch)}matmul ins{self.operands([x, weight])} "
            f"outs{self.operands([filled])} -> {self.type(dims)}",
            dims,
        )
        return self.bounded(made, bound)

    # Arithmetic.

    def elementwise(self, inputs, *lines):
        dims = inputs[0].dims
        kinds = ["parallel"] * len(dims)
        return self.generic(dims, inputs, dims, kinds, lines, self.empty(dims))

    def compute(self, x):
        """With another tensor of some of the dimensions."""
        bound = LARGEST_ARGUMENT * (self.bound(x) + 1)
        if self.is_too_large(bound):
            return x
        some = [d for d in x.dims if self.chance(0.6)] or x.dims[-1:]
        name = self.rng.choice(["addf", "mulf"])
        made = self.elementwise(
            [x, self.argument(some)], f"%r = arith.{name} %a, %b : f32"
        )
        return self.bounded(made, bound)

    def activate(self, x):
        zero = self.constant(0.0)
        line = f"%r = arith.maximumf %a, {zero} : f32"
        if not self.exact and self.chance(0.5):
            line = "%r = math.tanh %a : f32"
        made = self.elementwise([x], line)
        return self.bounded(made, self.bound(x))

    def double(self, x):
        """Two readers of one value, which another one reads again."""
        bound = 2 * self.bound(x)
        if self.is_too_large(bound):
            return x
        made = self.elementwise([x, self.activate(x)], "%r = arith.addf %a, %b : f32")
        return self.bounded(made, bound)

    def soften(self, x):
        """Softmax of what is small, so that errors do not become larger."""
        return self.softmax(self.elementwise([x], "%r = math.tanh %a : f32"))

    def fold(self, x):
        """A sum or maximum along a dimension, which may be taken away from all."""
        dim = self.rng.choice(x.dims)
        sum_bound = self.bound(x) * self.extents[dim]
        if len(x.dims) < 2 or self.is_too_large(sum_bound + self.bound(x)):
            return x
        largest = self.chance(0.4)
        start = self.fill(
            float("-inf") if largest else 0.0, [d for d in x.dims if d != dim]
        )
        name = "maximumf" if largest else "addf"
        folded = self.generic(
            x.dims,
            [x],
            start.dims,
            ["reduction" if d == dim else "parallel" for d in x.dims],
            [f"%r = arith.{name} %b, %a : f32"],
            start,
        )
        if self.chance(0.4):
            return self.bounded(folded, sum_bound)
        made = self.elementwise([x, folded], "%r = arith.subf %a, %b : f32")
        return self.bounded(made, sum_bound + self.bound(x))

    # Moves keep the bound.

    def turn(self, x):
        return self.bounded(super().turn(x), self.bound(x))

    def join(self, x):
        return self.bounded(super().join(x), max(LARGEST_ARGUMENT, self.bound(x)))

    def cut(self, x):
        return self.bounded(super().cut(x), self.bound(x))

    def expand(self, x):
        return self.bounded(super().expand(x), self.bound(x))

    def collapse(self, x):
        return self.bounded(super().collapse(x), self.bound(x))
