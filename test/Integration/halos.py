"""Rewrites the schedules of planned chains: `halos.py SEED < PLANNED > REWRITTEN`.

The planner cuts small images rarely. Chains whose intermediates are read
through windows get two levels of loops with random tiles over pixels and
batches, and a first intermediate that rolls where it can.
"""

import random
import re
import sys

SCHEDULE = re.compile(r"schedule\(<levels = \[(.*?)\], parallel = \d+, "
                      r"(registers = <.*?>).*?(extents = \[.*?\]).*?>\)(?: plan\(<.*?>\]>\))?")


def show_level(name, tiles):
    loops = ", ".join(f"{loop} = {tile}" for loop, tile in tiles.items())
    return f'<"{name}" : {loops}>' if loops else f'<"{name}">'


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
        cut = rng.sample(moving, rng.randint(1, len(moving)))
        outer = {name: rng.randint(1, extents[name]) for name in cut[:rng.randint(0, 2)]}
        inner = {name: rng.randint(1, min(3, outer.get(name, extents[name])))
                 for name in rng.sample(cut, len(cut))}
        levels = ", ".join(show_level(name, tiles) for name, tiles in
                           (("L3", {}), ("L2", outer), ("L1", inner)))
        rolling = ', rolling = ["mid0"]' if rng.random() < 0.6 else ""
        return (f"schedule(<levels = [{levels}], parallel = 0, "
                f"{match.group(2)}{rolling}, {match.group(3)}>)")

    text = SCHEDULE.sub(rewrite, sys.stdin.read())
    print(text)
    print(f"{count} schedules rewritten", file=sys.stderr)


main()
