#===- layers.py - Products, linear layers, norms ---------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""What models are made of, each in several spellings: hand-written linalg and
what exporters make of torch modules."""

from fuzz_programs.program import MAX_MULTIPLY_ADDS, Program

SQRT_HALF = 0.70710678118654752


class Layers(Program):
    def __init__(self, name, rng):
        super().__init__(name, rng)
        if self.chance(0.5):
            self.empties = {}

    # Sizes.

    def shrink(self, dims, limit=MAX_MULTIPLY_ADDS):
        """Makes some of `dims` shorter until their product is in `limit`."""
        while self.size(dims) > limit:
            long = [d for d in dims if self.extents[d] > 1]
            dim = self.rng.choice(long)
            self.extents[dim] = self.random_extent(
                max(1, self.extents[dim] * 2 // 3))

    # Elementwise operations.

    def number(self, body, number):
        """A constant in a body; exporters keep those of Python in f64."""
        if self.chance(0.2):
            wide = self.constant(number, "f64")
            return body.op(f"arith.truncf {wide} : f64 to f32")
        return self.constant(number)

    def binary(self, name, left, right):
        """`left` and `right`, which may have fewer dimensions, in one of the
        spellings of an elementwise operation: add, sub, mul, div, max."""
        scalar = {"add": "addf", "sub": "subf", "mul": "mulf", "div": "divf",
                  "max": "maximumf"}[name]
        is_part = [d for d in left.dims if d in right.dims] == right.dims
        if is_part and self.chance(0.25):
            if right.dims != left.dims:
                right = self.spread(right, left.dims)
            return self.named(name, [left, right], left.dims)
        if right.dims != left.dims and self.chance(0.2):
            right = self.spread(right, left.dims)
        return self.compute(
            left.dims, [left, right],
            lambda body, x, y: body.op(f"arith.{scalar} {x}, {y} : f32"))

    def spread(self, value, dims):
        """`value` copied along the dimensions that it lacks."""
        if [d for d in dims if d in value.dims] == value.dims \
                and self.chance(0.5):
            return self.broadcast(value, dims)
        return self.compute(dims, [value], lambda body, x: x, value.element)

    def scaled(self, value, factor, divide=False):
        """`value` times `factor`."""
        name = "div" if divide else "mul"
        number = 1.0 / factor if divide else factor
        kind = self.rng.random()
        if kind < 0.2:
            return self.binary(name, value, self.splat(number, []))
        if kind < 0.3:
            return self.named(name, [value, self.fill(number, value.dims)],
                              value.dims)
        return self.compute(
            value.dims, [value],
            lambda body, x: body.op(
                f"arith.{name}f {x}, {self.number(body, number)} : f32"))

    # Products.

    def product(self, left, right, heads, rows, reduced, columns, start=None):
        """Sums products over `reduced`. Operands that lack some of `heads` are
        broadcast along them."""
        output = heads + rows + columns
        has_all = all(set(heads) <= set(v.dims) for v in (left, right))
        if has_all and (rows or columns) and self.chance(0.6):
            return self.named_product(left, right, heads, rows, reduced,
                                      columns, start)
        loops = output + [reduced]
        if self.chance(0.4):
            loops = self.shuffle(loops)
        inputs = [left, right] if self.chance(0.7) else [right, left]
        start = start or self.fill(0.0, output)
        if self.chance(0.4):
            return self.contract("contract", inputs, start, loops)

        def function(body, x, y, total):
            product = body.op(f"arith.mulf {x}, {y} : f32")
            terms = ", ".join(self.shuffle([product, total]))
            return body.op(f"arith.addf {terms} : f32")

        return self.reduce(loops, reduced, inputs, start, function)

    def contract(self, name, inputs, start, loops=None):
        maps = ""
        if loops:
            maps = ", ".join(self.map(loops, v.dims) for v in inputs + [start])
            maps = f"indexing_maps = [{maps}] "
        return self.emit(f"linalg.{name} {maps}ins{self.operands(inputs)} "
                         f"outs{self.operands([start])} -> "
                         f"{self.type_of(start)}", start.dims)

    def named_product(self, left, right, heads, rows, reduced, columns, start):
        batch = [self.merge(heads)] if heads else []
        prefix = "batch_" if heads else ""
        output = batch + rows + columns
        # Transposed operands are said by maps or made by a copy.
        maps = rows and columns and self.chance(0.4)

        def arrange(value, order):
            swapped = heads + order[::-1]
            if value.dims == swapped and (maps or self.chance(0.1)):
                return self.reshape(value, batch + order[::-1])
            return self.reshape(self.arrange(value, heads + order),
                                batch + order)

        left = arrange(left, rows + [reduced])
        right = arrange(right, [reduced] + columns)
        if start is None:
            start = self.fill(0.0, output)
        start = self.reshape(start, output)
        straight = (left.dims == batch + rows + [reduced]
                    and right.dims == batch + [reduced] + columns)
        if rows and columns:
            loops = None if straight else batch + rows + columns + [reduced]
            result = self.contract(prefix + "matmul", [left, right], start,
                                   loops)
        elif rows:
            left = self.arrange(left, batch + rows + [reduced])
            result = self.contract(prefix + "matvec", [left, right], start)
        elif straight:
            result = self.contract(prefix + "vecmat", [left, right], start)
        else:
            result = self.contract(prefix + "matvec", [right, left], start)
        return self.reshape(result, heads + rows + columns)

    # Layers.

    def linear(self, x, reduced, columns, bias=None):
        """x times a weight, which may be stored transposed, plus a bias."""
        rows = [d for d in x.dims if d != reduced]
        weight = self.argument([reduced, columns] if self.chance(0.5)
                               else [columns, reduced])
        if weight.dims[0] == columns and self.chance(0.7):
            weight = self.transpose(weight, [reduced, columns])
        if bias is None:
            bias = self.chance(0.6)
        vector = self.argument([columns]) if bias else None
        if self.chance(0.3):
            # Without shapes between; leading dimensions are rows.
            heads, rows = rows[:-1], rows[-1:]
            result = self.product(x, weight, heads, rows, reduced, [columns])
        else:
            merged = [self.merge(rows)]
            start = None
            if bias and self.chance(0.2):
                start = self.spread(vector, merged + [columns])
                vector = None
            result = self.product(self.reshape(x, merged + [reduced]), weight,
                                  [], merged, reduced, [columns], start)
            if vector and self.chance(0.5):
                result = self.binary("add", result, vector)
                vector = None
            result = self.reshape(result, rows + [columns])
        return self.binary("add", result, vector) if vector else result

    def linear_parts(self, x, reduced, columns, bias=None):
        """One linear layer for several, cut apart afterwards."""
        whole = "_".join(columns) + "_all"
        self.extents[whole] = sum(self.extent(d) for d in columns)
        result = self.linear(x, reduced, whole, bias)
        parts, first = [], 0
        for dim in columns:
            parts.append(self.slice(result, whole, dim, first))
            first += self.extent(dim)
        return parts

    def slice(self, value, dim, part, first):
        """The elements of `value` from `first` on along `dim`, which then has
        the name and extent of `part`."""
        dims = [part if d == dim else d for d in value.dims]
        offsets = [first if d == dim else 0 for d in value.dims]
        sizes = [self.extent(d) for d in dims]
        return self.emit(
            f"tensor.extract_slice {value.name} {offsets} {sizes} "
            f"{[1] * len(dims)} : {self.type_of(value)} to {self.type(dims)}",
            dims)

    def concat(self, values, position, dims):
        names = ", ".join(v.name for v in values)
        types = ", ".join(self.type_of(v) for v in values)
        element = values[0].element
        return self.emit(
            f"tensor.concat dim({position}) {names} : ({types}) -> "
            f"{self.type(dims, element)}", dims, element)

    def keep(self, dims, reduced):
        """`dims` with one element along `reduced`."""
        return [f"u{reduced}" if d == reduced else d for d in dims]

    def total(self, x, reduced):
        """The sum along `reduced`; the dimension stays, with one element, or
        goes."""
        rows = [d for d in x.dims if d != reduced]
        if rows and x.element == "f32" and self.chance(0.2):
            start = self.fill(0.0, rows)
            position = x.dims.index(reduced)
            return self.emit(
                f"linalg.reduce {{ arith.addf }} ins{self.operands([x])} "
                f"outs{self.operands([start])} dimensions = [{position}]", rows)
        dims = self.keep(x.dims, reduced) if self.chance(0.6) else rows
        return self.reduce(
            x.dims, reduced, [x], self.fill(0.0, dims, x.element),
            lambda body, a, s: body.op(f"arith.addf {a}, {s} : {x.element}"))

    def mean(self, x, reduced):
        """The mean along `reduced`; sometimes computed in f64."""
        is_wide = self.chance(0.15)
        if is_wide:
            x = self.compute(
                x.dims, [x],
                lambda body, a: body.op(f"arith.extf {a} : f32 to f64"), "f64")
        count = self.constant(self.extent(reduced), x.element)

        def divide(body, total):
            mean = body.op(f"arith.divf {total}, {count} : {x.element}")
            if is_wide:
                mean = body.op(f"arith.truncf {mean} : f64 to f32")
            return mean

        total = self.total(x, reduced)
        return self.compute(total.dims, [total], divide)

    def norm(self, x, reduced):
        """RMSNorm or LayerNorm as exporters take them apart."""
        centered = x
        if self.chance(0.5):
            centered = self.binary("sub", x, self.mean(x, reduced))
        if self.chance(0.5):
            two = self.constant(2, "i64")
            square = self.compute(
                x.dims, [centered],
                lambda body, a: body.op(f"math.fpowi {a}, {two} : f32, i64"))
        else:
            square = self.compute(
                x.dims, [centered, centered],
                lambda body, a, b: body.op(f"arith.mulf {a}, {b} : f32"))
        variance = self.mean(square, reduced)

        def invert(body, v):
            shifted = body.op(
                f"arith.addf {v}, {self.number(body, 1e-5)} : f32")
            if self.chance(0.7):
                return body.op(f"math.rsqrt {shifted} : f32")
            root = body.op(f"math.sqrt {shifted} : f32")
            return body.op(f"arith.divf {self.constant(1)}, {root} : f32")

        deviation = self.compute(variance.dims, [variance], invert)
        result = self.binary("mul", centered, deviation)
        if self.chance(0.7):
            result = self.binary("mul", result, self.argument([reduced]))
        if self.chance(0.4):
            result = self.binary("add", result, self.argument([reduced]))
        return result

    # Activations.

    def activation(self, x):
        kind = self.rng.choice(["relu", "gelu_tanh", "gelu_erf", "silu"])
        if kind == "silu":
            return self.silu(x)
        if kind == "gelu_tanh" and self.chance(0.3):
            return self.gelu_in_steps(x)
        return self.compute(x.dims, [x], getattr(self, kind))

    def relu(self, body, x):
        zero = self.constant(0)
        if self.chance(0.5):
            return body.op(f"arith.maximumf {x}, {zero} : f32")
        positive = body.op(f"arith.cmpf ugt, {x}, {zero} : f32")
        return body.op(f"arith.select {positive}, {x}, {zero} : f32")

    def gelu_erf(self, body, x):
        if self.chance(0.5):
            root = self.constant(2 * SQRT_HALF)
            scaled = body.op(f"arith.divf {x}, {root} : f32")
        else:
            root = self.constant(SQRT_HALF)
            scaled = body.op(f"arith.mulf {x}, {root} : f32")
        value = body.op(f"math.erf {scaled} : f32")
        value = body.op(f"arith.addf {value}, {self.constant(1)} : f32")
        half = body.op(f"arith.mulf {value}, {self.constant(0.5)} : f32")
        return body.op(f"arith.mulf {x}, {half} : f32")

    def gelu_tanh(self, body, x):
        cube = self.cube(body, x)
        factor = self.number(body, 0.044715)
        value = body.op(f"arith.mulf {cube}, {factor} : f32")
        value = body.op(f"arith.addf {x}, {value} : f32")
        factor = self.number(body, 0.7978845608028654)
        value = body.op(f"arith.mulf {value}, {factor} : f32")
        value = body.op(f"math.tanh {value} : f32")
        value = body.op(f"arith.addf {value}, {self.constant(1)} : f32")
        half = body.op(f"arith.mulf {x}, {self.constant(0.5)} : f32")
        return body.op(f"arith.mulf {half}, {value} : f32")

    def cube(self, body, x):
        if self.chance(0.5):
            return body.op(
                f"math.fpowi {x}, {self.constant(3, 'i64')} : f32, i64")
        square = body.op(f"arith.mulf {x}, {x} : f32")
        return body.op(f"arith.mulf {square}, {x} : f32")

    def gelu_in_steps(self, x):
        """One operation for each step, as exporters write it."""
        value = self.compute(x.dims, [x], self.cube)
        value = self.scaled(value, 0.044715)
        value = self.scaled(self.binary("add", x, value), 0.7978845608028654)
        value = self.compute(x.dims, [value],
                             lambda body, a: body.op(f"math.tanh {a} : f32"))
        value = self.compute(
            x.dims, [value],
            lambda body, a: body.op(
                f"arith.addf {a}, {self.constant(1)} : f32"))
        return self.binary("mul", self.scaled(x, 0.5), value)

    def sigmoid(self, body, x):
        one = self.constant(1)
        value = body.op(f"arith.negf {x} : f32")
        value = body.op(f"math.exp {value} : f32")
        value = body.op(f"arith.addf {value}, {one} : f32")
        return body.op(f"arith.divf {one}, {value} : f32")

    def silu(self, x):
        if self.chance(0.5):
            return self.binary("mul", x,
                               self.compute(x.dims, [x], self.sigmoid))

        def fused(body, a):
            gate = self.sigmoid(body, a)
            return body.op(f"arith.mulf {a}, {gate} : f32")

        return self.compute(x.dims, [x], fused)
