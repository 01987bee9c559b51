#===- softmax.py - Spellings of softmax ------------------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Softmax as one operation and taken apart: in steps or with some of them
fused, with rows that lack the reduced dimension or keep it with one element,
normalised before or after the product that follows."""

from fuzz_programs.layers import Layers
from fuzz_programs.program import INFINITY

LOG2_E = 1.4426950408889634
LOWEST = -3.4028234663852886e38


class Softmax(Layers):
    # Scores may be large, but are exact.
    exact = False
    # exp2 takes the place of exp; the factor that makes up for it is in the
    # scores already ("folded"), comes now ("late"), or is left out ("exact").
    base2 = None
    # All scores of some row may be a huge number, to which nothing small can be
    # added.
    has_huge_rows = False
    has_far_keys = False

    def softmax(self, x, over):
        """Returns a value, and what is left to do with the rows of the product
        that it enters."""
        if self.base2 is None and self.chance(0.2):
            position = x.dims.index(over)
            init = self.empty(x.dims)
            return self.emit(
                f"linalg.softmax dimension({position}) "
                f"ins{self.operands([x])} outs{self.operands([init])} -> "
                f"{self.type_of(x)}", x.dims), []
        if self.base2 == "late":
            x = self.scaled(x, LOG2_E)
        variants = ["plain"] * 10 + ["safe"] * 4 + ["guarded"] * 2
        if not self.exact:
            variants.append("sink")
            if not self.has_far_keys:
                # Scores as far below a limit as these would be less exact.
                variants += ["clamped", "plus one"]
                # Exponentials of such scores are too large for f32.
                variants.append("no maximum")
            if not self.has_huge_rows:
                variants.append("logarithm")
        variant = self.rng.choice(variants)
        most = None
        if variant != "no maximum":
            most = self.row_maximum(x, over)
        if variant == "logarithm":
            return self.by_logarithm(x, most, over), []
        shift = most
        if variant == "guarded":
            shift = self.replace_rows(most, -INFINITY, 0.0)
        if variant == "clamped" or variant == "plus one" and self.chance(0.6):
            # It is no longer the maximum, in some rows.
            shift = most = self.at_least(most, self.rng.choice([0.0, 1.0, 4.0]))
        shift = shift and self.respell_row(shift, x.dims, over)
        powers, total, normalized = self.powers_and_total(x, shift, over)
        if variant == "guarded":
            total = self.replace_rows(total, 0.0, 1.0)
        if variant == "sink":
            total = self.add_sink(total, most, x.dims, over)
        if variant == "plus one":
            total = self.add_one(total, most, x.dims, over)
        finish = []
        if variant == "safe":
            finish.append(self.zero_empty_rows(x, most, over))
        if normalized:
            # Both from the scores: the total stays what it was.
            powers = self.normalized(x, shift, total)
        else:
            finish.insert(0, lambda value: self.divide_rows(value, total, over))
        if not normalized and self.chance(0.25):
            return powers, finish
        for step in finish:
            powers = step(powers)
        return powers, []

    # Rows.

    def rows_of(self, dims, over):
        """The dimensions of what has one value for each row."""
        rows = [d for d in dims if d != over]
        return self.keep(dims, over) if self.chance(0.5) or not rows else rows

    def respell_row(self, row, dims, over):
        """`row` with the reduced dimension if it lacks it, or the other way
        round."""
        rows = [d for d in dims if d != over]
        kind = self.rng.random()
        if not rows:
            return row
        if row.dims != rows:
            return self.reshape(row, rows) if kind < 0.15 else row
        return self.reshape(row, self.keep(dims, over)) if kind < 0.35 else row

    def row_maximum(self, x, over):
        start = LOWEST if self.chance(0.1) else -INFINITY
        name = "maximumf" if self.chance(0.7) else "maxnumf"
        kind = self.rng.random()
        rows = [d for d in x.dims if d != over]
        if kind < 0.2 and rows:
            init = self.fill(start, rows)
            position = x.dims.index(over)
            return self.emit(
                f"linalg.reduce {{ arith.{name} }} ins{self.operands([x])} "
                f"outs{self.operands([init])} dimensions = [{position}]", rows)
        dims = self.rows_of(x.dims, over)
        init = self.fill(start, dims)
        if kind < 0.45:
            return self.argument_of_maximum(x, over, name, init)

        def function(body, value, most):
            operands = ", ".join(self.shuffle([value, most]))
            return body.op(f"arith.{name} {operands} : f32")

        return self.reduce(x.dims, over, [x], init, function)

    def argument_of_maximum(self, x, over, name, init):
        """With the position of the maximum, which nobody reads."""
        element = self.rng.choice(["i64", "i64", "i32"])
        where = self.fill(0, init.dims, element)

        def body(names):
            value, most, position = names
            index = f"linalg.index {x.dims.index(over)} : index"
            return [f"%i = {index}",
                    f"%j = arith.index_cast %i : index to {element}",
                    f"%m = arith.{name} {value}, {most} : f32",
                    f"%c = arith.cmpf ogt, {value}, {most} : f32",
                    f"%p = arith.select %c, %j, {position} : {element}",
                    ], ["%m", "%p"]

        return self.generics(x.dims, [over], [x], [init, where], body)[0]

    def replace_rows(self, row, old, new):
        """`row` with `new` in the place of `old`."""

        def function(body, value):
            same = body.op(
                f"arith.cmpf oeq, {value}, {self.constant(old)} : f32")
            return body.op(
                f"arith.select {same}, {self.constant(new)}, {value} : f32")

        return self.compute(row.dims, [row], function)

    def at_least(self, row, limit):
        return self.compute(
            row.dims, [row],
            lambda body, m: body.op(
                f"arith.maximumf {m}, {self.constant(limit)} : f32"))

    # Powers.

    @property
    def exponential(self):
        return "exp2" if self.base2 is not None else "exp"

    def power(self, body, value, shift=None):
        if shift is not None:
            value = body.op(f"arith.subf {value}, {shift} : f32")
        return body.op(f"math.{self.exponential} {value} : f32")

    def powers_and_total(self, x, shift, over):
        """The powers, their total, and whether the powers are not needed as
        they are computed again."""
        inputs = [x] if shift is None else [x, shift]
        kind = self.rng.random()
        if kind < 0.1:
            return None, self.total_of_powers(x, inputs, over), True
        if kind < 0.2:
            return *self.powers_with_total(x, inputs, over), False
        if shift is not None and kind < 0.6:
            x = self.binary("sub", x, shift)
            inputs = [x]
        if len(inputs) == 1 and self.base2 is None and self.chance(0.2):
            powers = self.named("exp", inputs, x.dims)
        else:
            powers = self.compute(x.dims, inputs, self.power)
        return powers, self.total(powers, over), False

    def total_of_powers(self, x, inputs, over):
        def function(body, *names):
            power = self.power(body, *names[:-1])
            return body.op(f"arith.addf {power}, {names[-1]} : f32")

        init = self.fill(0.0, self.rows_of(x.dims, over))
        return self.reduce(x.dims, over, inputs, init, function)

    def powers_with_total(self, x, inputs, over):
        """Both from one operation."""

        def body(names):
            *operands, _, total = names
            lines = []
            value = operands[0]
            if len(operands) > 1:
                lines.append(f"%d = arith.subf {', '.join(operands)} : f32")
                value = "%d"
            lines.append(f"%e = math.{self.exponential} {value} : f32")
            lines.append(f"%s = arith.addf {total}, %e : f32")
            return lines, ["%e", "%s"]

        init = self.fill(0.0, self.rows_of(x.dims, over))
        return self.generics(x.dims, [over], inputs,
                             [self.empty(x.dims), init], body)

    def normalized(self, x, shift, total):
        inputs = [x, total] if shift is None else [x, total, shift]

        def function(body, value, total, *shift):
            power = self.power(body, value, *shift)
            return body.op(f"arith.divf {power}, {total} : f32")

        return self.compute(x.dims, inputs, function)

    def divide_rows(self, value, total, over):
        total = self.respell_row(
            total, [d for d in value.dims if d in total.dims] + [over], over)
        kind = self.rng.random()
        if kind < 0.55:
            return self.binary("div", value, total)
        one = self.constant(1)
        if kind < 0.8:
            inverse = self.compute(
                total.dims, [total],
                lambda body, t: body.op(f"arith.divf {one}, {t} : f32"))
            return self.binary("mul", value, inverse)

        def function(body, x, t):
            inverse = body.op(f"arith.divf {one}, {t} : f32")
            return body.op(f"arith.mulf {x}, {inverse} : f32")

        return self.compute(value.dims, [value, total], function)

    # Variants.

    def by_logarithm(self, x, most, over):
        """exp(x - log(sum of exp(x)))."""
        total = self.total_of_powers(x, [x, most], over)
        log = "log2" if self.base2 is not None else "log"

        def function(body, t, m):
            value = body.op(f"math.{log} {t} : f32")
            return body.op(f"arith.addf {value}, {m} : f32")

        rows = [d for d in x.dims if d != over]
        if most.dims != total.dims:
            most = self.reshape(most, rows)
            total = self.reshape(total, rows)
        shift = self.compute(total.dims, [total, most], function)
        return self.compute(x.dims, [x, shift], self.power)

    def add_sink(self, total, most, dims, over):
        """One more key in every row that has no value."""
        rows = [d for d in dims if d != over]
        sink = self.argument(rows[:1])
        total = self.reshape(total, rows)
        most = self.reshape(most, rows)

        def function(body, t, m, s):
            power = self.power(body, s, m)
            return body.op(f"arith.addf {t}, {power} : f32")

        return self.compute(rows, [total, most, sink], function)

    def add_one(self, total, most, dims, over):
        """One more key in every row whose score is zero and that has no
        value."""
        rows = [d for d in dims if d != over]
        total = self.reshape(total, rows)
        most = self.reshape(most, rows)

        def function(body, t, m):
            power = self.power(body, self.constant(0.0), m)
            return body.op(f"arith.addf {t}, {power} : f32")

        return self.compute(rows, [total, most], function)

    def zero_empty_rows(self, x, most, over):
        """Rows that are masked entirely become zero instead of NaN."""
        kind = self.rng.choice(["all", "any", "maximum"])
        if kind == "maximum":
            flags = self.compute(
                most.dims, [most],
                lambda body, m: body.op(
                    f"arith.cmpf oeq, {m}, {self.constant(-INFINITY)} : f32"),
                "i1")
        else:
            flags = self.reduce_flags(x, over, kind)
        flags = self.respell_row(flags, x.dims, over)

        def apply(value):
            if kind != "any" and self.chance(0.4):
                zeros = self.splat(0.0, value.dims)
                return self.compute(
                    value.dims, [flags, zeros, value],
                    lambda body, f, z, a: body.op(
                        f"arith.select {f}, {z}, {a} : f32"))
            order = "{a}, {z}" if kind == "any" else "{z}, {a}"

            def function(body, f, a):
                operands = order.format(a=a, z=self.constant(0))
                return body.op(f"arith.select {f}, {operands} : f32")

            return self.compute(value.dims, [flags, value], function)

        return apply

    def reduce_flags(self, x, over, kind):
        """Per row: are all scores infinite, or is any finite?"""
        predicate, combiner = (("oeq", "andi") if kind == "all"
                               else ("une", "ori"))

        def compare(body, value):
            if self.chance(0.5):
                wide = body.op(f"arith.extf {value} : f32 to f64")
                infinity = self.constant(-INFINITY, "f64")
                return body.op(
                    f"arith.cmpf {predicate}, {wide}, {infinity} : f64")
            infinity = self.constant(-INFINITY)
            return body.op(f"arith.cmpf {predicate}, {value}, {infinity} : f32")

        dims = self.rows_of(x.dims, over)
        init = self.fill(kind == "all", dims, "i1")
        if self.chance(0.3):
            return self.reduce(
                x.dims, over, [x], init,
                lambda body, value, flag: body.op(
                    f"arith.{combiner} {compare(body, value)}, {flag} : i1"))
        flags = self.compute(x.dims, [x], compare, "i1")
        return self.reduce(
            x.dims, over, [flags], init,
            lambda body, value, flag: body.op(
                f"arith.{combiner} {value}, {flag} : i1"))
