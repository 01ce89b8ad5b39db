"""The keys of an installation, in the database of DATABASE_URL.

Methods return lines, which `penstock keys` prints and tests read.
"""

from __future__ import annotations

import secrets
from base64 import b32encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TypeVar

from penstock.access.authentication import hash_of_secret
from penstock.access.secret_encryption import SecretCipher
from penstock.aws.arn import is_account_id
from penstock.drivers import run
from penstock.effects import Row, Statement
from penstock.postgres.database import Database
from penstock.postgres.statements.access import CREATE_KEY, LIST_KEYS, REVOKE_KEY
from penstock.settings import Settings
from penstock.sns.signatures import certificate_path, new_key
from penstock.sns.signing_keys import KEEP_SECONDS, add_key
from penstock_web.system_account import LocalError

from .database import service_database

# Prefixes of our own distinguish these keys from AWS's, and let scanners for leaked keys find them.
ACCESS_PREFIX, BEARER_PREFIX = "PSTK", "PSTB"
SECRET_BYTES = 30

RowT = TypeVar("RowT", bound=Row)


class KeyRing:
    """The keys of one installation."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator[KeyRing]:
        """Opens the keys in the database of DATABASE_URL. Raises SettingError, LocalError."""
        with service_database(settings) as database:
            yield cls(settings, database)

    def create(self, account: str | None, description: str, bearer: bool) -> Iterator[str]:
        """Makes a key and shows it. Raises LocalError for a bad account, SettingError without an encryption key."""
        account_id = account or self._settings.queue_account_id
        if not is_account_id(account_id):
            raise LocalError(f"an account is 12 digits, not {account_id!r}")
        if "\0" in description:
            raise LocalError("a description cannot contain NUL")
        key_id = new_key_id(BEARER_PREFIX if bearer else ACCESS_PREFIX)
        secret = secrets.token_urlsafe(SECRET_BYTES)
        stored = (
            hash_of_secret(secret)
            if bearer
            else SecretCipher(self._settings.queue_encryption_key).encrypt(secret, key_id, account_id)
        )
        kind = "bearer" if bearer else "access"
        (row,) = self._call(CREATE_KEY, kind, key_id, account_id, stored, description)
        if not row.created:
            raise LocalError("the id is taken; try again")  # 80 random bits: never seen
        return format_new_key(key_id, secret, account_id, bearer)

    def list_keys(self) -> Iterator[str]:
        """A line for each key, the oldest first."""
        yield f"{'KIND':8}{'ID':22}{'ACCOUNT':14}{'CREATED':22}{'REVOKED':22}DESCRIPTION"
        for key in self._call(LIST_KEYS):
            times = f"{_time(key.created_at):22}{_time(key.revoked_at):22}"
            yield f"{key.kind:8}{key.key_id:22}{key.account_id:14}{times}{key.description}".rstrip()

    def revoke(self, key_id: str) -> Iterator[str]:
        """Revokes a key. Raises LocalError for an unknown one."""
        rows = self._call(REVOKE_KEY, key_id) if key_id.isalnum() else []
        if not any(row.revoked for row in rows):
            raise LocalError(f"there is no key {key_id!r}")
        seconds = self._settings.queue_access_cache_seconds
        yield f"revoked; processes that have used it may accept it for {seconds} seconds more"

    def rotate_signing(self) -> Iterator[str]:
        """Makes the key that signs SNS messages from now on. Raises SettingError for a bad QUEUE_ENCRYPTION_KEY."""
        made = add_key(new_key(), self._settings.queue_encryption_key, rotate=True)
        (key,) = run(made, self._database)
        yield f"{certificate_path(key.key_id)} is the certificate of the new key"
        yield f"processes use it within {KEEP_SECONDS:.0f} seconds; earlier certificates are served for 30 days"

    def _call(self, statement: Statement[RowT], *arguments: object) -> list[RowT]:
        return self._database.call(statement, arguments)


def new_key_id(prefix: str) -> str:
    """The prefix and 16 characters of 80 random bits, 20 in all like a key id of AWS."""
    return prefix + b32encode(secrets.token_bytes(10)).decode()


def format_new_key(key_id: str, secret: str, account_id: str, bearer: bool) -> Iterator[str]:
    """The lines that show a new key, under the names by which clients read it."""
    if bearer:
        yield f"Authorization: Bearer {key_id}.{secret}"
    else:
        yield f"AWS_ACCESS_KEY_ID={key_id}"
        yield f"AWS_SECRET_ACCESS_KEY={secret}"
    yield f"# account {account_id}; the secret is not shown again"


def _time(at: datetime | None) -> str:
    return "-" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")
