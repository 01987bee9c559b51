#===- convolutions.py - Random chains of convolutions ----------------------===#
#
# Part of the Chimera project, under the Apache License v2.0 with LLVM
# Exceptions. See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===------------------------------------------------------------------------===#
"""Chains of one to four convolutions and pools in one of the forms of linalg,
one- to three-dimensional, with strides, dilations, padding, groups and
elementwise operations between them.

By itself it prints a module: `convolutions.py SEED COUNT`; with `--transposes` the
same with images that change between channels first and last on their way.
"""

import dataclasses
import random
import sys

SPATIAL = "dhw"


@dataclasses.dataclass
class Image:
    """A value: batch, extents along space and channels."""
    name: str
    batch: int
    space: list
    channels: int
    last: bool  # channels come last

    def shape(self):
        middle = [*self.space]
        return [self.batch, *middle, self.channels] if self.last else \
            [self.batch, self.channels, *middle]

    def type(self):
        return tensor(self.shape())


def tensor(shape):
    return f"tensor<{'x'.join(map(str, [*shape, 'f32']))}>"


class Convolutions:
    """One random chain."""

    def __init__(self, name, rng, turns=None):
        """`turns` decides where images are transposed, if they are at all."""
        self.rng, self.name, self.turns = rng, name, turns
        self.lines, self.arguments = [], []
        self.count = 0

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def argument(self, shape, constant=False):
        name = f"%a{len(self.arguments)}"
        mark = " {chimera.constant}" if constant else ""
        self.arguments.append(f"{name}: {tensor(shape)}{mark}")
        return name

    def emit(self, text):
        result = self.fresh()
        self.lines.append(f"  {result} = {text}")
        return result

    def filled(self, type, value="%zero"):
        empty = self.emit(f"tensor.empty() : {type}")
        return self.emit(f"linalg.fill ins({value} : f32) outs({empty} : {type}) -> {type}")

    def windows(self, image):
        """Extents, strides and dilations of windows that fit, with padding."""
        kernel, stride, dilation, pads = [], [], [], []
        for extent in image.space:
            size = self.rng.choice([1, 1, 2, 3, 3, 5, 7])
            step, apart = self.rng.choice([1, 1, 2, 3, 4]), self.rng.choice([1, 1, 1, 2, 3])
            pad = self.rng.choice([(0, 0), (size // 2, size // 2), (1, 0), (0, 2)])
            while (size - 1) * apart + 1 > extent + sum(pad):
                size, apart = max(1, size - 1), 1
            kernel.append(size), stride.append(step)
            dilation.append(apart), pads.append(pad)
        return kernel, stride, dilation, pads

    def pad(self, image, pads, value="%zero"):
        if not any(map(any, pads)):
            return image
        space = [e + sum(p) for e, p in zip(image.space, pads)]
        padded = Image("", image.batch, space, image.channels, image.last)

        def amounts(side):
            middle = [p[side] for p in pads]
            whole = [0, *middle, 0] if image.last else [0, 0, *middle]
            return f"[{', '.join(map(str, whole))}]"

        indices = ", ".join(f"%i{k}: index" for k in range(len(space) + 2))
        padded.name = self.emit(
            f"tensor.pad {image.name} low{amounts(0)} high{amounts(1)} {{\n"
            f"  ^bb0({indices}):\n    tensor.yield {value} : f32\n"
            f"  }} : {image.type()} to {padded.type()}")
        return padded

    def attributes(self, stride, dilation):
        n = len(stride)
        return (f"{{dilations = dense<{dilation}> : tensor<{n}xi64>, "
                f"strides = dense<{stride}> : tensor<{n}xi64>}}")

    def convolution(self, image):
        rng, n = self.rng, len(image.space)
        kernel, stride, dilation, pads = self.windows(image)
        image = self.pad(image, pads)
        space = [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in
                 zip(image.space, kernel, stride, dilation)]
        filters = rng.choice([1, 2, 3, 5, 8, 16, 24, 31, 33, 64])
        kind = rng.choice(["dense", "dense", "dense", "depthwise", "grouped"])
        if kind == "depthwise":
            filters = image.channels
        out = Image("", image.batch, space, filters, image.last)
        constant = rng.random() < 0.5
        letters = "".join(SPATIAL[3 - n:])
        named = rng.random() < 0.7
        if kind == "grouped":
            return self.grouped(image, kernel, stride, dilation, space, constant)
        if kind == "depthwise":
            weights = [*kernel, filters] if image.last else [filters, *kernel]
            form = f"n{letters}c_{letters}c" if image.last else f"nc{letters}_c{letters}"
            op = f"linalg.depthwise_conv_{n}d_{form}"
            named &= form != "ncdhw_cdhw"
        else:
            weights = [*kernel, image.channels, filters] if image.last else \
                [filters, image.channels, *kernel]
            form = (f"n{letters}c_{letters}cf" if image.last
                    else f"nc{letters}_fc{letters}")
            op = f"linalg.conv_{n}d_{form}"
        w = self.argument(weights, constant)
        start = self.filled(out.type()) if rng.random() < 0.9 else \
            self.argument(out.shape())
        operands = (f"ins({image.name}, {w} : {image.type()}, {tensor(weights)}) "
                    f"outs({start} : {out.type()}) -> {out.type()}")
        if named:
            out.name = self.emit(f"{op} {self.attributes(stride, dilation)} {operands}")
            return out
        s = [f"s{k}" for k in range(n)]
        r = [f"r{k}" for k in range(n)]
        sums = [f"s{k} * {stride[k]} + r{k} * {dilation[k]}" for k in range(n)]
        depth = kind == "depthwise"
        loops = ["n", *s, "f", *r] + ([] if depth else ["c"])
        channel = "f" if depth else "c"
        seen = ["n", *sums, channel] if image.last else ["n", channel, *sums]
        made = ["n", *s, "f"] if image.last else ["n", "f", *s]
        if depth:
            read = [*r, "f"] if image.last else ["f", *r]
        else:
            read = [*r, "c", "f"] if image.last else ["f", "c", *r]
        out.name = self.generic(loops, len(s) + 2, [seen, read, made], operands)
        return out

    def generic(self, loops, parallel, accesses, operands):
        maps = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(a)})>"
                         for a in accesses)
        kinds = ", ".join(['"parallel"'] * parallel +
                          ['"reduction"'] * (len(loops) - parallel))
        ins, result = operands.rsplit(" -> ", 1)
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} {ins} {{\n"
            "  ^bb0(%x: f32, %y: f32, %z: f32):\n"
            "    %p = arith.mulf %x, %y : f32\n"
            "    %q = arith.addf %z, %p : f32\n"
            f"    linalg.yield %q : f32\n  }} -> {result}")

    def joined(self, rank, axis):
        """The dimensions of a tensor one of which, `axis`, is two of another's."""
        return [[k] for k in range(axis)] + [[axis, axis + 1]] + \
            [[k + 1] for k in range(axis + 1, rank)]

    def expanded(self, name, shape, into, axis):
        return self.emit(f"tensor.expand_shape {name} {self.joined(len(shape), axis)} "
                         f"output_shape {into} : {tensor(shape)} into {tensor(into)}")

    def start(self, image):
        """Zeros, or a bias in every pixel."""
        if self.rng.random() < 0.5:
            return self.filled(image.type())
        bias = self.argument([image.channels])
        empty = self.emit(f"tensor.empty() : {image.type()}")
        others = [0, *range(2, len(image.shape()))]
        return self.emit(f"linalg.broadcast ins({bias} : {tensor([image.channels])}) "
                         f"outs({empty} : {image.type()}) dimensions = {others}")

    def with_groups(self, name, shape, last):
        """A tensor with groups as an image to work on element by element."""
        batch, *middle = shape
        return Image(name, batch, middle[:-1], middle[-1], True) if last else \
            Image(name, batch, middle[1:], middle[0], False)

    def grouped(self, image, kernel, stride, dilation, space, constant):
        n = len(kernel)
        divisors = [g for g in (1, 2, 3, 4, 5, 8, 16) if image.channels % g == 0]
        groups = self.rng.choice(divisors)
        each, filters = image.channels // groups, self.rng.choice([1, 2, 3, 8, 16])
        axis = n + 1 if image.last else 1
        shape = image.shape()
        shape[axis:axis + 1] = [groups, each]
        x = self.expanded(image.name, image.shape(), shape, axis)
        s = [f"s{k}" for k in range(n)]
        r = [f"r{k}" for k in range(n)]
        sums = [f"s{k} * {stride[k]} + r{k} * {dilation[k]}" for k in range(n)]
        loops = ["n", "g", *s, "f", *r, "c"]
        seen = ["n", *sums, "g", "c"] if image.last else ["n", "g", "c", *sums]
        made = ["n", *s, "g", "f"] if image.last else ["n", "g", "f", *s]
        read = ["g", *r, "c", "f"] if image.last else ["g", "f", "c", *r]
        weights = [groups, *kernel, each, filters] if image.last else \
            [groups, filters, each, *kernel]
        result = [image.batch, *space, groups, filters] if image.last else \
            [image.batch, groups, filters, *space]
        out = Image("", image.batch, space, groups * filters, image.last)
        if n == 2 and not image.last and self.rng.random() < 0.7:
            whole = [groups * filters, each, *kernel]
            w = self.expanded(self.argument(whole, constant), whole, weights, 0)
            start = self.expanded(self.start(out), out.shape(), result, axis)
        else:
            w, start = self.argument(weights, constant), self.filled(tensor(result))
        operands = (f"ins({x}, {w} : {tensor(shape)}, {tensor(weights)}) "
                    f"outs({start} : {tensor(result)}) -> {tensor(result)}")
        if n == 2 and not image.last and self.rng.random() < 0.7:
            y = self.emit(f"linalg.conv_2d_ngchw_gfchw "
                          f"{self.attributes(stride, dilation)} {operands}")
        else:
            y = self.generic(loops, n + 3, [seen, read, made], operands)
        if self.rng.random() < 0.3:
            y = self.elementwise(self.with_groups(y, result, image.last)).name
        out.name = self.emit(f"tensor.collapse_shape {y} {self.joined(n + 2, axis)} : "
                             f"{tensor(result)} into {out.type()}")
        return out

    def pool(self, image):
        n = len(image.space)
        kernel, stride, dilation, pads = self.windows(image)
        kind = self.rng.choice(["max", "sum"])
        value = "%low" if kind == "max" else "%zero"
        image = self.pad(image, pads, value)
        space = [(e - (k - 1) * d - 1) // s + 1 for e, k, s, d in
                 zip(image.space, kernel, stride, dilation)]
        out = Image("", image.batch, space, image.channels, image.last)
        letters = SPATIAL[3 - n:]
        if not image.last and n == 3:
            return image
        form = f"n{letters}c" if image.last else f"nc{letters}"
        window = self.emit(f"tensor.empty() : {tensor(kernel)}")
        start = self.filled(out.type(), value)
        out.name = self.emit(
            f"linalg.pooling_{form}_{kind} {self.attributes(stride, dilation)} "
            f"ins({image.name}, {window} : {image.type()}, {tensor(kernel)}) "
            f"outs({start} : {out.type()}) -> {out.type()}")
        return out

    def elementwise(self, image):
        """Nothing, a bias, an activation or a residual."""
        rank = len(image.shape())
        loops = [f"d{k}" for k in range(rank)]
        whole = f"affine_map<({', '.join(loops)}) -> ({', '.join(loops)})>"
        kinds = ", ".join(['"parallel"'] * rank)
        kind = self.rng.choice(["none", "bias", "relu", "clamp", "residual"])
        if kind == "none":
            return image
        inputs, maps, body = [f"{image.name}"], [whole], None
        types = [image.type()]
        if kind == "bias":
            channel = loops[-1 if image.last else 1]
            inputs.append(self.argument([image.channels]))
            types.append(tensor([image.channels]))
            maps.append(f"affine_map<({', '.join(loops)}) -> ({channel})>")
            body = "arith.addf %x, %y : f32"
        elif kind == "residual":
            inputs.append(self.argument(image.shape()))
            types.append(image.type())
            maps.append(whole)
            body = "arith.addf %x, %y : f32"
        elif kind == "relu":
            body = "arith.maximumf %x, %zero : f32"
        else:
            body = "arith.minimumf %x, %six : f32"
        empty = self.emit(f"tensor.empty() : {image.type()}")
        arguments = ", ".join(f"%{c}: f32" for c in "xy"[:len(inputs)])
        name = self.emit(
            f"linalg.generic {{indexing_maps = [{', '.join([*maps, whole])}], "
            f"iterator_types = [{kinds}]}} ins({', '.join(inputs)} : {', '.join(types)}) "
            f"outs({empty} : {image.type()}) {{\n  ^bb0({arguments}, %o: f32):\n"
            f"    %q = {body}\n    linalg.yield %q : f32\n  }} -> {image.type()}")
        return dataclasses.replace(image, name=name)

    def turned(self, image):
        """`image`, perhaps with its channels on the other side, in one step or two."""
        if not self.turns or self.turns.random() < 0.6:
            return image
        rank = len(image.shape())
        out = dataclasses.replace(image, last=not image.last)
        order = [0, *range(2, rank), 1] if out.last else [0, rank - 1, *range(1, rank - 1)]
        steps = [order]
        if self.turns.random() < 0.3:
            first = [0, *self.turns.sample(range(1, rank), rank - 1)]
            steps = [first, [first.index(dim) for dim in order]]
        name, shape = image.name, image.shape()
        for step in steps:
            target = [shape[dim] for dim in step]
            empty = self.emit(f"tensor.empty() : {tensor(target)}")
            name = self.emit(f"linalg.transpose ins({name} : {tensor(shape)}) "
                             f"outs({empty} : {tensor(target)}) permutation = {step}")
            shape = target
        return dataclasses.replace(out, name=name)

    def build(self):
        rng = self.rng
        n = rng.choice([1, 2, 2, 2, 2, 3])
        most = {1: 64, 2: 24, 3: 9}[n]
        image = Image("", rng.choice([1, 1, 2, 3]),
                      [rng.randint(3, most) for _ in range(n)],
                      rng.choice([1, 2, 3, 4, 8, 15, 16, 24, 48]), rng.random() < 0.5)
        image.name = self.argument(image.shape())
        for _ in range(rng.randint(1, 4)):
            step = self.pool if rng.random() < 0.2 else self.convolution
            image = self.elementwise(self.turned(step(self.turned(image))))
        image = self.turned(image)
        self.result = image

    def text(self):
        lines = "\n".join(self.lines)
        return (f"func.func @{self.name}({', '.join(self.arguments)}) "
                f"-> {self.result.type()} {{\n"
                "  %zero = arith.constant 0.0 : f32\n"
                "  %six = arith.constant 6.0 : f32\n"
                "  %low = arith.constant 0xFF800000 : f32\n"
                f"{lines}\n"
                f"  return {self.result.name} : {self.result.type()}\n}}\n")


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    turns = random.Random(seed) if "--transposes" in sys.argv[3:] else None
    for index in range(count):
        program = Convolutions(f"s{seed}_{index}", random.Random(f"{seed}.{index}"), turns)
        program.build()
        print(program.text())


if __name__ == "__main__":
    main()
