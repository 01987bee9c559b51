"""Programs of contractions in i8, as MLIR text and as exact numpy.

A chain is a list of stages; each multiplies bytes by a matrix of its own, adds up in
i32, and scales the sums in f32. What another stage multiplies is rounded to even and
limited to bytes; the last result is made of any type.
"""

import dataclasses

import numpy as np

from programs import shaped

TYPES = {"i32": np.int32, "f32": np.float32, "f16": np.float16, "i8": np.int8}


@dataclasses.dataclass
class ByteStage:
    """One product: `columns` of the result, the right factor given as rows of columns
    or transposed, and what comes after it. Scales are a number or one per column."""
    columns: int
    transposed: bool = False
    scale: str = "columns"
    bias: bool = False
    relu: bool = False
    # Bytes are what is before the point, not the nearest.
    cut: bool = False


@dataclasses.dataclass
class ByteChain:
    batch: int
    rows: int
    depth: int
    stages: list
    made: str = "f16"
    transposed: bool = False
    unsigned: bool = False
    # Results are those of exact arithmetic, rounded as the program says.
    exact = True

    def name(self) -> str:
        text = f"bytes {self.batch}x{self.rows}x{self.depth}"
        for stage in self.stages:
            text += f"-{stage.columns}" + "t" * stage.transposed
            text += "n" * (stage.scale == "number") + "b" * stage.bias
            text += "r" * stage.relu + "c" * stage.cut
        return text + "T" * self.transposed + f" {self.made}"

    def lead(self) -> list:
        return [self.batch] if self.batch > 1 else []

    def result(self, last: bool) -> str:
        return self.made if last else "i8"

    def arguments(self) -> list:
        """Shapes and types of the arguments, in order."""
        first = [self.depth, self.rows] if self.transposed else [self.rows, self.depth]
        shapes, depth = [(self.lead() + first, "i8")], self.depth
        for stage in self.stages:
            shapes.append((self.lead() + ([stage.columns, depth] if stage.transposed
                                          else [depth, stage.columns]), "i8"))
            if self.is_scaled(stage):
                if stage.scale == "columns":
                    shapes.append(([stage.columns], "f32"))
                if stage.bias:
                    shapes.append(([stage.columns], "f32"))
            depth = stage.columns
        return shapes

    def is_scaled(self, stage: ByteStage) -> bool:
        return self.result(stage is self.stages[-1]) != "i32"

    def number(self, stage: ByteStage) -> float:
        """What sums are multiplied by: so that bytes are used and seldom limited."""
        at = next(i for i, own in enumerate(self.stages) if own is stage)
        depth = ([self.depth] + [own.columns for own in self.stages])[at]
        return float(np.float32(0.7 / (73 * np.sqrt(depth))))

    def program(self) -> str:
        parallel = ", ".join(['"parallel"'] * (2 + bool(self.lead())))
        b = "b, " if self.lead() else ""
        identity = f"affine_map<({b}i, j) -> ({b}i, j)>"
        column = f"affine_map<({b}i, j) -> (j)>"
        arguments = self.arguments()
        signature = ", ".join(f"%x{i}: tensor<{shaped(*shape)}x{type}>"
                              for i, (shape, type) in enumerate(arguments))
        made = f"tensor<{shaped(*self.lead(), self.rows, self.stages[-1].columns)}x{self.made}>"
        text = (f"func.func @main({signature}) -> {made} {{\n"
                "%none = arith.constant 0 : i32\n%zero = arith.constant 0.0 : f32\n"
                "%least = arith.constant -128.0 : f32\n"
                "%most = arith.constant 127.0 : f32\n")
        current, taken = "%x0", 1
        of, transposed = shaped(*arguments[0][0]), self.transposed
        extend = "extui" if self.unsigned else "extsi"
        for n, stage in enumerate(self.stages):
            out = shaped(*self.lead(), self.rows, stage.columns)
            by = shaped(*arguments[taken][0])
            left = "k, i" if transposed else "i, k"
            right = "j, k" if stage.transposed else "k, j"
            text += f"""%e{n} = tensor.empty() : tensor<{out}xi32>
%z{n} = linalg.fill ins(%none : i32) outs(%e{n} : tensor<{out}xi32>) -> tensor<{out}xi32>
%p{n} = linalg.generic {{indexing_maps = [affine_map<({b}i, j, k) -> ({b}{left})>,
  affine_map<({b}i, j, k) -> ({b}{right})>, affine_map<({b}i, j, k) -> ({b}i, j)>],
  iterator_types = [{parallel}, "reduction"]}}
  ins({current}, %x{taken} : tensor<{of}xi8>, tensor<{by}xi8>) outs(%z{n} : tensor<{out}xi32>) {{
^bb0(%l: i8, %r: i8, %sum: i32):
%0 = arith.{extend} %l : i8 to i32
%1 = arith.extsi %r : i8 to i32
%2 = arith.muli %0, %1 : i32
%3 = arith.addi %sum, %2 : i32
linalg.yield %3 : i32
}} -> tensor<{out}xi32>
"""
            taken += 1
            current = f"%p{n}"
            if self.is_scaled(stage):
                last = stage is self.stages[-1]
                step, taken = self.finish(n, stage, taken, last, out, identity, column,
                                          parallel)
                text += step
                current = f"%y{n}"
            of, transposed = out, False
        return text + f"return {current} : {made}\n}}\n"

    def finish(self, n, stage, taken, last, out, identity, column, parallel):
        """What becomes of sums, and the first argument after those that it takes."""
        to = self.result(last)
        inputs, types, maps, block = [f"%p{n}"], [f"tensor<{out}xi32>"], [identity], ["%in: i32"]
        body = "%0 = arith.sitofp %in : i32 to f32\n"

        def take(name):
            inputs.append(f"%x{taken + len(inputs) - 1}")
            types.append(f"tensor<{stage.columns}xf32>")
            maps.append(column)
            block.append(f"{name}: f32")

        if stage.scale == "columns":
            take("%scale")
            body += "%1 = arith.mulf %0, %scale : f32\n"
        else:
            body += (f"%number = arith.constant {self.number(stage):.9e} : f32\n"
                     "%1 = arith.mulf %0, %number : f32\n")
        value = "%1"
        if stage.bias:
            take("%bias")
            body += "%2 = arith.addf %1, %bias : f32\n"
            value = "%2"
        if stage.relu:
            body += f"%3 = arith.maximumf {value}, %zero : f32\n"
            value = "%3"
        if to == "f16":
            body += f"%4 = arith.truncf {value} : f32 to f16\n"
            value = "%4"
        elif to == "i8":
            if not stage.cut:
                body += f"%4 = math.roundeven {value} : f32\n"
                value = "%4"
            body += (f"%5 = arith.maximumf {value}, %least : f32\n"
                     "%6 = arith.minimumf %5, %most : f32\n"
                     "%7 = arith.fptosi %6 : f32 to i8\n")
            value = "%7"
        maps.append(identity)
        text = f"""%o{n} = tensor.empty() : tensor<{out}x{to}>
%y{n} = linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{parallel}]}}
  ins({", ".join(inputs)} : {", ".join(types)}) outs(%o{n} : tensor<{out}x{to}>) {{
^bb0({", ".join(block)}, %out: {to}):
{body}linalg.yield {value} : {to}
}} -> tensor<{out}x{to}>
"""
        return text, taken + len(inputs) - 1

    def make_arguments(self, seed: int) -> list:
        """Bytes with all bits, the least one among them; scales that f16 has not."""
        generator = np.random.default_rng(seed)
        values = []
        for shape, type in self.arguments():
            if type == "i8":
                values.append(generator.integers(-128, 128, shape).astype(np.int8))
            else:
                values.append(generator.uniform(0.5, 1, shape).astype(np.float32))
        # Scales are as large as their stage wants.
        taken = 1
        for stage in self.stages:
            taken += 1
            if not self.is_scaled(stage):
                continue
            if stage.scale == "columns":
                values[taken] *= np.float32(self.number(stage))
                taken += 1
            if stage.bias:
                values[taken] -= np.float32(0.7)
                taken += 1
        return values

    def reference(self, values: list) -> np.ndarray:
        taken = 1
        current = values[0].astype(np.int64)
        if self.transposed:
            current = np.swapaxes(current, -1, -2)
        for stage in self.stages:
            factor = values[taken].astype(np.int64)
            taken += 1
            if stage.transposed:
                factor = np.swapaxes(factor, -1, -2)
            current = current @ factor
            to = self.result(stage is self.stages[-1])
            if to == "i32":
                return current.astype(np.int32)
            scale = np.float32(self.number(stage))
            if stage.scale == "columns":
                scale = values[taken]
                taken += 1
            numbers = current.astype(np.float32) * scale
            if stage.bias:
                numbers = numbers + values[taken]
                taken += 1
            if stage.relu:
                numbers = np.maximum(numbers, np.float32(0))
            if to == "i8":
                whole = np.trunc if stage.cut else np.rint
                numbers = whole(np.clip(numbers, -128, 127))
                current = numbers.astype(np.int64)
            current_result = numbers.astype(TYPES[to])
        return current_result
