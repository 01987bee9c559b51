"""Runs the kernels of tf32-operands.mlir: tf32_operands.py KERNELS MANIFEST."""

import json
import sys

import kernels
import numpy as np
import ptx

random = np.random.default_rng(0)


def make(*shape, type=np.float32):
    return random.standard_normal(shape).astype(type)


INPUTS = {
    "twice": [make(48, 40), make(40, 40), make(48, 40)],
    "mixed": [make(64, 48, type=np.float16), make(48, 64, type=np.float16),
              make(64, 40)],
}
EXPECTED = {"twice": lambda x, w, residual: x @ w @ w + residual,
            "mixed": lambda x, w, v: x @ w @ v}

texts = kernels.read_ptx(open(sys.argv[1]).read())
for kernel in json.load(open(sys.argv[2]))["kernels"]:
    name = kernel["function"]
    inputs = INPUTS[name]
    expected = EXPECTED[name](*(array.astype(np.float64) for array in inputs))
    result = np.full(expected.shape, np.nan, np.float32)
    launch = ptx.Launch(
        ptx.Kernel(texts[kernel["module"]]), kernel["grid"][0], kernel["block"][0],
        kernel["shared"],
        [*(inputs[argument["argument"]] for argument in kernel["arguments"][:-1]),
         result])
    error = np.abs(result - expected).max() / np.abs(expected).max()
    print(name, f"error {error:.0e} conflicts {launch.conflicts} cut {launch.cut}")
