"""Compares functions of vectors with those of the C library in f64.

    accuracy.py FILE.mlir DIRECTORY [--avx512]

The function `main` of the file returns exp, exp2, tanh and erf of its argument.
"""

import argparse
import math
import pathlib
import re
import subprocess
import sys

import numpy as np

COUNT = 120011
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 3e38, -3e38,
                    1e-40, -1e-40, 88.72, 88.73, 88.8, -104.0, -105.0, 128.0,
                    127.99, -150.1, -151.0, 20.0, -20.0], np.float32)
SMALLEST = float(np.finfo(np.float32).tiny)
FUNCTIONS = {
    "exp": (np.exp, 1.8e-7),
    "exp2": (np.exp2, 1.8e-7),
    "tanh": (np.tanh, 3.1e-7),
    "erf": (np.vectorize(math.erf), 3.5e-7),
}


def arguments():
    random = np.random.default_rng(0)
    parts = [SPECIAL, np.linspace(-160, 160, 40000), np.linspace(-5, 5, 40000),
             np.exp(random.uniform(-60, 3, 20000)),
             -np.exp(random.uniform(-60, 3, 20000))]
    values = np.concatenate(parts).astype(np.float32)
    return np.resize(values, COUNT)


def run(text, directory, target):
    path = directory / "functions.mlir"
    path.write_text(text)
    outputs = [directory / f"{name}.npy" for name in FUNCTIONS]
    subprocess.run(["chimera-run", path, "--no-check", "--no-time",
                    f"--target={target}", f"--input={directory}/x.npy",
                    *(f"--output={output}" for output in outputs)],
                   check=True, stdout=subprocess.DEVNULL)
    return [np.load(output) for output in outputs]


def check(name, x, actual):
    """The greatest relative error, and what else is wrong."""
    function, limit = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
        expected = exact.astype(np.float32)
    wrong = []
    # Zero, infinity and NaN have to be where they belong. Results that are not
    # normal have few digits.
    special = ~np.isfinite(expected) | (np.abs(exact) < 0.5 * 2.0**-149)
    if not np.array_equal(actual[special], expected[special], equal_nan=True):
        at = np.flatnonzero(special & ~((actual == expected) |
                                        np.isnan(actual) & np.isnan(expected)))
        wrong.append(f"{name}({x[at[0]]}) is {actual[at[0]]}, not {expected[at[0]]}")
    normal = ~special & (np.abs(exact) >= SMALLEST)
    error = np.abs(actual[normal].astype(np.float64) / exact[normal] - 1)
    if not error.max() <= limit:
        at = np.argmax(error)
        wrong.append(f"{name}({x[normal][at]}) is wrong by {error[at]}")
    small = ~special & ~normal
    error_small = np.abs(actual[small] - exact[small])
    if (error_small > limit * exact[small] + 2.0**-149).any():
        wrong.append(f"{name} is wrong where it is less than normal")
    return error.max(), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--avx512", action="store_true")
    args = parser.parse_args()
    args.directory.mkdir(exist_ok=True)
    x = arguments()
    np.save(args.directory / "x.npy", x)
    wrong = []
    targets = {8: "avx2", 16: "host"} if args.avx512 else {8: "avx2"}
    for lanes, target in targets.items():
        text = re.sub(r"lanes = \d+", f"lanes = {lanes}", args.file.read_text())
        results = run(text, args.directory, target)
        for name, actual in zip(FUNCTIONS, results):
            error, messages = check(name, x, actual)
            wrong += [f"{lanes} lanes: {message}" for message in messages]
            print(f"{lanes} lanes: {name}: {error:.2e}")
    return "\n".join(wrong) or None


sys.exit(main())
