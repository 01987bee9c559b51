"""Markdown tables of what was measured."""

import dataclasses
import datetime
import importlib.metadata
import pathlib
import platform
import subprocess

from . import adapters
from .tables import cpu_name, geometric_mean, milliseconds, shorten, title
from .turns import Outcome

PACKAGES = ("torch", "onnxruntime", "openvino", "jax", "iree-base-compiler", "numpy")
# What is shown beside peers.
NO_PEERS = ("chimera packing", "limit")
PREFACE = """\
Milliseconds of one call from Python, {element}, caches warm: the median, in brackets
the quartiles. `ratio` is the best peer's time over Chimera's; a ratio below 1, in
bold, is a loss. Every result was compared with f64 before it was timed. Each peer
is a process of its own on the same cores; one runs at a time while the others are
stopped, in turns of {turn:.0f} ms{urgent}. Of several ways to run a case a peer's
fastest is shown. † takes weights as constants and may rearrange them before it is
timed; for the others they are arguments, as they are for `chimera packing`, which
is no peer and never the best one, as `limit` is not.
"""


@dataclasses.dataclass(frozen=True)
class Conditions:
    # Seconds that a peer runs before it is another's turn.
    turn: float
    urgent: bool
    # Processes that wanted to run before the first one of ours.
    load: float


def versions() -> str:
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{package} not installed")
    return ", ".join(found + [f"Python {platform.python_version()}"])


def revision(root: pathlib.Path) -> str:
    try:
        return subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty"],
            check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def with_quartiles(outcome: Outcome) -> str:
    quartiles = "–".join(milliseconds(outcome.quantile(q)) for q in (0.25, 0.75))
    return f"{milliseconds(outcome.median)} ({quartiles})"


class Table:
    """One group on one number of threads."""

    def __init__(self, group: str, threads: int, peers: list[str]):
        self.group, self.threads = group, threads
        self.others = [peer for peer in peers if peer != "chimera"]
        self.rows: dict[str, dict[str, Outcome]] = {}

    def add(self, case: str, outcomes: dict[str, Outcome]) -> None:
        self.rows[case] = outcomes

    @property
    def peers(self) -> list[str]:
        """Those that any case is for."""
        return [peer for peer in self.others
                if any(peer in outcomes for outcomes in self.rows.values())]

    def best(self, case: str) -> str | None:
        measured = [peer for peer in self.peers
                    if peer not in NO_PEERS and self.usable(case, peer)]
        return min(measured, key=lambda peer: self.rows[case][peer].median,
                   default=None)

    def usable(self, case: str, peer: str) -> bool:
        outcome = self.rows[case].get(peer)
        return bool(outcome and outcome.times and not outcome.failure)

    def ratio(self, case: str) -> float | None:
        best = self.best(case)
        if not best or not self.usable(case, "chimera"):
            return None
        return self.rows[case][best].median / self.rows[case]["chimera"].median

    def losses(self) -> list[str]:
        return [case for case in self.rows if (self.ratio(case) or 1) < 1]

    def cell(self, case: str, peer: str) -> str:
        if self.usable(case, peer):
            return milliseconds(self.rows[case][peer].median)
        return "failed" if peer in self.rows[case] else ""

    def row(self, case: str) -> str:
        outcomes, best, ratio = self.rows[case], self.best(case), self.ratio(case)
        chimera = "failed" if "chimera" in outcomes else "not run"
        if self.usable(case, "chimera"):
            chimera = with_quartiles(outcomes["chimera"])
        ratio_text = "" if ratio is None else f"{ratio:.2f}"
        if ratio is not None and ratio < 1:
            ratio_text = f"**{ratio_text}**"
        best_text = f"{best}, {with_quartiles(outcomes[best])}" if best else ""
        others = [self.cell(case, peer) for peer in self.peers]
        return f"| {' | '.join([case, chimera, best_text, ratio_text, *others])} |"

    def notes(self) -> list[str]:
        lines = []
        for peer in ["chimera", *self.peers]:
            by_variant: dict[str, list[str]] = {}
            for case, outcomes in self.rows.items():
                if self.usable(case, peer) and outcomes[peer].variant:
                    by_variant.setdefault(outcomes[peer].variant, []).append(case)
            if by_variant:
                taken = "; ".join(f"{variant}: {', '.join(cases)}"
                                  for variant, cases in by_variant.items())
                lines.append(f"- {peer} was fastest with {taken}.")
        for case, outcomes in self.rows.items():
            for peer, outcome in outcomes.items():
                if outcome.failure:
                    why = shorten(outcome.failure)
                    lines.append(f"- {peer} has no time for {case}: {why}")
                lines += [f"- {peer}, {case}: without {shorten(note)}"
                          for note in outcome.notes]
        return lines

    def text(self) -> list[str]:
        marks = ["†" if adapters.find(peer).prepares_weights else ""
                 for peer in self.peers]
        head = ["case", "Chimera", "best peer", "ratio",
                *(peer + mark for peer, mark in zip(self.peers, marks))]
        lines = [f"### {title(self.group, self.threads)}", "",
                 f"| {' | '.join(head)} |", "|---" * len(head) + "|",
                 *(self.row(case) for case in self.rows), ""]
        ratios = [r for case in self.rows if (r := self.ratio(case)) is not None]
        if ratios:
            losses = ", ".join(self.losses()) or "none"
            lines += [f"Geometric mean of the ratios {geometric_mean(ratios):.2f} "
                      f"over {len(ratios)}, losses: {losses}.", ""]
        notes = self.notes()
        return lines + notes + ([""] if notes else [])


def summary(tables: list[Table]) -> list[str]:
    lines = ["| group | threads | cases | geometric mean | lowest | losses |",
             "|---|---|---|---|---|---|"]
    for table in tables:
        ratios = [r for case in table.rows if (r := table.ratio(case)) is not None]
        if ratios:
            lines.append(f"| {table.group} | {table.threads} | {len(ratios)} "
                         f"| {geometric_mean(ratios):.2f} | {min(ratios):.2f} "
                         f"| {len(table.losses())} |")
    return lines + [""] if len(lines) > 2 else []


def render(tables: list[Table], peers: list[str], root: pathlib.Path,
           conditions: Conditions, element: str) -> str:
    urgent = " at the highest priority" if conditions.urgent else ""
    lines = ["# Chimera and its peers", "",
             f"{cpu_name()}; {datetime.date.today()}; Chimera {revision(root)}; "
             f"load average {conditions.load:.1f} when it began. "
             "Written by `benchmarks/peers`.", "", versions() + ".", "",
             PREFACE.format(turn=conditions.turn * 1e3, urgent=urgent,
                            element=element),
             *summary(tables), "How each is run:", ""]
    lines += [f"- {peer}: {adapters.find(peer).about}." for peer in peers]
    lines.append("")
    for table in tables:
        lines += table.text()
    return "\n".join(lines).rstrip() + "\n"
