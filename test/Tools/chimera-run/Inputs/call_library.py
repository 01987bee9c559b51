"""Calls the library made of emit.mlir through its C interface."""

import ctypes
import sys

import numpy as np


class MemRef(ctypes.Structure):
    _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * 2),
                ("strides", ctypes.c_int64 * 2)]

    def __init__(self, array):
        rows, columns = array.shape
        super().__init__(array.ctypes.data, array.ctypes.data, 0,
                         (rows, columns), (columns, 1))


def aligned(shape):
    """An array that starts at a cache line, as programs expect."""
    size = int(np.prod(shape))
    memory = np.zeros(size + 16, np.float32)
    start = -memory.ctypes.data % 64 // 4
    return memory[start:start + size].reshape(shape)


rng = np.random.default_rng(2)
arrays = [aligned(shape) for shape in [(8, 6), (6, 10), (10, 4), (8, 4)]]
for array in arrays[:3]:
    array[:] = rng.standard_normal(array.shape)
library = ctypes.CDLL(sys.argv[1])
library._mlir_ciface_main(*(ctypes.byref(MemRef(a)) for a in arrays))
a, b, d, e = (array.astype(np.float64) for array in arrays)
np.testing.assert_allclose(e, a @ b @ d, rtol=1e-4, atol=1e-5)
