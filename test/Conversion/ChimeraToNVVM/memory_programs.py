"""Programs that wait for memory, with what they compute."""

import math

import numpy as np

EPSILON = 1e-5


def tensor(shape, kind):
    return f"tensor<{'x'.join(map(str, (*shape, kind)))}>"


class Writer:
    """Writes functions of linalg on tensors of one type."""

    def __init__(self, kind, *shapes):
        self.kind, self.lines, self.count = kind, [], 0
        self.shapes = {}
        for number, shape in enumerate(shapes):
            self.shapes[f"%a{number}"] = tuple(shape)
        self.arguments = list(self.shapes)

    def add(self, text, shape=None, kind=None):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = {text}")
        if shape is not None:
            self.shapes[name] = tuple(shape)
        return name

    def type(self, name, kind=None):
        return tensor(self.shapes[name], kind or self.kinds.get(name, self.kind))

    kinds = {}

    def generic(self, inputs, shape, dims, body, kind=None, start=None, loops=None):
        """`inputs` and `dims` say which loops index what; `body` makes %r of %i0,
        %i1, ... and, of what is reduced, %o. Results are f32 where it is asked."""
        kind = kind or self.kind
        loops = loops or len(shape)
        names = [f"d{i}" for i in range(loops)]

        def affine(index):
            return (f"affine_map<({', '.join(names)}) -> "
                    f"({', '.join(names[i] for i in index)})>")
        empty = self.add(f"tensor.empty() : {tensor(shape, kind)}", shape)
        if start is not None:
            number = self.add(f"arith.constant {start} : {kind}")
            empty = self.add(f"linalg.fill ins({number} : {kind}) outs({empty} : "
                             f"{tensor(shape, kind)}) -> {tensor(shape, kind)}", shape)
        maps = ", ".join([affine(index) for _, index in inputs] + [affine(dims)])
        kinds = ", ".join('"parallel"' if i in dims else '"reduction"'
                          for i in range(loops))
        own = [self.kinds.get(name, self.kind) for name, _ in inputs]
        head = ", ".join([f"%n{i}: {k}" for i, k in enumerate(own)] + [f"%o: {kind}"])
        wide = []
        for i, k in enumerate(own):
            wide.append(f"%i{i} = arith.extf %n{i} : {k} to f32" if k != "f32" else
                        f"%i{i} = arith.addf %n{i}, %zero : f32")
        end = ([f"%e = arith.truncf %r : f32 to {kind}", f"linalg.yield %e : {kind}"]
               if kind != "f32" else ["linalg.yield %r : f32"])
        block = "".join(f"      {line}\n" for line in [*wide, *body, *end])
        result = self.add(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({', '.join(name for name, _ in inputs)} : "
            f"{', '.join(self.type(name) for name, _ in inputs)}) "
            f"outs({empty} : {tensor(shape, kind)}) {{\n    ^bb0({head}):\n{block}"
            f"    }} -> {tensor(shape, kind)}", shape)
        if kind != self.kind:
            self.kinds = {**self.kinds, result: kind}
        return result

    def finish(self, *results):
        head = ", ".join(f"{name}: {self.type(name)}" for name in self.arguments)
        types = ", ".join(self.type(name) for name in results)
        return (f"func.func @main({head}) -> ({types}) {{\n"
                "  %zero = arith.constant -0.0 : f32\n" + "\n".join(self.lines) +
                f"\n  return {', '.join(results)} : {types}\n}}\n")


def layer_norm(kind, rows, columns):
    w = Writer(kind, (rows, columns), (columns,), (columns,))
    share = w.add(f"arith.constant {1 / columns:.9e} : f32")
    least = w.add(f"arith.constant {EPSILON:.9e} : f32")
    both, row = (0, 1), (0,)
    total = w.generic([("%a0", both)], (rows,), row, ["%r = arith.addf %o, %i0 : f32"],
                      "f32", "0.0", 2)
    squares = w.generic(
        [("%a0", both), (total, row)], (rows,), row,
        [f"%m = arith.mulf %i1, {share} : f32", "%d = arith.subf %i0, %m : f32",
         "%q = arith.mulf %d, %d : f32", "%r = arith.addf %o, %q : f32"],
        "f32", "0.0", 2)
    result = w.generic(
        [("%a0", both), (total, row), (squares, row), ("%a1", (1,)), ("%a2", (1,))],
        (rows, columns), both,
        [f"%m = arith.mulf %i1, {share} : f32", "%d = arith.subf %i0, %m : f32",
         f"%v = arith.mulf %i2, {share} : f32", f"%s = arith.addf %v, {least} : f32",
         "%f = math.rsqrt %s : f32", "%n = arith.mulf %d, %f : f32",
         "%g = arith.mulf %n, %i3 : f32", "%r = arith.addf %g, %i4 : f32"])

    def compute(x, gamma, beta):
        x = x - x.mean(1, keepdims=True)
        return x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * gamma + beta
    return w.finish(result), compute, [(rows, columns), (columns,), (columns,)], kind


def add_rms_norm(kind, rows, columns):
    w = Writer(kind, (rows, columns), (rows, columns), (columns,))
    share = w.add(f"arith.constant {1 / columns:.9e} : f32")
    least = w.add(f"arith.constant {EPSILON:.9e} : f32")
    both, row = (0, 1), (0,)
    total = w.generic([("%a0", both), ("%a1", both)], (rows, columns), both,
                      ["%r = arith.addf %i0, %i1 : f32"])
    squares = w.generic([(total, both)], (rows,), row,
                        ["%q = arith.mulf %i0, %i0 : f32",
                         "%r = arith.addf %o, %q : f32"], "f32", "0.0", 2)
    result = w.generic(
        [(total, both), (squares, row), ("%a2", (1,))], (rows, columns), both,
        [f"%v = arith.mulf %i1, {share} : f32", f"%s = arith.addf %v, {least} : f32",
         "%f = math.rsqrt %s : f32", "%n = arith.mulf %i0, %f : f32",
         "%r = arith.mulf %n, %i2 : f32"])

    def compute(x, y, gamma):
        x = x + y
        return x, x / np.sqrt((x * x).mean(1, keepdims=True) + EPSILON) * gamma
    return (w.finish(total, result), compute,
            [(rows, columns), (rows, columns), (columns,)], kind)


def softmax(kind, shape, dim):
    w = Writer(kind, shape)
    empty = w.add(f"tensor.empty() : {tensor(shape, kind)}", shape)
    result = w.add(f"linalg.softmax dimension({dim}) ins(%a0 : {tensor(shape, kind)}) "
                   f"outs({empty} : {tensor(shape, kind)}) -> {tensor(shape, kind)}",
                   shape)

    def compute(x):
        power = np.exp(x - x.max(dim, keepdims=True))
        return power / power.sum(dim, keepdims=True)
    return w.finish(result), compute, [shape], kind


def bias_gelu(kind, rows, columns):
    w = Writer(kind, (rows, columns), (columns,))
    root, one, half = (w.add(f"arith.constant {number:.9e} : f32")
                       for number in (math.sqrt(0.5), 1, 0.5))
    result = w.generic(
        [("%a0", (0, 1)), ("%a1", (1,))], (rows, columns), (0, 1),
        ["%b = arith.addf %i0, %i1 : f32", f"%s = arith.mulf %b, {root} : f32",
         "%f = math.erf %s : f32", f"%p = arith.addf %f, {one} : f32",
         f"%h = arith.mulf %p, {half} : f32", "%r = arith.mulf %b, %h : f32"])

    def compute(x, bias):
        x = x + bias
        return x * 0.5 * (1 + np.vectorize(math.erf)(x * 0.5 ** 0.5))
    return w.finish(result), compute, [(rows, columns), (columns,)], kind


def gelu(kind, *shape):
    """The approximation by tanh."""
    w = Writer(kind, shape)
    loops = tuple(range(len(shape)))
    outer, cubic, one, half = (
        w.add(f"arith.constant {number:.9e} : f32")
        for number in (math.sqrt(2 / math.pi), 0.044715, 1, 0.5))
    result = w.generic(
        [("%a0", loops)], shape, loops,
        ["%q = arith.mulf %i0, %i0 : f32", f"%c = arith.mulf %q, {cubic} : f32",
         f"%p = arith.addf %c, {one} : f32", "%x = arith.mulf %i0, %p : f32",
         f"%y = arith.mulf %x, {outer} : f32", "%t = math.tanh %y : f32",
         f"%u = arith.addf %t, {one} : f32", f"%h = arith.mulf %u, {half} : f32",
         "%r = arith.mulf %i0, %h : f32"])

    def compute(x):
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)
        return 0.5 * x * (1 + np.tanh(inner))
    return w.finish(result), compute, [shape], kind


