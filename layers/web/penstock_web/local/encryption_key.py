"""Creates and reads the encryption key of `penstock up`. The key is in a file next to the data."""

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


def add_encryption_key(settings: Settings, state: Path) -> Settings:
    """Returns the settings. If QUEUE_ENCRYPTION_KEY is not set, adds the key from the folder's file. If QUEUE_ACCESS is
    `sigv4`, creates a missing key. Only the service's user can read the file. A copy of the database needs a copy of
    the file, because the key decrypts the stored secrets. Raises OSError.
    """
    if settings.queue_encryption_key:
        return settings
    path = state / _FILE
    if settings.queue_access == "sigv4" and not path.exists():
        _create(path)
    try:
        key = path.read_text().strip()
    except FileNotFoundError:
        return settings
    return settings.replace(queue_encryption_key=key)


def check_encryption_key(settings: Settings, folder: Path | None) -> None:
    """Checks whether QUEUE_ENCRYPTION_KEY can decrypt the stored keys, and warns if it cannot decrypt some of them.

    `folder` is the folder of `penstock up`'s database. If the installation has no encryption key yet, stores that
    QUEUE_ENCRYPTION_KEY is the installation's key. Afterwards, `penstock keys create` accepts only the installation's
    key. Raises LocalError if the service could not decrypt any access key and would refuse every client. Raises
    SettingError for an invalid key.
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
            f"access keys of this database were encrypted with another QUEUE_ENCRYPTION_KEY: {found.unreadable_text}"
        )
        if not found.readable:
            raise LocalError(f"{problem}; the service would refuse every client. {remedy}")
        warn(f"{problem}; the service refuses their users. Replace and revoke them: `penstock keys revoke ID`")
    if not found.signs:
        warn(
            "the key that signs SNS messages was encrypted with another QUEUE_ENCRYPTION_KEY; "
            "`penstock keys rotate-signing` creates a new signing key"
        )


def right_key(database: Database, tried: str, folder: Path | None) -> str:
    """Returns advice for a user whose QUEUE_ENCRYPTION_KEY, `tried`, is wrong. Raises AwsError if the database is
    unavailable.
    """
    from penstock.access.encryption_key import list_keys_at_rest  # noqa: PLC0415 - not for `penstock --help`

    path = None if folder is None else folder / _FILE
    kept = path.read_text().strip() if path is not None and path.exists() else ""
    if kept and kept == tried:
        return (
            f"The key is from {path}. The file must contain the service's current key. "
            "If you have changed the key, write the new key into the file"
        )
    if kept and list_keys_at_rest(database, kept).is_installations:
        return f"The right key is in {path}. Penstock uses the key in the file if QUEUE_ENCRYPTION_KEY is not set"
    return (
        "Set the service's earlier key, which `penstock up` stores in the file encryption_key of the data folder, "
        "or create new keys for all clients with this key: `penstock keys create --new-encryption-key`"
    )


def _create(path: Path) -> None:
    """Writes the file atomically. Does not replace a file that another process has just written."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(b64encode(secrets.token_bytes(32)).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(unfinished, path)
    unfinished.unlink()
