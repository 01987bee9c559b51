"""Writes and checks what digits.mlir runs on."""

import sys

import numpy as np

GROUPS, GROUP, COLUMNS = 5, 24, 70


def make():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((GROUPS, GROUP)).astype(np.float32)
    # From group to group, with scales that make up for it, and within one.
    sizes = np.float32([1e-20, 1, 1e20, 1, 1])
    x *= sizes[:, None]
    x[3] *= np.float32(10) ** np.linspace(-6, 6, GROUP, dtype=np.float32)
    x[4] = 0
    w = rng.integers(-8, 8, (COLUMNS, GROUPS, GROUP), dtype=np.int8)
    # What is large is not always there to hide what is small.
    w[::2, 3, 12:] = 0
    s = (1 + 0.1 * rng.standard_normal((COLUMNS, GROUPS))).astype(np.float32) / sizes
    return x, w, s


def main():
    command, stem = sys.argv[1:]
    x, w, s = make()
    if command == "write":
        infinite = x.copy()
        infinite[1, 7] = -np.inf
        np.save(f"{stem}.x.npy", x.reshape(1, -1))
        np.save(f"{stem}.infinite.npy", infinite.reshape(1, -1))
        np.save(f"{stem}.w.npy", w.reshape(COLUMNS, -1))
        np.save(f"{stem}.s.npy", s[:, :, None])
        return
    y = np.load(f"{stem}.y.npy")[0]
    if command == "check-nan":
        assert np.isnan(y).all(), y
        return
    factors = w.astype(np.float64) * s[:, :, None]
    products = x.astype(np.float64)[None] * factors
    # Zeros of 8 are taken off sums of elements, which rounds as these do.
    size = (np.abs(x)[None] * (np.abs(factors) + 8 * s[:, :, None])).sum((1, 2))
    errors = np.abs(y - products.sum((1, 2))) / size
    assert errors.max() < 2e-7, errors
    print(f"largest error {errors.max():.1e}")


main()
