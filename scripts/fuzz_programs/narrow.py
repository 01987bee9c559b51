#===- narrow.py - Random programs of narrow floats -------------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Products, attention and convolutions whose tensors are of random types, f32
and f16 or bf16: factors of one type or two, sums of f32 or of the narrow type,
conversions spelled as operations or left to arithmetic on narrow types.

By itself it prints a module: `narrow.py SEED COUNT`.
"""

import random
import sys


def tensor(shape, element):
    """Sizes that are not known have names instead of numbers."""
    sizes = "".join(f"{size if isinstance(size, int) else '?'}x" for size in shape)
    return f"tensor<{sizes}{element}>"


class Narrow:
    def __init__(self, name, rng):
        self.name, self.rng = name, rng
        self.arguments, self.lines, self.count = [], [], 0
        self.narrow = rng.choice(["bf16", "f16"])

    def type(self, narrow=0.75):
        return self.narrow if self.rng.random() < narrow else "f32"

    def argument(self, shape, constant=0.0):
        """A new argument, the same in every call by chance `constant`."""
        value = (f"%a{len(self.arguments)}", tuple(shape), self.type())
        mark = " {chimera.constant}" if self.rng.random() < constant else ""
        self.arguments.append(f"{value[0]}: {tensor(shape, value[2])}{mark}")
        return value

    def emit(self, text, shape, element):
        self.count += 1
        value = f"%v{self.count}"
        self.lines.append(f"  {value} = {text}")
        return (value, tuple(shape), element)

    def empty(self, shape, element):
        names = ", ".join(size for size in shape if not isinstance(size, int))
        return self.emit(f"tensor.empty({names}) : {tensor(shape, element)}", shape, element)

    def filled(self, shape, element, number):
        constant = self.emit(f"arith.constant {number} : {element}", (), element)
        empty = self.empty(shape, element)
        return self.emit(
            f"linalg.fill ins({constant[0]} : {element}) outs({empty[0]} : {tensor(shape, element)})"
            f" -> {tensor(shape, element)}", shape, element)

    def generic(self, inputs, maps, iterators, out, body):
        """`body` gets names and types of scalars, and returns lines and a name."""
        rank = len(iterators)
        loops = ", ".join(f"d{i}" for i in range(rank))
        spelled = ", ".join(f"affine_map<({loops}) -> ({', '.join(m)})>" for m in maps)
        scalars = [(f"%x{i}", value[2]) for i, value in enumerate(inputs)] + [("%y", out[2])]
        lines, result = body(scalars)
        ins = ", ".join(v[0] for v in inputs)
        types = ", ".join(tensor(v[1], v[2]) for v in inputs)
        text = (f"linalg.generic {{indexing_maps = [{spelled}], iterator_types = ["
                + ", ".join(f'"{i}"' for i in iterators) + "]}\n"
                + f"      ins({ins} : {types}) outs({out[0]} : {tensor(out[1], out[2])}) {{\n"
                + "  ^bb0(" + ", ".join(f"{n}: {t}" for n, t in scalars) + "):\n"
                + "".join(f"    {line}\n" for line in lines)
                + f"    linalg.yield {result} : {out[2]}\n"
                + f"  }} -> {tensor(out[1], out[2])}")
        return self.emit(text, out[1], out[2])

    @staticmethod
    def convert(lines, name, source, target, suffix):
        if source == target:
            return name
        wider = source != "f32" and target == "f32"
        op = "extf" if wider else "truncf"
        lines.append(f"{name}_{suffix} = arith.{op} {name} : {source} to {target}")
        return f"{name}_{suffix}"

    def elementwise(self, inputs, maps, shape, op, element=None):
        """`op` of the inputs, computed in f32 or, if all are narrow, perhaps not."""
        element = element or self.type()
        is_narrow = all(v[2] != "f32" for v in inputs) and self.rng.random() < 0.5
        computed = self.narrow if is_narrow else "f32"
        loops = [f"d{i}" for i in range(len(shape))]

        def body(scalars):
            lines = []
            names = [self.convert(lines, n, t, computed, "c") for n, t in scalars[:-1]]
            if op == "relu":
                lines.append(f"%zero = arith.constant 0.0 : {computed}")
                names.append("%zero")
            if op == "scale":
                lines.append(f"%factor = arith.constant 0.3 : {computed}")
                names.append("%factor")
            spelled = {"relu": "arith.maximumf", "scale": "arith.mulf", "add": "arith.addf",
                       "sub": "arith.subf", "div": "arith.divf", "mul": "arith.mulf",
                       "exp": "math.exp", "tanh": "math.tanh"}.get(op)
            if op == "convert":
                return lines, self.convert(lines, names[0], computed, element, "o")
            lines.append(f"%r = {spelled} {', '.join(names)} : {computed}")
            return lines, self.convert(lines, "%r", computed, element, "o")

        out = self.empty(shape, element)
        return self.generic(inputs, [m or loops for m in maps] + [loops],
                            ["parallel"] * len(shape), out, body)

    def product(self, lhs, rhs, maps, iterators, shape):
        """Sums of products; `maps` are those of the operands and the result."""
        element = self.type(0.3)
        if lhs[2] == rhs[2] == "f32":
            element = "f32"
        out = self.filled(shape, element, "0.0")

        def body(scalars):
            lines = []
            names = [self.convert(lines, n, t, element, "c") for n, t in scalars[:-1]]
            lines += [f"%p = arith.mulf {names[0]}, {names[1]} : {element}",
                      f"%s = arith.addf %y, %p : {element}"]
            return lines, "%s"

        return self.generic([lhs, rhs], maps, iterators, out, body)

    def between(self, value):
        """Up to three elementwise operations."""
        for _ in range(self.rng.randrange(4)):
            op = self.rng.choice(["relu", "scale", "convert", "tanh", "add"])
            inputs, maps = [value], [None]
            if op == "add":
                columns = len(value[1]) - 1
                inputs.append(self.argument(value[1][-1:], constant=0.3))
                maps.append([f"d{columns}"])
            value = self.elementwise(inputs, maps, value[1], op)
        return value

    def factors(self, lhs, columns):
        """Something to multiply `lhs` by, the maps of both and of the product, its loops
        and its shape."""
        batch = list(lhs[1][:-2])
        m, k = lhs[1][-2:]
        outer = [f"d{i}" for i in range(len(batch))]
        i, j, l = (f"d{len(batch) + n}" for n in range(3))
        is_transposed = self.rng.random() < 0.5
        shape = [columns, k] if is_transposed else [k, columns]
        shares = bool(batch) and self.rng.random() < 0.3
        rhs = self.argument(([] if shares else batch) + shape, constant=0.3)
        right = ([] if shares else outer) + ([j, l] if is_transposed else [l, j])
        iterators = ["parallel"] * (len(batch) + 2) + ["reduction"]
        return (rhs, [outer + [i, l], right, outer + [i, j]], iterators,
                batch + [m, columns])

    def matmul(self, lhs, columns):
        rhs, maps, iterators, shape = self.factors(lhs, columns)
        if self.rng.random() < 0.2:
            rhs = self.elementwise([rhs], [None], rhs[1], "convert")
        return self.product(lhs, rhs, maps, iterators, shape)

    def softmax(self, scores):
        shape = scores[1]
        loops = [f"d{i}" for i in range(len(shape))]
        iterators = ["parallel"] * (len(shape) - 1) + ["reduction"]
        element = scores[2]
        rows = shape[:-1]

        def reduce(value, op, start):
            out = self.filled(rows, element, start)
            return self.generic([value], [loops, loops[:-1]], iterators, out, lambda s: (
                [f"%r = {op} %x0, %y : {element}"], "%r"))

        lowest = {"f32": "0xFF800000", "bf16": "0xFF80", "f16": "0xFC00"}[element]
        most = reduce(scores, "arith.maximumf", lowest)
        shifted = self.elementwise([scores, most], [None, loops[:-1]], shape, "sub", element)
        exp = self.elementwise([shifted], [None], shape, "exp", element)
        total = reduce(exp, "arith.addf", "0.0")
        return self.elementwise([exp, total], [None, loops[:-1]], shape, "div")

    def attention(self):
        size = self.rng.choice
        batch = [size([1, 2, 3])] if self.rng.random() < 0.7 else []
        m, l, d = size([1, 2, 7, 33]), size([1, 5, 40, 67]), size([4, 16, 24])
        query = self.argument(batch + [m, d])
        if self.rng.random() < 0.5:
            query = self.elementwise([query], [None], query[1], "scale")
        scores = self.between(self.matmul(query, l))
        weights = self.softmax(scores)
        return self.between(self.matmul(weights, d))

    def perceptron(self):
        size = lambda: self.rng.choice([1, 3, 8, 17, 32, 50])
        batch = [2] if self.rng.random() < 0.3 else []
        value = self.argument(batch + [size(), size()])
        for _ in range(self.rng.randrange(1, 4)):
            value = self.between(self.matmul(value, size()))
        return value

    def convolution(self, image, filters):
        n, height, width, channels = image[1]
        taps = self.rng.choice([1, 3])
        if min(height, width) < taps:
            taps = 1
        weights = self.argument([taps, taps, channels, filters], constant=0.5)
        shape = [n, height - taps + 1, width - taps + 1, filters]
        image_map = ["d0", "d1 + d4", "d2 + d5", "d6"]
        maps = [image_map, ["d4", "d5", "d6", "d3"], ["d0", "d1", "d2", "d3"]]
        return self.product(image, weights, maps,
                            ["parallel"] * 4 + ["reduction"] * 3, shape)

    def network(self):
        value = self.argument([1, 9, 10, self.rng.choice([3, 8])])
        for _ in range(self.rng.randrange(1, 3)):
            value = self.between(self.convolution(value, self.rng.choice([5, 16])))
        return value

    def build(self):
        make = self.rng.choice([self.attention, self.perceptron, self.perceptron, self.network])
        self.result = make()
        if self.rng.random() < 0.5:
            self.result = self.elementwise([self.result], [None], self.result[1], "convert")

    def text(self):
        arguments = ", ".join(self.arguments)
        name, shape, element = self.result
        kind = tensor(shape, element)
        lines = "\n".join(self.lines)
        return (f"func.func @{self.name}({arguments}) -> {kind} {{\n{lines}\n"
                f"  return {name} : {kind}\n}}\n")


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    for index in range(count):
        program = Narrow(f"s{seed}_{index}", random.Random(f"{seed}.{index}"))
        program.build()
        print(program.text())


if __name__ == "__main__":
    main()
