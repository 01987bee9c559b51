"""Programs of contractions in f16, as MLIR text and as numpy in f64.

A chain is a list of stages; each multiplies what the one before has made by a
matrix of its own, adds up in f32, and finishes element by element.
"""

import dataclasses

import numpy as np

IDENTITY = "affine_map<(i, j) -> (i, j)>"


@dataclasses.dataclass
class Stage:
    """One product: `columns` of the result, the right factor given as rows of
    columns or transposed, and what comes after it."""
    columns: int
    transposed: bool = False
    bias: bool = False
    residual: bool = False
    activation: str = "none"
    # One number for each row, before all else.
    scaled: bool = False


SMALL = 1e-6


def near_zero(function: str) -> str:
    """The function where its argument is small, and the result multiplied until
    f16 can tell how exact it is."""
    return (f"%small{{n}} = arith.constant {SMALL:e} : f32\n"
            f"%large{{n}} = arith.constant {1 / SMALL:e} : f32\n"
            "%near{n} = arith.mulf %s{n}, %small{n} : f32\n"
            f"%value{{n}} = math.{function} %near{{n}} : f32\n"
            "%a{n} = arith.mulf %value{n}, %large{n} : f32\n")


ACTIVATIONS = {
    "none": "",
    "relu": "%a{n} = arith.maximumf %s{n}, %zero : f32\n",
    "gelu": ("%g{n} = arith.mulf %s{n}, %root : f32\n"
             "%e{n} = math.erf %g{n} : f32\n"
             "%p{n} = arith.addf %e{n}, %one : f32\n"
             "%h{n} = arith.mulf %s{n}, %half : f32\n"
             "%a{n} = arith.mulf %h{n}, %p{n} : f32\n"),
    "tanh": "%a{n} = math.tanh %s{n} : f32\n",
    "small_tanh": near_zero("tanh"),
    "small_erf": near_zero("erf"),
}


def activate(name: str, x: np.ndarray) -> np.ndarray:
    import math
    if name == "relu":
        return np.maximum(x, 0)
    if name == "gelu":
        return 0.5 * x * (1 + np.vectorize(math.erf)(x * math.sqrt(0.5)))
    if name == "tanh":
        return np.tanh(x)
    if name == "small_tanh":
        return np.tanh(x * SMALL) / SMALL
    if name == "small_erf":
        return np.vectorize(math.erf)(x * SMALL) / SMALL
    return x


def shaped(*extents) -> str:
    return "x".join(str(extent) for extent in extents)


