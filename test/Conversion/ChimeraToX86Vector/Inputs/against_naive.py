"""Runs kernels as vectors and by their naive semantics, and compares.

    against_naive.py FILE.mlir DIRECTORY [--avx512]

The file holds modules, separated by `// -----`, each with one function `main`
of tensors and scalars. Each runs with the kernels' implementation for AVX2, if
asked for that for AVX-512, and with none. About half of the rows of the inputs
have NaNs, infinities and zeros of either sign among their numbers.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "i1": np.bool_, "i8": np.int8,
         "i32": np.int32, "i64": np.int64, "index": np.int64}
IMPLEMENTATION = re.compile(r"implementation #[\w.]+(<[^\n]*>>)?")
TARGETS = {8: "avx2", 16: "host"}


def parse(type_name):
    if match := re.fullmatch(r"tensor<((?:\d+x)*)(\w+)>", type_name):
        return tuple(map(int, match[1].split("x")[:-1])), TYPES[match[2]]
    return (), TYPES[type_name]


def signature(text):
    match = re.search(r"@main\((.*?)\)\s*->\s*\(?(.*?)\)?\s*\{\n", text, re.S)
    arguments = re.findall(r"%\w+: ([\w<>]+)", match[1])
    results = re.findall(r"[\w<>]+", match[2])
    return [parse(a) for a in arguments], [parse(r) for r in results]


def make(shape, dtype, random):
    if dtype == np.bool_:
        return random.random(shape) < 0.7
    if np.issubdtype(dtype, np.integer):
        return random.integers(-3, 12, shape).astype(dtype)
    values = np.asarray(random.normal(size=shape).astype(dtype))
    if values.ndim:
        rows = random.random(shape[:-1] + (1,)) < 0.5
        for value, share in ((-np.inf, 0.3), (0.0, 0.1), (-0.0, 0.1),
                             (np.nan, 0.02), (np.inf, 0.02)):
            values[(random.random(shape) < share) & rows] = value
    return values


def run(text, name, directory, inputs, results, target):
    path = directory / f"{name}.mlir"
    path.write_text(text)
    command = ["chimera-run", path, "--no-check", "--no-time", "--threads=1",
               f"--target={target}"]
    for index, value in enumerate(inputs):
        np.save(directory / f"in{index}.npy", value)
        command.append(f"--input={directory}/in{index}.npy")
    outputs = [directory / f"{name}.{i}.npy" for i in range(len(results))]
    command += [f"--output={output}" for output in outputs]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return [np.load(output) for output in outputs]


def differs(actual, expected):
    if not np.issubdtype(actual.dtype, np.floating):
        return not np.array_equal(actual, expected)
    if not np.allclose(actual, expected, rtol=1e-5, atol=1e-6, equal_nan=True):
        return True
    return bool((np.signbit(actual) != np.signbit(expected))[expected == 0].any())


def check(text, index, directory, lanes):
    if "implementation" not in text:
        sys.exit(f"kernel {index} has no implementation")
    arguments, results = signature(text)
    random = np.random.default_rng(index)
    inputs = [make(*a, random) for a in arguments]
    naive = IMPLEMENTATION.sub("", text)
    expected = run(naive, "naive", directory, inputs, results, "host")
    errors = []
    for count in lanes:
        vectors = re.sub(r"lanes = \d+", f"lanes = {count}", text)
        actual = run(vectors, "vectors", directory, inputs, results,
                     TARGETS[count])
        errors += [f"kernel {index}, {count} lanes, result {number}: got\n{a}\n"
                   f"expected\n{e}"
                   for number, (a, e) in enumerate(zip(actual, expected))
                   if differs(a, e)]
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--avx512", action="store_true")
    args = parser.parse_args()
    args.directory.mkdir(exist_ok=True)
    lanes = [8, 16] if args.avx512 else [8]
    modules = args.file.read_text().split("// -----\n")
    errors = [error for index, module in enumerate(modules)
              for error in check(module, index, args.directory, lanes)]
    print(f"{len(modules)} kernels compared")
    return "\n".join(errors) or None


sys.exit(main())
