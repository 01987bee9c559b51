"""Writes arguments for npy.mlir and checks its results."""

import sys

import numpy as np

action, prefix = sys.argv[1:]
rng = np.random.default_rng(1)
arguments = {
    "f32": rng.standard_normal((3, 5)).astype(np.float32),
    "f64": rng.standard_normal(4),
    "i32": np.array([[1, -2], [3, 1 << 30]], np.int32),
    "i64": np.array([1, -(1 << 40), 5], np.int64),
    "i8": np.array([0, 1, -2, 63, -64, 100], np.int8),
    "i1": np.array([[True, False, True], [False, False, True]]),
    # 1, -2, 0.5 and 3 in bf16.
    "bf16": np.array([0x3F80, 0xC000, 0x3F00, 0x4040], np.uint16),
    "scalar": np.array(2.5, np.float32),
}
if action == "write":
    for name, array in arguments.items():
        np.save(f"{prefix}.{name}.npy", array)
    sys.exit()

expected = [
    arguments["f32"].T * np.float32(2.5),
    arguments["f64"] * 2,
    arguments["i32"] * np.int32(2),
    arguments["i64"] * 2,
    arguments["i8"] + arguments["i8"],
    arguments["i1"],
    # Twice as much: the exponent grows by one.
    arguments["bf16"] + np.uint16(0x80),
]
for i, array in enumerate(expected):
    result = np.load(f"{prefix}.out{i}.npy")
    assert result.dtype == array.dtype, (i, result.dtype)
    assert np.array_equal(result, array), (i, result, array)
