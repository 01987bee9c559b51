"""Writes the snippets of a page that have a file name, as in "```c main.c", to
a folder.

usage: snippets.py PAGE FOLDER
"""

import re
import sys
from pathlib import Path

page, folder = Path(sys.argv[1]), Path(sys.argv[2])
for name, text in re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page.read_text(),
                             re.MULTILINE | re.DOTALL):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
