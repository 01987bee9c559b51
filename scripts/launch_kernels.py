#!/usr/bin/env python3
"""Runs the kernels that `chimera-pipeline` makes for a GPU, on that of this machine.

    launch_kernels.py MODULE MANIFEST [--function NAME] [--inputs A.npy ...]
                      [--expect R.npy] [--tolerance 1e-3] [--repeat N]

MODULE is what the pipeline prints with `format=bin`, MANIFEST the file it writes.
The function's first arguments come from the inputs, the others are its results.
Without inputs there are random ones. Arrays of bf16 are of type uint16. A function
that computes anything on the host, as the manifest says, is not run. All that is done
is done in one stream, in the order of the manifest: kernels read what those before
them have written.

Needs numpy and the driver, libcuda.so.1, and nothing else of CUDA. Prints
"skipped: no driver" and ends well where there is none.
"""

import argparse
import ctypes
import json
import re
import sys

TYPES = {"f16": "float16", "bf16": "uint16", "f32": "float32", "f64": "float64",
         "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32",
         "i64": "int64", "index": "int64"}
MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING: does not wait for the default stream.


class Driver:
    """The calls of the CUDA driver API that a launch needs."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'?').decode()}")

    def start(self):
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), NON_BLOCKING)

    def load(self, code, entry, shared):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), code)
        self.call("cuModuleGetFunction", ctypes.byref(function), module,
                  entry.encode())
        self.call("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, shared)
        return function

    def allocate(self, array):
        place = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(place),
                  ctypes.c_size_t(max(array.nbytes, 1)))
        self.call("cuMemcpyHtoDAsync_v2", place,
                  array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes), self.stream)
        return place

    def fetch(self, array, place):
        self.call("cuMemcpyDtoHAsync_v2", array.ctypes.data_as(ctypes.c_void_p),
                  place, ctypes.c_size_t(array.nbytes), self.stream)

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def launch(self, function, grid, block, shared, values):
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.addressof(value) for value in values))
        self.call("cuLaunchKernel", function, *grid, *block, shared, self.stream,
                  pointers, None)

    def time(self, work):
        """Microseconds that the GPU takes."""
        events = [ctypes.c_void_p() for _ in range(2)]
        for event in events:
            self.call("cuEventCreate", ctypes.byref(event), 0)
        self.call("cuEventRecord", events[0], self.stream)
        work()
        self.call("cuEventRecord", events[1], self.stream)
        self.call("cuEventSynchronize", events[1])
        milliseconds = ctypes.c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), *events)
        for event in events:
            self.call("cuEventDestroy_v2", event)
        return milliseconds.value * 1000


def read_code(module):
    """The machine code in each gpu.binary, by its name."""
    def decode(text):
        return re.sub(rb"\\([0-9A-Fa-f]{2}|.)",
                      lambda m: bytes([int(m[1], 16)]) if len(m[1]) == 2 else m[1],
                      text.encode("latin-1"))

    return {name: decode(text) for name, text in re.findall(
        r'gpu\.binary @(\w+) .*?\bbin = "((?:[^"\\]|\\.)*)"', module)}


def key_of(kernel, argument):
    """What an argument of a kernel is: of its function, by kind and number."""
    kind = "argument" if "argument" in argument else "buffer"
    if kind not in argument:
        sys.exit(f"an argument of {kernel['entry']} is computed by the host, which "
                 "is not done here")
    return kernel["function"], kind, argument[kind]


def make_arrays(kernels, inputs):
    """What the kernels work on, by function, and argument or buffer of it. Buffers
    that have to be zeros once are so."""
    import numpy as np
    random = np.random.default_rng(0)
    arrays = {}
    for kernel in kernels:
        for argument in kernel["arguments"]:
            key = key_of(kernel, argument)
            if key in arrays:
                continue
            if argument["type"] not in TYPES:
                sys.exit(f"{argument['type']}, the type of an argument of "
                         f"{kernel['entry']}, is not known here")
            kind = np.dtype(TYPES[argument["type"]])
            _, place, number = key
            if place == "argument" and number < len(inputs):
                array = np.asarray(inputs[number], kind, order="C")
                if list(array.shape) != argument.get("shape", []):
                    sys.exit(f"argument {number} has another shape")
            elif argument.get("zeroed") == "once":
                array = np.zeros(argument["shape"], kind)
            elif argument["type"] == "bf16":
                array = (random.standard_normal(argument["shape"]).astype(np.float32)
                         .view(np.uint32) >> 16).astype(np.uint16)
            else:
                array = random.standard_normal(argument.get("shape", [])).astype(kind)
            arrays[key] = array
    return arrays


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("module")
    parser.add_argument("manifest")
    parser.add_argument("--function")
    parser.add_argument("--inputs", nargs="*", default=[])
    parser.add_argument("--expect")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    with open(options.manifest) as file:
        manifest = json.load(file)
    with open(options.module, encoding="latin-1") as file:
        code = read_code(file.read())
    kernels = choose_kernels(manifest, options)
    missing = [kernel["module"] for kernel in kernels if kernel["module"] not in code]
    if not kernels or missing:
        sys.exit("there is no machine code for " + (", ".join(missing) or "anything"))
    try:
        driver = Driver()
    except OSError:
        print("skipped: no driver")
        return
    run(driver, kernels, code, options)


def choose_kernels(manifest, options):
    """The kernels to launch; ends where these are not all there is to do."""
    def is_chosen(entry):
        return options.function in (None, entry["function"])

    for step in filter(is_chosen, manifest["host"]):
        sys.exit(f"'{step['function']}' needs {step['operation']} on the host, which "
                 "is not done here")
    kernels = list(filter(is_chosen, manifest["kernels"]))
    functions = {kernel["function"] for kernel in kernels}
    if len(functions) > 1 and (options.inputs or options.expect):
        sys.exit("inputs and results are of one function; name it: --function "
                 + " or ".join(sorted(functions)))
    return kernels


def check_alignment(kernel, places):
    """Ends where an array starts elsewhere than the kernel's instructions can."""
    for argument in kernel["arguments"]:
        alignment = argument.get("alignment", 1)
        if alignment > 1 and places[key_of(kernel, argument)].value % alignment:
            sys.exit(f"an array of {kernel['entry']} does not start at a multiple of "
                     f"{alignment} bytes")


