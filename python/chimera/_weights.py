"""The memory of weights once they are packed: paged out, or let go of."""

from __future__ import annotations

import collections
import enum
import os
import sys
from collections.abc import Iterable
from typing import Any

from . import _arrays
from .errors import warn_once

# Bytes that may lie free in the heap before they are given back, which takes time for
# all of the heap: so much, or this part of all constants.
_LOOSE = 4 << 20
_LOOSE_PART = 32
# Bytes of a storage that are worth a file.
_PAGED = 64 << 10


def folder() -> str:
    """The folder of the files in which weights lie that are paged out."""
    return os.environ.get("TMPDIR") or "/var/tmp"


class Originals(enum.Enum):
    """What becomes of weights that calls do not read once they are packed."""

    KEPT = enum.auto()
    """They stay in memory."""
    PAGED_OUT = enum.auto()
    """They lie in files, from where whoever reads them gets them back."""
    DISCARDED = enum.auto()
    """They are gone."""

    @classmethod
    def chosen(cls, discard: bool, page_out: bool) -> Originals:
        """What a user's options say."""
        if discard:
            return cls.DISCARDED
        return cls.PAGED_OUT if page_out else cls.KEPT


class Storages:
    """The storages of PyTorch's tensors, with how many constants lie in each.

    Other arrays have memory that goes with its last owner.
    """

    def __init__(self, constants: Iterable[Any]) -> None:
        tensors = list(filter(_arrays.is_torch, constants))
        self._constants = collections.Counter(map(_number, tensors))
        self._loose = 0
        total = sum(tensor.nbytes for tensor in tensors)
        self._most_loose = max(_LOOSE, total // _LOOSE_PART)

    def drop(self, constant: Any) -> None:
        """Empty the storage of a constant if no other one lies there.

        Tensors stay, as what their module is known by. What is mapped from a file
        takes no memory that is worth anything.
        """
        storage = self._last(constant)
        if storage is not None and storage.resizable():
            self._loose += storage.nbytes()
            storage.resize_(0)
            if self._loose >= self._most_loose:
                self.trim()

    def page_out(self, constant: Any, writes: bool) -> None:
        """Let the memory of a constant lie in a file if no other one lies there.

        If `writes`, memory that no file has is written to one.
        """
        storage = self._last(constant)
        if storage is None or storage.nbytes() < _PAGED or _is_pinned(constant):
            return
        if storage.resizable() and not constant.is_shared():
            _page_out(storage.data_ptr(), storage.nbytes(), writes)

    def _last(self, constant: Any) -> Any:
        """The storage of a constant; None after all but the last of those in it."""
        if not _arrays.is_torch(constant):
            return None
        number = _number(constant)
        self._constants[number] -= 1
        return None if self._constants[number] else constant.untyped_storage()

    def trim(self) -> None:
        """Give the memory of what has been emptied back to the system."""
        trim()
        self._loose = 0


def trim() -> None:
    """Give memory that lies free in the heap back to the system."""
    from . import _runtime

    _runtime.trim()


def _page_out(address: int, size: int, writes: bool) -> None:
    from . import _runtime

    try:
        _runtime.page_out(address, size, folder(), writes)
    except OSError as error:
        warn_once(f"weights stay in memory, beside what is packed of them: {error}")


def _is_pinned(tensor: Any) -> bool:
    """Whether a device may read the memory of one of PyTorch's tensors by itself."""
    cuda = sys.modules["torch"].cuda
    return bool(cuda.is_initialized() and tensor.is_pinned())


def is_empty(constant: Any) -> bool:
    """Whether the memory of one of PyTorch's tensors has been given back."""
    return (
        _arrays.is_torch(constant)
        and constant.numel() > 0
        and not constant.untyped_storage().nbytes()
    )


def _number(tensor: Any) -> int:
    number: int = tensor.untyped_storage()._cdata
    return number
