"""Every reason of the compiler is explained.

usage: check_reasons.py docs/not-fused.md MissedReason.h Judge.cpp
"""

import pathlib
import re
import sys

page, missed, verdicts = (pathlib.Path(path).read_text() for path in sys.argv[1:])
rows = {row.strip() for row in re.findall(r"^\| ([^|]+) \|", page, re.M)}
reasons = ["".join(re.findall(r'"([^"]*)"', text))
           for text in re.findall(r"StringLiteral \w+ =([^;]*);", missed)]
assert len(reasons) >= 10
# Reasons to fuse need no explanation here.
fused = {"SavesTraffic", "SavesTime", "SaferFused"}
reasons += [text for name, text in
            re.findall(r'case Reason::(\w+):\s*return "([^"]*)";', verdicts)
            if name not in fused]
unexplained = [reason for reason in reasons if reason not in rows]
assert not unexplained, f"not in the page: {unexplained}"
