"""Runs scripts/launch_kernels.py with a driver that records calls, Inputs/driver.c:
launch_driver.py SCRIPT DIRECTORY-OF-THE-DRIVER."""

import json
import os
import subprocess
import sys

import numpy as np

SCRIPT, FOLDER = sys.argv[1:]
MODULE = """module {
  gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90a">, bin = "\\7FELF">]
}
"""


def array(alignment=16, **place):
    return {**place, "type": "f32", "shape": [2, 3], "alignment": alignment}


def kernel(entry, *arguments):
    return {"function": "twice", "module": "kernels", "entry": entry,
            "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 4096,
            "arguments": list(arguments)}


def launch(kernels, *options, host=(), **environment):
    """What the script and the driver print."""
    paths = {name: os.path.join(FOLDER, name)
             for name in ("module.mlir", "manifest.json", "x.npy", "r.npy")}
    with open(paths["module.mlir"], "w") as file:
        file.write(MODULE)
    with open(paths["manifest.json"], "w") as file:
        json.dump({"kernels": kernels, "host": list(host)}, file)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(paths["x.npy"], x)
    np.save(paths["r.npy"], 4 * x if len(kernels) == 2 else 2 * x)
    done = subprocess.run(
        [sys.executable, "-Bu", SCRIPT, paths["module.mlir"], paths["manifest.json"],
         "--inputs", paths["x.npy"], "--repeat", "1", *options],
        capture_output=True, text=True,
        env={**os.environ, "LD_LIBRARY_PATH": FOLDER, **environment})
    print(done.stdout + done.stderr, end="")
    print("ended with", done.returncode, flush=True)


# Two kernels, the second of which reads what the first has written, and a number.
number = {"argument": 1, "type": "index"}
launch([kernel("first", array(argument=0), number, array(buffer=0)),
        kernel("second", array(buffer=0), number, array(argument=2))],
       "--expect", os.path.join(FOLDER, "r.npy"), ARGUMENTS="3")
# CHECK:      stream 1
# CHECK-NEXT: array 0 has 24 bytes
# CHECK-NEXT: copy to array 0
# CHECK-NEXT: array 1 has 24 bytes
# CHECK-NEXT: copy to array 1
# CHECK-NEXT: array 2 has 24 bytes
# CHECK-NEXT: copy to array 2
# CHECK-NEXT: load {{.}}ELF
# CHECK-NEXT: function first
# CHECK-NEXT: attribute 8 is 4096
# CHECK-NEXT: load {{.}}ELF
# CHECK-NEXT: function second
# CHECK-NEXT: attribute 8 is 4096
# Once to begin with, and once to be timed.
# CHECK-NEXT: launch 4 1 1 of 64 1 1 with 4096 bytes: array 0 [[NUMBER:-?[0-9]+]] array 1
# CHECK-NEXT: launch 4 1 1 of 64 1 1 with 4096 bytes: array 1 [[NUMBER]] array 2
# CHECK-NEXT: launch {{.*}}: array 0 [[NUMBER]] array 1
# CHECK-NEXT: launch {{.*}}: array 1 [[NUMBER]] array 2
# CHECK-NEXT: copy from array 0
# CHECK-NEXT: copy from array 1
# CHECK-NEXT: copy from array 2
# CHECK-NEXT: wait
# CHECK-NEXT: 12.5 us
# CHECK-NEXT: error 0.0e+00
# CHECK-NEXT: passed
# CHECK-NEXT: ended with 0

# Instructions that access 16 bytes at once do not do so elsewhere.
own = [kernel("own", array(argument=0), array(argument=1))]
launch(own, MISALIGNED="8")
# CHECK:      an array of own does not start at a multiple of 16 bytes
# CHECK-NEXT: ended with 1
launch([kernel("own", array(4, argument=0), array(4, argument=1))], MISALIGNED="8")
# CHECK:      passed

# What is computed on the host is not skipped in silence.
launch(own, host=[{"function": "twice", "operation": "linalg.exp", "before": 1}])
# CHECK-NOT:  stream
# CHECK:      'twice' needs linalg.exp on the host, which is not done here
# CHECK-NEXT: ended with 1

# What the driver complains of ends the script.
launch([kernel("number", number, array(argument=0))])
# CHECK:      driver: no arrays
# CHECK:      RuntimeError: cuLaunchKernel: as printed
# CHECK-NEXT: ended with 1