def rotary(kind, batch, heads, rows, depth):
    half = depth // 2
    shape = (batch, heads, rows, depth)
    part = (*shape[:3], half)
    w = Writer(kind, shape, (rows, depth), (rows, depth))

    def slice_of(offset):
        return w.add(f"tensor.extract_slice %a0[0, 0, 0, {offset}] "
                     f"[{', '.join(map(str, part))}] [1, 1, 1, 1] : "
                     f"{tensor(shape, kind)} to {tensor(part, kind)}", part)
    all_four = (0, 1, 2, 3)
    negative = w.generic([(slice_of(half), all_four)], part, all_four,
                         ["%r = arith.negf %i0 : f32"])
    turned = w.add(f"tensor.concat dim(3) {negative}, {slice_of(0)} : "
                   f"({tensor(part, kind)}, {tensor(part, kind)}) -> "
                   f"{tensor(shape, kind)}", shape)
    result = w.generic(
        [("%a0", all_four), ("%a1", (2, 3)), (turned, all_four), ("%a2", (2, 3))],
        shape, all_four,
        ["%c = arith.mulf %i0, %i1 : f32", "%s = arith.mulf %i2, %i3 : f32",
         "%r = arith.addf %c, %s : f32"])

    def compute(x, cosine, sine):
        turned = np.concatenate([-x[..., half:], x[..., :half]], -1)
        return x * cosine + turned * sine
    return w.finish(result), compute, [shape, (rows, depth), (rows, depth)], kind


