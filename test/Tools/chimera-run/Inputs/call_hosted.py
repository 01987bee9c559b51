"""Calls a library as a host does: through `chimera_call` of the runtime."""

import ctypes
import sys

import numpy as np

runtime = ctypes.CDLL(sys.argv[1])
library = ctypes.CDLL(sys.argv[2])


def descriptor(array):
    """A memref of `array`."""
    words = [array.ctypes.data] * 2 + [0, *array.shape]
    words += [stride // array.itemsize for stride in array.strides]
    return (ctypes.c_int64 * len(words))(*words)


def call(name, *arrays):
    """Calls a function; returns what went wrong, or nothing."""
    memrefs = [descriptor(array) for array in arrays]
    slots = [ctypes.c_void_p(ctypes.addressof(memref)) for memref in memrefs]
    packed = (ctypes.c_void_p * len(slots))(*map(ctypes.addressof, slots))
    message = ctypes.create_string_buffer(64)
    entry = ctypes.cast(getattr(library, "_mlir_packed_" + name), ctypes.c_void_p)
    failed = runtime.chimera_call(entry, packed, 2, message, len(message))
    return message.value.decode() if failed else ""


rng = np.random.default_rng(0)
w = rng.standard_normal((48, 32)).astype(np.float32)
assert call("main_prepare", np.empty((0, 32), np.float32), w,
            np.empty((0, 48), np.float32)) == ""
for rows in (0, 1, 33, 100, 101, 7):
    x = rng.standard_normal((rows, 32)).astype(np.float32)
    sizes = np.zeros(1, np.int64)
    assert call("main_sizes", x, w, sizes) == "" and sizes[0] == rows
    y = np.zeros((rows, 48), np.float32)
    failure = call("main", x, w, y)
    if rows > 100:
        assert failure == "more than 100 rows", failure
    else:
        assert failure == "" and np.abs(y - x @ w.T).max(initial=0) < 1e-4
