"""The encryption key of an installation with a database of its own: made once, beside the data."""

from __future__ import annotations

import dataclasses
import os
import secrets
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import Final

from penstock.settings import Settings

_FILE: Final = "encryption_key"


def with_encryption_key(settings: Settings, state: Path) -> Settings:
    """The settings with QUEUE_ENCRYPTION_KEY of the folder, unless it is set; with QUEUE_ACCESS=sigv4 it is made.

    The file can be read by the user that runs the service only. Who copies the database needs it, too. Raises OSError.
    """
    if settings.queue_encryption_key:
        return settings
    path = state / _FILE
    if settings.queue_access == "sigv4" and not path.exists():
        _make(path)
    try:
        key = path.read_text().strip()
    except FileNotFoundError:
        return settings
    return dataclasses.replace(settings, queue_encryption_key=key)


def _make(path: Path) -> None:
    """Complete or not at all; one that somebody else has made meanwhile stays."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(b64encode(secrets.token_bytes(32)).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(unfinished, path)
    unfinished.unlink()
