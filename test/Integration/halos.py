"""Rewrites the schedules of planned chains: `halos.py SEED < PLANNED > REWRITTEN`.

The planner cuts small images rarely. Chains whose intermediates are read
through windows get loops with random tiles around all of their operators, some
of them parallel, and intermediates that roll where they may.
"""

import random
import re
import sys

SCHEDULE = re.compile(r"schedule\(<levels = \[(.*?)\], parallel = \d+, "
                      r"(registers = <.*?>).*?(extents = \[.*?\]).*?>\)(?: plan\(<.*?>\]>\))?")


def main():
    rng = random.Random(sys.argv[1])
    count = 0

    def rewrite(match):
        nonlocal count
        extents = {name: int(size) for name, size in
                   re.findall(r"(\w+) = (\d+)", match.group(3))}
        derived = [name for name in extents if re.fullmatch(r"p\d*", name)]
        moving = [name for name in extents
                  if re.fullmatch(r"[hmb]\d*", name) and extents[name] > 1]
        if not derived or not moving:
            return match.group(0)
        count += 1
        rng.shuffle(moving)
        order = moving[:rng.randint(1, len(moving))]
        outer = [(name, rng.randint(1, extents[name])) for name in order[:rng.randint(0, 2)]]
        left = dict(outer)
        inner = [(name, rng.randint(1, min(3, left.get(name, extents[name])))) for name in order]
        levels = [outer, inner]
        rng.shuffle(inner)
        parallel = 0
        text = ", ".join(
            f'<"{name}"' + (" : " + ", ".join(f"{loop} = {tile}" for loop, tile in level)
                            if level else "") + ">"
            for name, level in zip(["L3", "L2", "L1"], [[], *levels]))
        rolling = ', rolling = ["mid0"]' if rng.random() < 0.6 else ""
        return (f"schedule(<levels = [{text}], parallel = {parallel}, "
                f"{match.group(2)}{rolling}, {match.group(3)}>)")

    text = SCHEDULE.sub(rewrite, sys.stdin.read())
    print(text)
    print(f"{count} schedules rewritten", file=sys.stderr)


main()
