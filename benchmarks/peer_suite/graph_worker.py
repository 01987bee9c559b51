"""Times a whole network of `graphs` one way, and prints the median in milliseconds.

usage: graph_worker WAY THREADS FILE

WAY is `eager` or `compile`, where FILE is the script that makes the networks and the
name of one after a colon; `export`, which writes that network as NAME.onnx into the
folder of the third argument's second colon; `onnxruntime` or `openvino`, which read an
ONNX file.
"""

import importlib.machinery
import importlib.util
import os
import statistics
import sys
import time

SECONDS = 3
LEAST = 5


def median_ms(call) -> float:
    """Of calls in some seconds, behind two that are not timed."""
    call(), call()
    times = []
    end = time.monotonic() + SECONDS
    while len(times) < LEAST or time.monotonic() < end:
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def make(place: str):
    script, name = place.split(":")[:2]
    sys.path.insert(0, os.path.dirname(script))
    loader = importlib.machinery.SourceFileLoader("graphs", script)
    spec = importlib.util.spec_from_loader("graphs", loader)
    graphs = importlib.util.module_from_spec(spec)
    loader.exec_module(graphs)
    return graphs.make(name)


def run_torch(way: str, threads: int, place: str) -> float:
    import torch

    torch.set_num_threads(threads)
    module, inputs = make(place)
    if way == "compile":
        torch._inductor.config.freezing = True
        module = torch.compile(module)
    with torch.no_grad():
        return median_ms(lambda: module(*inputs))


def export(place: str) -> None:
    import torch

    module, inputs = make(place)
    *_, name, folder = place.split(":")
    path = os.path.join(folder, f"{name}.onnx")
    torch.onnx.export(
        module, tuple(inputs), path, dynamo=True, verbose=False, external_data=True
    )


def inputs_of(types_and_shapes) -> list:
    """Random ones; indices stay small."""
    import numpy

    random = numpy.random.default_rng(0)
    return [
        (
            random.integers(0, 1000, shape)
            if numpy.issubdtype(dtype, numpy.integer)
            else random.standard_normal(shape).astype(dtype)
        )
        for dtype, shape in types_and_shapes
    ]


def run_onnxruntime(threads: int, path: str) -> float:
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(
        path, options, providers=["CPUExecutionProvider"]
    )
    types = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64}
    given = session.get_inputs()
    arrays = inputs_of([(types[item.type], item.shape) for item in given])
    feeds = {item.name: array for item, array in zip(given, arrays)}
    return median_ms(lambda: session.run(None, feeds))


def run_openvino(threads: int, path: str) -> float:
    import openvino

    model = openvino.compile_model(
        path,
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    arrays = inputs_of(
        [(port.element_type.to_dtype(), tuple(port.shape)) for port in model.inputs]
    )
    request = model.create_infer_request()
    return median_ms(lambda: request.infer(arrays))


def main() -> None:
    way, threads, place = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if way == "export":
        export(place)
    elif way == "onnxruntime":
        print(run_onnxruntime(threads, place))
    elif way == "openvino":
        print(run_openvino(threads, place))
    else:
        print(run_torch(way, threads, place))


if __name__ == "__main__":
    main()
