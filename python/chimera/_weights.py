"""The memory of weights that are let go of once they are packed."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from . import _arrays

# Bytes that may lie free in the heap before they are given back, which takes time for
# all of the heap: so much, or this part of all constants.
_LOOSE = 4 << 20
_LOOSE_PART = 32


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
        if not _arrays.is_torch(constant):
            return
        number = _number(constant)
        self._constants[number] -= 1
        storage = constant.untyped_storage()
        if not self._constants[number] and storage.resizable():
            self._loose += storage.nbytes()
            storage.resize_(0)
            if self._loose >= self._most_loose:
                self.trim()

    def trim(self) -> None:
        """Give the memory of what has been emptied back to the system."""
        trim()
        self._loose = 0


def trim() -> None:
    """Give memory that lies free in the heap back to the system."""
    from . import _runtime

    _runtime.trim()


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
