"""The example of a graph is the one that a unit test prints.

usage: check_gir.py docs/gir.md GirTextTest.cpp
"""

import pathlib
import re
import sys

page, test = (pathlib.Path(path).read_text() for path in sys.argv[1:])
shown = re.search(r"^```\n(gir .*?)^```$", page, re.M | re.S).group(1)
printed = re.search(r'R"\((gir .*?)\)"', test, re.S).group(1)
assert shown == printed, "the page shows another graph than the test"
