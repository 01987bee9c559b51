"""One class for each peer: how it is given a case, and called.

`variants(case)` lists the ways a user would try, each a function that returns a
`Ready` program. The fastest one is measured. Libraries are imported where they
are needed: a worker holds one peer.
"""

import ctypes
import dataclasses
import pathlib
import subprocess
from collections.abc import Callable

import numpy as np

from . import data, onnx_files
from .cases import FLOATS, TYPES, Case


@dataclasses.dataclass(frozen=True)
class Ready:
    """A program with its arguments bound."""
    call: Callable[[], object]
    # What the last call computed.
    results: Callable[[], list[np.ndarray]]
    # What calls point to without saying so to Python.
    keep: object = None


@dataclasses.dataclass(frozen=True)
class Setting:
    threads: int
    # Holds what is generated; files in it are kept for the next thread count.
    scratch: pathlib.Path
    # Where Chimera's tools are.
    tools: pathlib.Path


class Adapter:
    # What the report says about it.
    about = ""
    # What it can be given.
    types = ("f32",)
    # Whether weights are constants for it, so that it can rearrange them early.
    prepares_weights = False

    def __init__(self, setting: Setting):
        self.setting = setting

    def variants(self, case: Case) -> dict[str, Callable[[], Ready]]:
        raise NotImplementedError

    def file(self, case: Case, suffix: str) -> pathlib.Path:
        return self.setting.scratch / f"{case.slug}{suffix}"


def run_tool(command: list, seconds: float = 600) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True,
                          text=True, timeout=seconds)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(next((l for l in lines if "error" in l), lines[0]))


class Chimera(Adapter):
    about = "`chimera-run --emit=so --constant=` weights, called through ctypes"
    types = TYPES
    prepares_weights = True

    def variants(self, case):
        return {"": lambda: self.prepare(case)}

    def prepare(self, case: Case) -> Ready:
        source = self.file(case, ".mlir")
        source.write_text(case.program, encoding="utf-8")
        kind = "once" if self.prepares_weights else "call"
        library = self.file(case, f".{self.setting.threads}.{kind}.so")
        constants = [str(index) for index, argument in enumerate(case.arguments)
                     if argument.constant and self.prepares_weights]
        options = [f"--constant={','.join(constants)}"] if constants else []
        run_tool([self.setting.tools / "chimera-run", source, "--emit=so",
                  f"--threads={self.setting.threads}", *options, "-o", library])
        loaded = ctypes.CDLL(str(library))
        arrays = data.make(case)
        outputs = make_outputs(case)
        results = lambda: outputs
        # Bits of a byte beside those of a half are zero.
        arrays = [data.align(array & 15) if argument.maker == "half_codes" else array
                  for array, argument in zip(arrays, case.arguments)]
        if case.element == "bf16":
            arrays = [data.align(data.to_bf16(array)) for array in arrays]
            outputs = [data.align(data.to_bf16(output)) for output in outputs]
            results = lambda: [data.from_bf16(output) for output in outputs]
        descriptors = [memref(array) for array in (*arrays, *outputs)]
        entry = loaded._mlir_ciface_main
        entry.restype = None
        pointers = [ctypes.c_void_p(ctypes.addressof(d)) for d in descriptors]
        # There only if there is something to prepare.
        if hasattr(loaded, "_mlir_ciface_main_prepare"):
            loaded._mlir_ciface_main_prepare(*pointers[:len(arrays)])
        return Ready(lambda: entry(*pointers), results, keep=(arrays, descriptors))


class ChimeraPacking(Chimera):
    about = "the same with weights as arguments, packed in every call"
    prepares_weights = False

    def variants(self, case):
        if any(argument.constant for argument in case.arguments):
            return super().variants(case)
        return {}


