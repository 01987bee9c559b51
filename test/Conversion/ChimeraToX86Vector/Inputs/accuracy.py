"""Compares functions of vectors with those of the C library in f64.

    accuracy.py FILE.mlir DIRECTORY [--wide] [--avx512]

The function `main` of the file returns exp, exp2, tanh and erf of its argument, or
with `--wide` those of two arguments that are computed in f64.
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
WIDE_FUNCTIONS = {
    "powf": (np.power, 1.2e-7),
    "log10": (np.log10, 1.2e-7),
    "sin": (np.sin, 1.3e-7),
    "cos": (np.cos, 1.3e-7),
    "tan": (np.tan, 3e-7),
    "sinh": (np.sinh, 1.2e-7),
    "cosh": (np.cosh, 1.2e-7),
    "asinh": (np.arcsinh, 1.2e-7),
    "acosh": (np.arccosh, 1.2e-7),
    "atanh": (np.arctanh, 1.2e-7),
}


def exponents(x):
    """Exponents for x: whole numbers, halves, and what makes results of all sizes."""
    special = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 2.5,
                        np.inf, -np.inf, np.nan, 1e-40, 16777215.0, -16777217.0, 1e30])
    random = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        logarithm = np.log2(np.abs(x.astype(np.float64)))
        sized = random.uniform(-160, 140, x.size) / logarithm
    y = np.where(np.isfinite(sized), sized, random.integers(-9, 9, x.size))
    whole = random.random(x.size) < 0.3
    y[whole] = np.round(y[whole])
    pairs = len(SPECIAL) * len(special)
    y[:pairs] = np.repeat(special, len(SPECIAL))
    return y.astype(np.float32)


def arguments(is_wide):
    random = np.random.default_rng(0)
    repeats = 18 if is_wide else 1
    special = np.append(SPECIAL[:-2], [1.0, -1.0])
    parts = [np.tile(special if is_wide else SPECIAL, repeats),
             np.linspace(-160, 160, 40000), np.linspace(-5, 5, 40000),
             np.exp(random.uniform(-60, 3, 20000)),
             -np.exp(random.uniform(-60, 3, 20000))]
    if is_wide:
        parts[1] = np.concatenate(
            [np.linspace(-160, 160, 20000), random.uniform(-1e4, 1e4, 10000),
             np.exp(random.uniform(0, 31, 10000))])
    values = np.concatenate(parts).astype(np.float32)
    return np.resize(values, COUNT)


def run(text, directory, target, functions):
    path = directory / "functions.mlir"
    path.write_text(text)
    outputs = [directory / f"{name}.npy" for name in functions]
    inputs = [directory / "x.npy"]
    if "powf" in functions:
        inputs.append(directory / "y.npy")
    subprocess.run(["chimera-run", path, "--no-check", "--no-time",
                    f"--target={target}", *(f"--input={path}" for path in inputs),
                    *(f"--output={output}" for output in outputs)],
                   check=True, stdout=subprocess.DEVNULL)
    return [np.load(output) for output in outputs]


def check(name, function, limit, x, actual):
    """The greatest relative error, and what else is wrong."""
    with np.errstate(all="ignore"):
        given = [x, exponents(x)] if name == "powf" else [x]
        exact = function(*(values.astype(np.float64) for values in given))
        expected = exact.astype(np.float32)
    wrong = []
    if name in ("sin", "cos", "tan"):
        # Large angles have no sine worth the name.
        keep = ~(np.abs(x) > 2.0**45) | np.isinf(x)
        exact, expected, actual = exact[keep], expected[keep], actual[keep]
        x = x[keep]
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
    if (error_small > limit * np.abs(exact[small]) + 2.0**-149).any():
        wrong.append(f"{name} is wrong where it is less than normal")
    return error.max(), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--avx512", action="store_true")
    args = parser.parse_args()
    args.directory.mkdir(exist_ok=True)
    functions = WIDE_FUNCTIONS if args.wide else FUNCTIONS
    x = arguments(args.wide)
    np.save(args.directory / "x.npy", x)
    np.save(args.directory / "y.npy", exponents(x))
    wrong = []
    targets = {8: "avx2", 16: "host"} if args.avx512 else {8: "avx2"}
    for lanes, target in targets.items():
        text = re.sub(r"lanes = \d+", f"lanes = {lanes}", args.file.read_text())
        results = run(text, args.directory, target, functions)
        for (name, (function, limit)), actual in zip(functions.items(), results):
            error, messages = check(name, function, limit, x, actual)
            wrong += [f"{lanes} lanes: {message}" for message in messages]
            print(f"{lanes} lanes: {name}: {error:.2e}")
    return "\n".join(wrong) or None


sys.exit(main())
