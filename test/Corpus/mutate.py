"""Mutates programs at random and gives them to chimera-opt: whatever the text,
it must end by itself, with a result or with diagnostics, never by a signal.

    mutate.py [--count=N] [--seed=N] [--jobs=N] [--keep=DIR] FILE...

A mutation deletes, duplicates or swaps tokens or lines, or changes numbers and
types. Mutation I of a seed is the same on every machine.
"""

import argparse
import concurrent.futures
import pathlib
import random
import re
import subprocess
import sys

OPTIONS = ["--chimera-pipeline=target=zen5 threads=4"]
TOKEN = re.compile(r"[%@#^!]?[\w.$]+|\s+|->|[^\w\s]")
NUMBER = re.compile(r"(?:(?<![\w.#%@])-?|(?<=\dx))\d+(?:\.\d+(?:[eE][+-]?\d+)?)?"
                    r"(?=[x,\]>)\s]|$)")
TYPE = re.compile(r"\b(?:f32|f16|bf16|f64|i64|i32|i1|index|tensor|memref)\b")
NUMBERS = ["0", "1", "-1", "2", "3", "7", "16", "17", "64", "1023", "?",
           "65536", "4294967296", "9223372036854775807", "0.0", "-0.0", "1.0e40"]
TYPES = ["f32", "f16", "bf16", "f64", "i64", "i32", "i1", "index", "tensor",
         "memref", "vector", "none", "complex<f32>"]
SWAPS = [("linalg.matmul", "linalg.batch_matmul"),
         ("parallel", "reduction"), ("(d0, d1) -> (d1)", "(d0, d1) -> (d0)"),
         ("[1, 0]", "[0, 1]"), ("outs", "ins"), ("arith.addf", "arith.subf"),
         ("arith.mulf", "arith.maximumf"), ("-> (d0, d1)", "-> (d1, d0)")]


# MLIR 22's parser crashes where the list of linalg.transpose, linalg.broadcast or
# linalg.reduce is malformed, as in `permutation = [f32]`; mlir-opt does so too.
UPSTREAM_CRASH = re.compile(
    r"\b(?:permutation|dimensions)\b(?!\s*=\s*\[-?\d+(?:, -?\d+)*\])")


def is_word(token):
    return not token.isspace()


def pick(rng, tokens):
    return rng.choice([i for i, token in enumerate(tokens) if is_word(token)])


def change_tokens(rng, text):
    tokens = TOKEN.findall(text)
    i, j = pick(rng, tokens), pick(rng, tokens)
    kind = rng.randrange(4)
    if kind == 0:
        del tokens[i]
    elif kind == 1:
        tokens.insert(i, tokens[i])
    elif kind == 2:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    else:
        # One name for another: what is most likely to parse.
        names = [k for k, token in enumerate(tokens) if token[0] == "%"]
        if len(names) > 1:
            tokens[rng.choice(names)] = tokens[rng.choice(names)]
    return "".join(tokens)


def change_lines(rng, text):
    lines = text.splitlines(keepends=True)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(4)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(j, lines[i])
    elif kind == 2:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        del lines[max(i, j):]
    return "".join(lines)


def replace_match(rng, text, pattern, choices):
    """One occurrence, or all that are spelled like it: a consistent change gets
    past the verifiers."""
    found = list(pattern.finditer(text))
    if not found:
        return text
    match, new = rng.choice(found), rng.choice(choices)
    if rng.random() < 0.3:
        return text[:match.start()] + new + text[match.end():]
    return pattern.sub(lambda m: new if m[0] == match[0] else m[0], text)


def swap_spelling(rng, text):
    old, new = rng.choice(SWAPS)
    if rng.random() < 0.5:
        old, new = new, old
    return text.replace(old, new, rng.choice([1, -1]))


def mutate(rng, text):
    for _ in range(rng.choice([1, 1, 1, 1, 2])):
        if not text.strip():
            break
        kind = rng.randrange(8)
        if kind == 0:
            text = change_lines(rng, text)
        elif kind <= 2:
            text = change_tokens(rng, text)
        elif kind <= 5:
            text = replace_match(rng, text, NUMBER, NUMBERS)
        elif kind == 6:
            text = replace_match(rng, text, TYPE, TYPES)
        else:
            text = swap_spelling(rng, text)
    return text


def sources(files):
    """The programs in `files`, without the comments, which are for FileCheck."""
    for file in files:
        for part in re.split(r"^// -----.*$", pathlib.Path(file).read_text(),
                             flags=re.M):
            part = re.sub(r"^\s*//.*\n", "", part, flags=re.M).strip()
            if part:
                yield part + "\n"


def check(tool, text, seconds):
    """How `tool` fails on `text`, and whether it accepts it."""
    try:
        run = subprocess.run([tool, *OPTIONS, "-", "-o", "/dev/null"],
                             input=text.encode(), capture_output=True,
                             timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"no end after {seconds} s", False
    message = run.stderr.decode(errors="replace")
    # 128 + N: a shell's or a handler's way to pass on signal N.
    if run.returncode < 0 or run.returncode >= 128:
        return f"exit status {run.returncode}\n{message[-2000:]}", False
    if run.returncode and "error" not in message:
        return f"exit status {run.returncode} without an error", False
    return None, run.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60,
                        help="time limit of one run")
    parser.add_argument("--tool", default="chimera-opt")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="where to write mutations that fail")
    args = parser.parse_args()

    programs = list(sources(args.files))
    mutations = []
    for index in range(args.count):
        rng = random.Random(f"{args.seed} {index}")
        text = mutate(rng, rng.choice(programs))
        while UPSTREAM_CRASH.search(text):
            text = mutate(rng, rng.choice(programs))
        mutations.append(text)
    failed = accepted = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        outcomes = pool.map(lambda text: check(args.tool, text, args.seconds),
                            mutations)
        for index, (error, compiles) in enumerate(outcomes):
            accepted += compiles
            if not error:
                continue
            failed += 1
            print(f"mutation {index} of seed {args.seed}: {error}")
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                path = args.keep / f"{args.seed}-{index}.mlir"
                path.write_text(mutations[index])
                print(f"kept as {path}")
    print(f"{args.count} mutations, {accepted} compiled, "
          f"{args.count - failed - accepted} refused, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
