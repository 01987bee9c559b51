"""From MLIR text to functions that can be called.

The compiler runs as a process of its own: it takes memory that goes back to the
system, a crash in it is an error here, and the interpreter's threads go on.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import tempfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _arrays, _cache, _package, _paths, _processes
from ._prepared import LOCK, Prepared
from ._weights import Originals, Storages, is_empty
from .errors import ChimeraError, CompileError, UnsupportedError

# Of the manifests that this package reads.
SCHEMA = 1
_ERROR = re.compile(r"^chimera-run: error: (?:(.*?:\d+:\d+): )?(.*)$")


@dataclass(frozen=True)
class Options:
    """How a program is compiled; the names are those of chimera-run's options."""

    constants: tuple[int, ...] = ()
    target: str = "host"
    threads: int | None = None
    sizes: tuple[tuple[int, ...], ...] = ()
    fuse: str = "auto"
    processes: int = 1
    panels: tuple[tuple[int, int], ...] = ()
    only_panels: bool = False

    def arguments(self) -> list[str]:
        """The options of chimera-run."""
        result = [f"--target={self.target}", f"--fuse={self.fuse}"]
        if self.threads is not None:
            result.append(f"--threads={self.threads}")
        if self.constants:
            result.append("--constant=" + ",".join(map(str, self.constants)))
        if self.sizes:
            cases = ("x".join(map(str, case)) for case in self.sizes)
            result.append("--sizes=" + ",".join(cases))
        if self.panels:
            pairs = (f"{argument}:{columns}" for argument, columns in self.panels)
            option = "--only-panels=" if self.only_panels else "--panels="
            result.append(option + ",".join(pairs))
        if self.processes > 1:
            result.append(f"--processes={self.processes}")
        return result

    def as_data(self) -> dict[str, Any]:
        data = {
            "constants": list(self.constants),
            "target": self.target,
            "threads": self.threads,
            "sizes": [list(case) for case in self.sizes],
            "fuse": self.fuse,
        }
        if self.processes > 1:
            data["processes"] = self.processes
        if self.panels:
            data["panels"] = [list(pair) for pair in self.panels]
            if self.only_panels:
                data["only_panels"] = True
        return data