def run(driver, kernels, code, options):
    import numpy as np
    driver.start()
    arrays = make_arrays(kernels, [np.load(name) for name in options.inputs])
    # Numbers are passed themselves, arrays by where they are.
    places = {key: driver.allocate(array) if array.shape else
              (ctypes.c_byte * array.nbytes).from_buffer_copy(array.tobytes())
              for key, array in arrays.items()}
    work = []
    for kernel in kernels:
        check_alignment(kernel, places)
        values = [places[key_of(kernel, argument)]
                  for argument in kernel["arguments"]]
        work.append((driver.load(code[kernel["module"]], kernel["entry"],
                                 kernel["shared"]),
                     kernel["grid"], kernel["block"], kernel["shared"], values))

    def launch_all():
        for launch in work:
            driver.launch(*launch)

    driver.time(launch_all)
    times = sorted(driver.time(launch_all) for _ in range(options.repeat))
    for key, array in arrays.items():
        if array.shape:
            driver.fetch(array, places[key])
    driver.wait()
    print(f"{times[len(times) // 2]:.1f} us")
    if options.expect:
        found = arrays[max(key for key in arrays if key[1] == "argument")]
        if found.dtype == np.uint16:
            found = (found.astype(np.uint32) << 16).view(np.float32)
        expected = np.load(options.expect).astype(np.float64)
        error = (np.abs(found.astype(np.float64) - expected).max()
                 / np.abs(expected).max())
        print(f"error {error:.1e}")
        if not error <= options.tolerance:
            sys.exit("the result is wrong")
    print("passed")


if __name__ == "__main__":
    main()