def transpose(kind, shape, order):
    w = Writer(kind, shape)
    to = tuple(shape[i] for i in order)
    empty = w.add(f"tensor.empty() : {tensor(to, kind)}", to)
    result = w.add(f"linalg.transpose ins(%a0 : {tensor(shape, kind)}) outs({empty} : "
                   f"{tensor(to, kind)}) permutation = {list(order)}", to)
    return w.finish(result), (lambda x: x.transpose(order)), [shape], kind


def reduce_sum(kind, shape, kept):
    w = Writer(kind, shape)
    to = tuple(shape[i] for i in kept)
    total = w.generic([("%a0", tuple(range(len(shape))))], to, tuple(kept),
                      ["%r = arith.addf %o, %i0 : f32"], "f32", "0.0", len(shape))
    if kind != "f32":
        total = w.generic([(total, tuple(range(len(kept))))], to,
                          tuple(range(len(kept))),
                          ["%r = arith.addf %i0, %zero : f32"])
    away = tuple(i for i in range(len(shape)) if i not in kept)
    return w.finish(total), (lambda x: x.sum(away)), [shape], kind


CASES = {
    "LayerNorm 7 x 96": layer_norm("f32", 7, 96),
    "LayerNorm 5 x 1000": layer_norm("f16", 5, 1000),
    "LayerNorm 3 x 77": layer_norm("bf16", 3, 77),
    "LayerNorm 2 x 33000": layer_norm("f32", 2, 33000),
    "RMSNorm 6 x 130": add_rms_norm("f16", 6, 130),
    "RMSNorm 9 x 512": add_rms_norm("f32", 9, 512),
    "softmax 9 x 45": softmax("f32", (9, 45), 1),
    "softmax 5 x 264": softmax("f16", (5, 264), 1),
    "column softmax 50 x 40": softmax("f32", (50, 40), 0),
    "column softmax 33 x 24": softmax("bf16", (33, 24), 0),
    "middle softmax 3 x 21 x 10": softmax("f32", (3, 21, 10), 1),
    "bias, GELU 13 x 56": bias_gelu("f32", 13, 56),
    "bias, GELU 5 x 27": bias_gelu("bf16", 5, 27),
    "GELU 7 x 11 x 13": gelu("f16", 7, 11, 13),
    "rotary 2 x 3 x 5 x 16": rotary("f32", 2, 3, 5, 16),
    "rotary 1 x 2 x 7 x 32": rotary("f16", 1, 2, 7, 32),
    "transpose 70 x 45": transpose("f32", (70, 45), (1, 0)),
    "transpose 40 x 64": transpose("f16", (40, 64), (1, 0)),
    "transpose 3 x 9 x 4 x 8": transpose("f32", (3, 9, 4, 8), (0, 2, 1, 3)),
    "row sums 11 x 70": reduce_sum("f32", (11, 70), (0,)),
    "column sums 45 x 36": reduce_sum("f16", (45, 36), (1,)),
    "channel sums 3 x 5 x 14": reduce_sum("f32", (3, 5, 14), (1,)),
    "sum 3000": reduce_sum("f32", (3000,), ()),
    "sum 300": reduce_sum("f16", (300,), ()),
    "softmax 1 x 536": softmax("bf16", (1, 536), 1),
}
