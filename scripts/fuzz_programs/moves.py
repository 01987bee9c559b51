# ===- moves.py - Random moves and reductions -------------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
"""What waits for memory: transposes, concatenations, slices and other shapes,
arithmetic between them, sums and maxima over any dimensions, softmax over any
one. Of one to five dimensions, of f32 and narrower types."""

from fuzz_programs.program import Program

MOST_ELEMENTS = 1 << 16


class Moves(Program):
    def build(self):
        self.element = self.rng.choice(["f32", "f32", "f32", "f16", "bf16", "i8"])
        left = MOST_ELEMENTS
        shape = []
        for _ in range(self.rng.randint(1, 4)):
            shape.append(self.random_extent(min(left, 999)))
            left = max(1, left // shape[-1])
        value = self.argument(self.dims(self.shuffle(shape)), self.element)
        kept = []
        for _ in range(self.rng.randint(1, 6)):
            value = self.rng.choice(self.steps())(value)
            if self.chance(0.2):
                kept.append(value)
        ends = [self.reduce(value) for _ in range(self.rng.choice([0, 0, 1, 2]))]
        self.results = ends or [value]
        self.results += [v for v in kept if v not in self.results]

    def steps(self):
        steps = [
            self.turn,
            self.turn,
            self.join,
            self.cut,
            self.expand,
            self.collapse,
            self.compute,
        ]
        return steps + [self.softmax] * (self.element == "f32")

    def dims(self, shape):
        """New dimensions of these extents."""
        names = [f"d{len(self.extents) + i}" for i in range(len(shape))]
        self.extents.update(zip(names, shape))
        return names

    def shape(self, value):
        return [self.extents[dim] for dim in value.dims]

    # Moves.

    def turn(self, x):
        order = self.shuffle(range(len(x.dims)))
        dims = [x.dims[i] for i in order]
        empty = self.empty(dims, x.element)
        return self.emit(
            f"linalg.transpose ins{self.operands([x])} "
            f"outs{self.operands([empty])} permutation = {order}",
            dims,
            x.element,
        )

    def join(self, x):
        along = self.rng.randrange(len(x.dims))
        shape = self.shape(x)
        parts = [x]
        for _ in range(self.rng.randint(1, 2)):
            if self.chance(0.3):
                parts.append(x)
                continue
            other = list(shape)
            other[along] = self.random_extent(shape[along] + 3)
            parts.append(self.argument(self.dims(other), x.element))
        parts = self.shuffle(parts)
        shape[along] = sum(self.shape(part)[along] for part in parts)
        dims = self.dims(shape)
        names = ", ".join(part.name for part in parts)
        types = ", ".join(self.type_of(part) for part in parts)
        return self.emit(
            f"tensor.concat dim({along}) {names} : ({types}) -> "
            f"{self.type(dims, x.element)}",
            dims,
            x.element,
        )

    def cut(self, x):
        shape = self.shape(x)
        offsets, sizes = [0] * len(shape), list(shape)
        along = self.rng.randrange(len(shape))
        # Halves are what later steps fold.
        if shape[along] % 2 == 0 and self.chance(0.5):
            sizes[along] //= 2
            offsets[along] = self.rng.choice([0, sizes[along]])
        else:
            offsets[along] = self.rng.randrange(shape[along])
            sizes[along] = self.rng.randint(1, shape[along] - offsets[along])
        dims = self.dims(sizes)
        return self.emit(
            f"tensor.extract_slice {x.name}{offsets} {sizes} "
            f"{[1] * len(shape)} : {self.type_of(x)} to "
            f"{self.type(dims, x.element)}",
            dims,
            x.element,
        )

    def expand(self, x):
        shape = self.shape(x)
        if len(shape) > 4:
            return x
        along = self.rng.randrange(len(shape))
        factors = [
            f for f in range(1, min(shape[along], 64) + 1) if shape[along] % f == 0
        ]
        outer = self.rng.choice(factors)
        target = shape[:along] + [outer, shape[along] // outer] + shape[along + 1 :]
        return self.reshape("expand_shape", x, target, along)

    def collapse(self, x):
        shape = self.shape(x)
        if len(shape) < 2:
            return x
        along = self.rng.randrange(len(shape) - 1)
        joined = shape[along] * shape[along + 1]
        return self.reshape(
            "collapse_shape", x, shape[:along] + [joined] + shape[along + 2 :], along
        )

    def reshape(self, name, x, target, along):
        """`along` is the pair of dimensions that are one in the shorter shape."""
        rank = min(len(target), len(x.dims))
        groups = [[i + (i > along)] for i in range(rank)]
        groups[along].append(along + 1)
        shape = f"output_shape {target} " * (name == "expand_shape")
        dims = self.dims(target)
        return self.emit(
            f"tensor.{name} {x.name} {groups} {shape}: "
            f"{self.type_of(x)} into {self.type(dims, x.element)}",
            dims,
            x.element,
        )

    # Arithmetic.

    def is_integer(self, x):
        return x.element[0] == "i"

    def compute(self, x):
        """With another tensor of some of the dimensions, in any order."""
        some = self.shuffle(d for d in x.dims if self.chance(0.6))
        other = self.argument(some or x.dims[-1:], x.element)
        name = "addi" if self.is_integer(x) else self.rng.choice(["addf", "mulf"])
        body = [f"%r = arith.{name} %a, %b : {x.element}"]
        return self.generic(
            x.dims,
            [x, other],
            x.dims,
            ["parallel"] * len(x.dims),
            body,
            self.empty(x.dims, x.element),
        )

    def softmax(self, x):
        empty = self.empty(x.dims)
        along = self.rng.randrange(len(x.dims))
        return self.emit(
            f"linalg.softmax dimension({along}) "
            f"ins{self.operands([x])} outs{self.operands([empty])} -> "
            f"{self.type_of(x)}",
            x.dims,
        )

    def reduce(self, x):
        """Over some dimensions or all. Narrow floats are added up in f32."""
        kept = [d for d in x.dims if self.chance(0.4)]
        if len(kept) == len(x.dims):
            kept.pop(self.rng.randrange(len(kept)))
        kinds = ["reduction" if d not in kept else "parallel" for d in x.dims]
        largest = self.chance(0.5)
        element = x.element if self.is_integer(x) else "f32"
        if self.is_integer(x):
            start = self.constant(-128 if largest else 0, element)
            body = [f"%r = arith.{'maxsi' if largest else 'addi'} %a, %b : {element}"]
        else:
            start = self.constant(float("-inf") if largest else 0, element)
            widen = f"%w = arith.extf %a : {x.element} to f32"
            body = [widen] * (x.element != "f32")
            wide = "%w" if body else "%a"
            body.append(
                "%r = arith.maximumf %b, " + f"{wide} : f32"
                if largest
                else f"%r = arith.addf %b, {wide} : f32"
            )
        empty = self.empty(self.shuffle(kept), element)
        filled = self.emit(
            f"linalg.fill ins({start} : {element}) "
            f"outs{self.operands([empty])} -> {self.type_of(empty)}",
            empty.dims,
            element,
        )
        return self.generic(x.dims, [x], empty.dims, kinds, body, filled)

    def generic(self, loops, inputs, dims, kinds, body, output):
        """`body` computes %r of %a and %b: the inputs, or the input and the
        output."""
        values = inputs + [output]
        maps = ", ".join(self.map(loops, v.dims) for v in values)
        names = ["%a", "%b", "%c"]
        block = ", ".join(f"{name}: {v.element}" for name, v in zip(names, values))
        kinds = ", ".join(f'"{kind}"' for kind in kinds)
        lines = " ".join(line + "\n" for line in body)
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins{self.operands(inputs)} outs{self.operands([output])} {{\n"
            f"    ^bb0({block}):\n    {lines}    linalg.yield %r : {output.element}\n"
            f"    }} -> {self.type_of(output)}",
            dims,
            output.element,
        )
