"""What was decided for a program, for people."""

from __future__ import annotations

import html
import tempfile
from pathlib import Path

from ._compiler import Library, run_compiler


class Report:
    """How each chain of a program was planned, and why.

    Prints as text and shows itself in a notebook as a page.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    def save(self, path: str | Path) -> None:
        """Writes a page (.html), data (.json) or text, by the path's suffix."""
        run_compiler(
            self._library.package.source,
            [
                "--emit=mlir",
                "-o=/dev/null",
                f"--report={path}",
                *self._library.options.arguments(),
            ],
        )

    def _make(self, suffix: str) -> str:
        with tempfile.TemporaryDirectory(prefix="chimera-") as folder:
            path = Path(folder, "report" + suffix)
            self.save(path)
            return path.read_text()

    def __str__(self) -> str:
        return self._make(".md")

    def _repr_html_(self) -> str:
        page = html.escape(self._make(".html"), quote=True)
        return (
            f'<iframe srcdoc="{page}" width="100%" height="640" '
            'style="border: 1px solid #8884"></iframe>'
        )
