"""Creates and reads the encryption key of a `penstock up` installation. The file is beside the data."""

from __future__ import annotations

import os
import secrets
from base64 import b64encode
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.errors import AwsError
from penstock.settings import Settings
from penstock_web.local_error import LocalError

from .migrating import warn

if TYPE_CHECKING:
    from penstock.postgres.database import Database

_FILE: Final = "encryption_key"


def with_encryption_key(settings: Settings, state: Path) -> Settings:
    """Returns the settings with the folder's key if QUEUE_ENCRYPTION_KEY is not set. With QUEUE_ACCESS=sigv4, creates a
    missing key.

    Only the user that runs the service can read the file. A copy of the database also needs this file. Raises OSError.
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
    return settings.replace(queue_encryption_key=key)


def check_encryption_key(settings: Settings, folder: Path | None) -> None:
    """Warns about keys that were created under another QUEUE_ENCRYPTION_KEY. `folder` belongs to a database that
    `penstock up` created.

    If the installation has no other key, this key becomes the installation's key. `penstock keys create` then uses only
    this key. Raises LocalError if `QUEUE_ACCESS=sigv4` would refuse every client, and SettingError for an invalid key.
    """
    key = settings.queue_encryption_key
    if not key:
        return
    from penstock.access.encryption_key import claim, list_keys_at_rest  # noqa: PLC0415 - not for `penstock --help`
    from penstock.postgres.database import Database  # noqa: PLC0415

    try:
        with closing(Database(settings.database_url, call_seconds=settings.call_seconds)) as database:
            found = list_keys_at_rest(database, key)
            if not found.unreadable and not found.is_installations:
                claim(database, key)
            remedy = right_key(database, key, folder)
    except AwsError as error:
        cause = " ".join(str(error.__cause__ or error).split())
        raise LocalError(f"the database cannot be used: {cause}") from error
    if found.unreadable and settings.queue_access == "sigv4":
        problem = (
            f"access keys of this database were created under another QUEUE_ENCRYPTION_KEY: {found.unreadable_text}"
        )
        if not found.readable:
            raise LocalError(f"{problem}; every client would be refused. {remedy}")
        warn(f"{problem}; the service refuses their users. Replace and revoke them: `penstock keys revoke ID`")
    if not found.signs:
        warn(
            "the key that signs SNS messages was created under another QUEUE_ENCRYPTION_KEY; "
            "`penstock keys rotate-signing` creates another"
        )


def right_key(database: Database, tried: str, folder: Path | None) -> str:
    """Returns advice about `tried`, a QUEUE_ENCRYPTION_KEY that differs from the installation's. Returns "" if there is
    no advice.

    Raises AwsError if the database does not answer.
    """
    from penstock.access.encryption_key import list_keys_at_rest  # noqa: PLC0415 - not for `penstock --help`

    path = None if folder is None else folder / _FILE
    kept = path.read_text().strip() if path is not None and path.exists() else ""
    if kept and kept == tried:
        return (
            f"It was read from {path}: that file must have the present key of the service. "
            "Where the key was changed, write the new one there"
        )
    if kept and list_keys_at_rest(database, kept).is_installations:
        return f"The right one is in {path}, and is used if QUEUE_ENCRYPTION_KEY is not set"
    return (
        "Set the key that the service had (`penstock up` keeps it in the file encryption_key "
        "of its data folder), or create a key for each client under this one: "
        "`penstock keys create --new-encryption-key`"
    )


def _make(path: Path) -> None:
    """Writes the whole file or nothing. A file that another process has written in the meantime stays."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(b64encode(secrets.token_bytes(32)).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(unfinished, path)
    unfinished.unlink()
