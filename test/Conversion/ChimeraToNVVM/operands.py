"""Runs the kernel of operands.mlir: operands.py KERNELS MANIFEST."""

import json
import sys

import kernels
import numpy as np
import ptx

text, = kernels.read_ptx(open(sys.argv[1]).read()).values()
kernel, = json.load(open(sys.argv[2]))["kernels"]
random = np.random.default_rng(0)
x, w, v, residual = (random.standard_normal(shape).astype(np.float16) / 3
                     for shape in ((2, 48, 32), (2, 64, 32), (2, 64, 24), (2, 48, 24)))
result = np.full((2, 48, 24), np.nan, np.float32)
launch = ptx.Launch(ptx.Kernel(text), kernel["grid"][0], kernel["block"][0],
                    kernel["shared"], [x, w, v, residual, result])
x, w, v, residual = (array.astype(np.float64) for array in (x, w, v, residual))
hidden = np.einsum("bmk,blk->bml", x, w) ** 2
expected = np.einsum("bml,bln->bmn", hidden.astype(np.float16), v) + residual
print(f"error {np.abs(result - expected).max() / np.abs(expected).max():.1e}",
      "conflicts", launch.conflicts)
