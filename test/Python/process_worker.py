"""One of two processes of a perceptron, which compiles it or loads it from a file.

usage: process_worker.py PROCESS FOLDER

No library moves anything: sums over processes stay those of this one.
"""

import ctypes
import pathlib
import sys

import chimera
import numpy as np
from chimera import _paths

PROGRAM = """
shard.grid @grid(shape = 2)
func.func @main(%x: tensor<4x16xf32>, %v: tensor<16x32xf32>, %w: tensor<32x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %whole = shard.sharding @grid split_axes = [[]] : !shard.sharding
  %rows = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @grid split_axes = [[], [0]] : !shard.sharding
  %v0 = shard.shard %v to %columns : tensor<16x32xf32>
  %w0 = shard.shard %w to %rows : tensor<32x8xf32>
  %e = tensor.empty() : tensor<4x32xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x32xf32>) -> tensor<4x32xf32>
  %h = linalg.matmul ins(%x, %v0 : tensor<4x16xf32>, tensor<16x32xf32>) outs(%f : tensor<4x32xf32>) -> tensor<4x32xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%h, %w0 : tensor<4x32xf32>, tensor<32x8xf32>) outs(%f1 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y0 = shard.shard %y to %whole : tensor<4x8xf32>
  return %y0 : tensor<4x8xf32>
}
"""

JOIN = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_void_p,
    ctypes.c_size_t,
)
RUN = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
)


class Transport(ctypes.Structure):
    """`chimera_transport`; what it does not have is null."""

    _fields_ = [
        ("context", ctypes.c_void_p),
        ("join", JOIN),
        ("run", RUN),
        ("rest", ctypes.c_void_p * 8),
    ]


def make_arrays():
    rng = np.random.default_rng(0)
    return [
        rng.integers(-2, 3, shape).astype(np.float32)
        for shape in ((4, 16), (16, 32), (32, 8))
    ]


def main(process, folder):
    folder_of_libraries = pathlib.Path(_paths.runtime_library()).resolve().parent
    collectives = ctypes.CDLL(
        str(folder_of_libraries / "libchimera_collectives.so"), ctypes.RTLD_GLOBAL
    )

    def join(_context, number, count, _message, _size):
        number[0], count[0] = process, 2
        return 0

    transport = Transport(join=JOIN(join), run=RUN(lambda *_: 0))
    collectives.chimera_set_transport(ctypes.byref(transport))
    x, v, w = make_arrays()
    file = folder / "perceptron.chimera"
    if process == 0:
        program = chimera.compile(
            PROGRAM, constants={1: v, 2: w}, processes=2, process=0
        )
        program.save(file)
    else:
        program = chimera.load(file, process=process)
    np.save(folder / f"{process}.npy", program(x))


if __name__ == "__main__":
    main(int(sys.argv[1]), pathlib.Path(sys.argv[2]))