@dataclasses.dataclass
class Chain:
    batch: int
    rows: int
    depth: int
    stages: list
    transposed: bool = False
    # The last result is not narrowed.
    wide: bool = False

    def name(self) -> str:
        text = f"{self.batch}x{self.rows}x{self.depth}"
        for stage in self.stages:
            text += f"-{stage.columns}" + "t" * stage.transposed
            text += "s" * stage.scaled + "b" * stage.bias
            text += "r" * stage.residual
            text += "" if stage.activation == "none" else stage.activation
        return text + "T" * self.transposed + "w" * self.wide

    def arguments(self) -> list:
        """Shapes of the arguments, in order."""
        lead = [self.batch] if self.batch > 1 else []
        first = [self.depth, self.rows] if self.transposed else [self.rows,
                                                                     self.depth]
        shapes = [lead + first]
        depth = self.depth
        for stage in self.stages:
            shapes.append(lead + ([stage.columns, depth] if stage.transposed
                                  else [depth, stage.columns]))
            if stage.scaled:
                shapes.append(lead + [self.rows])
            if stage.bias:
                shapes.append([stage.columns])
            if stage.residual:
                shapes.append(lead + [self.rows, stage.columns])
            depth = stage.columns
        return shapes

    def program(self) -> str:
        batched = self.batch > 1
        lead = [self.batch] if batched else []
        b = "b, " if batched else ""
        rank = 3 if batched else 2
        parallel = ", ".join(['"parallel"'] * rank)
        identity = f"affine_map<({b}i, j) -> ({b}i, j)>"
        column = f"affine_map<({b}i, j) -> (j)>"
        shapes = self.arguments()
        signature = ", ".join(f"%x{i}: tensor<{shaped(*shape)}xf16>"
                              for i, shape in enumerate(shapes))
        result = lead + [self.rows, self.stages[-1].columns]
        made = "f32" if self.wide else "f16"
        text = f"func.func @main({signature}) -> tensor<{shaped(*result)}x{made}> {{\n"
        text += ("%zero = arith.constant 0.0 : f32\n%one = arith.constant 1.0 : f32\n"
                 "%half = arith.constant 0.5 : f32\n"
                 "%root = arith.constant 0.707106781 : f32\n")
        current, taken, transposed = "%x0", 1, self.transposed
        current_shape = shapes[0]
        for n, stage in enumerate(self.stages):
            out = shaped(*(lead + [self.rows, stage.columns]))
            type = made if n + 1 == len(self.stages) else "f16"
            left = f"({b}i, j, k) -> ({b}" + ("k, i)" if transposed else "i, k)")
            right = f"({b}i, j, k) -> ({b}" + ("j, k)" if stage.transposed
                                               else "k, j)")
            factor = f"%x{taken}"
            factor_shape = shapes[taken]
            taken += 1
            text += f"""%c{n} = tensor.empty() : tensor<{out}xf32>
%z{n} = linalg.fill ins(%zero : f32) outs(%c{n} : tensor<{out}xf32>) -> tensor<{out}xf32>
%m{n} = linalg.contract indexing_maps = [affine_map<{left}>, affine_map<{right}>, affine_map<({b}i, j, k) -> ({b}i, j)>]
  ins({current}, {factor} : tensor<{shaped(*current_shape)}xf16>, tensor<{shaped(*factor_shape)}xf16>)
  outs(%z{n} : tensor<{out}xf32>) -> tensor<{out}xf32>
%o{n} = tensor.empty() : tensor<{out}x{type}>
"""
            inputs, types, maps, block, body = [], [], [], [], ""
            value = f"%v{n}"
            if stage.scaled:
                inputs.append(f"%x{taken}")
                types.append(f"tensor<{shaped(*lead, self.rows)}xf16>")
                maps.append(f"affine_map<({b}i, j) -> ({b}i)>")
                block.append(f"%f{n}: f16")
                body += (f"%fw{n} = arith.extf %f{n} : f16 to f32\n"
                         f"%fs{n} = arith.mulf {value}, %fw{n} : f32\n")
                value = f"%fs{n}"
                taken += 1
            if stage.bias:
                inputs.append(f"%x{taken}")
                types.append(f"tensor<{stage.columns}xf16>")
                maps.append(column)
                block.append(f"%b{n}: f16")
                body += (f"%bw{n} = arith.extf %b{n} : f16 to f32\n"
                         f"%bs{n} = arith.addf {value}, %bw{n} : f32\n")
                value = f"%bs{n}"
                taken += 1
            if stage.residual:
                inputs.append(f"%x{taken}")
                types.append(f"tensor<{out}xf16>")
                maps.append(identity)
                block.append(f"%r{n}: f16")
                body += (f"%rw{n} = arith.extf %r{n} : f16 to f32\n"
                         f"%rs{n} = arith.addf {value}, %rw{n} : f32\n")
                value = f"%rs{n}"
                taken += 1
            if stage.activation != "none":
                body += ACTIVATIONS[stage.activation].format(n=n).replace(
                    f"%s{n}", value)
                value = f"%a{n}"
            inputs.insert(0, f"%m{n}")
            types.insert(0, f"tensor<{out}xf32>")
            maps.insert(0, identity)
            block.insert(0, f"%v{n}: f32")
            maps.append(identity)
            text += f"""%y{n} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{parallel}]}}
  ins({", ".join(inputs)} : {", ".join(types)}) outs(%o{n} : tensor<{out}x{type}>) {{
^bb0({", ".join(block)}, %q{n}: {type}):
{body}{"" if type == "f32" else f"%t{n} = arith.truncf {value} : f32 to f16"}
linalg.yield {value if type == "f32" else f"%t{n}"} : {type}
}} -> tensor<{out}x{type}>
"""
            current, transposed = f"%y{n}", False
            current_shape = lead + [self.rows, stage.columns]
        return text + f"return {current} : tensor<{shaped(*result)}x{made}>\n}}\n"

    def make_arguments(self, seed: int) -> list:
        """Random f16; products keep their size from stage to stage."""
        generator = np.random.default_rng(seed)
        values = []
        for shape in self.arguments():
            is_factor = len(values) > 0 and len(shape) == 2 + (self.batch > 1)
            scale = 1 / np.sqrt(max(shape[-2:])) if is_factor else 1.0
            values.append((generator.standard_normal(shape) * scale)
                          .astype(np.float16))
        return values

    def reference(self, values: list) -> np.ndarray:
        wide = [value.astype(np.float64) for value in values]
        taken = 1
        current = wide[0]
        if self.transposed:
            current = np.swapaxes(current, -1, -2)
        for stage in self.stages:
            factor = wide[taken]
            taken += 1
            if stage.transposed:
                factor = np.swapaxes(factor, -1, -2)
            current = current @ factor
            if stage.scaled:
                current = current * wide[taken][..., None]
                taken += 1
            if stage.bias:
                current = current + wide[taken]
                taken += 1
            if stage.residual:
                current = current + wide[taken]
                taken += 1
            current = activate(stage.activation, current)
        return current