class Limit(Adapter):
    about = ("functions of limits.c by a person, -O3 -march=native -ffast-math, with "
             "and without stores past the caches: what memory allows, and no peer")

    def variants(self, case):
        labels = {"stored": 0, "streamed": 1} if case.limit else {}
        return {label: lambda stream=stream: self.prepare(case, stream)
                for label, stream in labels.items()}

    def prepare(self, case: Case, stream: int) -> Ready:
        library = self.setting.scratch / f"limits.{stream}.so"
        if not library.exists():
            run_tool(["clang-22", "-O3", "-march=native", "-ffast-math", "-fopenmp",
                      f"-DSTREAM={stream}", "-shared", "-fPIC",
                      pathlib.Path(__file__).parent / "limits.c", "-o", library])
        entry = getattr(ctypes.CDLL(str(library)), case.limit)
        entry.restype = None
        arrays, outputs = data.make(case), make_outputs(case)
        pointers = [(ctypes.c_void_p * len(group))(*(a.ctypes.data for a in group))
                    for group in (arrays, outputs)]
        sizes = (ctypes.c_int64 * len(case.sizes))(*case.sizes)
        return Ready(lambda: entry(*pointers, sizes), lambda: outputs,
                     keep=(arrays, outputs))


def make_outputs(case: Case) -> list[np.ndarray]:
    """Bytes are codes without a sign."""
    return [data.align(np.zeros(shape, np.uint8 if element == "i8" else np.float32))
            for shape, element in case.results()]


