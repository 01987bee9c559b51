#===- integers.py - Random programs of bytes -------------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Products and convolutions of i8 with sums in i32: factors with signs and
without, zero points, transposed and constant weights, padding, one filter for
each channel. Between them sums are shifted and clamped to bytes again, in
integers, so that there is one right result. Some are spelled as quantizers do, in
f32, where it is exact.
"""

import math

from .narrow import Narrow, tensor


class Integers(Narrow):
    def type(self, narrow=0.0):
        return "i8"

    def sums(self, lhs, rhs, maps, iterators, shape):
        """Sums of products of factors that are extended with or without signs,
        less zero points."""
        extensions = [self.rng.choice(["extsi", "extui"]) for _ in range(2)]
        zeros = [self.rng.choice([0, 0, 3, -7]) for _ in range(2)]
        # All sums are integers of f32.
        steps = math.prod(
            size
            for size, loop in zip(rhs[1], maps[1])
            if iterators[int(loop[1:])] == "reduction"
        )
        if steps * 262 * 262 < 2**24 and self.rng.random() < 0.3:
            factors = [
                self.dequantized(*factor)
                for factor in zip((lhs, rhs), extensions, zeros)
            ]
            return self.sums_of_floats(factors, maps, iterators, shape)
        out = self.filled(shape, "i32", "0")

        def body(scalars):
            lines, names = [], []
            for i, (name, _) in enumerate(scalars[:-1]):
                lines.append(f"%e{i} = arith.{extensions[i]} {name} : i8 to i32")
                names.append(f"%e{i}")
                if zeros[i]:
                    lines += [
                        f"%z{i} = arith.constant {zeros[i]} : i32",
                        f"%l{i} = arith.subi %e{i}, %z{i} : i32",
                    ]
                    names[i] = f"%l{i}"
            lines += [
                f"%p = arith.muli {names[0]}, {names[1]} : i32",
                "%s = arith.addi %y, %p : i32",
            ]
            return lines, "%s"

        return self.generic([lhs, rhs], maps, iterators, out, body)

    def dequantized(self, value, extension, zero):
        """What bytes stand for, with a scale of one."""
        loops = [f"d{i}" for i in range(len(value[1]))]

        def body(scalars):
            return [
                f"%e = arith.{extension} %x0 : i8 to i32",
                f"%z = arith.constant {zero} : i32",
                "%l = arith.subi %e, %z : i32",
                "%f = arith.sitofp %l : i32 to f32",
            ], "%f"

        out = self.empty(value[1], "f32")
        return self.generic(
            [value], [loops, loops], ["parallel"] * len(loops), out, body
        )

    def sums_of_floats(self, factors, maps, iterators, shape):
        def multiply(scalars):
            return [
                "%p = arith.mulf %x0, %x1 : f32",
                "%s = arith.addf %y, %p : f32",
            ], "%s"

        def convert(scalars):
            return ["%i = arith.fptosi %x0 : f32 to i32"], "%i"

        start = self.filled(shape, "f32", "0.0")
        sums = self.generic(factors, maps, iterators, start, multiply)
        loops = [f"d{i}" for i in range(len(shape))]
        out = self.empty(shape, "i32")
        return self.generic(
            [sums], [loops, loops], ["parallel"] * len(loops), out, convert
        )

    def narrowed(self, value):
        """Bytes of sums."""
        shift = self.rng.choice([0, 4, 8])
        least, most = self.rng.choice([(-128, 127), (0, 127), (0, 255)])
        loops = [f"d{i}" for i in range(len(value[1]))]
        inputs, maps = [value], [loops]
        if self.rng.random() < 0.3:
            inputs.append(self.argument(value[1][-1:], constant=0.3))
            maps.append(loops[-1:])

        def body(scalars):
            lines = [
                f"%shift = arith.constant {shift} : i32",
                f"%least = arith.constant {least} : i32",
                f"%most = arith.constant {most} : i32",
            ]
            sums = "%x0"
            if len(inputs) > 1:
                lines += [
                    "%wide = arith.extsi %x1 : i8 to i32",
                    "%biased = arith.addi %x0, %wide : i32",
                ]
                sums = "%biased"
            lines += [
                f"%shifted = arith.shrsi {sums}, %shift : i32",
                "%low = arith.maxsi %shifted, %least : i32",
                "%high = arith.minsi %low, %most : i32",
                "%byte = arith.trunci %high : i32 to i8",
            ]
            return lines, "%byte"

        out = self.empty(value[1], "i8")
        return self.generic(
            inputs, maps + [loops], ["parallel"] * len(loops), out, body
        )

    def matmul(self, lhs, columns):
        rhs, maps, iterators, shape = self.factors(lhs, columns)
        if len(shape) == 2 and self.rng.random() < 0.1:
            lhs = self.argument(lhs[1][::-1])
            maps[0] = maps[0][::-1]
        return self.sums(lhs, rhs, maps, iterators, shape)

    def padded(self, image):
        n, height, width, channels = image[1]
        zero = self.emit("arith.constant 0 : i8", (), "i8")
        shape = [n, height + 2, width + 2, channels]
        return self.emit(
            f"tensor.pad {image[0]} low[0, 1, 1, 0] high[0, 1, 1, 0] {{\n"
            "  ^bb0(%i: index, %j: index, %k: index, %l: index):\n"
            f"    tensor.yield {zero[0]} : i8\n"
            f"  }} : {tensor(image[1], 'i8')} to {tensor(shape, 'i8')}",
            shape,
            "i8",
        )

    def convolution(self, image, filters):
        if self.rng.random() < 0.4:
            image = self.padded(image)
        n, height, width, channels = image[1]
        taps = 3 if min(height, width) >= 3 and self.rng.random() < 0.6 else 1
        stride = self.rng.choice([1, 1, 2])
        sizes = [(size - taps) // stride + 1 for size in (height, width)]
        rows, columns = (
            f"d{i} * {stride} + d{i + 3}" if stride > 1 else f"d{i} + d{i + 3}"
            for i in (1, 2)
        )
        if self.rng.random() < 0.25:
            weights = self.argument([taps, taps, channels], constant=0.5)
            maps = [["d0", rows, columns, "d3"], ["d4", "d5", "d3"]]
            sums, shape = 2, [n, *sizes, channels]
        else:
            weights = self.argument([taps, taps, channels, filters], constant=0.5)
            maps = [["d0", rows, columns, "d6"], ["d4", "d5", "d6", "d3"]]
            sums, shape = 3, [n, *sizes, filters]
        maps.append(["d0", "d1", "d2", "d3"])
        iterators = ["parallel"] * 4 + ["reduction"] * sums
        return self.sums(image, weights, maps, iterators, shape)

    def perceptron(self):
        size = lambda: self.rng.choice([1, 2, 3, 8, 17, 32, 50, 70, 129])
        batch = [2] if self.rng.random() < 0.3 else []
        value = self.matmul(self.argument(batch + [size(), size()]), size())
        for _ in range(self.rng.randrange(3)):
            value = self.matmul(self.narrowed(value), size())
        return value

    def network(self):
        channels = lambda: self.rng.choice([3, 5, 8, 16, 37])
        value = self.convolution(self.argument([1, 9, 10, channels()]), channels())
        for _ in range(self.rng.randrange(2)):
            value = self.convolution(self.narrowed(value), channels())
        return value

    def build(self):
        self.result = self.rng.choice([self.perceptron, self.network])()
        if self.rng.random() < 0.5:
            self.result = self.narrowed(self.result)
