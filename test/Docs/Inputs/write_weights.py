"""Writes weights for a program of test/Transforms/Shard in the format of safetensors."""

import json
import pathlib
import struct
import sys

header = {"1": {"dtype": "F32", "shape": [16, 64], "data_offsets": [0, 4096]}}
text = json.dumps(header).encode()
contents = struct.pack("<Q", len(text)) + text + bytes(4096)
pathlib.Path(sys.argv[1]).write_bytes(contents)
