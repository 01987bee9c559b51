"""Runs groups that wait for memory on the functional model of an Ascend core and
checks

- the results against f64;
- the bytes into and out of UB, and the room there, against what was predicted,
  exactly.

usage: check_groups.py --opt=PATH --translate=PATH --runtime=DIR --work=DIR
                       [--target=NAME] [--compiler=CXX] [--cases=NAME]
                       [--random=N] [--seed=N]
"""

import argparse
import pathlib
import random
import re
import sys

sys.dont_write_bytecode = True

import numpy as np

from groups import Group
from kernels import ROOM, Failure, Kernels

# Of the largest result.
TOLERANCE = {"f32": 3e-6, "f16": 2e-3}
CORES = {"ascend910": 32, "ascend310p": 8, "ascend910b": 24}
TOGETHER = 25
FIGURES = re.compile(r"vector-group .*?GM->UB (\d+) bytes, UB->GM (\d+) bytes, "
                     r"UB (\d+) bytes, (\d+) cycles")

CASES = {
    "small": [
        Group("layernorm", 40, 96),
        Group("layernorm", 33, 197, "f16"),
        Group("rmsnorm", 64, 128, "f16", batch=2),
        Group("rmsnorm", 19, 75),
        Group("softmax", 20, 197, batch=2),
        Group("softmax", 33, 64, "f16"),
        Group("softmax_rows", 30, 80, batch=2),
        Group("rotary", 24, 64, "f16", batch=3),
        Group("gelu", 37, 53),
        Group("gelu_tanh", 50, 72, "f16"),
        Group("sum_rows", 50, 37),
        Group("sum_columns", 70, 50),
        Group("sum_outer", 9, 21, batch=6),
        Group("sum_all", 20, 30, batch=16),
        Group("max_rows", 41, 130),
        Group("min_rows", 16, 65),
        Group("clamp", 21, 44),
        Group("scale_rows", 45, 90),
        # Rows that are longer than UB.
        Group("layernorm", 2, 30000),
        Group("softmax_rows", 40000, 24, "f16"),
    ],
    # What is reduced takes several steps of a task, and is a result.
    "pieces": [
        Group("sum_columns", 283, 36, "f16"),
        Group("sum_outer", 40, 176, "f16", batch=16),
        Group("layernorm", 16, 224, batch=16),
        Group("softmax_rows", 40000, 24, "f16"),
    ],
}
KINDS = ["layernorm", "rmsnorm", "softmax", "softmax_rows", "gelu", "gelu_tanh",
         "rotary", "sum_rows", "sum_columns", "sum_outer", "sum_all", "max_rows",
         "min_rows", "clamp", "scale_rows"]


def make_random(generator: random.Random) -> Group:
    def size():
        return generator.choice([generator.randint(16, 40),
                                 generator.randint(16, 300),
                                 16 * generator.randint(1, 40)])

    return Group(generator.choice(KINDS), size(), size(),
                 generator.choice(["f16", "f32"]),
                 16 * generator.choice([1, 1, 2]) if generator.random() < 0.3
                 else 1)


def judge(group: Group, kernels: Kernels, figures: list, cores: int,
          seed: int) -> str:
    """What is wrong; nothing if all is well."""
    values = group.make_arguments(seed)
    try:
        results, reports = kernels.run_all(values, cores)
    except Failure as failure:
        return str(failure)
    for result, expected in zip(results, group.reference(values)):
        error = np.abs(result - expected).max() / max(1e-3,
                                                      np.abs(expected).max())
        if not error <= TOLERANCE[group.element]:
            return f"off by {error}"
    for (name, _), report, predicted in zip(kernels.kernels, reports, figures):
        counted = report["total"]
        room = next(int(size) for memory, size, kernel
                    in ROOM.findall(kernels.text) if kernel == name)
        told = (counted["routes"].get("GM->UB", {}).get("read", 0),
                counted["routes"]["UB->GM"]["written"], room)
        if told != predicted[:3]:
            return f"{name}: counted {told}, predicted {predicted[:3]}"
        if counted["high_water"]["UB"] > room:
            return f"{name}: {counted['high_water']['UB']} used of {room}"
    return ""


def check(group: Group, arguments, where: str) -> int:
    tools = {"opt": arguments.opt, "translate": arguments.translate,
             "runtime": arguments.runtime}
    try:
        kernels = Kernels(group.program(), pathlib.Path(arguments.work) / where,
                          tools, target=arguments.target,
                          compiler=arguments.compiler)
        figures = [tuple(int(figure) for figure in found) for found
                   in FIGURES.findall(kernels.remarks)]
        wrong = ("" if len(figures) == len(kernels.kernels) else
                 f"{len(figures)} plans, {len(kernels.kernels)} kernels")
        wrong = wrong or judge(group, kernels, figures,
                               CORES[arguments.target], arguments.seed)
    except Failure as failure:
        wrong = str(failure)
    if wrong:
        print(f"{group.name()}: {wrong}", flush=True)
    return bool(wrong)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("opt", "translate", "runtime", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--target", default="ascend310p", choices=CORES)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--cases", choices=CASES)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    groups = list(CASES.get(arguments.cases, []))
    groups += [make_random(generator) for _ in range(arguments.random)]
    failed = sum(check(group, arguments, f"group{i}")
                 for i, group in enumerate(groups))
    print(f"{len(groups) - failed} passed, {failed} failed")
    return 1 if failed or not groups else 0


sys.exit(main())
