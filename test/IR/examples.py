"""Checks that a test holds the example of every op and attribute in TableGen.

usage: examples.py TEST TD...

Text is compared without regard to white space.
"""

import re
import sys
from pathlib import Path

DEFINITION = re.compile(r"^def (\w+) : (?:Chimera|Ascend)_(?:Op|Attr|CollectiveOp)<.*?^}", re.M | re.S)
EXAMPLE = re.compile(r"Example:\s*(?:```mlir\n(.*?)```|`([^`]*)`)", re.S)


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


def main() -> int:
    test = squeeze(Path(sys.argv[1]).read_text())
    count = 0
    errors = []
    for path in sys.argv[2:]:
        for definition in DEFINITION.finditer(Path(path).read_text()):
            count += 1
            examples = EXAMPLE.findall(definition.group(0))
            if not examples:
                errors.append(f"{definition.group(1)} has no example")
            if any(squeeze("".join(text)) not in test for text in examples):
                errors.append(f"the example of {definition.group(1)} is not in "
                              f"{sys.argv[1]}")
    print("\n".join(errors) or f"{count} definitions")
    return 1 if errors or count == 0 else 0


sys.exit(main())
