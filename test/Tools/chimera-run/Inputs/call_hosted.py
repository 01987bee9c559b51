"""Calls a library as a host does: through `chimera_call` of the runtime."""

import ctypes
import json
import pathlib
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


def prepare(w):
    assert call("main_prepare", np.empty((0, 32), np.float32), w,
                np.empty((0, 48), np.float32)) == ""


rng = np.random.default_rng(0)
w = rng.standard_normal((48, 32)).astype(np.float32)
prepare(w)
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

# What is prepared may lie elsewhere, and be there already.
values = json.loads(pathlib.Path(sys.argv[3]).read_text())["functions"][0]["prepared_values"]
places = (ctypes.c_void_p * len(values)).in_dll(library, "main_prepared_memory")
states = (ctypes.c_int8 * len(values)).in_dll(library, "main_prepared_state")
assert len(values) == 1 and values[0]["constants"] == [1] and states[0] == 2
own = np.ctypeslib.as_array((ctypes.c_float * (values[0]["bytes"] // 4)).from_address(places[0]))
room = np.zeros(own.size + 16, np.float32)
skipped = -room.ctypes.data // 4 % 16
other = room[skipped:skipped + own.size]
other[:] = own
own[:] = np.nan
places[0], states[0] = other.ctypes.data, 1
x, y = rng.standard_normal((7, 32)).astype(np.float32), np.empty((7, 48), np.float32)
prepare(w + 1)
assert call("main", x, w, y) == "" and np.abs(y - x @ w.T).max() < 1e-4 and states[0] == 1
states[0] = 0
prepare(w + 1)
assert call("main", x, w, y) == "" and np.abs(y - x @ (w + 1).T).max() < 1e-4
assert states[0] == 2 and np.isnan(own).all()
