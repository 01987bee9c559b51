#===- chains.py - Random chains of contractions ----------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Chains of two or three contractions that vary in sizes (1 to 130), batch
dimensions, the spelling of contractions (named operations, linalg.contract,
linalg.generic with any order of loops and dimensions), transposed and broadcast
operands, accumulators, and in what happens to intermediates: elementwise
operations in several spellings, second uses, gates."""

from fuzz_programs.program import MAX_MULTIPLY_ADDS, Program


class Chain(Program):
    """One random chain."""

    # Sizes.

    def new_dim(self, prefix, limit=130):
        dim = f"{prefix}{len(self.extents)}"
        self.extents[dim] = self.random_extent(limit)
        return dim

    def fit(self, dims, dim):
        """Shrinks `dim`, which nothing uses yet, until a contraction over
        `dims` and it is small enough."""
        limit = max(1, MAX_MULTIPLY_ADDS // self.size(dims))
        self.extents[dim] = min(self.extents[dim], limit)

    # Operations.

    def accumulator(self, dims):
        kind = self.rng.random()
        if kind < 0.75:
            return self.fill(0.0, dims)
        if kind < 0.85:
            return self.fill(0.5, dims)
        return self.argument(dims)

    def operand(self, dims):
        """An argument with these dimensions; sometimes one that has them in
        another order, transposed."""
        if len(dims) > 1 and self.rng.random() < 0.3:
            shuffled = self.shuffle(dims)
            return self.transpose(self.argument(shuffled), dims)
        return self.argument(dims)

    # Contractions.

    def named_contraction(self, value, batch):
        """A named operation on `value`, or None if none fits its shape."""
        rng = self.rng
        matrix = [d for d in value.dims if d not in batch]
        if value.dims != batch + matrix or len(batch) > 1:
            return None
        prefix = "batch_" if batch else ""
        new = self.new_dim("n")
        self.fit(value.dims, new)
        if len(matrix) == 1:
            reduced = matrix[0]
            if rng.random() < 0.5:
                name, other = "vecmat", batch + [reduced, new]
            else:
                name, other = "matvec", batch + [new, reduced]
            output = batch + [new]
        elif rng.random() < 0.65:
            name, other = "matmul", batch + [matrix[1], new]
            output = batch + [matrix[0], new]
        else:
            name, other = "matmul_", batch + [new, matrix[0]]
            output = batch + [new, matrix[1]]
        weight = self.operand(other)
        inputs = [value, weight] if name in ("vecmat", "matmul") else [weight, value]
        accumulator = self.accumulator(output)
        return self.emit(
            f"linalg.{prefix}{name.rstrip('_')} ins{self.operands(inputs)} "
            f"outs{self.operands([accumulator])} -> {self.type(output)}", output)

    def free_contraction(self, value, batch):
        """linalg.contract or a generic, with any order of dimensions."""
        rng = self.rng
        matrix = [d for d in value.dims if d not in batch]
        reduced = rng.choice(matrix)
        kept = [d for d in matrix if d != reduced]
        # An operand without a batch dimension is broadcast over it, if the
        # other one has it.
        own = [d for d in batch if d not in value.dims or rng.random() < 0.6]
        new = []
        if not kept or rng.random() < 0.93:
            new = [self.new_dim("n")]
            self.fit(value.dims + own + batch, new[0])
        weight = self.operand(self.shuffle(own + [reduced] + new))
        output = batch + kept + new
        if rng.random() < 0.4:
            output = self.shuffle(output)
        inputs = self.shuffle([value, weight])
        accumulator = self.accumulator(output)
        loops = self.shuffle(output + [reduced])
        if rng.random() < 0.4:
            maps = ", ".join(self.map(loops, v.dims)
                             for v in inputs + [accumulator])
            return self.emit(
                f"linalg.contract indexing_maps = [{maps}] "
                f"ins{self.operands(inputs)} "
                f"outs{self.operands([accumulator])} -> {self.type(output)}",
                output)

        def body(names):
            factors = ", ".join(self.shuffle(names[:2]))
            terms = ", ".join(self.shuffle(["%p", names[2]]))
            return ([f"%p = arith.mulf {factors} : f32",
                     f"%s = arith.addf {terms} : f32"], "%s")

        return self.generic(loops, [reduced], inputs, accumulator, body)

    def contraction(self, value, batch):
        if self.rng.random() < 0.15 and len(value.dims) > 1:
            value = self.transpose(value, self.shuffle(value.dims))
        result = None
        if self.rng.random() < 0.5:
            result = self.named_contraction(value, batch)
        return result or self.free_contraction(value, batch)

    # Elementwise operations: each body takes the value and one more operand.

    UNARY = {
        "relu": ["%r = arith.maximumf {x}, {zero} : f32"],
        "scale": ["%r = arith.mulf {x}, {c} : f32"],
        "shift": ["%r = arith.addf {c}, {x} : f32"],
        "clamp": ["%t = arith.maximumf {x}, {zero} : f32",
                  "%r = arith.minimumf %t, {six} : f32"],
        "negate": ["%r = arith.negf {x} : f32"],
        "square": ["%r = arith.mulf {x}, {x} : f32"],
        "gelu": ["%t0 = arith.mulf {x}, {x} : f32",
                 "%t1 = arith.mulf %t0, {x} : f32",
                 "%t2 = arith.mulf %t1, {g0} : f32",
                 "%t3 = arith.addf {x}, %t2 : f32",
                 "%t4 = arith.mulf %t3, {g1} : f32",
                 "%t5 = math.tanh %t4 : f32",
                 "%t6 = arith.addf %t5, {one} : f32",
                 "%t7 = arith.mulf {x}, %t6 : f32",
                 "%r = arith.mulf %t7, {half} : f32"],
        "silu": ["%t0 = arith.negf {x} : f32",
                 "%t1 = math.exp %t0 : f32",
                 "%t2 = arith.addf %t1, {one} : f32",
                 "%r = arith.divf {x}, %t2 : f32"],
    }
    BINARY = {
        "add": ["%r = arith.addf {x}, {y} : f32"],
        "sub": ["%r = arith.subf {y}, {x} : f32"],
        "mul": ["%r = arith.mulf {x}, {y} : f32"],
        "max": ["%r = arith.maximumf {x}, {y} : f32"],
        "min": ["%r = arith.minimumf {x}, {y} : f32"],
        "add_relu": ["%t = arith.addf {x}, {y} : f32",
                     "%r = arith.maximumf %t, {zero} : f32"],
    }

    def fill_in(self, lines, x, y=None):
        numbers = {"zero": 0.0, "one": 1.0, "half": 0.5, "six": 6.0, "c": 0.125,
                   "g0": 0.044715, "g1": 0.7978845608}
        used = {key: self.constant(number) for key, number in numbers.items()
                if any("{" + key + "}" in line for line in lines)}
        return [line.format(x=x, y=y, **used) for line in lines]

    def unary(self, value, lines):
        if self.rng.random() < 0.3:
            # The value is the output operand, which the body reads.
            return self.generic(
                value.dims, [], [], value,
                lambda names: (self.fill_in(lines, names[0]), "%r"))
        output = self.empty(value.dims)
        return self.generic(
            value.dims, [], [value], output,
            lambda names: (self.fill_in(lines, names[0]), "%r"))

    def binary(self, value, other, lines):
        rng = self.rng
        loops = value.dims
        if rng.random() < 0.25:
            return self.generic(
                loops, [], [other], value,
                lambda names: (self.fill_in(lines, names[1], names[0]), "%r"))
        output = self.empty(value.dims)
        if rng.random() < 0.5:
            return self.generic(
                loops, [], [value, other], output,
                lambda names: (self.fill_in(lines, names[0], names[1]), "%r"))
        return self.generic(
            loops, [], [other, value], output,
            lambda names: (self.fill_in(lines, names[1], names[0]), "%r"))

    def named_binary(self, value, other_dims):
        """linalg.add and its kin; an operand with fewer dimensions goes through
        linalg.broadcast."""
        name = self.rng.choice(["add", "mul", "max", "min", "sub"])
        ordered = [d for d in value.dims if d in other_dims]
        other = self.argument(ordered)
        if ordered != value.dims:
            other = self.broadcast(other, value.dims)
        return self.named(name, [value, other], value.dims)

    def elementwise(self, value):
        rng = self.rng
        kind = rng.random()
        if kind < 0.02:
            return self.doubled(value)
        if kind < 0.06:
            numbers, convert = self.numbers(
                [d for d in value.dims if rng.random() < 0.7])
            return self.compute(
                value.dims, [value, numbers],
                lambda body, x, n: body.op(
                    f"arith.addf {x}, {convert(body, n)} : f32"))
        if kind < 0.4:
            return self.unary(value, self.UNARY[rng.choice(list(self.UNARY))])
        if kind < 0.75:
            # A bias along some dimensions.
            dims = [d for d in value.dims if rng.random() < 0.5]
        else:
            # A residual, a mask.
            dims = self.shuffle(value.dims)
        if rng.random() < 0.3:
            return self.named_binary(value, dims)
        lines = self.BINARY[rng.choice(list(self.BINARY))]
        return self.binary(value, self.argument(dims), lines)

    def elementwises(self, value):
        for _ in range(self.rng.choice([0, 0, 1, 1, 2, 3])):
            value = self.elementwise(value)
        return value

    # Chains.

    def gate(self, value, batch):
        """silu(x * a) times (x * b), as in gated feed-forward layers."""
        left = self.free_gate_half(value, batch, None)
        right = self.free_gate_half(value, batch, left.dims)
        left = self.unary(left, self.UNARY["silu"])
        return self.binary(left, right, self.BINARY["mul"])

    def free_gate_half(self, value, batch, like):
        matrix = [d for d in value.dims if d not in batch]
        if like is None:
            self.gate_reduced = matrix[-1]
            new = self.new_dim("n")
            self.fit(value.dims, new)
            like = [d for d in value.dims if d != self.gate_reduced] + [new]
        new = like[-1]
        weight = self.operand([self.gate_reduced, new])
        accumulator = self.fill(0.0, like)
        maps = ", ".join(self.map(value.dims + [new], v.dims)
                         for v in [value, weight, accumulator])
        return self.emit(
            f"linalg.contract indexing_maps = [{maps}] "
            f"ins{self.operands([value, weight])} "
            f"outs{self.operands([accumulator])} -> {self.type(like)}", like)

    def start(self):
        rng = self.rng
        batch = [self.new_dim("b", 4) for _ in range(rng.choice([0, 0, 0, 1, 1, 2]))]
        matrix = [self.new_dim("m")]
        if rng.random() < 0.85:
            matrix.append(self.new_dim("k"))
        kept = [d for d in batch if rng.random() < 0.85]
        dims = kept + matrix
        if rng.random() < 0.25:
            dims = self.shuffle(dims)
        return self.operand(dims), batch

    def build(self):
        rng = self.rng
        value, batch = self.start()
        if rng.random() < 0.1:
            value = self.elementwise(value)
        extra = []
        calls = rng.random() < 0.05
        for i in range(rng.choice([2, 2, 3])):
            # A gate takes the place of the first contraction.
            if i == 0 and rng.random() < 0.08 and set(batch) <= set(value.dims):
                value = self.gate(value, batch)
            else:
                value = self.contraction(value, batch)
            value = self.elementwises(value)
            if calls:
                self.note(value)
                self.note(self.arguments[0])
            if rng.random() < 0.12:
                extra.append(value)
        self.results = [value] + [v for v in extra if v is not value]
