"""Runs the lit tests and the GoogleTest programs of a build directory.

The last line of output is `N passed, N failed`; the exit status is 0 if
something passed and nothing failed.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

Counts = collections.Counter

LIT_PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
LIT_SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


# LLVM's allocators mark memory in code that is instrumented and clear the marks
# in code that is not: the packaged libraries. Marks by hand mean nothing then.
os.environ.setdefault(
    "ASAN_OPTIONS", "allow_user_poisoning=0:detect_container_overflow=0")


def run(command: list[str], report: Path,
        variables: dict[str, str] = {}) -> tuple[int, dict]:
    """Exit status and the JSON report, which is empty after a crash."""
    status = subprocess.run(command, env={**os.environ, **variables}).returncode
    try:
        return status, json.loads(report.read_text())
    except (OSError, ValueError):
        return status, {}


def run_lit(lit: str, build: Path, report: Path) -> Counts:
    command = [sys.executable, lit, "-sv", "-o", str(report), str(build / "test")]
    status, result = run(command, report)
    counts = Counts()
    for test in result.get("tests", []):
        code = test["code"]
        counts["passed" if code in LIT_PASSED else
               "skipped" if code in LIT_SKIPPED else "failed"] += 1
    if status != 0 and not counts["failed"]:
        print(f"lit ended with status {status}", file=sys.stderr)
        counts["failed"] += 1
    return counts


def run_shard(program: Path, reports: Path, index: int, shards: int) -> Counts:
    """The share `index` of the tests of a program."""
    report = reports / f"{program.name}-{index}"
    shard = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)}
    status, result = run([str(program), f"--gtest_output=json:{report}",
                          "--gtest_brief=1"], report, shard)
    counts = Counts()
    for suite in result.get("testsuites", []):
        for test in suite["testsuite"]:
            skipped = test["status"] != "RUN" or test["result"] == "SKIPPED"
            counts["failed" if test.get("failures") else
                   "skipped" if skipped else "passed"] += 1
    if status != 0 and not counts["failed"]:
        print(f"{program.name} ended with status {status}", file=sys.stderr)
        counts["failed"] += 1
    return counts


def run_googletest(program: Path, reports: Path) -> Counts:
    """As many processes as there are cores share the tests of a program."""
    shards = len(os.sched_getaffinity(0))
    with ThreadPoolExecutor(shards) as pool:
        counts = pool.map(lambda index: run_shard(program, reports, index, shards),
                          range(shards))
        return sum(counts, Counts())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lit", default="/usr/lib/llvm-22/bin/lit",
                        help="the lit script")
    parser.add_argument("build", type=Path, help="the build directory")
    args = parser.parse_args()

    counts = Counts()
    with tempfile.TemporaryDirectory() as directory:
        for program in sorted(args.build.glob("bin/*Tests")):
            counts += run_googletest(program, Path(directory))
        counts += run_lit(args.lit, args.build, Path(directory, "lit"))
    if counts["skipped"]:
        print(f"{counts['skipped']} skipped: not for this machine or build")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 0 if counts["passed"] and not counts["failed"] else 1


sys.exit(main())
