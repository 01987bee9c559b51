"""Writes tensors of small integers, exact in f32 whatever the order of sums."""

import sys

import numpy

generator = numpy.random.default_rng(0)
for index, shape in enumerate(sys.argv[2:]):
    values = generator.integers(-2, 3, [int(size) for size in shape.split("x")])
    numpy.save(f"{sys.argv[1]}/{index}.npy", values.astype(numpy.float32))
