"""Programs: what `compile` makes of a source, and what is loaded from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable

from . import _arrays, _package
from ._compiler import SCHEMA, Instance, Library, Options, compile_text, run_compiler
from ._weights import Originals
from .errors import ChimeraError
from .importers import import_program
from .report import Report

_STAGES = {"planned": "mlir", "llvm": "llvm", "asm": "asm"}


class Program:
    """A compiled program with its weights, called like the function it was.

    Arguments are arrays of NumPy, PyTorch or anything else with DLPack; they are
    not copied if they are contiguous. Results are new, as PyTorch's tensors where
    an argument is one, else as NumPy's arrays. Calls run without the interpreter's
    lock, and may come from several threads at once.
    """

    def __init__(
        self,
        instance: Instance,
        names: Sequence[str],
        flatten: Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]],
        unflatten: Callable[[Sequence[Any]], Any],
        ties: Mapping[int, int],
    ) -> None:
        self._instance = instance
        self._names = list(names)
        self._flatten = flatten
        self._unflatten = unflatten
        self._ties = dict(ties)

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Runs the program.

        Args:
            args, kwargs: as the function that was compiled takes them.
            out: an array, or a sequence of them, that the results are written to.

        Raises:
            TypeError: an argument has another shape or type than it was compiled
                for.
            ValueError: an array of `out` shares memory with an argument.
            RuntimeError: an assertion of the program failed.
            ChimeraError: the program is for another processor.
        """
        if out is not None and not isinstance(out, (list, tuple)):
            out = [out]
        return self._unflatten(self.run(self._flatten(args, kwargs), out))

    def run(
        self, arguments: Sequence[Any], out: Sequence[Any] | None = None
    ) -> list[Any]:
        """Runs the program on a flat list of arrays; returns one of all results.

        Raises what a call raises.
        """
        results = self._instance(*arguments, out=out)
        if self._ties:
            self._copy_back(arguments, results)
        return results

    def _copy_back(self, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """Writes results that are new values of arguments into these."""
        constants = self._instance.constants
        fixed = self._instance.fixed
        free = [i for i in range(len(self._names)) if i not in fixed]
        for result, argument in self._ties.items():
            if argument in constants:
                target = constants[argument]
            else:
                target = arguments[free.index(argument)]
            target[...] = results[result]

    def refresh(self) -> None:
        """Packs the weights again, after they were changed in place.

        Raises ChimeraError if they were discarded.
        """
        self._instance.pack()

    @property
    def plan(self) -> list[dict[str, Any]]:
        """How each chain was planned: verdict, order, tiles, bytes, times."""
        return self._instance.library.manifest["chains"]

    @property
    def remarks(self) -> list[dict[str, Any]]:
        """What the compiler decided and why, with the places in the source."""
        return self._instance.library.manifest["remarks"]

    @property
    def signature(self) -> dict[str, Any]:
        """Arguments and results: element types, and shapes with None for any."""
        function = self._instance.library.function
        return {**function, "names": list(self._names)}

    def report(self) -> Report:
        """What was decided, to print, show in a notebook, or save."""
        return Report(self._instance.library)

    def mlir(self, stage: str = "source") -> str:
        """The program as text.

        Args:
            stage: "source", "planned" (with schedules), "llvm" or "asm".
        """
        library = self._instance.library
        if stage == "source":
            return library.package.source
        if stage not in _STAGES:
            known = ", ".join(("source", *_STAGES))
            raise ValueError(f"there is no stage '{stage}'; there are {known}")
        arguments = [f"--emit={_STAGES[stage]}", *library.options.arguments()]
        return run_compiler(library.package.source, arguments).stdout

    def save(self, path: str | Path) -> None:
        """Writes the program with its weights to one file, for `chimera.load`.

        The file runs on machines with the instructions of the program's target; on
        others `chimera.load` says what they lack.
        Raises OSError, or ChimeraError if weights were discarded.
        """
        self._instance.check_kept()
        library = self._instance.library
        package = _package.Package(
            library.package.library,
            {**library.manifest, "names": self._names, "ties": self._ties},
            library.package.source,
        )
        weights = {
            index: _arrays.to_numpy(value)
            for index, value in self._instance.constants.items()
        }
        _package.write(Path(path), package, weights)

    def __repr__(self) -> str:
        function = self._instance.library.function
        names = ", ".join(
            name
            for index, name in enumerate(self._names)
            if index not in self._instance.fixed
        )
        return f"<chimera.Program {function['name']}({names})>"


def compile(
    source: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    target: str = "host",
    threads: int | None = None,
    constants: Mapping[int, Any] | None = None,
    sizes: Iterable[Sequence[int]] | None = None,
    dynamic_shapes: Any = None,
    fuse: str = "auto",
    processes: int = 1,
    process: int | None = None,
    cache: bool = True,
    discard_weights: bool = False,
    page_out_weights: bool = True,
) -> Program:
    """Compiles a model.

    Args:
        source: MLIR text or a file of it; a torch module, or a program of
            torch.export; an ONNX model or a file of it; StableHLO text or a file
            of it; a function that jax.jit lowered.
        args, kwargs: example arguments, to trace a torch module with.
        target: the machine to compile for: a name, or a file that
            `benchmarks/calibrate` wrote.
        threads: threads that run the program; None for all cores.
        constants: arguments, by number, that are the same in every call, as they
            are in every call: packed once. A model's own weights are anyway.
        sizes: the dynamic sizes to plan for, each case in the order in which
            they first occur in the arguments, besides a plan for any.
        dynamic_shapes: which sizes of a torch module are dynamic, as
            torch.export takes it.
        fuse: "auto", where it is predicted to gain; "never"; "always".
        processes: how many run the program together (docs/several-machines.md), if
            that is predicted to gain.
        process: which of them this is, of which it packs the part of the weights;
            None where chimera.distributed knows.
        cache: whether to look for the program in the user's cache, and keep it.
        discard_weights: whether to let go of each weight once it is packed. A torch
            module's become empty; the memory of other arrays is free when nobody
            else has them. The program can neither be saved nor refreshed.
        page_out_weights: whether a torch module's weights lie in files of TMPDIR, or of
            /var/tmp, once they are packed, instead of in memory: nameless files, which
            go with the weights. They are there for all who read or write them. Where
            the folder is not on a disk, or the heap not that of glibc, they stay in
            memory.

    Raises:
        CompileError: the compiler refused the program, with the place.
        UnsupportedError: the source has what no importer takes.
        MissingPackageError: the package that reads such sources is not installed.
    """
    imported = import_program(source, args, kwargs, dynamic_shapes)
    weights = {**imported.constants, **(constants or {})}
    library = compile_text(
        imported.text,
        constants=weights,
        target=target,
        threads=threads,
        sizes=sizes,
        fuse=fuse,
        processes=processes,
        cache=cache,
    )
    flatten = imported.flatten
    if constants:
        flatten = _take_by_name(imported.names, weights)
    originals = Originals.chosen(discard_weights, page_out_weights)
    instance = library.instantiate(weights, process, originals, imported.ties.values())
    return Program(instance, imported.names, flatten, imported.unflatten, imported.ties)


def _take_by_name(
    names: Sequence[str], constants: Iterable[int]
) -> Callable[[Sequence[Any], Mapping[str, Any]], list[Any]]:
    """Takes a call's arguments in order or by name, without those in `constants`."""
    known = set(constants)
    free = [name for index, name in enumerate(names) if index not in known]

    def flatten(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        rest = free[len(args) :]
        unknown = set(kwargs) - set(rest)
        if unknown:
            raise TypeError(f"there is no argument named {', '.join(sorted(unknown))}")
        return [*args, *(kwargs[name] for name in rest if name in kwargs)]

    return flatten


def load(path: str | Path, *, process: int | None = None) -> Program:
    """Loads what `Program.save` wrote. Needs neither the compiler nor LLVM.

    Of a program of several processes, `process` says which one this is, where
    chimera.distributed does not; it reads its part of the weights.

    The program takes the arguments in the order, or by the names, that `repr`
    shows, and returns a result or a tuple of them.

    Raises:
        OSError: the file cannot be read.
        ChimeraError: it is damaged, or of another version, or has no such process,
            or is for a processor with instructions that this one lacks.
    """
    path = Path(path)
    package = _package.read(path)
    manifest = package.manifest
    options = manifest.get("options", {})
    library = Library(
        package,
        Options(
            tuple(options.get("constants", ())),
            options.get("target", "host"),
            options.get("threads"),
            tuple(map(tuple, options.get("sizes", ()))),
            options.get("fuse", "auto"),
            options.get("processes", 1),
        ),
    )
    weights = _package.read_weights(path)
    if manifest.get("schema") != SCHEMA:
        raise ChimeraError(f"{path} is of another version; compile it again")
    names = manifest["names"]
    ties = {
        int(result): argument for result, argument in manifest.get("ties", {}).items()
    }

    def unflatten(results: Sequence[Any]) -> Any:
        kept = [value for index, value in enumerate(results) if index not in ties]
        return kept[0] if len(kept) == 1 else tuple(kept)

    flatten = _take_by_name(names, weights)
    instance = library.instantiate(weights, process)
    instance.check_runs_here()
    return Program(instance, names, flatten, unflatten, ties)
