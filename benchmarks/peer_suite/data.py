"""The arrays that cases run on, and what they should compute."""

import math
import zlib

import numpy as np

from . import networks
from .cases import Argument, Case


def normal(rng, shape):
    return rng.standard_normal(shape, dtype=np.float32)


def rows_in(rng, shape):
    """Weights [in][out] that keep the size of what they are multiplied with."""
    return normal(rng, shape) / np.float32(math.sqrt(shape[0]))


def columns_in(rng, shape):
    """The same for weights [out][in]."""
    return normal(rng, shape) / np.float32(math.sqrt(shape[-1]))


def filters(rng, shape):
    """The same for filters [out][in][...]."""
    return normal(rng, shape) / np.float32(math.sqrt(math.prod(shape[1:])))


def near_one(rng, shape):
    return 1 + np.float32(0.1) * normal(rng, shape)


def codes(rng, shape):
    return rng.integers(-127, 128, shape, dtype=np.int8)


def half_codes(rng, shape):
    return rng.integers(-8, 8, shape, dtype=np.int8)


def sums(rng, shape):
    return rng.integers(-2**14, 2**14, shape, dtype=np.int32)


def some_keys(rng, shape):
    """True for about two thirds of the keys, for one in every row at least."""
    return (rng.random(shape) < 2 / 3) | np.eye(*shape, dtype=bool)


def padding(rng, shape):
    """A summand that takes the last quarter of the keys away."""
    mask = np.zeros(shape, dtype=np.float32)
    mask[..., 3 * shape[-1] // 4:] = -1e4
    return mask


def angles(shape):
    rows, columns = shape
    frequencies = 1e4 ** (-np.arange(0, columns, 2) / columns)
    half = np.outer(np.arange(rows), frequencies)
    return np.concatenate([half, half], 1)


def cosines(rng, shape):
    return np.cos(angles(shape)).astype(np.float32)


def sines(rng, shape):
    return np.sin(angles(shape)).astype(np.float32)


# By the names that arguments have for them.
MAKERS = {make.__name__: make for make in (
    normal, rows_in, columns_in, filters, near_one, some_keys, padding, cosines, sines,
    codes, half_codes, sums)}


def align(array: np.ndarray, boundary: int = 64) -> np.ndarray:
    buffer = np.empty(array.nbytes + boundary, dtype=np.uint8)
    start = -buffer.ctypes.data % boundary
    result = buffer[start:start + array.nbytes].view(array.dtype)
    result = result.reshape(array.shape)
    result[...] = array
    return result


def to_bf16(array: np.ndarray) -> np.ndarray:
    """The bits of numbers rounded to bf16, as integers: NumPy lacks the type."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def make_one(rng, argument: Argument) -> np.ndarray:
    array = MAKERS[argument.maker](rng, argument.shape)
    return array if argument.factor == 1 else array * array.dtype.type(argument.factor)


def make(case: Case) -> list[np.ndarray]:
    """The same arrays in every process, aligned to cache lines, of f32 or of integers.
    They hold numbers that the case's type has."""
    if case.is_network:
        return [align(array) for array in networks.arguments(case.name)]
    rng = np.random.default_rng(zlib.crc32(case.key.encode()))
    arrays = [make_one(rng, argument) for argument in case.arguments]
    if case.element == "bf16":
        arrays = [from_bf16(to_bf16(array)) for array in arrays]
    return [align(array) for array in arrays]


def make_inputs(case: Case) -> list[np.ndarray]:
    """Those of the arrays that are no weights."""
    return [array for array, argument in zip(make(case), case.arguments)
            if not argument.constant]


def as_list(results) -> list:
    """One result or several."""
    return list(results) if isinstance(results, (list, tuple)) else [results]


def make_reference(case: Case, ops) -> list[np.ndarray]:
    if case.is_network:
        return [networks.reference(case.name)]
    wide = [x.astype(np.float64) if x.dtype == np.float32 else x
            for x in make(case)]
    return as_list(case.compute(ops, *wide))
