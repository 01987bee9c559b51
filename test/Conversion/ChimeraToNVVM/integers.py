"""Products of bytes, by the interpreter of PTX and, as planned, by ptxas.

    integers.py run TARGET
    integers.py compile TARGET

Sums are of 32 bits; what follows scales them, by column, and rounds them to f16, or
to bytes for a second product. The results are those of exact arithmetic to the last
bit, and tensors move as many bytes as predicted.
"""

import sys
from collections import namedtuple

import kernels
import numpy as np
import ptx
from assembly import assemble, chip_of

# Of m x k by k x l, if `n` by l x n. Right factors in `transposed`, a "w" and a "v",
# are given with what they add up over last, a left one, an "x", first. Factors in
# `unsigned` have no sign. The last result is of type `made`.
Bytes = namedtuple(
    "Bytes",
    "m k l n made transposed unsigned tiles rows",
    defaults=("f16", "wv", "", None, 1),
)

RUN = [
    Bytes(64, 128, 64, 0),
    # Edges in all directions: of instructions, of what is copied at once, odd ones.
    Bytes(37, 72, 50, 0, "f32"),
    Bytes(20, 45, 25, 0, "i32"),
    # Factors the other way round, without signs, and small tiles.
    Bytes(48, 64, 40, 0, transposed=""),
    Bytes(40, 96, 24, 0, "i8", "xw"),
    Bytes(33, 80, 32, 0, unsigned="x"),
    Bytes(32, 64, 32, 0, unsigned="w", tiles="m = 16, k = 32"),
    # A second product of what was rounded to bytes.
    Bytes(64, 64, 96, 32),
    Bytes(64, 64, 96, 32, "f32", tiles="m = 32, l = 32", rows=2),
    Bytes(37, 40, 50, 35, "i32", "v", tiles="m = 16, l = 40"),
]
COMPILED = [
    Bytes(512, 1024, 1024, 0),
    Bytes(128, 768, 3072, 768),
    Bytes(512, 64, 512, 64, tiles="m = 64, l = 64"),
]
SCALE = 2.0**-8


def product(number, left, right, case):
    """A product as linalg. `left` and `right` are (name, rows, columns)."""
    (x, m, k), (w, _, n) = left, right

    def factor(name, rows, columns, dims):
        if name in case.transposed:
            rows, columns, dims = columns, rows, dims[::-1]
        return f"tensor<{rows}x{columns}xi8>", f"({', '.join(dims)})"

    xs, of_x = factor(x, m, k, "mk")
    ws, of_w = factor(w, k, n, "kn")
    sums = f"tensor<{m}x{n}xi32>"
    x_sign, w_sign = ("ui" if name in case.unsigned else "si" for name in (x, w))
    return f"""
  %e{number} = tensor.empty() : {sums}
  %z{number} = linalg.fill ins(%zero : i32) outs(%e{number} : {sums}) -> {sums}
  %p{number} = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> {of_x}>,
      affine_map<(m, n, k) -> {of_w}>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%{x}, %{w} : {xs}, {ws}) outs(%z{number} : {sums}) {{
  ^bb0(%a: i8, %b: i8, %sum: i32):
    %0 = arith.ext{x_sign} %a : i8 to i32
    %1 = arith.ext{w_sign} %b : i8 to i32
    %2 = arith.muli %0, %1 : i32
    %3 = arith.addi %sum, %2 : i32
    linalg.yield %3 : i32
  }} -> {sums}"""


def scaled(number, m, n, scales, made):
    """What is made of sums of m x n."""
    if made == "i32":
        return "", f"%p{number}"
    narrow = {
        "f32": ("", "%1"),
        "f16": ("%2 = arith.truncf %1 : f32 to f16", "%2"),
        "i8": (
            """%2 = math.roundeven %1 : f32
    %3 = arith.maximumf %2, %least : f32
    %4 = arith.minimumf %3, %most : f32
    %5 = arith.fptosi %4 : f32 to i8""",
            "%5",
        ),
    }
    lines, result = narrow[made]
    sums, to = f"tensor<{m}x{n}xi32>", f"tensor<{m}x{n}x{made}>"
    return (
        f"""
  %o{number} = tensor.empty() : {to}
  %y{number} = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>,
      affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%p{number}, %{scales} : {sums}, tensor<{n}xf32>) outs(%o{number} : {to}) {{
  ^bb0(%in: i32, %scale: f32, %out: {made}):
    %0 = arith.sitofp %in : i32 to f32
    %1 = arith.mulf %0, %scale : f32
    {lines}
    linalg.yield {result} : {made}
  }} -> {to}""",
        f"%y{number}",
    )


