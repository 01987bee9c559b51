"""Writes floats for rounding.mlir and checks what became of them."""

import sys

import numpy as np

action, prefix = sys.argv[1:]
rng = np.random.default_rng(1)
# Every number of 16 bits, between neighbours of which there is one of f32 in the
# middle, one above it and one below; denormal and random numbers; the rest.
halves = np.arange(1 << 16, dtype=np.uint32) << 16
edges = [halves + offset for offset in (0, 0x7FFF, 0x8000, 0x8001, 0xFFFF)]
short = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
middles = (short[:-1].astype(np.float64) + short[1:]) / 2
bits = np.concatenate([
    *edges, short.view(np.uint32), middles.astype(np.float32).view(np.uint32),
    rng.integers(0, 1 << 32, 100001, dtype=np.uint32)])
wide = np.resize(bits, 600011).astype(np.uint32).view(np.float32)
# Around those of f32.
with np.errstate(over="ignore", invalid="ignore"):
    long = wide.astype(np.float64) * (1 + rng.integers(-1, 2, wide.size) * 2.0**-40)
narrow = np.arange(1 << 16, dtype=np.uint16)

if action == "write":
    np.save(f"{prefix}.wide.npy", wide)
    np.save(f"{prefix}.long.npy", long)
    np.save(f"{prefix}.bf16.npy", narrow)
    np.save(f"{prefix}.f16.npy", narrow.view(np.float16))
    sys.exit()


def to_bf16(values):
    """The nearer of two neighbours, in f64; of two as near, the even one."""
    low = values.view(np.uint32) >> 16
    high = low + 1
    as_number = lambda upper: (upper << 16).astype(np.uint32).view(np.float32).astype(np.float64)
    below, above = as_number(low), as_number(high)
    # Behind the largest number lies what would be the next one.
    above = np.where(np.isinf(above), np.sign(below) * 2.0**128, above)
    with np.errstate(invalid="ignore"):
        down, up = np.abs(values - below), np.abs(above - values)
    takes_high = (up < down) | ((up == down) & (low % 2 == 1))
    result = np.where(takes_high & np.isfinite(values), high, low)
    return result.astype(np.uint16)


def check(name, result, expected):
    is_nan = np.isnan(expected)
    assert np.array_equal(np.isnan(result), is_nan), name
    same = result.view(np.uint32)[~is_nan] == expected.view(np.uint32)[~is_nan]
    assert same.all(), (name, result[~is_nan][~same][:4], expected[~is_nan][~same][:4])


def from_bf16(upper):
    return (upper.astype(np.uint32) << 16).view(np.float32)


results = [np.load(f"{prefix}.out{i}.npy") for i in range(6)]
with np.errstate(over="ignore", invalid="ignore"):
    rounded = np.where(np.isnan(wide), np.float32(np.nan), from_bf16(to_bf16(wide)))
    check("to bf16", from_bf16(results[0]), rounded)
    check("rounded to bf16", results[1], rounded)
    check("to f16", results[2].astype(np.float32), wide.astype(np.float16).astype(np.float32))
    check("from bf16", results[3], from_bf16(narrow))
    # By way of f32, as upstream's passes and PyTorch do it.
    single = long.astype(np.float32)
    rounded = np.where(np.isnan(single), np.float32(np.nan), from_bf16(to_bf16(single)))
    check("f64 to bf16", from_bf16(results[5]), rounded)
    check("from f16", results[4], narrow.view(np.float16).astype(np.float32))
