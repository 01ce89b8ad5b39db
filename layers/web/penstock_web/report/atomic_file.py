"""The file of a report: it replaces the earlier one only when it is whole."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """All of it or nothing: what was there stays until the new file is whole. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
