"""Makes kernels of chains of two products, for the tests of this directory.

    kernels.py compile TARGET   with ptxas: no spills, no warnings, and the
                                instructions that must be there
    kernels.py run TARGET       on the CPU, by ptx.py, against an f64 reference; the
                                bytes moved are those that the model predicts

Both print a line per kernel and end with an error if something is wrong.
"""

import json
import re
import struct
import subprocess
import sys
import tempfile
from collections import Counter, namedtuple
from pathlib import Path

# Rows, inner extents and columns of (m x k) * (k x l), bias, ReLU, * (l x n).
Case = namedtuple("Case", "type m k l n tiles")

COMPILED = [
    Case("f16", 512, 64, 512, 64, "m = 64, l = 64"),
    Case("f16", 512, 64, 512, 64, "m = 64, l = 32"),
    Case("bf16", 512, 64, 512, 64, "m = 64, l = 64"),
    Case("f16", 512, 64, 256, 64, "m = 128, l = 64"),
    Case("f16", 512, 128, 512, 128, "m = 64, l = 32"),
    Case("f16", 512, 512, 256, 64, "m = 64, l = 64, k = 64"),
    Case("f16", 208, 80, 208, 80, "m = 16, l = 48"),
    Case("bf16", 208, 80, 208, 80, "m = 64, l = 48, k = 32"),
    Case("f16", 100, 33, 77, 50, "m = 32, l = 32"),
    Case("f16", 100, 34, 78, 50, "m = 32, l = 24"),
]
RUN = [
    Case("f16", 64, 64, 64, 64, "m = 32, l = 32"),
    Case("bf16", 64, 32, 64, 32, "m = 32, l = 16"),
    Case("f16", 64, 160, 64, 32, "m = 32, l = 32, k = 32"),
    Case("f16", 64, 160, 32, 32, "m = 16"),
    Case("f16", 64, 48, 80, 32, "m = 16, l = 40"),
    Case("f16", 50, 96, 64, 56, "m = 32, n = 24, k = 40"),
    Case("f16", 40, 96, 64, 56, "m = 16, k = 16, l = 32"),
    Case("bf16", 45, 33, 37, 25, "m = 32, l = 16"),
    Case("f16", 45, 34, 38, 26, "m = 16, l = 24"),
]

# By the low 12 bits of an instruction.
OPCODES = {0x23C: "HMMA", 0x83B: "LDSM", 0xFAE: "LDGSTS", 0x983: "LDL",
           0x387: "STL"}

SOURCE = """
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @mlp(%x: tensor<MxKxT>, %w: tensor<KxLxT>, %b: tensor<LxT>,
               %v: tensor<LxNxT>) -> tensor<MxNxT> {
  %zero = arith.constant 0.0 : f32
  %c0 = tensor.empty() : tensor<MxLxf32>
  %c1 = linalg.fill ins(%zero : f32) outs(%c0 : tensor<MxLxf32>) -> tensor<MxLxf32>
  %c = linalg.matmul ins(%x, %w : tensor<MxKxT>, tensor<KxLxT>)
      outs(%c1 : tensor<MxLxf32>) -> tensor<MxLxf32>
  %h0 = tensor.empty() : tensor<MxLxT>
  %h = linalg.generic {indexing_maps = [#id, #column, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%c, %b : tensor<MxLxf32>, tensor<LxT>) outs(%h0 : tensor<MxLxT>) {
  ^bb0(%in: f32, %bias: T, %out: T):
    %0 = arith.extf %bias : T to f32
    %1 = arith.addf %in, %0 : f32
    %2 = arith.maximumf %1, %zero : f32
    %3 = arith.truncf %2 : f32 to T
    linalg.yield %3 : T
  } -> tensor<MxLxT>
  %e0 = tensor.empty() : tensor<MxNxf32>
  %e1 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<MxNxf32>) -> tensor<MxNxf32>
  %e = linalg.matmul ins(%h, %v : tensor<MxLxT>, tensor<LxNxT>)
      outs(%e1 : tensor<MxNxf32>) -> tensor<MxNxf32>
  %r0 = tensor.empty() : tensor<MxNxT>
  %r = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%e : tensor<MxNxf32>) outs(%r0 : tensor<MxNxT>) {
  ^bb0(%in: f32, %out: T):
    %0 = arith.truncf %in : f32 to T
    linalg.yield %0 : T
  } -> tensor<MxNxT>
  return %r : tensor<MxNxT>
}
"""


def run(command, text=None):
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stderr}")
    return result


def read_ptx(module):
    """The text in the gpu.binary of a module."""
    binary = re.search(r'assembly = "((?:[^"\\]|\\.)*)"', module)[1]
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), binary)


