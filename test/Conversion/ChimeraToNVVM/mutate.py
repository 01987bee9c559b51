"""Breaks kernels in ways that their authors might, and counts what the interpreter of
PTX notices.

    mutate.py COUNT [SEED]

Ends with an error if it misses more than one of a hundred. A barrier that is left
out, a wait for one group of copies fewer, a copy or a commit that is missing, a copy to
another stage or from another place, a matrix that is read transposed, or is not,
operands of a product that change places, a wrong neighbour in an exchange, and, where
blocks make parts of a reduction, a fence or a count that is missing, another count, and
parts that go to and come from other places; an image with a border elsewhere: each
makes another kernel, which is run as kernels.py runs them, until something is wrong: a
race, an access outside, the result, the bytes that move, banks in conflict.
"""

import random
import re
import sys

import kernels
from convolutions import Convolution, check_convolution
from programs import Attention, Chain

CASES = [
    Chain("f16", 0, 64, 64, 64, 32, tiles="m = 32, l = 16"),
    Chain("f16", 0, 70, 32, 64, 32, tiles="m = 64, l = 32", rows=2),
    Chain("f32", 0, 64, 32, 48, 32, tiles="m = 32, l = 16"),
    Attention("f16", 2, 0, 64, 64, 64, "causal", "b = 1, m = 32, l = 16"),
    Attention("f16", 2, 0, 32, 48, 64, "", "b = 1, m = 16, l = 16"),
    Attention("f16", 2, 0, 16, 64, 64, "", "b = 1, l = 32; l = 16"),
    # Of keys that a mask leaves out for all queries nothing depends.
    Attention("f16", 2, 0, 16, 96, 64, "", "b = 1; l = 32", sharers=2),
    Attention("f16", 2, 0, 96, 96, 64, "causal", "b = 1, m = 16; l = 32", sharers=2),
    Convolution("f16", "nhwc", 32, 4, 20, ((32, 3, 1), (16, 1, 1)), "relu",
                "h = 1, h1 = 16; r = 1, r1 = 1"),
]


def shift_constant(match, rng):
    """An address with another constant, by 16 bytes to 2 KiB."""
    start, constant, end = match.groups()
    return f"{start}{int(constant) + 16 * 2 ** rng.randrange(8)}{end}"


def swap(match, rng):
    """Two of the registers of an operand of mma.sync change places."""
    registers = match[2].split(", ")
    first, second = rng.sample(range(len(registers)), 2)
    registers[first], registers[second] = registers[second], registers[first]
    return match[1] + ", ".join(registers) + match[3]


# What is looked for, and what becomes of it.
MUTATIONS = {
    "no barrier": (r"bar\.sync[^;]*;", lambda m, rng: ""),
    "a wait too short": (r"(cp\.async\.wait_group\s+)(\d+)(;)",
                         lambda m, rng: f"{m[1]}{int(m[2]) + 1}{m[3]}"),
    # Where the next one follows before a wait, groups only join.
    "no commit": (r"cp\.async\.commit_group;"
                  r"(?=(?:(?!cp\.async\.commit_group)[\s\S])*?"
                  r"(?:cp\.async\.wait_group|\Z))", lambda m, rng: ""),
    "no copy": (r"cp\.async\.c[ag]\.shared[^;]*;", lambda m, rng: ""),
    "a copy to elsewhere": (
        r"(cp\.async\.c[ag]\.shared\.global \[%rd\d+\+)(\d+)(\][^;]*;)",
        shift_constant),
    "a copy from elsewhere": (
        r"(cp\.async\.c[ag]\.shared\.global [^;]*?, \[%rd\d+\+)(\d+)(\][^;]*;)",
        shift_constant),
    "another border": (r"(setp\.lt\.u64\s+%p\d+, %rd\d+, )(\d+)(;)",
                       lambda m, rng: f"{m[1]}{int(m[2]) // 2}{m[3]}"),
    "transposed": (r"(ldmatrix\.sync\.aligned\.m8n8\.x[124])(\.trans)?",
                   lambda m, rng: m[1] + ("" if m[2] else ".trans")),
    "operands": (r"(mma\.sync[^;]*?\}, \{)([^}]*)(\}, \{[^}]*\}, \{[^}]*\};)", swap),
    "no fence": (r"fence\.acq_rel\.gpu;", lambda m, rng: ""),
    "another count": (r"(atom\.global\.inc\.u32 [^;]*, )(\d+)(;)",
                      lambda m, rng: f"{m[1]}{int(m[2]) + rng.choice((-1, 1))}{m[3]}"),
    "no count": (r"atom\.global\.inc\.u32\s+(%r\d+)[^;]*;",
                 lambda m, rng: f"mov.b32 {m[1]}, {rng.randrange(2)};"),
    "a part from elsewhere": (
        r"(ld\.global\.b32\s+[^;]*?, \[%rd\d+\+)(-?\d+)(\];)", shift_constant),
    "a part to elsewhere": (
        r"(st\.global\.v2\.b32\s+\[%rd\d+\+)(\d+)(\],)", shift_constant),
    "a row from elsewhere": (
        r"(ld\.shared\.b32\s+%r\d+, \[%rd\d+\+)(\d+)(\];)", shift_constant),
    "the wrong neighbour": (r"(shfl\.sync\.bfly\.b32 [^;]*?, )([12])(, 31)",
                            lambda m, rng: f"{m[1]}{3 - int(m[2])}{m[3]}"),
}


def mutate(text, rng):
    """What was done, and the text with that done in one place."""
    while True:
        name = rng.choice(sorted(MUTATIONS))
        pattern, change = MUTATIONS[name]
        places = list(re.finditer(pattern, text))
        if places:
            match = rng.choice(places)
            return name, (text[:match.start()] + change(match, rng)
                          + text[match.end():])


def is_noticed(case, text, manifest, plan):
    try:
        with kernels.silence():
            if isinstance(case, Convolution):
                return bool(check_convolution(case, [(text, manifest, plan)]))
            # A wrong maximum shows where scores differ much.
            return any(kernels.check_kernel(case, text, manifest, plan, is_sharp)
                       for is_sharp in (False, True)[:1 + isinstance(case, Attention)])
    except (ArithmeticError, IndexError, KeyError, ValueError, RuntimeError):
        return True


def main():
    count = int(sys.argv[1])
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    made = [(case, *kernels.make(case, "h200", burst=1)[0]) for case in CASES]
    for case, *kernel in made:
        assert not is_noticed(case, *kernel), case
    missed = 0
    for _ in range(count):
        case, text, manifest, plan = rng.choice(made)
        name, mutant = mutate(text, rng)
        if not is_noticed(case, mutant, manifest, plan):
            print("missed:", name, "in", *case)
            missed += 1
    print(f"{count - missed} of {count} noticed")
    sys.exit(100 * missed > count)


if __name__ == "__main__":
    main()
