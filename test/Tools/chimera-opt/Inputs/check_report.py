"""Checks that a report is what it promises to be.

usage: check_report.py FILE.json|FILE.html
"""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

VOID = {"meta", "br"}


class Balance(HTMLParser):
    """Every element is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = set()

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())


def check_page(text):
    parser = Balance()
    parser.feed(text)
    assert not parser.open
    assert {"html", "style", "section", "svg", "table"} <= parser.seen
    assert not {"script", "link", "img"} & parser.seen
    assert "http" not in text and "url(" not in text
    drawings = re.findall(r"<svg.*?</svg>", text, re.S)
    for drawing in drawings:
        ElementTree.fromstring(drawing)
    for name in ("Roofline", "Bytes moved at each level", "Live set of "):
        assert any(f"<title>{name}" in drawing for drawing in drawings), name
    for number in re.findall(r"[\"( ](nan|inf|-nan)\b", text):
        raise AssertionError(number)


def check_kernel(kernel, levels):
    assert kernel["seconds"] >= kernel["compute_seconds"] > 0
    assert [level["name"] for level in kernel["levels"]] == levels
    for level in kernel["levels"]:
        moved = [t["read_bytes"] + t["written_bytes"] for t in level["tensors"]]
        assert sum(moved) == level["bytes"]
        written = sum(t["written_bytes"] for t in level["tensors"])
        assert written == level["written_bytes"]
        for live in level["live"]:
            assert sum(b["bytes"] for b in live["buffers"]) == live["bytes"]
        most = max(live["bytes"] for live in level["live"])
        assert most == level["live_bytes"] <= level["capacity_bytes"]
        assert level["bound"]["ratio"] >= 1
    if form := kernel.get("closed_form"):
        assert form["level"] in levels and form["family"]
        real, rounded, exact = form["real"], form["rounded"], form["exact"]
        assert real["bytes"] <= rounded["bytes"] * 1.0001
        assert exact["bytes"] <= rounded["bytes"]
        assert len(real["tiles"]) <= 2
    leaves = [line["operator"] for line in kernel["tree"] if "operator" in line]
    assert leaves == kernel["operators"]


def check_chain(chain):
    levels = [level["name"] for level in chain["target"]["levels"]]
    if chain["verdict"] == "unfused":
        assert not chain["kernels"] and chain["seconds"] is None
        return
    for kernel in chain["kernels"] + chain["alternative"]:
        check_kernel(kernel, levels)
    operators = [op for kernel in chain["kernels"] for op in kernel["operators"]]
    assert operators == [op["name"] for op in chain["operators"]]
    for index, level in enumerate(chain["levels"]):
        moved = sum(kernel["levels"][index]["bytes"] for kernel in chain["kernels"])
        assert level["bytes"] == moved
        assert level["bound"]["ratio"] >= 1
        point = level["roofline"]["plan"]
        assert point["predicted_flops"] <= point["attainable_flops"] * 1.0001
    times = [plan["seconds"] for plan in chain["runners_up"]]
    assert times == sorted(times)
    # Of plans whose times are not told apart, the safest is taken.
    assert all(1.03 * time >= chain["fused_seconds"] for time in times)


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".html"):
        return check_page(text)
    report = json.loads(text)
    assert report["schema"] == "chimera-plans" and report["version"] == 1
    assert report["chains"]
    for chain in report["chains"]:
        check_chain(chain)


main()
