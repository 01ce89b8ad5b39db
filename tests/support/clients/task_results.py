"""Lets a worker's tasks report to the test. The module imports only the standard library, because workers import the
module.
"""

from __future__ import annotations

import json
import os
from pathlib import Path


def note(*what: object) -> None:
    """Appends a line to the file that the test reads."""
    with Path(os.environ["RESULTS"]).open("a") as file:
        file.write(json.dumps(what) + "\n")


def notes(path: Path) -> list[list[object]]:
    """Returns the complete lines."""
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
