"""Runs the Python of a page, block by block, in one namespace.

usage: snippets.py PAGE [WORD]     blocks with WORD in them only
"""

import pathlib
import re
import sys

page = pathlib.Path(sys.argv[1]).read_text()
wanted = sys.argv[2] if len(sys.argv) > 2 else ""
blocks = [b for b in re.findall(r"```python\n(.*?)```", page, re.S) if wanted in b]
assert blocks, "the page has no such block"
names = {}
for number, block in enumerate(blocks):
    exec(compile(block, f"{sys.argv[1]}, block {number}", "exec"), names)
