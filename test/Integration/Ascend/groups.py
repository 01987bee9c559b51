"""Programs that wait for memory: what the vector unit of a core runs alone."""

import dataclasses

import numpy as np

PARALLEL, REDUCTION = '"parallel"', '"reduction"'


class Builder:
    """Writes operations of linalg on named loops."""

    def __init__(self, element: str):
        self.element, self.lines, self.count = element, [], 0
        self.shapes = {}

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def type(self, name: str) -> str:
        dims, sizes = self.shapes[name]
        return "tensor<" + "".join(f"{sizes[d]}x" for d in dims) + f"{self.element}>"

    def argument(self, name: str, dims: str, sizes: dict) -> str:
        self.shapes[name] = (dims, sizes)
        return name

    def apply(self, inputs: list, dims: str, sizes: dict, body: list,
              reduce: str = "", start: float = 0.0) -> str:
        """`body` are operations on `$0`, `$1`, ... and, of reductions, `$acc`,
        the last of which is the result."""
        loops = dims + "".join(d for d in sizes if d not in dims and d in reduce)
        empty, made = self.name(), self.name()
        self.shapes[empty] = self.shapes[made] = (dims, sizes)
        self.lines.append(f"{empty} = tensor.empty() : {self.type(empty)}")
        init = empty
        if reduce:
            zero, init = self.name(), self.name()
            self.shapes[init] = (dims, sizes)
            self.lines += [
                f"{zero} = arith.constant {start:e} : {self.element}",
                f"{init} = linalg.fill ins({zero} : {self.element}) outs({empty} : "
                f"{self.type(empty)}) -> {self.type(init)}"]
        order = ", ".join(loops)
        maps = ", ".join(
            f"affine_map<({order}) -> ({', '.join(self.shapes[x][0])})>"
            for x in inputs + [made])
        kinds = ", ".join(REDUCTION if d in reduce else PARALLEL for d in loops)
        operands = (f"ins({', '.join(inputs)} : "
                    f"{', '.join(self.type(x) for x in inputs)}) " if inputs else "")
        arguments = ", ".join(f"%a{i}: {self.element}"
                              for i in range(len(inputs))) + (
                                  ", " if inputs else "") + f"%acc: {self.element}"
        self.lines.append(
            f"{made} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f"[{kinds}]}} {operands}outs({init} : {self.type(made)}) {{")
        self.lines.append(f"^bb0({arguments}):")
        for number, line in enumerate(body):
            text = line.replace("$acc", "%acc")
            for i in reversed(range(len(inputs))):
                text = text.replace(f"${i}", f"%a{i}")
            self.lines.append(f"%r{number} = {text} : {self.element}")
        self.lines.append(f"linalg.yield %r{len(body) - 1} : {self.element}")
        self.lines.append(f"}} -> {self.type(made)}")
        return made


def constant(value: float) -> str:
    return f"arith.constant {value:e}"


@dataclasses.dataclass
class Group:
    """A memory-bound program on `rows` x `columns` elements, with `batch` in
    front."""

    kind: str
    rows: int
    columns: int
    element: str = "f32"
    batch: int = 1

    def name(self) -> str:
        return f"{self.kind} {self.batch}x{self.rows}x{self.columns} {self.element}"

    def shapes(self) -> list:
        """Dimensions of the arguments, by name."""
        return {"layernorm": ["bij", "j", "j"], "rmsnorm": ["bij", "bij", "j"],
                "softmax": ["bij"], "softmax_rows": ["bij"], "gelu": ["bij"],
                "gelu_tanh": ["bij", "j"], "rotary": ["bij", "bij", "ij", "ij"],
                "sum_rows": ["bij"], "sum_columns": ["bij"], "max_rows": ["bij"],
                "min_rows": ["bij"], "clamp": ["bij"], "scale_rows": ["bij", "bi"],
                "sum_outer": ["bij"], "sum_all": ["bij"]}[self.kind]

    def sizes(self) -> dict:
        return {"b": self.batch, "i": self.rows, "j": self.columns}

    def program(self) -> str:
        sizes = self.sizes()
        builder = Builder(self.element)
        arguments = [builder.argument(f"%x{i}", dims, sizes)
                     for i, dims in enumerate(self.shapes())]
        result = getattr(self, "make_" + self.kind)(builder, arguments, sizes)
        results = result if isinstance(result, list) else [result]
        types = ", ".join(builder.type(x) for x in results)
        heads = ", ".join(f"{x}: {builder.type(x)}" for x in arguments)
        body = "\n".join("  " + line for line in builder.lines)
        return (f"func.func @main({heads}) -> ({types}) {{\n{body}\n"
                f"  return {', '.join(results)} : {types}\n}}\n")

    def make_layernorm(self, b, x, s):
        total = b.apply([x[0]], "bi", s, ["arith.addf $0, $acc"], "j")
        centred = b.apply([x[0], total], "bij", s,
                          [constant(s["j"]), "arith.divf $1, %r0",
                           "arith.subf $0, %r1"])
        squares = b.apply([centred], "bi", s,
                          ["arith.mulf $0, $0", "arith.addf %r0, $acc"], "j")
        return b.apply([centred, squares, x[1], x[2]], "bij", s,
                       [constant(s["j"]), constant(1e-5), "arith.divf $1, %r0",
                        "arith.addf %r2, %r1", "math.rsqrt %r3",
                        "arith.mulf $0, %r4", "arith.mulf %r5, $2",
                        "arith.addf %r6, $3"])

    def make_rmsnorm(self, b, x, s):
        total = b.apply(x[:2], "bij", s, ["arith.addf $0, $1"])
        squares = b.apply([total], "bi", s,
                          ["arith.mulf $0, $0", "arith.addf %r0, $acc"], "j")
        normed = b.apply([total, squares, x[2]], "bij", s,
                         [constant(s["j"]), constant(1e-5), "arith.divf $1, %r0",
                          "arith.addf %r2, %r1", "math.rsqrt %r3",
                          "arith.mulf $0, %r4", "arith.mulf %r5, $2"])
        return [total, normed]

    def softmax_over(self, b, x, s, dims, over):
        most = b.apply([x], dims, s, ["arith.maximumf $0, $acc"], over,
                       -60000.0)
        power = b.apply([x, most], "bij", s,
                        ["arith.subf $0, $1", "math.exp %r0"])
        total = b.apply([power], dims, s, ["arith.addf $0, $acc"], over)
        return b.apply([power, total], "bij", s, ["arith.divf $0, $1"])

    def make_softmax(self, b, x, s):
        return self.softmax_over(b, x[0], s, "bi", "j")

    def make_softmax_rows(self, b, x, s):
        return self.softmax_over(b, x[0], s, "bj", "i")

    def make_gelu(self, b, x, s):
        return b.apply(x, "bij", s,
                       [constant(0.70710678), constant(0.5), constant(1.0),
                        "arith.mulf $0, %r0", "math.erf %r3",
                        "arith.addf %r4, %r2", "arith.mulf $0, %r1",
                        "arith.mulf %r6, %r5"])

    def make_gelu_tanh(self, b, x, s):
        return b.apply(x, "bij", s,
                       ["arith.addf $0, $1", "math.tanh %r0",
                        "arith.mulf %r1, %r0"])

    def make_rotary(self, b, x, s):
        first = b.apply(x, "bij", s, ["arith.mulf $0, $2", "arith.mulf $1, $3",
                                      "arith.subf %r0, %r1"])
        second = b.apply(x, "bij", s, ["arith.mulf $1, $2", "arith.mulf $0, $3",
                                       "arith.addf %r0, %r1"])
        return [first, second]

    def make_sum_rows(self, b, x, s):
        return b.apply(x, "bi", s, ["arith.addf $0, $acc"], "j", 3.0)

    def make_max_rows(self, b, x, s):
        return b.apply(x, "bi", s, ["arith.maximumf $0, $acc"], "j", -60000.0)

    def make_min_rows(self, b, x, s):
        return b.apply(x, "bi", s, ["arith.minimumf $0, $acc"], "j", 60000.0)

    def make_sum_columns(self, b, x, s):
        return b.apply(x, "bj", s, ["arith.addf $0, $acc"], "i")

    def make_sum_outer(self, b, x, s):
        return b.apply(x, "ij", s, ["arith.addf $0, $acc"], "b")

    def make_sum_all(self, b, x, s):
        return b.apply(x, "b", s, ["arith.addf $0, $acc"], "ij")

    def make_clamp(self, b, x, s):
        return b.apply(x, "bij", s,
                       [constant(0.5), constant(-0.25), "arith.minimumf $0, %r0",
                        "arith.maximumf %r2, %r1", "arith.divf %r3, %r0",
                        "arith.subf %r0, %r4", "math.absf %r5",
                        "arith.negf %r6"])

    def make_scale_rows(self, b, x, s):
        return b.apply(x, "bij", s, ["arith.mulf $0, $1"])

    def make_arguments(self, seed: int) -> list:
        generator = np.random.default_rng(seed)
        type = {"f16": np.float16, "f32": np.float32}[self.element]
        return [generator.standard_normal(
            [self.sizes()[d] for d in dims]).astype(type)
            for dims in self.shapes()]

    def reference(self, values: list) -> list:
        """In f64; sums of f16 as f32 has them."""
        x, *rest = [value.astype(np.float64) for value in values]
        if self.kind == "layernorm":
            centred = x - x.mean(-1, keepdims=True)
            scale = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
            return [centred / scale * rest[0] + rest[1]]
        if self.kind == "rmsnorm":
            total = x + rest[0]
            scale = np.sqrt((total**2).mean(-1, keepdims=True) + 1e-5)
            return [total, total / scale * rest[1]]
        if self.kind.startswith("softmax"):
            axis = -1 if self.kind == "softmax" else 1
            power = np.exp(x - x.max(axis, keepdims=True))
            return [power / power.sum(axis, keepdims=True)]
        if self.kind == "gelu":
            from math import erf
            return [0.5 * x * (1 + np.vectorize(erf)(x * 0.70710678))]
        if self.kind == "gelu_tanh":
            y = x + rest[0]
            return [y * np.tanh(y)]
        if self.kind == "rotary":
            return [x * rest[1] - rest[0] * rest[2],
                    rest[0] * rest[1] + x * rest[2]]
        if self.kind == "clamp":
            return [-abs(0.5 - np.clip(x, -0.25, 0.5) / 0.5)]
        return [{"sum_rows": lambda: x.sum(-1) + 3,
                 "max_rows": lambda: x.max(-1), "min_rows": lambda: x.min(-1),
                 "sum_columns": lambda: x.sum(1), "sum_outer": lambda: x.sum(0),
                 "sum_all": lambda: x.sum((1, 2)),
                 "scale_rows": lambda: x * rest[0][..., None]}[self.kind]()]


def print_all() -> None:
    """Programs of all kinds, but for that whose result is less than a block."""
    kinds = [name[5:] for name in vars(Group) if name.startswith("make_")]
    for kind in ("arguments", "sum_all"):
        kinds.remove(kind)
    for number, (kind, element) in enumerate(
            (kind, element) for kind in kinds for element in ("f32", "f16")):
        program = Group(kind, 32, 80, element, batch=2).program()
        print(program.replace("@main(", f"@group{number}("))