def memref(array: np.ndarray):
    """A descriptor: two pointers, the offset, sizes, strides."""
    address = array.ctypes.data
    strides = [stride // array.itemsize for stride in array.strides]
    fields = [address, address, 0, *array.shape, *strides]
    return (ctypes.c_int64 * len(fields))(*fields)


class OnnxRuntime(Adapter):
    about = "all graph optimisations, arguments bound"
    types = ("f32", "i8")
    prepares_weights = True

    def variants(self, case):
        return {spelling: lambda spelling=spelling: self.prepare(case, spelling)
                for spelling in onnx_files.spellings(case)}

    def prepare(self, case: Case, spelling: str) -> Ready:
        import onnxruntime
        path = onnx_files.make(case, spelling, self.file(case, ""))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.setting.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        inputs = onnx_files.make_inputs(case, spelling)
        for slot, array in zip(session.get_inputs(), inputs):
            value = onnxruntime.OrtValue.ortvalue_from_numpy(array)
            binding.bind_ortvalue_input(slot.name, value)
        outputs = make_outputs(case)
        for slot, output in zip(session.get_outputs(), outputs):
            binding.bind_output(slot.name, "cpu", 0, output.dtype, output.shape,
                                output.ctypes.data)
        return Ready(lambda: session.run_with_iobinding(binding), lambda: outputs,
                     keep=(inputs, outputs))


class OpenVino(Adapter):
    about = "the type as INFERENCE_PRECISION_HINT, arguments of f32, one stream"
    types = (*FLOATS, "i8")
    prepares_weights = True

    def variants(self, case):
        labels = ["spelled out"] + (["sdpa"] if case.attends else [])
        if case.element not in FLOATS:
            labels = onnx_files.spellings(case)
        return {label: lambda label=label: self.prepare(case, label)
                for label in labels}

    def convert(self, case: Case, label: str):
        import openvino
        if case.quantized_layers:
            path = onnx_files.make(case, label, self.file(case, ""))
            return openvino.Core().read_model(path), onnx_files.make_inputs(case, label)
        from . import torch_peers
        inputs = data.make_inputs(case)
        module, tensors = torch_peers.make_module(case, fused=label == "sdpa",
                                                  element="f32")
        model = openvino.convert_model(module, example_input=tuple(tensors),
                                       input=[list(x.shape) for x in inputs])
        return model, inputs

    def prepare(self, case: Case, label: str) -> Ready:
        import openvino
        model, inputs = self.convert(case, label)
        precision = case.element if case.element in FLOATS else "f32"
        compiled = openvino.Core().compile_model(model, "CPU", {
            "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": self.setting.threads})
        request = compiled.create_infer_request()
        for i, array in enumerate(inputs):
            request.set_input_tensor(i, openvino.Tensor(array, shared_memory=True))
        return Ready(lambda: request.infer(share_outputs=True),
                     lambda: [request.get_output_tensor(i).data
                              for i in range(len(compiled.outputs))], keep=inputs)


class Jax(Adapter):
    about = "jit; threads by the cores it may run on; networks are torch's"

    def variants(self, case):
        return {} if case.is_network else {"": lambda: self.prepare(case)}

    def prepare(self, case: Case) -> Ready:
        import jax
        from .ops import JaxOps
        function = jax.jit(lambda *arguments: case.compute(JaxOps(), *arguments))
        compiled = function.lower(*data.make(case)).compile()
        arguments = [jax.device_put(x) for x in data.make(case)]
        last = []

        def call():
            last[:] = jax.block_until_ready(data.as_list(compiled(*arguments)))

        return Ready(call, lambda: [np.asarray(x) for x in last])


class Iree(Adapter):
    about = "O3, the better of data tiling on and off"
    flags = {"O3": ["--iree-opt-data-tiling=false"], "O3, data tiling": [
        "--iree-opt-data-tiling=true"]}

    def __init__(self, setting):
        super().__init__(setting)
        import iree.runtime
        self.runtime = iree.runtime
        driver = "local-sync"
        if setting.threads > 1:
            iree.runtime.flags.parse_flags(
                f"--task_topology_group_count={setting.threads}")
            driver = "local-task"
        self.config = iree.runtime.Config(driver)

    def variants(self, case):
        programs = {"": case.program}
        if case.iree_program:
            programs[", attention operation"] = case.iree_program
        return {flag + name: lambda flag=flag, name=name: self.prepare(
                    case, programs[name], flag, flag + name)
                for flag in self.flags for name in programs}

    def compile(self, case: Case, text: str, flag: str, label: str) -> pathlib.Path:
        import iree.compiler
        stem = label.replace(", ", "-").replace(" ", "-")
        source = self.file(case, f".{stem}.mlir")
        binary = source.with_suffix(".vmfb")
        if not binary.exists():
            source.write_text(text, encoding="utf-8")
            iree.compiler.compile_file(
                str(source), output_file=str(binary), extra_args=[
                    "--iree-hal-target-device=local",
                    "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3",
                    # The default of 32 KiB refuses some programs.
                    "--iree-llvmcpu-stack-allocation-limit=131072",
                    *self.flags[flag]])
        return binary

    def prepare(self, case: Case, text: str, flag: str, label: str) -> Ready:
        runtime, config = self.runtime, self.config
        binary = self.compile(case, text, flag, label)
        module = runtime.VmModule.copy_buffer(config.vm_instance, binary.read_bytes())
        context = runtime.SystemContext(vm_modules=[module], config=config)
        function = module.lookup_function("main")
        arrays = [runtime.asdevicearray(config.device, x) for x in data.make(case)]
        arguments = runtime.VmVariantList(len(arrays))
        for array in arrays:
            arguments.push_ref(array._buffer_view)
        last = []

        def call():
            results = runtime.VmVariantList(len(case.results()))
            context.vm_context.invoke(function, arguments, results)
            last[:] = [results]

        def results():
            views = [last[0].get_as_object(i, runtime.HalBufferView)
                     for i in range(len(last[0]))]
            return [runtime.DeviceArray(config.device, view).to_host()
                    for view in views]

        return Ready(call, results)


def find(name: str) -> type[Adapter]:
    from . import torch_peers
    return {
        "chimera": Chimera,
        "chimera packing": ChimeraPacking,
        "limit": Limit,
        "torch eager": torch_peers.Eager,
        "torch sdpa": torch_peers.Sdpa,
        "torch compile": torch_peers.Compiled,
        "onnxruntime": OnnxRuntime,
        "openvino": OpenVino,
        "jax": Jax,
        "iree": Iree,
    }[name]
