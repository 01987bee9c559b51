"""Programs of two processes whose exchanges torch.distributed moves, by Gloo.

usage: processes.py COLLECTIVES.so PROGRAM.mlir FOLDER [PROCESS PROCESSES]

COLLECTIVES.so tries every collective. PROGRAM.mlir is a perceptron that was cut, whose
arguments, small integers, are FOLDER/0.npy and so on. At last process 1 is killed, and
the other has to notice.
"""

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy


def run_program(path, folder, process):
    import chimera

    arguments = [numpy.load(folder / f"{i}.npy") for i in range(4)]
    x, v, b, w = (argument.astype(numpy.float64) for argument in arguments)
    program = chimera.compile(
        path.read_text(),
        threads=1,
        cache=False,
        constants={1: arguments[1], 3: arguments[3]},
    )
    y = program(arguments[0], numpy.split(arguments[2], 2)[process])
    assert numpy.array_equal(y, numpy.maximum(x @ v + b, 0) @ w)
    assert y.any()
    print("the result is exact:", hashlib.sha256(y.tobytes()).hexdigest(), flush=True)


def work(collectives, program, folder, process, processes):
    import torch.distributed as dist

    import chimera.distributed

    try:
        chimera.distributed.use()
        raise AssertionError("there are no processes yet")
    except chimera.ChimeraError as error:
        assert "init_process_group" in str(error)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=process, world_size=processes
    )
    chimera.distributed.use()
    library = ctypes.CDLL(collectives)
    assert library.check(0, None) == 0
    ctypes.CDLL(None).fflush(None)
    if processes == 2:
        run_program(Path(program), folder, process)
    library = ctypes.CDLL(None)
    library.chimera_check_grid(1, ctypes.byref(ctypes.c_int64(processes)))
    if process == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    x = ctypes.byref(ctypes.c_float(1))
    start = time.monotonic()
    while time.monotonic() < start + 60:
        library.chimera_all_reduce(x, x, ctypes.c_int64(1), 0, 0, 1)
    print("nobody noticed")


def main():
    collectives, program, folder, *rest = sys.argv[1:]
    if len(rest) == 2:
        return work(collectives, program, Path(folder), *map(int, rest))
    processes = int(rest[0]) if rest else 2
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-W",
                "ignore",
                *sys.argv[:4],
                str(process),
                str(processes),
            ]
        )
        for process in range(processes)
    ]
    statuses = [worker.wait(timeout=120) for worker in workers]
    print("statuses", *statuses)


main()
