#===- quantized.py - Random programs with quantized weights ----------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Perceptrons whose weights are integers in the program: i8, i4, two to a byte,
or masked; with a scale and perhaps a zero for the whole, for each column or for
groups along the sum; spelled in several orders, with transposes and reshapes
between; weights that are the same in every call, or not.

By itself it prints a module: `quantized.py SEED COUNT`.
"""

import random
import sys

if __package__:
    from .narrow import Narrow, tensor
else:
    from narrow import Narrow, tensor


class Quantized(Narrow):
    def __init__(self, name, rng):
        super().__init__(name, rng)
        if rng.random() < 0.7:
            self.narrow = "f32"

    def stored(self, shape, element):
        value = (f"%a{len(self.arguments)}", tuple(shape), element)
        mark = " {chimera.constant}" if self.is_constant else ""
        self.arguments.append(f"{value[0]}: {tensor(shape, element)}{mark}")
        return value

    def map(self, value, lines, result, element, inputs=(), maps=()):
        """`value` element by element; `lines` compute `result` of %x0 and so on."""
        loops = [f"d{i}" for i in range(len(value[1]))]
        out = self.empty(value[1], element)
        return self.generic([value, *inputs], [loops, *maps, loops],
                            ["parallel"] * len(loops), out, lambda s: (lines, result))

    def reshape(self, value, shape, groups):
        op = "expand_shape" if len(shape) > len(value[1]) else "collapse_shape"
        sizes = (" output_shape [" + ", ".join(map(str, shape)) + "]"
                 if op == "expand_shape" else "")
        return self.emit(f"tensor.{op} {value[0]} {groups}{sizes} : "
                         f"{tensor(value[1], value[2])} into {tensor(shape, value[2])}",
                         shape, value[2])

    def codes(self, rows, columns):
        """Integers of a matrix, and whether they have a sign."""
        kind = self.rng.choice(["i8", "i8", "i4", "i4", "masked", "bytes", "i32"])
        if kind == "bytes" and columns % 2:
            kind = "i4"
        if kind in ("i8", "i4", "i32"):
            return self.stored([rows, columns], kind)
        if kind == "masked":
            value = self.stored([rows, columns], "i8")
            return self.map(value, ["%m = arith.constant 15 : i8",
                                    "%r = arith.andi %x0, %m : i8"], "%r", "i8")
        value = self.stored([rows, columns // 2], "i8")
        low = self.map(value, ["%m = arith.constant 15 : i8",
                               "%r = arith.andi %x0, %m : i8"], "%r", "i8")
        high = self.map(value, ["%m = arith.constant 4 : i8",
                                "%r = arith.shrui %x0, %m : i8"], "%r", "i8")
        shape = [rows, columns // 2, 2]
        pairs = self.empty(shape, "i8")
        for place, half in enumerate((low, high)):
            pairs = self.emit(
                f"tensor.insert_slice {half[0]} into {pairs[0]}[0, 0, {place}] "
                f"[{rows}, {columns // 2}, 1] [1, 1, 1] : {tensor(half[1], 'i8')} into "
                f"{tensor(shape, 'i8')}", shape, "i8")
        return self.reshape(pairs, [rows, columns], "[[0], [1, 2]]")

    def dequantize(self, codes, share, sizes):
        """Floats of `codes`; what they share is indexed by `share`, of `sizes`."""
        signed = self.rng.random() < 0.7
        convert = "arith.sitofp" if signed else "arith.uitofp"
        zero = self.rng.choice(["none", "none", "float", "integer", "constant"])
        scale = self.rng.choice(["shared", "shared", "shared", "constant", "none"])
        if zero == "integer" and codes[2] != "i32":
            zeros = self.stored(sizes, codes[2])
            extend = "arith.extsi" if signed else "arith.extui"
            codes = self.map(codes, [f"%c = {extend} %x0 : {codes[2]} to i32",
                                     f"%z = {extend} %x1 : {codes[2]} to i32",
                                     "%r = arith.subi %c, %z : i32"], "%r", "i32",
                             [zeros], [share])
            convert = "arith.sitofp"
        lines = [f"%n = {convert} %x0 : {codes[2]} to f32"]
        inputs, result = [], "%n"
        if zero in ("float", "constant"):
            number = "%x1"
            if zero == "float":
                inputs.append(self.stored(sizes, "f32"))
            else:
                lines.append("%z = arith.constant 8.0 : f32")
                number = "%z"
            lines.append(f"%d = arith.subf {result}, {number} : f32")
            result = "%d"
        if scale != "none" and self.rng.random() < 0.4 and inputs == []:
            # The scale by an operation of its own.
            value = self.map(codes, lines, result, "f32")
            lines, result, codes = [], "%x0", value
        if scale == "constant":
            lines += ["%s = arith.constant 0.05 : f32", f"%w = arith.mulf {result}, %s : f32"]
        elif scale == "shared":
            inputs.append(self.stored(sizes, "f32"))
            number = f"%x{len(inputs)}"
            factors = [result, number]
            self.rng.shuffle(factors)
            lines.append(f"%w = arith.mulf {factors[0]}, {factors[1]} : f32")
        if scale != "none":
            result = "%w"
        if not lines:
            return codes
        return self.map(codes, lines, result, "f32", inputs, [share] * len(inputs))

    def weights(self, depth, columns):
        """A matrix of floats, transposed."""
        self.is_constant = self.rng.random() < 0.85
        group = self.rng.choice([0, 0, 8, 16, 32])
        codes = self.codes(columns, depth)
        if not group or depth % group:
            per_column = self.rng.random() < 0.7
            share, sizes = (["d0", "0"], [columns, 1]) if per_column else (["0", "0"], [1, 1])
            return self.dequantize(codes, share, sizes)
        shape = [columns, depth // group, group]
        codes = self.reshape(codes, shape, "[[0], [1, 2]]")
        value = self.dequantize(codes, ["d0", "d1", "0"], [columns, depth // group, 1])
        return self.reshape(value, [columns, depth], "[[0], [1, 2]]")

    def layer(self, value, columns):
        rows, depth = value[1]
        weights = self.weights(depth, columns)
        if self.rng.random() < 0.5:
            empty = self.empty([depth, columns], "f32")
            weights = self.emit(
                f"linalg.transpose ins({weights[0]} : {tensor(weights[1], 'f32')}) "
                f"outs({empty[0]} : {tensor([depth, columns], 'f32')}) permutation = [1, 0]",
                [depth, columns], "f32")
            right = ["d2", "d1"]
        else:
            right = ["d1", "d2"]
        out = self.filled([rows, columns], "f32", "0.0")

        def body(scalars):
            lines = []
            names = [self.convert(lines, n, t, "f32", "c") for n, t in scalars[:-1]]
            return lines + [f"%p = arith.mulf {names[0]}, {names[1]} : f32",
                            "%s = arith.addf %y, %p : f32"], "%s"

        return self.generic([value, weights], [["d0", "d2"], right, ["d0", "d1"]],
                            ["parallel", "parallel", "reduction"], out, body)

    def build(self):
        size = self.rng.choice
        value = self.argument([size([1, 1, 2, 3, 7, 12, 30]), size([5, 16, 32, 64, 96, 160])])
        for _ in range(self.rng.randrange(1, 4)):
            value = self.layer(value, size([1, 8, 24, 32, 50, 64, 96]))
            value = self.elementwise([value], [None], value[1], size(["relu", "scale"]))
        self.result = value


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for index in range(count):
        program = Quantized(f"s{seed}_{index}", random.Random(f"{seed}.{index}"))
        program.build()
        print(program.text())


if __name__ == "__main__":
    main()
