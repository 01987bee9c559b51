"""Chains as linalg on tensors, for the tests of this directory."""

from collections import namedtuple

# (m x k) * (k x l), bias and activation unless that is "none", * (l x n), of
# `batch` matrices each unless that is 0. Without tiles the planner chooses them.
# Factors `x`, `w` and `v` in `transposed` have their columns first. Of tiles a warp has
# `rows` times 16 rows; of those that loops choose there are `stages` copies, as many as
# the target says unless that is given.
Chain = namedtuple("Chain",
                   "type batch m k l n activation tiles transposed rows stages",
                   defaults=("relu", None, "", 1, 0))

ACTIVATIONS = {
    "relu": "%a = arith.maximumf %s, %zero : f32",
    "tanh": "%a = math.tanh %s : f32",
    "gelu": """%g = arith.mulf %s, %root : f32
    %e = math.erf %g : f32
    %p = arith.addf %e, %one : f32
    %t = arith.mulf %s, %half : f32
    %a = arith.mulf %t, %p : f32""",
}


def widen(name, value, kind):
    """A line that makes `name` of `value`, and what then is its value in f32."""
    if kind == "f32":
        return "", value
    return f"{name} = arith.extf {value} : {kind} to f32", name


def narrow(name, value, kind):
    if kind == "f32":
        return "", value
    return f"{name} = arith.truncf {value} : f32 to {kind}", name


def write_chain(chain):
    def shape(*extents, type=chain.type, of=""):
        batch = (chain.batch,) if chain.batch else ()
        if of and of in chain.transposed:
            extents = reversed(extents)
        return "x".join(str(extent) for extent in (*batch, *extents)) + "x" + type

    def multiply(left, right):
        """How an operation begins that multiplies matrices of these names."""
        if not set(chain.transposed) & {left, right}:
            return "linalg.batch_matmul" if chain.batch else "linalg.matmul"
        batch = "b, " if chain.batch else ""
        maps = ", ".join(
            f"affine_map<({batch}m, n, k) -> ({batch}{result})>" for result in (
                "k, m" if left in chain.transposed else "m, k",
                "n, k" if right in chain.transposed else "k, n", "m, n"))
        return f"linalg.contract indexing_maps = [{maps}]"

    dims = "b, i, j" if chain.batch else "i, j"
    parallel = ", ".join(['"parallel"'] * (3 if chain.batch else 2))
    x = shape(chain.m, chain.k, of="x")
    w = shape(chain.k, chain.l, of="w")
    v, r = shape(chain.l, chain.n, of="v"), shape(chain.m, chain.n)
    c, h = shape(chain.m, chain.l, type="f32"), shape(chain.m, chain.l)
    e, kind = shape(chain.m, chain.n, type="f32"), chain.type
    activation, finished = "", "%in"
    if chain.activation != "none":
        widened, bias = widen("%0", "%bias", kind)
        activation, finished = f"""{widened}
    %s = arith.addf %in, {bias} : f32
    {ACTIVATIONS[chain.activation]}""", "%a"
    made, hidden = narrow("%n", finished, kind)
    stored, result = narrow("%0", "%in", kind)
    return f"""
#id = affine_map<({dims}) -> ({dims})>
#column = affine_map<({dims}) -> (j)>
func.func @mlp(%x: tensor<{x}>, %w: tensor<{w}>, %b: tensor<{chain.l}x{kind}>,
               %v: tensor<{v}>) -> tensor<{r}> {{
  %zero = arith.constant 0.0 : f32
  %root = arith.constant 0.70710678 : f32
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %c0 = tensor.empty() : tensor<{c}>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<{c}>) -> tensor<{c}>
  %c = {multiply("x", "w")} ins(%x, %w : tensor<{x}>, tensor<{w}>)
      outs(%c1 : tensor<{c}>) -> tensor<{c}>
  %h0 = tensor.empty() : tensor<{h}>
  %h = linalg.generic {{indexing_maps = [#id, #column, #id],
                       iterator_types = [{parallel}]}}
      ins(%c, %b : tensor<{c}>, tensor<{chain.l}x{kind}>)
      outs(%h0 : tensor<{h}>) {{
  ^bb0(%in: f32, %bias: {kind}, %out: {kind}):
    {activation}
    {made}
    linalg.yield {hidden} : {kind}
  }} -> tensor<{h}>
  %e0 = tensor.empty() : tensor<{e}>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<{e}>) -> tensor<{e}>
  %e = {multiply("h", "v")} ins(%h, %v : tensor<{h}>, tensor<{v}>)
      outs(%e1 : tensor<{e}>) -> tensor<{e}>
  %r0 = tensor.empty() : tensor<{r}>
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{parallel}]}}
      ins(%e : tensor<{e}>) outs(%r0 : tensor<{r}>) {{
  ^bb0(%in: f32, %out: {kind}):
    {stored}
    linalg.yield {result} : {kind}
  }} -> tensor<{r}>
  return %r : tensor<{r}>
}}
"""


# softmax(q * k^T / sqrt(d) + mask) * v, with f32 in between: `heads` of keys and
# values, each for `group` heads of queries (0: one, and no dimension for it). The
# `mask` is "", "causal", "last" (causal, the last row of queries beside the last
# key), "window" (causal, 12 keys wide), "added" (m x l, from memory) or "none", which
# leaves some rows nothing. Of each tile's keys `sharers` warps have a part.
Attention = namedtuple("Attention",
                       "type heads group m l d mask tiles rows sharers stages",
                       defaults=("", None, 1, 1, 0))

