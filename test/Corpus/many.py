"""Writes programs with many operations: `many.py gemms N`, N products one after
the other, or `many.py pairs N`, N chains of two with an activation between them,
each reading the result of the one before it twice, which separates them."""

import sys

TYPE = "tensor<24x24xf32>"
kind, count = sys.argv[1], int(sys.argv[2])


def matmul(result, a, b):
    print(f"  %{result} = linalg.matmul ins(%{a}, %{b} : {TYPE}, {TYPE})"
          f" outs(%init : {TYPE}) -> {TYPE}")


def elementwise(result, op, *operands):
    names = ", ".join(f"%{name}" for name in operands)
    types = ", ".join(TYPE for _ in operands)
    print(f"  %{result} = linalg.{op} ins({names} : {types})"
          f" outs(%empty : {TYPE}) -> {TYPE}")


print(f"func.func @main(%x: {TYPE}, %w: {TYPE}) -> {TYPE} {{")
print("  %zero = arith.constant 0.0 : f32")
print(f"  %empty = tensor.empty() : {TYPE}")
print(f"  %init = linalg.fill ins(%zero : f32) outs(%empty : {TYPE}) -> {TYPE}")
last = "x"
for i in range(count):
    if kind == "gemms":
        matmul(f"r{i}", last, "w")
    else:
        matmul(f"c{i}", last, "w")
        elementwise(f"t{i}", "tanh", f"c{i}")
        matmul(f"e{i}", f"t{i}", "w")
        elementwise(f"s{i}", "add", f"e{i}", last)
        elementwise(f"r{i}", "tanh", f"s{i}")
    last = f"r{i}"
print(f"  return %{last} : {TYPE}\n}}")
