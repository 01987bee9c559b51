"""Programs of several processes, whose exchanges `torch.distributed` moves.

    torch.distributed.init_process_group("gloo")
    chimera.distributed.use()

From then on the programs of this process exchange their parts with those of the other
processes of the group. What goes wrong in an exchange ends the process with a line,
which the others notice: none is left waiting.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _paths, _processes
from .errors import ChimeraError
from .importers import require

if TYPE_CHECKING:
    import torch
    from torch.distributed import ProcessGroup

# The enumerations of chimera_collectives.h, in order.
_TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "int32", "int64")
_OPERATIONS = ("SUM", "PRODUCT", "MIN", "MAX")
_FAILED, _DONE = 1, 0


class _Group(ctypes.Structure):
    """`chimera_group`."""

    _fields_ = [
        ("size", ctypes.c_int64),
        ("position", ctypes.c_int64),
        ("members", ctypes.POINTER(ctypes.c_int64)),
        ("communicator", ctypes.c_void_p),
    ]


class _Collective(ctypes.Structure):
    """`chimera_collective`."""

    _fields_ = [
        ("kind", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("operation", ctypes.c_int32),
        ("root", ctypes.c_int32),
        ("count", ctypes.c_int64),
        ("element_bytes", ctypes.c_int64),
        ("source", ctypes.c_void_p),
        ("target", ctypes.c_void_p),
        ("group", ctypes.POINTER(_Group)),
    ]


_MESSAGE = (ctypes.c_void_p, ctypes.c_size_t)
_NUMBER = ctypes.POINTER(ctypes.c_int64)
_WHAT = ctypes.POINTER(_Collective)
_JOIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _NUMBER, _NUMBER, *_MESSAGE)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _WHAT, *_MESSAGE)
_START = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, _WHAT, ctypes.POINTER(ctypes.c_void_p), *_MESSAGE
)
_WAIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *_MESSAGE)
_STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Callbacks(ctypes.Structure):
    """`chimera_transport`."""

    _fields_ = [
        ("context", ctypes.c_void_p),
        ("join", _JOIN),
        ("run", _RUN),
        ("start", _START),
        ("wait", _WAIT),
        ("stop", _STOP),
    ]


def _guard(callback: Callable[..., None]) -> Callable[..., int]:
    """A callback that returns the first line of its exception, if it raises one."""

    @functools.wraps(callback)
    def guarded(_context: Any, *args: Any) -> int:
        *rest, message, size = args
        try:
            callback(*rest)
        # Nothing may pass through C, an interrupt from the keyboard neither.
        except BaseException as error:
            lines = str(error).splitlines() or [""]
            text = f"{type(error).__name__}: {lines[0]}".encode()[: size - 1]
            ctypes.memmove(message, text + b"\0", len(text) + 1)
            return _FAILED
        return _DONE

    return guarded


class _Transport:
    """Serves the callbacks of programs by a group of torch.distributed."""

    def __init__(self, group: ProcessGroup) -> None:
        self._torch = require("torch")
        self._dist = require("torch.distributed")
        self._whole = group
        self._types = [getattr(self._torch, name) for name in _TYPES]
        self._operations = [getattr(self._dist.ReduceOp, o) for o in _OPERATIONS]
        self._run = (
            self._all_reduce,
            self._all_gather,
            self._reduce_scatter,
            self._all_to_all,
            self._broadcast,
        )
        # By the address of what the library keeps of each as long as it lives.
        self._groups: dict[int, ProcessGroup] = {}
        self._requests: dict[int, Any] = {}
        self._numbers = itertools.count(1)
        # A process that is gone is noticed by those that it is connected to.
        self.callbacks = _Callbacks(
            join=_JOIN(_guard(self.join)),
            run=_RUN(_guard(self.run)),
            start=_START(_guard(self.start)),
            wait=_WAIT(_guard(self.wait)),
        )

    def join(self, process: Any, processes: Any) -> None:
        process[0] = self._dist.get_rank(self._whole)
        processes[0] = self._dist.get_world_size(self._whole)

    def run(self, what: Any) -> None:
        self._run[what[0].kind](what[0])

    def start(self, what: Any, request: Any) -> None:
        number = next(self._numbers)
        self._requests[number] = self._all_reduce(what[0], wait=False)
        request[0] = number

    def wait(self, request: int) -> None:
        work = self._requests.pop(request)
        if work is not None:
            work.wait()

    def _all_reduce(self, what: _Collective, wait: bool = True) -> Any:
        group, target = self._group(what), self._view(what.target, what)
        if what.source != what.target:
            target.copy_(self._view(what.source, what))
        if self._loses_nan(what):
            every = target.new_empty(what.group[0].size, what.count)
            self._dist.all_gather_into_tensor(every.view(-1), target, group=group)
            self._combine(every, what)
            return None
        operation = self._operations[what.operation]
        return self._dist.all_reduce(target, operation, group, async_op=not wait)

    def _all_gather(self, what: _Collective) -> None:
        self._dist.all_gather_into_tensor(
            self._view(what.target, what, what.group[0].size),
            self._view(what.source, what),
            group=self._group(what),
        )

    def _reduce_scatter(self, what: _Collective) -> None:
        group = self._group(what)
        source = self._view(what.source, what, what.group[0].size)
        if self._loses_nan(what):
            every = source.new_empty(what.group[0].size, what.count)
            self._dist.all_to_all_single(every.view(-1), source, group=group)
            self._combine(every, what)
            return
        target = self._view(what.target, what)
        operation = self._operations[what.operation]
        self._dist.reduce_scatter_tensor(target, source, operation, group)

    def _all_to_all(self, what: _Collective) -> None:
        source = self._view(what.source, what, what.group[0].size)
        target = self._view(what.target, what, what.group[0].size)
        if what.source == what.target:
            source = source.clone()
        self._dist.all_to_all_single(target, source, group=self._group(what))

    def _broadcast(self, what: _Collective) -> None:
        root = what.group[0].members[what.root]
        root = self._dist.get_global_rank(self._whole, root)
        target = self._view(what.target, what)
        self._dist.broadcast(target, root, group=self._group(what))

    def _loses_nan(self, what: _Collective) -> bool:
        """Whether this is a minimum or maximum of floats: Gloo's may drop NaN."""
        return (
            _OPERATIONS[what.operation] in ("MIN", "MAX")
            and self._types[what.type].is_floating_point
        )

    def _combine(self, every: torch.Tensor, what: _Collective) -> None:
        """The minimum or maximum of the rows, one of each process."""
        is_minimum = _OPERATIONS[what.operation] == "MIN"
        extreme = self._torch.amin if is_minimum else self._torch.amax
        extreme(every, 0, out=self._view(what.target, what))

    def _view(self, address: int, what: _Collective, parts: int = 1) -> torch.Tensor:
        """The program's memory as a tensor, without a copy."""
        size = what.count * parts * what.element_bytes
        memory = (ctypes.c_char * size).from_address(address)
        return self._torch.frombuffer(memory, dtype=self._types[what.type])

    def _group(self, what: _Collective) -> ProcessGroup:
        """The processes of a collective; made once, by its members alone."""
        group = what.group[0]
        if group.size == self._dist.get_world_size(self._whole):
            return self._whole
        address = ctypes.addressof(group)
        if address not in self._groups:
            self._groups[address] = self._dist.new_group(
                [
                    self._dist.get_global_rank(self._whole, member)
                    for member in group.members[: group.size]
                ],
                use_local_synchronization=True,
            )
        return self._groups[address]


_used: list[_Transport] = []
"""The library has the addresses of their callbacks."""


def use(group: ProcessGroup | None = None) -> None:
    """Lets programs of several processes exchange their parts through `group`.

    Every process of the group calls this before it runs such a program. The backend
    has to move tensors in this machine's memory, as Gloo does.

    Args:
        group: the processes, numbered as in the group; None for all.

    Raises:
        MissingPackageError: PyTorch is not installed.
        ChimeraError: `init_process_group` has not been called, or this process is
            not in the group.
    """
    dist = require("torch.distributed")
    if not dist.is_available() or not dist.is_initialized():
        raise ChimeraError("call torch.distributed.init_process_group first")
    if group is None:
        group = dist.group.WORLD
    if group is None or dist.get_rank(group) < 0:
        raise ChimeraError("this process is not in the group")
    transport = _Transport(group)
    library = _paths.load_collectives()
    library.chimera_set_transport(ctypes.byref(transport.callbacks))
    _used.append(transport)
    _processes.current = dist.get_rank(group)