MASKS = {
    "": "",
    "added": "%z = arith.addf %y, MASK : f32",
    "causal": """%i = linalg.index ROW : index
    %j = linalg.index COLUMN : index
    %c = arith.cmpi sle, %j, %i : index
    %z = arith.select %c, %y, %infinity : f32""",
    "last": """%i = linalg.index ROW : index
    %j = linalg.index COLUMN : index
    %more = arith.constant MORE : index
    %last = arith.addi %i, %more : index
    %c = arith.cmpi sle, %j, %last : index
    %z = arith.select %c, %y, %infinity : f32""",
    "window": """%i = linalg.index ROW : index
    %j = linalg.index COLUMN : index
    %width = arith.constant 12 : index
    %first = arith.subi %i, %width : index
    %c0 = arith.cmpi sle, %j, %i : index
    %c1 = arith.cmpi sgt, %j, %first : index
    %c = arith.andi %c0, %c1 : i1
    %z = arith.select %c, %y, %infinity : f32""",
    "none": """%i = linalg.index ROW : index
    %j = linalg.index COLUMN : index
    %c = arith.cmpi slt, %i, %j : index
    %z = arith.select %c, %y, %infinity : f32""",
}


def write_attention(case):
    kind, dims = case.type, "h, g, m, l, k" if case.group else "h, m, l, k"
    own = (case.heads, case.group) if case.group else (case.heads,)
    at = "h, g" if case.group else "h"

    def shape(*extents, type=kind):
        return "x".join(str(extent) for extent in extents) + "x" + type

    q, o = shape(*own, case.m, case.d), shape(*own, case.m, case.d, type="f32")
    k, s = (shape(case.heads, case.l, case.d),
            shape(*own, case.m, case.l, type="f32"))
    mask, p = shape(case.m, case.l), shape(*own, case.m, case.l)
    rank = len(own) + 2
    parallel = ", ".join(['"parallel"'] * rank)
    mask_line, mask_value = widen("%u", "%mask", kind)
    left_line, left = widen("%0", "%x", kind)
    right_line, right = widen("%1", "%w", kind)
    made, stored = narrow("%y", "%x", kind)
    body = MASKS[case.mask].replace("ROW", str(rank - 2)).replace(
        "COLUMN", str(rank - 1)).replace("MORE", str(case.l - case.m)).replace(
            "MASK", mask_value)
    product = f'''iterator_types = [{parallel}, "reduction"]}}'''
    multiply = f"""
  ^bb0(%x: {kind}, %w: {kind}, %sum: f32):
    {left_line}
    {right_line}
    %2 = arith.mulf {left}, {right} : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  }}"""
    return f"""
#id = affine_map<({at}, m, l) -> ({at}, m, l)>
#mask = affine_map<({at}, m, l) -> (m, l)>
func.func @attention(%q: tensor<{q}>, %k: tensor<{k}>, %v: tensor<{k}>,
                     %m: tensor<{mask}>) -> tensor<{q}> {{
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %scale = arith.constant {case.d ** -0.5} : f32
  %s0 = tensor.empty() : tensor<{s}>
  %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<{s}>) -> tensor<{s}>
  %s2 = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({at}, m, k)>,
      affine_map<({dims}) -> (h, l, k)>, affine_map<({dims}) -> ({at}, m, l)>],
      {product} ins(%q, %k : tensor<{q}>, tensor<{k}>)
      outs(%s1 : tensor<{s}>) {{{multiply} -> tensor<{s}>
  %s3 = linalg.generic {{indexing_maps = [#id, #mask, #id],
      iterator_types = [{parallel}]}} ins(%s2, %m : tensor<{s}>, tensor<{mask}>)
      outs(%s0 : tensor<{s}>) {{
  ^bb0(%x: f32, %mask: {kind}, %out: f32):
    %y = arith.mulf %x, %scale : f32
    {mask_line}
    {body}
    linalg.yield {"%z" if body else "%y"} : f32
  }} -> tensor<{s}>
  %p0 = linalg.softmax dimension({rank - 1}) ins(%s3 : tensor<{s}>)
      outs(%s0 : tensor<{s}>) -> tensor<{s}>
  %p1 = tensor.empty() : tensor<{p}>
  %p = linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{parallel}]}}
      ins(%p0 : tensor<{s}>) outs(%p1 : tensor<{p}>) {{
  ^bb0(%x: f32, %out: {kind}):
    {made}
    linalg.yield {stored} : {kind}
  }} -> tensor<{p}>
  %o0 = tensor.empty() : tensor<{o}>
  %o1 = linalg.fill ins(%zero : f32) outs(%o0 : tensor<{o}>) -> tensor<{o}>
  %o = linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({at}, m, k)>,
      affine_map<({dims}) -> (h, k, l)>, affine_map<({dims}) -> ({at}, m, l)>],
      {product} ins(%p, %v : tensor<{p}>, tensor<{k}>)
      outs(%o1 : tensor<{o}>) {{{multiply} -> tensor<{o}>
  %r0 = tensor.empty() : tensor<{q}>
  %r = linalg.generic {{indexing_maps = [#id, #id], iterator_types = [{parallel}]}}
      ins(%o : tensor<{o}>) outs(%r0 : tensor<{q}>) {{
  ^bb0(%x: f32, %out: {kind}):
    {made}
    linalg.yield {stored} : {kind}
  }} -> tensor<{q}>
  return %r : tensor<{q}>
}}
"""


def write(case):
    return write_chain(case) if isinstance(case, Chain) else write_attention(case)
