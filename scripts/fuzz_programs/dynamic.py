#===- dynamic.py - Random programs with sizes that are not known -----------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Products and attention of which batches, rows or keys have any number, and rows
of several tensors one behind the other. Most are of f32; some have narrow tensors."""

from .narrow import Narrow, tensor

# What programs are run at: as many numbers of each as a program has sizes.
CASES = "1x1x1,3x17x5,0x4x9,40x7x66,5x0x130,2x129x1"


class Dynamic(Narrow):
    def __init__(self, name, rng):
        super().__init__(name, rng)
        self.share = self.rng.choice([0, 0, 0, 0.5])
        # What each size that is not known is read from.
        self.sizes = {}
        # How many sizes are those of what is joined.
        self.sums = 0

    def type(self, narrow=0.75):
        return super().type(narrow * self.share)

    def open(self, size, likely=0.6):
        """`size`, or a new one that is not known."""
        if len(self.sizes) == 3 or self.rng.random() > likely:
            return size
        name = f"%n{len(self.sizes)}"
        self.sizes[name] = None
        return name

    def argument(self, shape, constant=0.0):
        if any(isinstance(size, str) for size in shape):
            constant = 0
        value = super().argument(shape, constant)
        for dim, size in enumerate(shape):
            if isinstance(size, str) and not self.sizes[size]:
                self.sizes[size] = (value, dim)
        return value

    def joined(self, value):
        """By chance, rows of others before or behind those of `value`."""
        name, shape, element = value
        # Other arguments have the batches and columns of a tensor, but not its rows.
        dim = len(shape) - 2
        if shape[dim] not in self.sizes or self.rng.random() > 0.3:
            return value
        parts = [value]
        for _ in range(self.rng.choice([1, 1, 2])):
            size = self.rng.choice([1, 3, shape[dim]])
            other = self.argument(shape[:dim] + (size,) + shape[dim + 1:])
            parts.append(self.elementwise([other], [None], other[1], "convert", element))
        self.rng.shuffle(parts)
        size = f"%s{self.sums}"
        self.sums += 1
        whole = shape[:dim] + (size,) + shape[dim + 1:]
        operands = ", ".join(part[0] for part in parts)
        types = ", ".join(tensor(part[1], element) for part in parts)
        value = self.emit(f"tensor.concat dim({dim}) {operands} : ({types})"
                          f" -> {tensor(whole, element)}", whole, element)
        index = self.emit(f"arith.constant {dim} : index", (), "index")
        self.lines.append(f"  {size} = tensor.dim {value[0]}, {index[0]}"
                          f" : {tensor(whole, element)}")
        return value

    def attention(self):
        choice = self.rng.choice
        batch = [self.open(choice([1, 2, 3]))] if self.rng.random() < 0.6 else []
        rows = self.open(choice([1, 2, 7, 33]), 0.8)
        keys = rows if self.rng.random() < 0.3 else self.open(choice([1, 5, 40, 67]), 0.8)
        depth = choice([4, 16, 24, 40])
        query = self.argument(batch + [rows, depth])
        if self.rng.random() < 0.5:
            query = self.elementwise([query], [None], query[1], "scale")
        scores = self.between(self.matmul(query, keys))
        return self.between(self.matmul(self.softmax(scores), choice([depth, 16, 50])))

    def perceptron(self):
        size = lambda: self.rng.choice([1, 3, 8, 17, 32, 50, 96])
        batch = [self.open(2)] if self.rng.random() < 0.3 else []
        value = self.joined(self.argument(batch + [self.open(size(), 0.9), size()]))
        for _ in range(self.rng.randrange(1, 4)):
            value = self.between(self.matmul(value, self.open(size(), 0.1)))
            value = self.joined(value)
        return self.between(value)

    def build(self):
        self.result = self.rng.choice([self.attention, self.perceptron])()

    def text(self):
        lines = []
        for number, (name, ((value, own, type), dim)) in enumerate(self.sizes.items()):
            lines += [f"  %c{number} = arith.constant {dim} : index",
                      f"  {name} = tensor.dim {value}, %c{number} : {tensor(own, type)}"]
        self.lines = lines + self.lines
        return super().text()
