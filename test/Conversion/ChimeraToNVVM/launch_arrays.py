"""Checks what scripts/launch_kernels.py makes of manifests, without a driver:
launch_arrays.py DIRECTORY-OF-THE-SCRIPT."""

import argparse
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import launch_kernels


def kernel(function, *arguments):
    return {"function": function, "entry": function, "arguments": [
        {"argument": number, "type": kind, "shape": shape}
        for number, (kind, shape) in enumerate(arguments)]}


def options(**given):
    return argparse.Namespace(**{"function": None, "inputs": [], "expect": None,
                                 **given})


def reason(call, *arguments):
    try:
        call(*arguments)
    except SystemExit as end:
        return end.code


# Arguments of the same number belong to different functions.
small, large = kernel("small", ("f32", [2])), kernel("large", ("f16", [64]))
arrays = launch_kernels.make_arrays([small, large], [])
print("shapes", *sorted(array.shape for array in arrays.values()))
# CHECK: shapes (2,) (64,)

types = kernel("types", ("index", []), ("i1", [3]), ("i16", [3]))
arrays = launch_kernels.make_arrays([types], [np.array(7), np.array([1, 0, 1])])
print("types", *(array.dtype for array in arrays.values()))
# CHECK: types int64 bool int16
print("values", *(array.tolist() for array in list(arrays.values())[:2]))
# CHECK: values 7 [True, False, True]
print(reason(launch_kernels.make_arrays, [kernel("odd", ("complex<f32>", [3]))], []))
# CHECK: complex<f32>, the type of an argument of odd, is not known here

parts = {"function": "parts", "entry": "parts", "arguments": [
    {"buffer": 0, "type": "f32", "shape": [3]},
    {"buffer": 1, "type": "i32", "shape": [2], "zeroed": "once"}]}
arrays = launch_kernels.make_arrays([parts], [])
print("zeroed", *(bool(array.any()) for array in arrays.values()))
# CHECK: zeroed True False

both = {"kernels": [small, large], "host": [
    {"function": "large", "operation": "linalg.exp", "before": 1}]}
print(reason(launch_kernels.choose_kernels, both, options()))
# CHECK: 'large' needs linalg.exp on the host, which is not done here
print(launch_kernels.choose_kernels(both, options(function="small")) == [small])
# CHECK: True
both["host"] = []
print(reason(launch_kernels.choose_kernels, both, options(inputs=["a.npy"])))
# CHECK: inputs and results are of one function; name it: --function large or small