@dataclasses.dataclass
class Gate:
    """A perceptron with a gate: tanh(x w) * (x u), and that by v."""

    rows: int
    depth: int
    hidden: int
    columns: int

    def name(self) -> str:
        return f"gate {self.rows}x{self.depth}-{self.hidden}-{self.columns}"

    def arguments(self) -> list:
        return [[self.rows, self.depth], [self.depth, self.hidden],
                [self.depth, self.hidden], [self.hidden, self.columns]]

    def program(self) -> str:
        x, w, _, v = (shaped(*shape) for shape in self.arguments())
        h, y = shaped(self.rows, self.hidden), shaped(self.rows, self.columns)

        def product(n: int, left: str, right: str, of: str, by: str, to: str) -> str:
            return (
                f"%c{n} = tensor.empty() : tensor<{to}xf32>\n"
                f"%z{n} = linalg.fill ins(%zero : f32) outs(%c{n} : tensor<{to}xf32>)"
                f" -> tensor<{to}xf32>\n"
                f"%m{n} = linalg.matmul ins({left}, {right} : tensor<{of}xf16>,"
                f" tensor<{by}xf16>) outs(%z{n} : tensor<{to}xf32>)"
                f" -> tensor<{to}xf32>\n")

        def finish(n: int, inputs: list, body: str, to: str) -> str:
            maps = ", ".join([IDENTITY] * (len(inputs) + 1))
            names = ", ".join(f"%v{i}: f32" for i in range(len(inputs)))
            types = ", ".join([f"tensor<{to}xf32>"] * len(inputs))
            return (f"%o{n} = tensor.empty() : tensor<{to}xf16>\n"
                    f"%y{n} = linalg.generic {{indexing_maps = [{maps}],"
                    ' iterator_types = ["parallel", "parallel"]}'
                    f" ins({', '.join(inputs)} : {types})"
                    f" outs(%o{n} : tensor<{to}xf16>) {{\n^bb0({names}, %q: f16):\n"
                    f"{body}linalg.yield %t : f16\n}} -> tensor<{to}xf16>\n")

        narrow = "%t = arith.truncf {} : f32 to f16\n"
        return (f"func.func @main(%x: tensor<{x}xf16>, %w: tensor<{w}xf16>,"
                f" %u: tensor<{w}xf16>, %v: tensor<{v}xf16>) -> tensor<{y}xf16> {{\n"
                "%zero = arith.constant 0.0 : f32\n"
                + product(0, "%x", "%w", x, w, h) + product(1, "%x", "%u", x, w, h)
                + finish(0, ["%m0", "%m1"],
                         "%g = math.tanh %v0 : f32\n"
                         "%p = arith.mulf %g, %v1 : f32\n" + narrow.format("%p"), h)
                + product(2, "%y0", "%v", h, v, y)
                + finish(2, ["%m2"], narrow.format("%v0"), y)
                + f"return %y2 : tensor<{y}xf16>\n}}\n")

    def make_arguments(self, seed: int) -> list:
        generator = np.random.default_rng(seed)
        return [(generator.standard_normal(shape)
                 * (1 if place == 0 else shape[0] ** -0.5)).astype(np.float16)
                for place, shape in enumerate(self.arguments())]

    def reference(self, values: list) -> np.ndarray:
        x, w, u, v = (value.astype(np.float64) for value in values)
        return np.tanh(x @ w) * (x @ u) @ v
