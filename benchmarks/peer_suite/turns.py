"""Starts a worker for each peer and takes turns among them.

Only one worker runs at a time: the others are stopped (SIGSTOP), with the
threads that their runtimes leave spinning. So no peer disturbs another, none
needs another wait policy than its own, and drift of the clock hits all alike.
"""

import ctypes
import dataclasses
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

import numpy as np

from . import data
from .cases import Case
from .ops import NumpyOps

ROUNDS = 10
# Long calls end the turns of a peer early, but not before this many.
LEAST_CALLS = 5
# To import, to compile all variants of a case, to run a slice.
PATIENCE = 900


@dataclasses.dataclass
class Outcome:
    """Of one case on one peer: times in seconds, or why there are none."""
    times: list[float] = dataclasses.field(default_factory=list)
    variant: str = ""
    failure: str = ""
    # Why other variants were not taken into account.
    notes: list[str] = dataclasses.field(default_factory=list)

    def quantile(self, share: float) -> float:
        return float(np.quantile(self.times, share))

    @property
    def median(self) -> float:
        return self.quantile(0.5)


def prepare_child(cores: list[int]) -> None:
    """Binds a worker to `cores` and to the life of this process: left behind
    while it is stopped, it would never end."""
    os.sched_setaffinity(0, cores)
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


class WorkerFailure(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Settings:
    threads: int
    scratch: pathlib.Path
    tools: pathlib.Path
    models: pathlib.Path | None
    # For each case on each peer.
    seconds: float
    # Whether calls are timed at the highest priority.
    urgent: bool
    # What arguments and results are.
    element: str = "f32"


class Peer:
    """A worker process, started again after it died."""

    def __init__(self, name: str, settings: Settings):
        self.name, self.settings = name, settings
        self.process = None
        self.unusable = ""

    def start(self) -> None:
        settings = self.settings
        cores = sorted(os.sched_getaffinity(0))[:settings.threads]
        count = str(settings.threads)
        environment = os.environ | {
            "OMP_NUM_THREADS": count, "MKL_NUM_THREADS": count,
            # Peers that allocate results in every call keep their pages, and get
            # large ones, as those that are given the results have.
            "MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**40),
            "THP_MEM_ALLOC_ENABLE": "1",
            "PYTHONPATH": os.pathsep.join(
                [str(pathlib.Path(__file__).parent.parent)]
                + os.environ.get("PYTHONPATH", "").split(os.pathsep))}
        command = [sys.executable, "-m", "peer_suite.worker", self.name, count,
                   str(settings.scratch), str(settings.tools),
                   str(settings.models or ""), "urgent" if settings.urgent else "",
                   settings.element]
        log = settings.scratch / f"{self.name.replace(' ', '-')}.{count}.log"
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                env=environment, preexec_fn=lambda: prepare_child(cores))
        failure = self.receive().get("failed")
        if failure:
            self.unusable = failure
            raise WorkerFailure(failure)

    def receive(self) -> dict:
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.kill()
            raise WorkerFailure("crashed" if ready else f"took more than {PATIENCE} s")
        return json.loads(line)

    def ask(self, **request) -> dict:
        """Runs the worker for one request and stops it after that."""
        if self.unusable:
            raise WorkerFailure(self.unusable)
        if not self.process:
            self.start()
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            self.kill()
            raise WorkerFailure("crashed") from None
        answer = self.receive()
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def run_case(case: Case, peers: list[Peer], settings: Settings) -> dict[str, Outcome]:
    """Outcomes of the peers that have a way to run the case."""
    reference = settings.scratch / f"{case.slug}.{settings.element}.npz"
    if not reference.exists():
        np.savez(reference, *data.make_reference(case, NumpyOps()))
    outcomes, active = {}, []
    for peer in peers:
        outcome = Outcome()
        try:
            answer = peer.ask(do="prepare", case=case.key, reference=str(reference))
            outcome.failure = answer.get("failed", "")
            outcome.variant = answer.get("variant", "")
            outcome.notes = answer.get("notes", [])
        except WorkerFailure as failure:
            outcome.failure = str(failure)
            answer = {}
        if "variant" in answer:
            active.append(peer)
        # No variant and no failure: this is not a case for the peer.
        if "variant" in answer or outcome.failure:
            outcomes[peer.name] = outcome
    if active:
        measure(active, outcomes, settings)
    return outcomes


def measure(peers: list[Peer], outcomes: dict[str, Outcome],
            settings: Settings) -> None:
    for turn in range(ROUNDS):
        # Who follows whom changes from round to round.
        for peer in peers[turn % len(peers):] + peers[:turn % len(peers)]:
            outcome = outcomes[peer.name]
            enough = (len(outcome.times) >= LEAST_CALLS
                      and sum(outcome.times) >= settings.seconds)
            if outcome.failure or enough:
                continue
            try:
                answer = peer.ask(do="measure", seconds=settings.seconds / ROUNDS)
                outcome.times += answer["times"]
            except WorkerFailure as failure:
                outcome.failure = str(failure)
    for peer in peers:
        try:
            peer.ask(do="forget")
        except WorkerFailure:
            continue


def run(cases: list[Case], names: list[str], settings: Settings):
    """Yields each case with its outcomes."""
    peers = [Peer(name, settings) for name in names]
    try:
        for case in cases:
            begin = time.perf_counter()
            outcomes = run_case(case, peers, settings)
            yield case, outcomes, time.perf_counter() - begin
    finally:
        for peer in peers:
            peer.kill()