def make(case, target, burst=None):
    """The PTX of the case's kernel, its manifest, and what the planner says."""
    names = dict(zip("MKLN", case[1:5]))
    text = re.sub(r"\b[MKLN]x[MKLNx]*(?=T|f32)",
                  lambda match: "".join(str(names.get(c, c)) for c in match[0]),
                  SOURCE)
    text = re.sub(r"\bT\b|(?<=\dx)T\b", case.type, text)
    text = run(["chimera-opt", "--chimera-form-chains=narrow"], text).stdout
    schedule = (f' schedule(<levels = [<"L2">, <"SMEM" : {case.tiles}>],'
                " parallel = 1, registers ="
                " <rows = 1, vectors = 1, broadcasts = 1, depth = 1>>) {")
    text = re.sub(r"(chimera\.chain ins\(.*\)) \{", lambda m: m[1] + schedule, text)
    with tempfile.TemporaryDirectory() as folder:
        if burst:
            attached = run(["chimera-opt", f"--chimera-attach-target=target={target}"],
                           "module {}").stdout
            machine = re.search(r"chimera\.target = (#chimera\.target<.*>)\}",
                                attached)[1]
            target = f"{folder}/machine.mlir"
            Path(target).write_text(re.sub(r"burst = \d+", f"burst = {burst}",
                                           machine))
        manifest = Path(folder, "manifest.json")
        pipeline = (f"--chimera-nvidia-pipeline=target={target} format=isa"
                    f" manifest={manifest}")
        result = run(["chimera-opt", pipeline, "--remarks-filter=chimera"], text)
        kernel, = json.loads(manifest.read_text())["kernels"]
    return read_ptx(result.stdout), kernel, result.stderr


def count_opcodes(cubin):
    """Instructions in the .text sections of an ELF file, 16 bytes each."""
    start, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, start + i * size)
                for i in range(count)]
    strings = sections[names][4]
    opcodes = Counter()
    for name, _, _, _, offset, length in sections:
        if cubin[strings + name : strings + name + 6] == b".text.":
            for at in range(offset, offset + length, 16):
                low, = struct.unpack_from("<H", cubin, at)
                opcodes[OPCODES.get(low & 0xFFF)] += 1
    return opcodes


def compile_case(case, target):
    ptx, kernel, _ = make(case, target)
    chip = re.search(r"^\.target (\w+)", ptx, re.M)[1]
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        source.write_text(ptx)
        report = run(["ptxas", f"-arch={chip}", "-O3", "-v", str(source), "-o",
                      str(cubin)]).stderr
        opcodes = count_opcodes(cubin.read_bytes())
    registers = int(re.search(r"Used (\d+) registers", report)[1])
    print(*case, chip, "registers", registers, "shared", kernel["shared"],
          *(f"{name} {opcodes[name]}" for name in OPCODES.values()))
    problems = []
    if "warning" in report or not re.search(
            r" 0 bytes spill stores, 0 bytes spill loads", report):
        problems.append(report)
    if opcodes["LDL"] or opcodes["STL"]:
        problems.append("local memory is used")
    for name in ("HMMA", "LDSM", "LDGSTS"):
        if not opcodes[name]:
            problems.append(f"no {name}")
    return problems


def run_case(case, target):
    import numpy as np
    import ptx as emulator

    text, manifest, remarks = make(case, target, burst=1)
    predicted = int(re.search(r"SMEM: (\d+) bytes", remarks)[1])
    is_half = case.type == "f16"
    kind = "f16" if is_half else "bf16"
    store = np.float16 if is_half else np.uint16

    def narrow(values):
        values = np.asarray(values, np.float32)
        return values.astype(np.float16) if is_half else emulator.to_bf16(values)

    def widen(values):
        return emulator.read_float(values.view(np.uint16), kind).astype(np.float64)

    random = np.random.default_rng(0)
    x, w, b, v = (narrow(random.standard_normal(shape)) for shape in (
        (case.m, case.k), (case.k, case.l), (case.l,), (case.l, case.n)))
    hidden = widen(narrow(np.maximum(widen(x) @ widen(w) + widen(b), 0)))
    expected = hidden @ widen(v)
    kernel, problems = emulator.Kernel(text), []
    for late in (True, False):
        result = narrow(np.full((case.m, case.n), np.nan)).astype(store)
        launch = emulator.Launch(
            kernel, manifest["grid"][0], manifest["block"][0], manifest["shared"],
            [x, w, b, v, result], late=late, reverse=late)
        error = np.abs(widen(result) - expected).max() / np.abs(expected).max()
        # Tiles of one element per row go through registers. What an elementwise
        # operation reads, each thread reads for itself: the model counts the tile.
        tiles = sum(launch.copied) + sum(launch.loaded[i] for i in (0, 1, 3))
        bias = predicted - tiles - sum(launch.stored)
        print(*case, f"error {error:.1e}", "moved", tiles + sum(launch.stored),
              "predicted", predicted, "bias", bias, "conflicts", launch.conflicts)
        blocks = manifest["grid"][0]
        if not error < (1e-3 if is_half else 8e-3):
            problems.append("wrong result")
        if bias != blocks * b.nbytes:
            problems.append("the bytes moved are not those predicted")
        if launch.conflicts:
            problems.append("banks are in conflict")
    return problems


def main():
    action, target = sys.argv[1:]
    wrong = False
    for case in COMPILED if action == "compile" else RUN:
        for problem in (compile_case if action == "compile" else run_case)(case,
                                                                           target):
            print("WRONG:", problem)
            wrong = True
    sys.exit(wrong)


if __name__ == "__main__":
    main()
