"""Compiles programs for Ascend cores and runs them in the functional model."""

import copy
import ctypes
import json
import pathlib
import re
import subprocess

import numpy as np

# Cores that kernels are launched on where nothing else is said: as many as there
# are, or more. What a kernel needs for itself is there for as many as there are.
CORES = {"ascend910b": 24}
TYPES = {"f16": np.float16, "f32": np.float32, "i1": np.bool_, "i8": np.int8,
         "i32": np.int32}
ROOM = re.compile(r"index\(Mem::(\w+)\)\] >= (\d+), \"(\w+) needs")
SIGNATURE = re.compile(r"^// (\w+)\((.*)\)$", re.M)


class Failure(Exception):
    pass


def check_call(command, **options) -> str:
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode:
        raise Failure(f"{command[0]}: {result.stderr.strip()[:2000]}")
    return result.stdout


def total(counted: list) -> dict:
    """What kernels that follow one plan have moved together, and the most that
    one of them has used of each memory."""
    routes = {}
    for one in counted:
        for route, moved in one["routes"].items():
            sums = routes.setdefault(route, {"read": 0, "written": 0})
            for side in sums:
                sums[side] += moved[side]
    memories = {memory for one in counted for memory in one["high_water"]}
    return {"routes": routes,
            "high_water": {memory: max(one["high_water"].get(memory, 0)
                                       for one in counted)
                           for memory in memories}}


def unknown(type):
    """What memory holds that nobody has written."""
    if np.issubdtype(type, np.integer):
        return np.iinfo(type).min
    return np.nan


