"""One peer in a process of its own: prepares a case, then runs it when told to.

Reads requests from standard input and answers on standard output, a line of
JSON each. What libraries print goes to standard error.
"""

import contextlib
import json
import math
import os
import pathlib
import sys
import time
import traceback

import numpy as np

from . import adapters, cases

# A variant is chosen by what it does in this time, if it is not far from the best.
TRIAL_SECONDS, HOPELESS = 0.1, 4
# After a pause caches and threads are cold: a call as long as this hardly feels it.
LONG_CALL, WARM_UP_SECONDS = 0.05, 2e-3
# More samples than this say nothing new.
MOST_CALLS = 2000


def timed(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def timed_calls(call, seconds: float, urgent: bool) -> list[float]:
    """Times after a warm-up, with other work on this machine held back if asked."""
    with priority() if urgent else contextlib.nullcontext():
        first = timed(call)
        times = [first] if first > LONG_CALL else []
        warm = first
        while warm < WARM_UP_SECONDS:
            warm += timed(call)
        spent = sum(times)
        while not times or (spent < seconds and len(times) < MOST_CALLS):
            times.append(timed(call))
            spent += times[-1]
        return times


@contextlib.contextmanager
def priority():
    """The highest one for all threads of this process, where that is allowed."""
    highest, usual = -20, os.getpriority(os.PRIO_PROCESS, 0)
    # Linux weighs groups of processes first, then threads within their group.
    group = pathlib.Path("/proc/self/autogroup")
    group_usual = group.read_text().split()[-1] if group.exists() else "0"
    set_priority(highest, group, str(highest))
    try:
        yield
    finally:
        set_priority(usual, group, group_usual)


def set_priority(nice: int, group: pathlib.Path, group_nice: str) -> None:
    with contextlib.suppress(OSError):
        group.write_text(group_nice, encoding="utf-8")
    for thread in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def error_of(results: list[np.ndarray], references: list[np.ndarray]) -> float:
    """The largest of all results, each in parts of its largest element."""
    if len(results) != len(references):
        raise RuntimeError(f"{len(results)} results, not {len(references)}")
    return max(map(error_of_one, results, references))


def error_of_one(result: np.ndarray, reference: np.ndarray) -> float:
    if result.shape != reference.shape:
        raise RuntimeError(f"result is {result.shape}, not {reference.shape}")
    difference = np.abs(result.astype(np.float64) - reference).max()
    return float(difference / np.abs(reference).max())


class Worker:
    def __init__(self, peer: str, setting: adapters.Setting, models, urgent: bool,
                 element: str):
        self.urgent = urgent
        self.adapter = adapters.find(peer)(setting)
        self.cases = {case.key: case for case in cases.load(models, element)}
        self.ready = None

    def prepare(self, case: str, reference: str) -> dict:
        self.ready = None
        chosen, failures = None, []
        with np.load(reference) as file:
            expected = [file[name] for name in file.files]
        variants = {}
        if self.cases[case].element in self.adapter.types:
            variants = self.adapter.variants(self.cases[case])
        for label, make in variants.items():
            best = chosen["time"] if chosen else math.inf
            try:
                trial = self.try_variant(make, self.cases[case], expected, best)
            except Exception as error:  # Whatever a library throws.
                traceback.print_exc()
                failures.append(f"{label}: {error}".removeprefix(": "))
                continue
            if trial and trial["time"] < best:
                chosen = trial | {"variant": label if len(variants) > 1 else ""}
        if not chosen:
            return {"failed": "; ".join(failures)} if failures else {}
        self.ready = chosen.pop("ready")
        return chosen | {"notes": failures}

    def try_variant(self, make, case: cases.Case, expected, best: float) -> dict | None:
        """None if it is much slower than `best`, which other variants reach."""
        ready = make()
        first = timed(ready.call)
        error = error_of(ready.results(), expected)
        if not error <= case.tolerance:
            raise RuntimeError(f"wrong result: error {error:.1e}")
        if first > 1 and first > HOPELESS * best:
            return None
        times = timed_calls(ready.call, TRIAL_SECONDS, self.urgent)
        return {"ready": ready, "error": error, "time": float(np.median(times))}

    def measure(self, seconds: float) -> dict:
        return {"times": timed_calls(self.ready.call, seconds, self.urgent)}

    def forget(self) -> dict:
        self.ready = None
        return {}


def main() -> None:
    peer, threads, scratch, tools, models, urgent, element = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    setting = adapters.Setting(int(threads), pathlib.Path(scratch), pathlib.Path(tools))

    def answer(message: dict) -> None:
        print(json.dumps(message), file=answers, flush=True)

    try:
        worker = Worker(peer, setting, pathlib.Path(models) if models else None,
                        bool(urgent), element)
    except Exception as error:  # The peer may not be installed.
        traceback.print_exc()
        answer({"failed": str(error)})
        return
    answer({})
    for line in sys.stdin:
        request = json.loads(line)
        answer(getattr(worker, request.pop("do"))(**request))


if __name__ == "__main__":
    main()