def run_compiler(text: str, arguments: Sequence[str]) -> subprocess.CompletedProcess:
    """Runs chimera-run on `text`. Raises CompileError with what it says."""
    try:
        process = subprocess.run(
            [_paths.compiler(), "-", *arguments],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise ChimeraError(f"chimera-run cannot be started: {error}") from None
    if process.returncode != 0:
        raise _make_error(process)
    return process


def _make_error(process: subprocess.CompletedProcess) -> CompileError:
    for line in process.stderr.splitlines():
        match = _ERROR.match(line)
        if match:
            return CompileError(match.group(2), match.group(1) or "")
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return CompileError(f"the compiler crashed ({name}), which is a defect of it")
    lines = process.stderr.strip().splitlines()
    last = lines[-1] if lines else "no message"
    return CompileError(f"the compiler ended with {process.returncode}: {last}")


@dataclass(frozen=True)
class Library:
    """A compiled program without its weights. Instances share its code."""

    package: _package.Package
    options: Options

    @property
    def manifest(self) -> dict[str, Any]:
        """What the program has and how it was planned."""
        return self.package.manifest

    @property
    def function(self) -> dict[str, Any]:
        """The manifest of the function that is called."""
        functions = self.manifest["functions"]
        for function in functions:
            if function["name"] == "main":
                return function
        return functions[0]

    def instantiate(
        self,
        constants: Mapping[int, Any] | None = None,
        process: int | None = None,
        originals: Originals = Originals.KEPT,
        kept: Iterable[int] = (),
        state: Hashable = None,
    ) -> Instance:
        """The program with `constants` as arguments, by number, of all calls.

        Of a program of several processes, `process` takes its part of them. `originals`
        is what becomes of those that are only packed; those in `kept` are not discarded.
        Programs given the same `state` share what they prepare of the same tensors as
        long as these do not change as far as PyTorch knows.

        Raises TypeError if one does not fit, or ChimeraError if there is no such
        process.
        """
        return Instance(self, constants or {}, process, originals, kept, state)


class Instance:
    """A program with its weights. Several threads may call it at once."""

    def __init__(
        self,
        library: Library,
        constants: Mapping[int, Any],
        process: int | None = None,
        originals: Originals = Originals.KEPT,
        kept: Iterable[int] = (),
        state: Hashable = None,
    ) -> None:
        from . import _runtime

        function = library.function
        self._process = _processes.find(function, process)
        missing = set(function["constants"]) - set(constants)
        if missing:
            raise TypeError(f"constant arguments without a value: {sorted(missing)}")
        self.library = library
        self.constants = dict(constants)
        self.fixed = frozenset(constants)
        declared = function["constants"]
        read = function.get("constants_read", declared)
        self._packed_only = set(declared) - set(read)
        discards = originals is Originals.DISCARDED
        self._gone = self._packed_only - set(kept) if discards else set()
        self._is_discarded = False
        self._pages_out = originals is Originals.PAGED_OUT
        self._is_packed = False
        self._arguments = function["arguments"]
        self._results = function["results"]
        self._free = [
            type_
            for index, type_ in enumerate(self._arguments)
            if index not in self.fixed
        ]
        self._allocator = _arrays.allocator(constants.values())
        self._has_static_results = all(
            None not in result["shape"] for result in self._results
        )
        # Whether `_run_on_tensors` takes its calls, if all arguments are tensors.
        self._takes_arrays = (
            bool(self._free)
            and self._has_static_results
            and all(type_["kind"] != "scalar" for type_ in self._free)
        )
        self._shapes: list[tuple[Any, Any]] | None = None
        if "grid" in function:
            _paths.load_collectives()
        code = _runtime.Library(library.package.library, "chimera-program")
        self._function = _runtime.Function(
            code,
            function["name"],
            [_make_type(_runtime, type_) for type_ in self._arguments],
            [_make_type(_runtime, type_) for type_ in self._results],
            library.manifest["threads"],
        )
        self._obstacle = self._find_obstacle()
        self._prepared = Prepared(
            function.get("prepared_values", ()), function.get("panels", ())
        )
        if not self._obstacle:
            self.pack(state)

    def _find_obstacle(self) -> str:
        """Why the program does not run on this machine's processor, or ""."""
        try:
            self._function.check_processor()
        except RuntimeError as error:
            return str(error)
        return ""

    def check_runs_here(self) -> None:
        """Raises ChimeraError if the program is for another processor."""
        if self._obstacle:
            raise ChimeraError(self._obstacle)

    def pack(self, state: Hashable = None) -> None:
        """Computes again what depends on the constants alone.

        To be called after they changed in place, while no call runs. What a program
        has computed of the same constants in the same `state` is taken as it is.

        Raises ChimeraError if they were discarded, or the program is for another
        processor.
        """
        self.check_runs_here()
        self.check_kept()
        with LOCK:
            self._pack(state)

    def _pack(self, state: Hashable) -> None:
        from . import _runtime

        function = self.library.function
        if "grid" in function and function["grid"]:
            state = None  # Each process has other parts of its constants.
        read = self._prepared.find(self.constants, state)
        read |= set(self.constants) - self._packed_only
        for index, whole in self.constants.items():
            if is_empty(whole) and index not in read:
                self._function.release(index)
                continue
            if is_empty(whole):
                raise ChimeraError(
                    "weights were discarded that are to be packed again: after a "
                    "change, or in other panels, for another graph of the model or "
                    "for other shapes; compile it without discard_weights"
                )
            value = _processes.take(function, index, whole, self._process)
            self._function.bind(index, _arrays.prepare(value, self._arguments[index]))
        self._prepared.put(self._function, self.constants, _runtime)
        self._prepared.note(self.constants)
        if self._gone:
            self._pack_and_discard()
        elif self._pages_out:
            self._pack_and_page_out()
        else:
            self._function.prepare()
        self._is_packed = True
        self._prepared.offer(self._function)
        # Where a constant was not contiguous this is the end of a copy of it.
        for index in self._packed_only - self._gone:
            self._function.release(index)

    def _pack_and_discard(self) -> None:
        """Lets go of each constant that calls do not read when it has been packed."""
        storages = Storages(self.constants.values())

        def drop(index: int) -> None:
            if index in self._gone and index in self.constants:
                self._function.release(index)
                storages.drop(self.constants.pop(index))

        self._is_discarded = True
        self._function.prepare(drop)
        for index in self._gone:
            drop(index)
        storages.trim()

    def _pack_and_page_out(self) -> None:
        """Lets each constant lie in a file that calls do not read when it is packed.

        One that has changed since is in use, and stays in memory.
        """
        storages = Storages(self.constants.values())
        left = set(self._packed_only)

        def page_out(index: int) -> None:
            if index in left:
                left.remove(index)
                self._function.release(index)
                storages.page_out(self.constants[index], writes=not self._is_packed)

        self._function.prepare(page_out)
        for index in tuple(left):
            page_out(index)

    def check_kept(self) -> None:
        """Raises ChimeraError if constants were discarded."""
        if self._is_discarded:
            raise ChimeraError(
                "the program's weights were discarded once they were packed: "
                "compile it without discard_weights"
            )

    def __call__(self, *arguments: Any, out: Sequence[Any] | None = None) -> list[Any]:
        """Runs the program.

        Args:
            arguments: those that are no constants, in order: arrays that have
                DLPack or the buffer protocol, and numbers for scalars.
            out: arrays for the results, all of them; else they are allocated,
                as PyTorch's tensors if an argument is one, else as NumPy's arrays.

        Raises:
            TypeError: an argument has another shape or type.
            ValueError: a result shares memory with something else.
            RuntimeError: an assertion of the program failed.
            ChimeraError: the program is for another processor.
        """
        self.check_runs_here()
        if len(arguments) != len(self._free):
            raise TypeError(
                f"{len(self._free)} arguments expected, got {len(arguments)}"
            )
        if out is None and self._takes_arrays and all(map(_arrays.is_torch, arguments)):
            return self._run_on_tensors(arguments)
        given = [
            _arrays.prepare(argument, type_)
            for argument, type_ in zip(arguments, self._free)
        ]
        results = self._allocate(given) if out is None else list(out)
        views = [_arrays.export(_arrays.view(array)) for array in results]
        self._function.run([*map(_arrays.export, given)], views)
        return results

    def _run_on_tensors(self, arguments: Sequence[Any]) -> list[Any]:
        """A call as most are, with nothing to find out that is the same in all."""
        make, export = _arrays.torch_calls()
        if self._shapes is None:
            self._shapes = [
                (type_["shape"], _arrays.torch_type(type_["element"]))
                for type_ in self._results
            ]
        given = [_arrays.prepare_tensor(argument) for argument in arguments]
        results = [make(shape, dtype=element) for shape, element in self._shapes]
        self._function.run(list(map(export, given)), list(map(export, results)))
        return results

    def _allocate(self, arguments: Sequence[Any]) -> list[Any]:
        make = _arrays.allocator(arguments, otherwise=self._allocator)
        if self._has_static_results:
            return [make(type_["shape"], type_["element"]) for type_ in self._results]
        sizes = self._function.sizes(arguments)
        if sizes is None:
            raise UnsupportedError(
                "the sizes of the results are not known before the program runs: "
                "pass arrays for them as out="
            )
        rest = iter(sizes)
        return [
            make(
                [next(rest) if size is None else size for size in type_["shape"]],
                type_["element"],
            )
            for type_ in self._results
        ]


def _make_type(runtime: Any, type_: dict[str, Any]) -> Any:
    shape = [-1 if size is None else size for size in type_["shape"]]
    return runtime.Type(type_["element"], shape, type_["kind"] == "scalar")


def compile_text(
    text: str,
    *,
    constants: Iterable[int] = (),
    target: str = "host",
    threads: int | None = None,
    sizes: Iterable[Sequence[int]] | None = None,
    fuse: str = "auto",
    processes: int = 1,
    panels: Mapping[int, int] | None = None,
    only_panels: bool = False,
    cache: bool = True,
) -> Library:
    """Compiles MLIR text: linalg or TOSA on tensors, with a function @main.

    Args:
        text: the program.
        constants: arguments, by number, that are the same in every call.
        target: a machine's name, or a file with one.
        threads: threads that run parallel loops; None for all cores.
        sizes: dynamic sizes to plan for, besides a plan for any.
        fuse: auto, never or always.
        processes: how many run the program together.
        panels: of constants, by number, the columns of the panels in which another
            program keeps them.
        only_panels: whether the program is to read these panels at any cost, since the
            originals are gone or in files.
        cache: whether to look for the program in the user's cache, and keep it.

    Raises:
        CompileError: the compiler refused the program, or its function cannot be
            called from outside.
    """
    options = Options(
        tuple(sorted(constants)),
        target,
        threads,
        tuple(tuple(case) for case in sizes or ()),
        fuse,
        processes,
        tuple(sorted((panels or {}).items())),
        only_panels,
    )
    if not cache:
        return Library(_compile(text, options), options)
    name = _cache.key(text, options.as_data())
    package = _cache.find(name)
    if package is None:
        package = _compile(text, options)
        _cache.add(name, package)
    return Library(package, options)


def _compile(text: str, options: Options) -> _package.Package:
    with tempfile.TemporaryDirectory(prefix="chimera-") as folder:
        library, manifest = Path(folder, "program.so"), Path(folder, "manifest.json")
        run_compiler(
            text,
            [
                "--emit=so",
                f"-o={library}",
                f"--json={manifest}",
                f"--runtime={_paths.runtime_library()}",
                *options.arguments(),
            ],
        )
        return _package.Package(
            library.read_bytes(),
            {**json.loads(manifest.read_text()), "options": options.as_data()},
            text,
        )
