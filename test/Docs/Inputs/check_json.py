"""Holds JSON files against the tables of docs/json.md.

usage: check_json.py docs/json.md SECTION=FILE...
"""

import json
import pathlib
import re
import sys


def read_tables(path):
    """The type of each key, by section."""
    tables, section = {}, None
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("## "):
            section = tables[line[3:]] = {}
        row = re.match(r"\| `(\w+)` \| ([^|]+) \|", line)
        if row:
            section[row[1]] = row[2].strip()
    return tables


KINDS = {"number": (int, float), "text": str, "truth": bool, "object": dict}


def check(tables, value, kind, where, seen):
    """Ends with what is wrong, if anything is."""
    if kind.startswith("list of "):
        assert isinstance(value, list), f"{where} is no list"
        for element in value:
            check(tables, element, kind[len("list of "):], where, seen)
        return
    kind, _, other = kind.partition(" or ")
    if other == "null" and value is None:
        return
    if kind in KINDS:
        is_kind = isinstance(value, KINDS[kind]) and (
            kind == "truth" or not isinstance(value, bool))
        assert is_kind, f"{where} is no {kind}: {value!r}"
        return
    table = tables[kind]
    seen.update((kind, key) for key in value)
    unknown = set(value) - set(table) - {"functions" if kind == "Report" else ""}
    assert not unknown, f"{where} has keys that are not in the table {kind}: {unknown}"
    missing = {key for key, type_ in table.items() if not type_.endswith("absent")}
    missing -= set(value)
    assert not missing, f"{where} lacks {missing}"
    for key, type_ in table.items():
        if key in value:
            check(tables, value[key], type_, f"{where}.{key}", seen)


tables = read_tables(sys.argv[1])
seen = set()
for argument in sys.argv[2:]:
    section, file = argument.split("=", 1)
    value = json.loads(pathlib.Path(file).read_text())
    assert value["schema"] == 1
    check(tables, value, section, section, seen)
never = {(kind, key) for kind, table in tables.items() for key in table} - seen
assert not never, f"no file has {sorted(never)}"