def write(case):
    def tensor(name, rows, columns):
        if name in case.transposed:
            rows, columns = columns, rows
        return f"%{name}: tensor<{rows}x{columns}xi8>"

    m, k, l, n = case.m, case.k, case.l, case.n
    arguments = [tensor("x", m, k), tensor("w", k, l), f"%s: tensor<{l}xf32>"]
    body = product(0, ("x", m, k), ("w", k, l), case)
    line, result = scaled(0, m, l, "s", "i8" if n else case.made)
    body += line
    if n:
        arguments += [tensor("v", l, n), f"%t: tensor<{n}xf32>"]
        body += product(1, (result[1:], m, l), ("v", l, n), case)
        line, result = scaled(1, m, n, "t", case.made)
        body += line
    made = f"tensor<{m}x{n or l}x{case.made}>"
    return f"""
func.func @multiply({", ".join(arguments)}) -> {made} {{
  %zero = arith.constant 0 : i32
  %least = arith.constant -128.0 : f32
  %most = arith.constant 127.0 : f32{body}
  return {result} : {made}
}}
"""


def data(case):
    """Arguments of the function, and what it makes."""
    random = np.random.default_rng(0)

    def factor(name, *shape):
        kind = np.uint8 if name in case.unsigned else np.int8
        numbers = random.integers(np.iinfo(kind).min, 1 + np.iinfo(kind).max, shape)
        given = numbers.astype(kind)
        if name in case.transposed:
            given = np.ascontiguousarray(given.T)
        return numbers.astype(np.int64), given.view(np.int8)

    def finish(sums, scales, made):
        if made == "i32":
            return sums.astype(np.int32)
        values = sums.astype(np.float32) * scales
        if made == "i8":
            return np.clip(np.rint(values), -128, 127).astype(np.int8)
        return values.astype({"f32": np.float32, "f16": np.float16}[made])

    x, given_x = factor("x", case.m, case.k)
    w, given_w = factor("w", case.k, case.l)
    s = random.uniform(0.5, 1, case.l).astype(np.float32)
    s *= np.float32(SCALE if case.n else 2.0**-14)
    inputs = [given_x, given_w, s]
    result = finish(x @ w, s, "i8" if case.n else case.made)
    if case.n:
        v, given_v = factor("v", case.l, case.n)
        t = random.uniform(0.5, 1, case.n).astype(np.float32) * np.float32(2.0**-14)
        inputs += [given_v, t]
        result = finish(result.astype(np.int64) @ v, t, case.made)
    return inputs, result


def check_bytes(launch, keys, arrays, plan):
    """That factors move what the planner predicts: scales, each thread reads for
    itself."""
    level, problems = plan["levels"][-1], []
    read = [tensor["read_bytes"] for tensor in level["tensors"] if tensor["read_bytes"]]
    # What another kernel has made is the first factor.
    order = sorted(
        range(len(keys) - 1), key=lambda at: (keys[at][0] != "buffer", keys[at])
    )
    for place, predicted in zip(order, read, strict=True):
        key = keys[place]
        moved = launch.copied[place] + launch.loaded[place]
        if arrays[key].dtype == np.int8 and moved != predicted:
            problems.append(f"{moved} bytes of {key} are read, predicted {predicted}")
    stored = sum(launch.stored)
    if stored != level["written_bytes"]:
        problems.append(f"{stored} bytes are stored, not {level['written_bytes']}")
    return problems


def run_case(case, target):
    made = kernels.make_from(write(case), case, target, burst=1)
    inputs, expected = data(case)
    problems, bits = [], set()
    for late, reverse in ptx.ORDERS:
        arrays = {("argument", number): array for number, array in enumerate(inputs)}
        arrays["argument", len(inputs)] = np.zeros_like(expected)
        for text, manifest, plan in made:
            keys = [kernels.key_of(argument) for argument in manifest["arguments"]]
            for key, argument in zip(keys, manifest["arguments"]):
                arrays.setdefault(key, np.zeros(argument["shape"], np.int8))
            launch = ptx.Launch(
                ptx.Kernel(text),
                manifest["grid"][0],
                manifest["block"][0],
                manifest["shared"],
                [arrays[key] for key in keys],
                late=late,
                reverse=reverse,
            )
            problems += check_bytes(launch, keys, arrays, plan)
            if launch.conflicts:
                problems.append(f"{launch.conflicts} conflicts of banks")
        result = arrays["argument", len(inputs)]
        bits.add(result.tobytes())
        if not (result == expected).all():
            problems.append(f"{(result != expected).sum()} results are wrong")
    if len(bits) > 1:
        problems.append("bits depend on the order of warps")
    print(*case, f"kernels {len(made)}", *problems or ["exact"])
    return problems


def compile_case(case, target):
    problems = []
    for text, manifest, plan in kernels.make_from(write(case), case, target):
        chip, report, opcodes = assemble(text, chip_of(text))
        print(*case, chip, "grid", manifest["grid"][0], "IMMA", opcodes["IMMA"])
        if "warning" in report or opcodes["LDL"] or opcodes["STL"]:
            problems.append(report)
        if not opcodes["IMMA"] or opcodes["HMMA"] or not opcodes["LDGSTS"]:
            problems.append(f"these are no products of bytes: {opcodes}")
    return problems


def main():
    action, target = sys.argv[1:]
    cases, check = {"run": (RUN, run_case), "compile": (COMPILED, compile_case)}[action]
    wrong = [problem for case in cases for problem in check(case, target)]
    print(*wrong, sep="\n", file=sys.stderr)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
