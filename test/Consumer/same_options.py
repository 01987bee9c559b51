"""Checks that a wheel is built with the options of the preset x86.

usage: same_options.py ROOT
"""

import json
import pathlib
import sys
import tomllib

# A wheel has the module besides, and no compiler launcher either way.
OWN = {"CHIMERA_BUILD_PYTHON", "CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"}


def read_preset(presets, name):
    """The variables of a preset with those it inherits."""
    preset = presets[name]
    inherited = preset.get("inherits")
    variables = read_preset(presets, inherited) if inherited else {}
    return {**variables, **preset.get("cacheVariables", {})}


def main():
    root = pathlib.Path(sys.argv[1])
    presets = json.loads((root / "CMakePresets.json").read_text())["configurePresets"]
    preset = read_preset({entry["name"]: entry for entry in presets}, "x86")
    package = tomllib.loads((root / "pyproject.toml").read_text())
    wheel = package["tool"]["scikit-build"]
    variables = {**wheel["cmake"]["define"],
                 "CMAKE_BUILD_TYPE": wheel["cmake"]["build-type"]}
    for name in sorted({*preset, *variables} - OWN):
        if preset.get(name) != variables.get(name):
            sys.exit(f"{name} is {preset.get(name)} in CMakePresets.json "
                     f"and {variables.get(name)} in pyproject.toml")
    if wheel["build-dir"] != "build/x86":
        sys.exit(f"pyproject.toml builds in {wheel['build-dir']}, not in build/x86")


if __name__ == "__main__":
    main()
