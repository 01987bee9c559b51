"""Writes linalg programs as text, an operation at a time."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    shape: tuple[int, ...]
    element: str = "f32"

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.element)


def tensor_type(shape, element="f32") -> str:
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + f"{element}>"


def affine_map(dims, results) -> str:
    return f"affine_map<({', '.join(dims)}) -> ({', '.join(results)})>"


class Program:
    """One function, @main, on tensors of `element`. What is narrower than f32 is
    computed in f32 and rounded by each operation, as exported programs do."""

    def __init__(self, element="f32"):
        self.element = element
        self.arguments: list[Value] = []
        self.constants: set[Value] = set()
        self.lines: list[str] = []

    def argument(self, *shape, element=None) -> Value:
        value = Value(f"%arg{len(self.arguments)}", tuple(shape),
                      element or self.element)
        self.arguments.append(value)
        return value

    def weights(self, *shape) -> Value:
        """An argument that is the same in every call."""
        value = self.argument(*shape)
        self.constants.add(value)
        return value

    def add(self, shape, text: str, element="f32") -> Value:
        value = Value(f"%v{len(self.lines)}", tuple(shape), element)
        self.lines.append(f"    {value.name} = {text}")
        return value

    def constant(self, number: float) -> str:
        text = "0xFF800000" if number == -math.inf else f"{number:.9e}"
        return self.add((), f"arith.constant {text} : f32").name

    def empty(self, shape, element="f32") -> Value:
        return self.add(shape, f"tensor.empty() : {tensor_type(shape, element)}",
                        element)

    def zero(self, element) -> str:
        number = "0" if element.startswith("i") else "0.0"
        return self.add((), f"arith.constant {number} : {element}").name

    def zeros(self, shape, element="f32") -> Value:
        zero, empty = self.zero(element), self.empty(shape, element)
        return self.add(shape, f"linalg.fill ins({zero} : {element}) "
                        f"outs({empty.name} : {empty.type}) -> {empty.type}", element)

    def result_of(self, name: str, inputs, output: Value, region="") -> Value:
        names = ", ".join(value.name for value in inputs)
        types = ", ".join(value.type for value in inputs)
        return self.add(output.shape, f"{name} ins({names} : {types}) "
                        f"outs({output.name} : {output.type}){region} -> {output.type}",
                        output.element)

    def converted(self, x: Value, element: str) -> Value:
        """`x` with elements of that type."""
        if x.element == element:
            return x
        return self.elementwise([(x, range(len(x.shape)))], x.shape, [], "%i0", element)

    def summed(self, name: str, inputs, shape, element=None) -> Value:
        """A contraction, whose sums are f32 until they are finished."""
        return self.converted(self.result_of(name, inputs, self.zeros(shape)),
                              element or self.element)

    def matmul(self, a: Value, b: Value) -> Value:
        return self.summed("linalg.matmul", [a, b], (a.shape[0], b.shape[1]))

    def batch_matmul(self, a: Value, b: Value, transposed=False,
                     element=None) -> Value:
        """With `transposed`, `b` is [batch][n][k]. `element` is that of the result."""
        rows, columns = a.shape[1], b.shape[1 if transposed else 2]
        name = "linalg.batch_matmul"
        if transposed:
            maps = [affine_map("bmnk", operand) for operand in ("bmk", "bnk", "bmn")]
            name += f" indexing_maps = [{', '.join(maps)}]"
        return self.summed(name, [a, b], (a.shape[0], rows, columns), element)

    def elementwise(self, inputs, shape, body: list[str], result="%r",
                    element=None) -> Value:
        """`inputs` are values with the dimensions they index; `body` computes
        `result` from %i0, %i1, ... in f32."""
        element = element or self.element
        widenings, names = [], []
        for i, (value, _) in enumerate(inputs):
            is_narrow = value.element != "f32"
            names.append(f"%{'n' if is_narrow else 'i'}{i}")
            if is_narrow:
                widenings.append(f"%i{i} = arith.extf %n{i} : {value.element} to f32")
        body = widenings + body
        if element != "f32":
            body = body + [f"%narrow = arith.truncf {result} : f32 to {element}"]
            result = "%narrow"
        return self.mapped(inputs, shape, body, result, element, names)

    def mapped(self, inputs, shape, body: list[str], result: str, element: str,
               block_names=None) -> Value:
        """The same in whatever types `body` computes, of arguments so called."""
        dims = [f"d{i}" for i in range(len(shape))]
        maps = [affine_map(dims, [dims[i] for i in which]) for _, which in inputs]
        maps.append(affine_map(dims, dims))
        block = [f"{name}: {value.element}" for name, (value, _) in
                 zip(block_names or (f"%i{i}" for i in range(len(inputs))), inputs)]
        return self.generic([value for value, _ in inputs], self.empty(shape, element),
                            maps, 0, block, body, result)

    def byte_product(self, a: Value, b: Value, shape, maps: list[str],
                     reductions: int, is_signed: bool) -> Value:
        """A contraction of bytes with sums in i32; those of `b` have signs. Its
        `reductions` are the last dimensions of `maps`."""
        extension = "extsi" if is_signed else "extui"
        return self.generic([a, b], self.zeros(shape, "i32"), maps, reductions,
                            ["%a: i8", "%b: i8"], [
            f"%x = arith.{extension} %a : i8 to i32",
            "%y = arith.extsi %b : i8 to i32",
            "%p = arith.muli %x, %y : i32", "%r = arith.addi %out, %p : i32"], "%r")

    def generic(self, inputs, output: Value, maps: list[str], reductions: int,
                block: list[str], body: list[str], result: str) -> Value:
        """`block` declares what the elements of `inputs` are called, %out is that of
        `output`."""
        loops = maps[0].split(" -> ")[0].count(",") + 1
        kinds = ", ".join(['"parallel"'] * (loops - reductions)
                          + ['"reduction"'] * reductions)
        lines = "".join(f"      {line}\n" for line in body)
        element = output.element
        return self.result_of(
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], "
            f"iterator_types = [{kinds}]}}", inputs, output,
            f" {{\n    ^bb0({', '.join([*block, f'%out: {element}'])}):\n{lines}"
            f"      linalg.yield {result} : {element}\n    }}")

    def scale(self, x: Value, factor: float) -> Value:
        number = self.constant(factor)
        every = range(len(x.shape))
        return self.elementwise([(x, every)], x.shape,
                                [f"%r = arith.mulf %i0, {number} : f32"],
                                element=x.element)

    def padded(self, x: Value, window) -> Value:
        """Images with channels first, with as much padding as windows need."""
        if all(size == 1 for size in window):
            return x
        element = x.element
        zero = self.zero(element)
        shape = (*x.shape[:2], *(extent + 2 * (size // 2)
                                 for extent, size in zip(x.shape[2:], window)))
        amounts = f"[0, 0, {', '.join(str(size // 2) for size in window)}]"
        block = ", ".join(f"%p{i}: index" for i in range(len(shape)))
        return self.add(shape, f"tensor.pad {x.name} low{amounts} high{amounts} {{\n"
                        f"    ^bb0({block}):\n      tensor.yield {zero} : {element}\n"
                        f"    }} : {x.type} to {tensor_type(shape, element)}", element)

    def windowed(self, name: str, x: Value, filters: Value, channels: int, window,
                 stride: int) -> Value:
        x = self.padded(x, window)
        shape = (x.shape[0], channels, *((extent - size) // stride + 1
                                         for extent, size in zip(x.shape[2:], window)))
        return self.summed(f"{name} {{strides = dense<{stride}> : tensor<2xi64>}}",
                           [x, filters], shape)

    def convolution(self, x: Value, filters: Value, stride: int) -> Value:
        """Of images with channels first, with as much padding as windows need."""
        count, _, *window = filters.shape
        return self.windowed("linalg.conv_2d_nchw_fchw", x, filters, count, window,
                             stride)

    def depthwise(self, x: Value, filters: Value, stride: int) -> Value:
        """The same, each channel by itself."""
        channels, *window = filters.shape
        return self.windowed("linalg.depthwise_conv_2d_nchw_chw", x, filters, channels,
                             window, stride)

    def relu(self, x: Value) -> Value:
        zero = self.constant(0)
        return self.elementwise([(x, range(len(x.shape)))], x.shape,
                                [f"%r = arith.maximumf %i0, {zero} : f32"])

    def relu6(self, x: Value) -> Value:
        zero, six = self.constant(0), self.constant(6)
        return self.elementwise([(x, range(len(x.shape)))], x.shape,
                                [f"%l = arith.maximumf %i0, {zero} : f32",
                                 f"%r = arith.minimumf %l, {six} : f32"])

    def bias(self, x: Value, vector: Value) -> Value:
        every = range(len(x.shape))
        return self.elementwise([(x, every), (vector, [len(x.shape) - 1])], x.shape,
                                ["%r = arith.addf %i0, %i1 : f32"])

    def gelu_tanh(self, x: Value) -> Value:
        numbers = [self.constant(c) for c in
                   (0.044715, math.sqrt(2 / math.pi), 1.0, 0.5)]
        cubic, factor, one, half = numbers
        return self.elementwise([(x, range(len(x.shape)))], x.shape, [
            "%x2 = arith.mulf %i0, %i0 : f32",
            "%x3 = arith.mulf %x2, %i0 : f32",
            f"%c = arith.mulf %x3, {cubic} : f32",
            "%s = arith.addf %i0, %c : f32",
            f"%z = arith.mulf %s, {factor} : f32",
            "%t = math.tanh %z : f32",
            f"%u = arith.addf %t, {one} : f32",
            f"%h = arith.mulf %u, {half} : f32",
            "%r = arith.mulf %i0, %h : f32"])

    def gate(self, x: Value, y: Value) -> Value:
        """SiLU of `x`, times `y`."""
        one = self.constant(1.0)
        every = range(len(x.shape))
        return self.elementwise([(x, every), (y, every)], x.shape, [
            "%n = arith.negf %i0 : f32", "%e = math.exp %n : f32",
            f"%d = arith.addf %e, {one} : f32",
            "%s = arith.divf %i0, %d : f32", "%r = arith.mulf %s, %i1 : f32"])

    def plus(self, x: Value, y: Value) -> Value:
        every = range(len(x.shape))
        return self.elementwise([(x, every), (y, every)], x.shape,
                                ["%r = arith.addf %i0, %i1 : f32"])

    def rms_norm(self, x: Value, weight: Value, eps: float) -> Value:
        """Of each row of a matrix."""
        x = self.converted(x, "f32")
        rows, columns = x.shape
        zero = self.zeros((rows,))
        maps = [affine_map(["d0", "d1"], ["d0", "d1"]), affine_map(["d0", "d1"], ["d0"])]
        squares = self.generic([x], zero, maps, 1, ["%i0: f32"], [
            "%q = arith.mulf %i0, %i0 : f32", "%r = arith.addf %out, %q : f32"], "%r")
        share, least = self.constant(1 / columns), self.constant(eps)
        return self.elementwise([(x, [0, 1]), (squares, [0]), (weight, [1])], x.shape, [
            f"%m = arith.mulf %i1, {share} : f32",
            f"%p = arith.addf %m, {least} : f32",
            "%f = math.rsqrt %p : f32", "%y = arith.mulf %i0, %f : f32",
            "%r = arith.mulf %y, %i2 : f32"])

    def causal(self, scores: Value) -> Value:
        """Keys after the query count for nothing: [heads][query][key]."""
        lowest = self.constant(-math.inf)
        return self.elementwise([(scores, range(3))], scores.shape, [
            "%q = linalg.index 1 : index", "%k = linalg.index 2 : index",
            "%later = arith.cmpi ugt, %k, %q : index",
            f"%r = arith.select %later, {lowest}, %i0 : f32"], element=scores.element)

    def softmax(self, x: Value) -> Value:
        x = self.converted(x, "f32")
        result = self.result_of(f"linalg.softmax dimension({len(x.shape) - 1})", [x],
                                self.empty(x.shape))
        return self.converted(result, self.element)

    def repeat(self, x: Value, copies: int) -> Value:
        """Every head of [heads][s][d] `copies` times, one after the other."""
        heads, rows, columns = x.shape
        output = self.empty((heads, copies, rows, columns), x.element)
        wide = self.add(output.shape,
                        f"linalg.broadcast ins({x.name} : {x.type}) "
                        f"outs({output.name} : {output.type}) dimensions = [1]", x.element)
        shape = (heads * copies, rows, columns)
        return self.add(shape, f"tensor.collapse_shape {wide.name} "
                        f"[[0, 1], [2], [3]] : {wide.type} "
                        f"into {tensor_type(shape, x.element)}", x.element)

    def finish(self, *results: Value) -> str:
        arguments = ", ".join(
            f"{a.name}: {a.type}" + " {chimera.constant}" * (a in self.constants)
            for a in self.arguments)
        names = ", ".join(result.name for result in results)
        types = ", ".join(result.type for result in results)
        return "\n".join([
            "module {", f"  func.func @main({arguments}) -> ({types}) {{",
            *self.lines, f"    return {names} : {types}", "  }", "}", ""])