class Kernels:
    """The kernels of one function, compiled."""

    def __init__(self, text: str, where: pathlib.Path, tools: dict,
                 target: str = "ascend310p", fuse: str = "always",
                 compiler: str = "g++", flags=(), emit: str = "call"):
        where.mkdir(parents=True, exist_ok=True)
        source, module, code = (where / name for name in
                                ("in.mlir", "out.mlir", "out.cpp"))
        source.write_text(text)
        self.remarks = subprocess.run(
            [tools["opt"], str(source), "-o", str(module),
             f"--chimera-ascend-pipeline=target={target} fuse={fuse} emit={emit}",
             "--remarks-filter=chimera",
             f"--chimera-report={where / 'report.json'}"],
            capture_output=True, text=True)
        if self.remarks.returncode:
            lines = self.remarks.stderr.splitlines()
            errors = [line for line in lines if "error:" in line]
            raise Failure("\n".join(errors or lines)[:2000])
        self.remarks = self.remarks.stderr
        if "emitc.func" not in module.read_text():
            lines = [line for line in self.remarks.splitlines()
                     if "no kernel" in line or "not-in-chain" in line]
            raise Failure("not lowered: " + "; ".join(lines))
        check_call([tools["translate"], "--mlir-to-cpp", str(module), "-o",
                    str(code)])
        self.text = code.read_text()
        report = json.loads((where / "report.json").read_text())
        self.plans = [kernel for chain in report["chains"]
                      for kernel in chain["kernels"]]
        self.cores = CORES.get(target, 32)
        self.compiler, self.runtime, self.flags = (compiler,
                                                   tools["runtime"], flags)
        self.build(code, where / f"out.{pathlib.Path(compiler).name}.so", [])

    def build(self, code: pathlib.Path, library: pathlib.Path, flags) -> None:
        check_call([self.compiler, "-std=c++17", "-O1", "-fPIC", "-shared",
                    "-Wall", "-Werror", "-Wno-unknown-pragmas", *self.flags,
                    *flags, "-I" + self.runtime, str(code), "-o",
                    str(library)])
        self.library = ctypes.CDLL(str(library))
        self.kernels = []
        for name, arguments in SIGNATURE.findall(self.text):
            described = []
            for argument in arguments.split(", "):
                what, type = argument.split(" : ")
                *shape, element = type.split("x")
                described.append((what, [int(size) for size in shape],
                                  TYPES[element]))
            self.kernels.append((name, described))

    def owners(self) -> list:
        """For each kernel the number of its plan; of groups between chains,
        which have no plan and work in UB alone, none."""
        owners, number, left = [], -1, 0
        for name, _ in self.kernels:
            if not left:
                if {memory for memory, _, kernel in ROOM.findall(self.text)
                        if kernel == name} == {"UB"}:
                    owners.append(None)
                    continue
                number += 1
                if number == len(self.plans):
                    raise Failure(f"{name} has no plan")
                left = self.plans[number]["launches"]
            owners.append(number)
            left -= 1
        return owners

    def split(self, functions: list) -> list:
        """The same library as one for each of `functions`, which it was made
        of, in their order."""
        owners = self.owners()
        parts = []
        for function in functions:
            part = copy.copy(self)
            own = [i for i, (name, _) in enumerate(self.kernels)
                   if re.fullmatch(function + r"_kernel\d*", name)]
            part.kernels = [self.kernels[i] for i in own]
            part.plans = [self.plans[i] for i in
                          dict.fromkeys(owners[i] for i in own)
                          if i is not None]
            parts.append(part)
        return parts

    def rebuild(self, text: str, where: pathlib.Path, name: str, flags):
        """The same kernels with another text."""
        other = copy.copy(self)
        other.text = text
        code = where / f"{name}.cpp"
        code.write_text(text)
        other.build(code, where / f"{name}.so", flags)
        return other

    def run(self, values: list, cores: int = 0) -> tuple:
        """The result for `values`, and a report for each kernel."""
        results, reports = self.run_all(values, cores)
        return results[0], reports

    def run_all(self, values: list, cores: int = 0) -> tuple:
        """All results for `values`, and a report for each kernel."""
        memory = {f"arg{i}": np.ascontiguousarray(value)
                  for i, value in enumerate(values)}
        reports = []
        for name, arguments in self.kernels:
            arrays, sizes = [], []
            for what, shape, type in arguments:
                if what not in memory:
                    memory[what] = np.full(shape, unknown(type), type)
                arrays.append(memory[what].ctypes.data_as(ctypes.c_void_p))
                sizes.append(memory[what].size)
            report = ctypes.create_string_buffer(1 << 20)
            status = getattr(self.library, name + "_launch")(
                (ctypes.c_void_p * len(arrays))(*arrays),
                (ctypes.c_int64 * len(sizes))(*sizes),
                ctypes.c_int64(cores or self.cores),
                report, ctypes.c_int64(len(report)))
            told = json.loads(report.value.decode())
            if status:
                raise Failure(f"{name}: {told['error']}: {told['message']}")
            reports.append(told)
        results = [memory[f"arg{number}"]
                   for number in range(len(values), len(values) + len(memory))
                   if f"arg{number}" in memory]
        return results, reports

    def compare(self, reports: list) -> list:
        """What was counted and differs from what was predicted."""
        differences = []
        owners = self.owners()
        for number, plan in enumerate(self.plans):
            own = [i for i, owner in enumerate(owners) if owner == number]
            if len(own) != plan["launches"]:
                return [f"{len(own)} kernels, {plan['launches']} planned"]
            name = self.kernels[own[0]][0]
            names = [self.kernels[i][0] for i in own]
            counted = total([reports[i]["total"] for i in own])
            for route in plan["routes"]:
                ends = [{"memory": "GM"}.get(route[end], route[end])
                        for end in ("from", "to")]
                moved = counted["routes"].get("->".join(ends), {})
                # Sums that go straight on have their own type there.
                is_narrow = ends[1] == "GM" or ends == ["L0C", "L1"]
                side = "written" if is_narrow else "read"
                if moved.get(side, 0) != route["bytes"]:
                    differences.append(f"{name}: {'->'.join(ends)} "
                                       f"{moved.get(side, 0)} counted, "
                                       f"{route['bytes']} predicted")
            room = {}
            for memory, size, kernel in ROOM.findall(self.text):
                if kernel in names:
                    room[memory] = max(int(size), room.get(memory, 0))
            for memory in plan["memories"]:
                where = memory["name"]
                taken, used = room[where], counted["high_water"][where]
                if taken != memory["bytes"]:
                    differences.append(f"{name}: {where} {taken} taken, "
                                       f"{memory['bytes']} predicted")
                # The second of two places in L1 may only ever hold what is
                # left at an edge.
                # What no operator works with has none.
                if taken and not 0 < used <= taken or (used != taken and
                                                       where != "L1"):
                    differences.append(f"{name}: {where} {used} used of "
                                       f"{taken}")
        return differences
