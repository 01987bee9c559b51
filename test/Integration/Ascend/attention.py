"""Attention in f16 as MLIR text and as numpy in f64: the softmax in f32, its
probabilities rounded to f16 for the second product."""

import dataclasses

import numpy as np

from programs import shaped


@dataclasses.dataclass
class Attention:
    """`heads` of `rows` queries each; `groups` of heads share keys and values,
    `columns` of them; `depth` numbers each, values `width`. `scale` of 0 means
    none. A bias is added to the scores, for each head its own. With a `window`,
    a causal mask leaves only so many columns before the diagonal, for which there
    have to be as many columns as rows."""
    heads: int
    rows: int
    columns: int
    depth: int
    width: int = 0
    scale: bool = True
    bias: bool = False
    group: int = 1
    causal: bool = False
    transposed: bool = False
    sharpness: float = 1.0
    window: int = 0
    # A tensor that says where a score counts: of truth values, or of numbers to
    # be added. For every score, the same for all heads, or for each key.
    mask: str = ""
    of: str = "i1"

    def __post_init__(self):
        self.width = self.width or self.depth

    def name(self) -> str:
        return (f"attention-{self.heads}x{self.rows}x{self.columns}x"
                f"{self.depth}x{self.width}" + "s" * self.scale +
                "b" * self.bias + "c" * self.causal + "t" * self.transposed +
                (f"g{self.group}" if self.group > 1 else "") +
                (f"w{self.window}" if self.window else "") +
                (f"-{self.mask}-{self.of}" if self.mask else "") +
                (f"x{self.sharpness:g}" if self.sharpness != 1 else ""))

    def lead(self) -> list:
        if self.group > 1:
            return [self.heads // self.group, self.group]
        return [self.heads]

    def arguments(self) -> list:
        shared = self.lead()[:1]
        keys = ([self.depth, self.columns] if self.transposed else
                [self.columns, self.depth])
        shapes = [self.lead() + [self.rows, self.depth], shared + keys,
                  shared + [self.columns, self.width]]
        if self.bias:
            shapes.append(self.lead() + [self.rows, self.columns])
        if self.mask:
            shapes.append(self.mask_shape())
        return shapes

    def mask_shape(self) -> list:
        if self.mask == "shared":
            return [self.rows, self.columns]
        if self.mask == "keys":
            return self.lead()[:1] + [self.columns]
        return self.lead() + [self.rows, self.columns]

    def mask_map(self) -> str:
        names = ["b", "g"][:len(self.lead())]
        if self.mask == "shared":
            return "m, l"
        return "b, l" if self.mask == "keys" else ", ".join(names + ["m", "l"])

    def types(self) -> list:
        shapes = self.arguments()
        elements = ["f16"] * len(shapes)
        if self.mask:
            elements[-1] = self.of
        return [f"tensor<{shaped(*shape)}x{element}>"
                for shape, element in zip(shapes, elements)]

    def program(self) -> str:
        shapes = self.arguments()
        lead = self.lead()
        names = ["b", "g"][:len(lead)]
        dims = ", ".join(names + ["m", "l", "k"])
        own = ", ".join(names)
        keys = f"(b, k, l)" if self.transposed else "(b, l, k)"
        scores = shaped(*lead, self.rows, self.columns)
        result = shaped(*lead, self.rows, self.width)
        point = ", ".join(names + ["m", "l"])
        identity = f"affine_map<({point}) -> ({point})>"
        parallel = ", ".join(['"parallel"'] * (len(lead) + 2))
        rank = len(lead) + 1
        types = self.types()
        signature = ", ".join(f"%x{i}: {type}" for i, type in enumerate(types))
        inputs, input_types, block, body = ["%s2"], [f"tensor<{scores}xf32>"], [
            "%v: f32"], ""
        value = "%v"
        if self.scale:
            body += f"%scaled = arith.mulf {value}, %scale : f32\n"
            value = "%scaled"
        if self.bias:
            inputs.append("%x3")
            input_types.append(types[3])
            block.append("%b: f16")
            body += (f"%wide = arith.extf %b : f16 to f32\n"
                     f"%biased = arith.addf {value}, %wide : f32\n")
            value = "%biased"
        input_maps = [identity] * len(inputs)
        if self.mask:
            inputs.append(f"%x{len(shapes) - 1}")
            input_types.append(types[-1])
            input_maps.append(f"affine_map<({point}) -> ({self.mask_map()})>")
            block.append(f"%k: {self.of}")
            if self.of == "i1":
                body += f"%kept = arith.select %k, {value}, %lowest : f32\n"
            elif self.of == "f32":
                body += f"%kept = arith.addf {value}, %k : f32\n"
            else:
                body += ("%kw = arith.extf %k : f16 to f32\n"
                         f"%kept = arith.addf {value}, %kw : f32\n")
            value = "%kept"
        if self.causal:
            body += (f"%i = linalg.index {rank - 1} : index\n"
                     f"%j = linalg.index {rank} : index\n"
                     "%seen = arith.cmpi sle, %j, %i : index\n")
            if self.window:
                body += (f"%width = arith.constant {self.window} : index\n"
                         "%first = arith.subi %i, %width : index\n"
                         "%near = arith.cmpi sgt, %j, %first : index\n"
                         "%both = arith.andi %seen, %near : i1\n")
            seen = "%both" if self.window else "%seen"
            body += (f"%masked = arith.select {seen}, {value}, %lowest : f32\n")
            value = "%masked"
        maps = ", ".join(input_maps + [identity])
        score = ""
        name = "%s2"
        if body:
            name = "%s3"
            score = f"""%s3 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{parallel}]}}
  ins({", ".join(inputs)} : {", ".join(input_types)}) outs(%s0 : tensor<{scores}xf32>) {{
^bb0({", ".join(block)}, %q: f32):
{body}linalg.yield {value} : f32
}} -> tensor<{scores}xf32>
"""
        return f"""func.func @main({signature}) -> tensor<{result}xf16> {{
%zero = arith.constant 0.0 : f32
%lowest = arith.constant 0xFF800000 : f32
%scale = arith.constant {self.depth ** -0.5:.9e} : f32
%s0 = tensor.empty() : tensor<{scores}xf32>
%s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<{scores}xf32>) -> tensor<{scores}xf32>
%s2 = linalg.contract indexing_maps = [affine_map<({dims}) -> ({own}, m, k)>, affine_map<({dims}) -> {keys}>, affine_map<({dims}) -> ({own}, m, l)>]
  ins(%x0, %x1 : {types[0]}, {types[1]}) outs(%s1 : tensor<{scores}xf32>) -> tensor<{scores}xf32>
{score}%p0 = linalg.softmax dimension({rank}) ins({name} : tensor<{scores}xf32>) outs(%s0 : tensor<{scores}xf32>) -> tensor<{scores}xf32>
%h0 = tensor.empty() : tensor<{scores}xf16>
%h = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{parallel}]}}
  ins(%p0 : tensor<{scores}xf32>) outs(%h0 : tensor<{scores}xf16>) {{
^bb0(%v: f32, %q: f16):
%n = arith.truncf %v : f32 to f16
linalg.yield %n : f16
}} -> tensor<{scores}xf16>
%o0 = tensor.empty() : tensor<{result}xf32>
%o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<{result}xf32>) -> tensor<{result}xf32>
%o2 = linalg.contract indexing_maps = [affine_map<({dims}) -> ({own}, m, l)>, affine_map<({dims}) -> (b, l, k)>, affine_map<({dims}) -> ({own}, m, k)>]
  ins(%h, %x2 : tensor<{scores}xf16>, {types[2]}) outs(%o1 : tensor<{result}xf32>) -> tensor<{result}xf32>
%r0 = tensor.empty() : tensor<{result}xf16>
%r = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{parallel}]}}
  ins(%o2 : tensor<{result}xf32>) outs(%r0 : tensor<{result}xf16>) {{
^bb0(%v: f32, %q: f16):
%n = arith.truncf %v : f32 to f16
linalg.yield %n : f16
}} -> tensor<{result}xf16>
return %r : tensor<{result}xf16>
}}
"""

    def make_arguments(self, seed: int) -> list:
        """Random f16; the sharper, the larger the scores."""
        generator = np.random.default_rng(seed)
        values = [generator.standard_normal(shape).astype(np.float16)
                  for shape in self.arguments()]
        if self.mask:
            values[-1] = self.make_mask(generator)
        size = self.sharpness * (1 if self.scale else self.depth ** -0.5)
        values[0] = (values[0] * size).astype(np.float16)
        return values

    def make_mask(self, generator) -> np.ndarray:
        """Each query keeps the first key that a window or its place leaves."""
        kept = generator.random(self.mask_shape()) < 0.7
        if self.mask == "keys":
            kept[..., 0] = True
        elif self.causal:
            kept[..., np.arange(self.rows), np.minimum(
                np.arange(self.rows), self.columns - 1)] = True
        else:
            kept[..., generator.integers(self.columns)] = True
        if self.of == "i1":
            return kept
        return np.where(kept, 0, -np.inf).astype(
            np.float16 if self.of == "f16" else np.float32)

    def reference(self, values: list) -> np.ndarray:
        q, k, v, *rest = (value.astype(np.float64) for value in values)
        if not self.transposed:
            k = np.swapaxes(k, -1, -2)
        if self.group > 1:
            k, v = k[:, None], v[:, None]
        scores = q @ k * (self.depth ** -0.5 if self.scale else 1)
        if self.bias:
            scores = scores + rest[0]
        if self.mask:
            kept = values[-1]
            if self.mask == "keys":
                kept = kept.reshape(kept.shape[:1] + (1,) * len(self.lead())
                                    + kept.shape[1:])
            scores = (np.where(kept, scores, -np.inf) if self.of == "i1"
                      else scores + kept.astype(np.float64))
        if self.causal:
            i, j = np.indices(scores.shape[-2:])
            near = j > i - self.window if self.window else True
            scores = np.where((j <= i) & near, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ v
