"""What programs prepare of weights, kept once for all programs of the process.

A model that runs as several programs, for a prompt and for the tokens after it, say,
has the same weights in all of them. A value that two programs prepare by the same
recipe of the same weights lies in memory once; it is free when the last program that
reads it is gone.
"""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Hashable

from . import _arrays

LOCK = threading.RLock()
"""Held from looking for values until those that were missing are there."""


@dataclasses.dataclass(eq=False)
class Value:
    """A prepared value, with the storages it is made from.

    These stay, empty or not, so that no others get their addresses.
    """

    memory: Any
    storages: tuple[Any, ...]


@dataclasses.dataclass(eq=False)
class Panels:
    """The columns of the panels in which a weight is packed."""

    columns: int


_values: weakref.WeakValueDictionary[Hashable, Value] = weakref.WeakValueDictionary()
_panels: weakref.WeakValueDictionary[Hashable, Panels] = weakref.WeakValueDictionary()


def place(tensor: Any) -> Hashable | None:
    """Where one of PyTorch's tensors lies, as long as it or its storage lives.

    None for what has no place of its own.
    """
    if not _arrays.is_torch(tensor) or tensor.is_sparse:
        return None
    return (
        tensor.untyped_storage()._cdata,
        tensor.storage_offset(),
        tuple(tensor.shape),
        tensor.stride(),
        str(tensor.dtype),
    )


class Prepared:
    """The values that one program prepares, and which of them are shared.

    `values` and `panels` are the lists of those names in the program's manifest.
    """

    def __init__(
        self,
        values: Sequence[Mapping[str, Any]],
        panels: Sequence[Mapping[str, int]],
    ) -> None:
        self._values = values
        self._panels = panels
        self._keys: list[Hashable | None] = [None] * len(values)
        self._held: list[Value | None] = [None] * len(values)
        self._notes: list[Panels] = []

    def find(self, constants: Mapping[int, Any], state: Hashable) -> set[int]:
        """Takes the values that are there for `constants`, which are in `state`.

        Returns the numbers of the constants that have to be read for the others.
        """
        needed: set[int] = set()
        if not self._values or any(
            not value["recipe"] and not value["constants"] for value in self._values
        ):
            needed.update(constants)  # Nobody knows what a preparation reads.
        for number, value in enumerate(self._values):
            key = _key(value, constants, state)
            self._keys[number] = key
            self._held[number] = None if key is None else _values.get(key)
            if self._held[number] is None:
                needed.update(value["constants"])
        return needed

    def put(self, function: Any, constants: Mapping[int, Any], runtime: Any) -> None:
        """Gives all values of `function` their places, new ones where none was found."""
        for number, value in enumerate(self._values):
            held = self._held[number]
            is_there = held is not None
            if held is None:
                tensors = (constants[index] for index in value["constants"])
                storages = (t.untyped_storage() for t in tensors if _arrays.is_torch(t))
                held = Value(runtime.Memory(value["bytes"]), tuple(storages))
                self._held[number] = held
            function.place(number, held.memory, is_there)

    def offer(self, function: Any) -> None:
        """Lets other programs find what `function` has computed."""
        for key, held, number in zip(self._keys, self._held, range(len(self._held))):
            if key is not None and held is not None and function.is_computed(number):
                _values[key] = held

    def note(self, constants: Mapping[int, Any]) -> None:
        """Lets other programs know the panels that this one has."""
        self._notes = []
        for panels in self._panels:
            where = place(constants.get(panels["argument"]))
            if where is not None and where not in _panels:
                _panels[where] = note = Panels(panels["columns"])
                self._notes.append(note)


def _key(
    value: Mapping[str, Any], constants: Mapping[int, Any], state: Hashable
) -> Hashable | None:
    """What two values have in common that are the same; None if it is like no other."""
    if not value["recipe"] or state is None:
        return None
    places = []
    for index in value["constants"]:
        constant = constants.get(index)
        where = place(constant)
        if where is None or constant.is_inference():
            return None  # Nobody counts the changes of inference tensors.
        places.append((where, constant._version))
    return value["recipe"], tuple(places), state


def known_panels(tensor: Any) -> int | None:
    """The columns of the panels in which a program has packed the tensor."""
    note = _panels.get(place(tensor))
    return note.columns if note else None
