"""Runs the kernels of functions.mlir: functions.py KERNELS MANIFEST."""

import json
import math
import sys

import kernels
import numpy as np
import ptx

SHAPE = (16, 16)
TOLERANCE = 1e-6
random = np.random.default_rng(0)


def spread(least, most):
    """Numbers of both signs and of all sizes between two powers of ten."""
    return (random.choice([-1, 1], SHAPE) *
            10.0 ** random.uniform(least, most, SHAPE)).astype(np.float32)


none = np.zeros(SHAPE, np.float32)
large = np.full(SHAPE, 1e6, np.float32)
# Multiples of 1/16, which sums with a million are exact for.
steps = (random.integers(-160, 1, SHAPE) / 16).astype(np.float32)
CASES = {
    "difference": (large + steps, large, lambda a, b: np.exp(a - b)),
    "quotient": (spread(30, 38), spread(36, 38.4), np.divide),
    "tanh": (spread(-6, 1), none, lambda a, b: np.tanh(a)),
    "erf": (spread(-6, 1), none, lambda a, b: np.vectorize(math.erf)(a)),
}

texts = list(kernels.read_ptx(open(sys.argv[1]).read()).values())
for kernel in json.load(open(sys.argv[2]))["kernels"]:
    name = kernel["function"]
    text, = (text for text in texts if f".entry {name}(" in text)
    a, b, function = CASES[name]
    factor, result = np.zeros(SHAPE, np.float16), np.full(SHAPE, np.nan, np.float32)
    arrays = {0: factor, 1: factor, 2: a, 3: b, 4: result}
    ptx.Launch(ptx.Kernel(text), kernel["grid"][0], kernel["block"][0],
               kernel["shared"],
               [arrays[argument["argument"]] for argument in kernel["arguments"]])
    expected = function(a.astype(np.float64), b.astype(np.float64))
    error = np.abs(result / expected - 1).max()
    print(name, "passed" if error < TOLERANCE else f"error {error:.1e}")
