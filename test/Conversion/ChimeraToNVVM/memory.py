"""Runs kernels of groups that wait for memory by the interpreter of PTX.

    memory.py TARGET [REGEX]

Norms, softmax along any dimension, moves and reductions, in f32, f16 and bf16, of
sizes that divide nothing: results agree with f64, and the bytes that threads load of
each argument and store are those that the model predicts. Prints a line per program
and ends with an error if something is wrong.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

import kernels
import numpy as np
import ptx
from memory_programs import CASES

TOLERANCE = {"f32": 2e-6, "f16": 1e-3, "bf16": 8e-3}


def make(program, target, refuses=False):
    """PTX by module, the manifest's kernels and, of each, the bytes of its arguments
    that are to be loaded and stored, and the seconds that it is to take. Nothing is
    made if work is left to the host, which is an error unless `refuses`."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = Path(folder, "manifest.json")
        result = kernels.run(
            ["chimera-opt", f"--chimera-nvidia-pipeline=target={target} format=isa"
             f" manifest={manifest}", "--remarks-filter=chimera",
             "--remark-policy=all"], program)
        written = json.loads(manifest.read_text())
    if refuses and (written["host"] or not written["kernels"]):
        return None
    if written["host"]:
        sys.exit(f"work is left to the host: {written['host']}")
    predicted = []
    for line in result.stderr.splitlines():
        if "one launch of" in line:
            loads, stores = ([int(number) for number in numbers.split(",")]
                             for numbers in re.findall(r"\[(\d[\d, ]*)\]", line))
            seconds = float(re.search(r": ([\d.]+) us;", line)[1]) * 1e-6
            predicted.append((loads, stores, seconds))
    return kernels.read_ptx(result.stdout), written["kernels"], predicted


def launch_all(made, arrays, reverse):
    """Runs the kernels in order; what is wrong with the bytes they move."""
    texts, launches, predicted = made
    problems = []
    for kernel, (loads, stores, _) in zip(launches, predicted, strict=True):
        arguments = []
        for argument in kernel["arguments"]:
            key = ("argument" if "argument" in argument else "buffer")
            key = key, argument[key]
            if key not in arrays:
                kind = {"f32": np.float32, "f16": np.float16,
                        "bf16": np.uint16}[argument["type"]]
                arrays[key] = np.full(argument["shape"], 0, kind)
            arguments.append(arrays[key])
        launch = ptx.Launch(ptx.Kernel(texts[kernel["module"]]), kernel["grid"][0],
                            kernel["block"][0], kernel["shared"], arguments,
                            reverse=reverse)
        if launch.loaded != loads or launch.stored != stores:
            problems.append(f"{launch.loaded} bytes are loaded, {launch.stored} "
                            f"stored; predicted are {loads} and {stores}")
        if launch.conflicts:
            problems.append(f"{launch.conflicts} conflicts of banks")
    return problems


def run_case(name, case, target):
    program, compute, shapes, kind = case
    numbers = kernels.Numbers(kind)
    inputs = [numbers.normal(*shape) for shape in shapes]
    expected = compute(*(numbers.widen(array) for array in inputs))
    if not isinstance(expected, tuple):
        expected = expected,
    made = make(program, target)
    problems, bits = [], set()
    for reverse in (False, True):
        results = [numbers.narrow(np.full(result.shape, np.nan))
                   for result in expected]
        arrays = {("argument", number): array
                  for number, array in enumerate([*inputs, *results])}
        problems += launch_all(made, arrays, reverse)
        bits.add(b"".join(result.tobytes() for result in results))
        error = max(np.abs(numbers.widen(result) - true).max() / np.abs(true).max()
                    for result, true in zip(results, expected))
        if not error < TOLERANCE[kind]:
            problems.append(f"the error is {error:.1e}")
    if len(bits) > 1:
        problems.append("bits depend on the order of warps")
    print(name, kind, f"kernels {len(made[1])} error {error:.1e}",
          *problems or ["as predicted"])
    return problems


def main():
    target, *only = sys.argv[1:]
    wrong = [run_case(name, case, target) for name, case in CASES.items()
             if not only or re.search(only[0], name)]
    sys.exit(any(wrong))


if __name__ == "__main__":
    main()
