"""Checks the keys of a report and how its figures hang together."""

import json
import sys

KEYS = {"file", "entry", "target", "threads", "seed", "compile_ms", "plan_ms",
        "best_ms", "median_ms", "unfused_best_ms", "gflops", "peak_gflops",
        "median_peak_gflops", "fraction_of_peak", "argument_bytes",
        "result_bytes", "result_hash", "gbytes_per_s", "read_gbytes_per_s",
        "fraction_of_read", "max_abs_error", "max_rel_error", "chains"}
CHAIN_KEYS = {"operators", "verdict", "reason", "order", "tiles", "levels"}
LEVEL_KEYS = {"name", "predicted_bytes", "unfused_bytes", "bound_bytes",
              "capacity_bytes", "used_bytes"}

with open(sys.argv[1]) as file:
    report = json.load(file)
assert KEYS <= report.keys(), KEYS - report.keys()
assert report["threads"] == 1
assert 0 < report["best_ms"] <= report["median_ms"]
assert report["unfused_best_ms"] > 0 and report["reference_ms"] > 0
assert report["compile_ms"] > report["object_ms"] > 0
assert report["compile_ms"] > report["plan_ms"] > 0
multiply_adds = 72 * 56 * (40 + 24)
expected = 2e-6 * multiply_adds / report["best_ms"]
assert abs(report["gflops"] / expected - 1) < 1e-6
fraction = report["gflops"] / report["peak_gflops"]
assert abs(report["fraction_of_peak"] - fraction) < 1e-6
assert 0 < report["median_peak_gflops"] <= report["peak_gflops"]
transferred = report["argument_bytes"] + report["result_bytes"]
assert transferred == 4 * (72 * 40 + 40 * 56 + 56 * 24 + 72 * 24)
assert abs(report["gbytes_per_s"] * report["best_ms"] / transferred - 1e-6) < 1e-12
# Two products on small matrices compute for longer than they read.
assert report["read_gbytes_per_s"] > 0 and report["fraction_of_read"] is None
assert 0 <= report["max_rel_error"] <= 1e-5

(chain,) = report["chains"]
assert CHAIN_KEYS <= chain.keys(), CHAIN_KEYS - chain.keys()
assert chain["operators"] == 2 and chain["verdict"] == "fused"
assert len(chain["order"]) == len(chain["tiles"])
for level in chain["levels"]:
    assert LEVEL_KEYS == level.keys(), level.keys()
    assert level["bound_bytes"] <= level["predicted_bytes"]
    assert level["used_bytes"] <= level["capacity_bytes"]
