"""Writes the file of a report, which replaces the earlier file only when it is complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def write_atomically(path: Path, pieces: Iterable[str]) -> None:
    """Writes all pieces or nothing. An existing file stays until the new one is complete. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.writelines(pieces)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
