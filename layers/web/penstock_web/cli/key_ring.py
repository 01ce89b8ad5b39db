"""Manages an installation's keys and users in the database. Methods return lines, which `penstock keys` and `penstock
users` print.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

from penstock.access.encryption_key import claim, list_keys_at_rest
from penstock.access.users import BUILT_IN, DatabaseOperator, build_user_arn
from penstock.aws.arn import is_account_id
from penstock.drivers import run
from penstock.effects import Operation
from penstock.errors import InvalidParameterValue, OverLimit
from penstock.management import access
from penstock.management.errors import ObjectNotFound
from penstock.postgres.database import Database
from penstock.postgres.statement import Row, Statement
from penstock.postgres.statements.access import LIST_KEYS, LIST_USERS, KeyRow
from penstock.settings import SettingError, Settings
from penstock.sns.signatures import build_certificate_path, build_key
from penstock.sns.signing_keys import KEEP_SECONDS, add_key
from penstock_web.local.chosen_database import choose_folder
from penstock_web.local.encryption_key import add_encryption_key, right_key
from penstock_web.local_error import LocalError

from .database import service_database

T = TypeVar("T")
RowT = TypeVar("RowT", bound=Row)


class NewKey(NamedTuple):
    """A new key with its secret. No later command shows the secret. If `user` is None, the key belongs to the account
    itself.
    """

    key_id: str
    secret: str
    account_id: str | None
    user: str | None
    is_bearer: bool

    @property
    def token(self) -> str:
        """Returns the complete bearer key."""
        return f"{self.key_id}.{self.secret}"

    def variables(self) -> dict[str, str]:
        """Returns the key as environment variables for clients."""
        if self.is_bearer:
            return {"PENSTOCK_TOKEN": self.token}
        return {"AWS_ACCESS_KEY_ID": self.key_id, "AWS_SECRET_ACCESS_KEY": self.secret}

    def lines(self) -> Iterator[str]:
        """Yields one line for each variable, and a comment with the user."""
        yield from (f"{name}={value}" for name, value in self.variables().items())
        owner = f"user {self.user}" if self.user else "no user, every right"
        place = f" of account {self.account_id}" if self.account_id else ""
        header = "; the header is Authorization: Bearer $PENSTOCK_TOKEN" if self.is_bearer else ""
        yield f"# {owner}{place}; Penstock does not show the secret again{header}"

    def document(self) -> dict[str, str | None]:
        """Returns the document for --json."""
        return {"id": self.key_id, "account": self.account_id, "user": self.user, **self.variables()}


class KeyRing:
    """An installation's keys and users."""

    def __init__(self, settings: Settings, database: Database, folder: Path | None = None) -> None:
        """`folder` contains the database if `penstock up` runs the database, and is None otherwise."""
        self._settings = settings
        self._database = database
        self._folder = folder

    @classmethod
    @contextmanager
    def open(cls, settings: Settings, direct: bool = False) -> Iterator[KeyRing]:
        """Opens the database at DATABASE_URL, or at DATABASE_DIRECT_URL if `direct` is true. If DATABASE_URL and
        DATABASE_DIRECT_URL are not set, opens the database of the service that runs here. Raises SettingError or
        LocalError.
        """
        with service_database(settings, direct) as database:
            folder = None if settings.direct_url else choose_folder()
            if folder is not None:
                settings = add_encryption_key(settings, folder)
            yield cls(settings, database, folder)

    def create(
        self,
        account: str | None,
        description: str,
        bearer: bool,
        user: str | None = None,
        expires_at: datetime | None = None,
        *,
        new_encryption_key: bool = False,
    ) -> NewKey:
        """Creates a key. `new_encryption_key` allows a QUEUE_ENCRYPTION_KEY that the service does not have yet. Raises
        LocalError for an invalid account, an unknown user, a user's third key of one kind, or another installation's
        encryption key. Raises SettingError for an access key if QUEUE_ENCRYPTION_KEY is not set.
        """
        account_id = self._account(account)
        if not bearer:
            self._use_encryption_key(may_be_new=new_encryption_key)
        new = access.NewKey(bearer, user, description, expires_at)
        adding = access.add_key(new, self._settings.queue_encryption_key, DatabaseOperator(account_id))
        made = self._run(adding, _no_user(account_id, user))
        return NewKey(made.id, made.secret, account_id, user, bearer)

    def create_first(self) -> Iterator[str]:
        """Creates an access key of QUEUE_ACCOUNT_ID if the installation has never had a key, and yields the key's
        lines. Raises SettingError. Raises LocalError for another installation's encryption key.
        """
        account_id = self._account(None)
        if not self._call(LIST_KEYS, None):
            self._use_encryption_key()
        adding = access.add_first_key(self._settings.queue_encryption_key, DatabaseOperator(account_id))
        made = run(adding, self._database)
        if made is not None:
            yield "This is the first key. The key has every right in its account."
            yield from NewKey(made.id, made.secret, account_id, None, is_bearer=False).lines()

    def list_keys(self) -> Iterator[str]:
        """Yields one line for each key, from the oldest to the newest."""
        return table(
            ("KIND", "ID", "ACCOUNT", "USER", "CREATED", "LAST USED", "EXPIRES", "REVOKED", "DESCRIPTION"),
            (
                (key.kind, key.key_id, key.account_id, key.user_name or "-", *_times(key), key.description)
                for key in self._call(LIST_KEYS, None)
            ),
        )

    def show(self, key_id: str) -> Iterator[str]:
        """Yields lines about a key without its secret. Raises LocalError for an unknown key."""
        for key in self._call(LIST_KEYS, None):
            if key.key_id == key_id:
                names = ("created", "last used", "expires", "revoked")
                yield f"{key.kind} key {key.key_id} of {key.user_name or 'the account'}, account {key.account_id}"
                yield from (f"{name}: {time}" for name, time in zip(names, _times(key), strict=True))
                yield f"description: {key.description or '-'}"
                return
        raise LocalError(_no_key(key_id))

    def limit(self, key_id: str, expires_at: datetime | None) -> Iterator[str]:
        """Sets the time when a key expires. The key never expires if the time is None. Raises LocalError for an unknown
        key."""
        self._run(access.store_expiry(key_id, expires_at, self._find_owner(key_id)), _no_key(key_id))
        yield f"expires: {_time(expires_at)}"
        yield f"every process applies the change within {self._settings.queue_access_cache_seconds} s"

    # --- users -------------------------------------------------------------------------------------------------------
    def set_user(self, name: str, policies: Sequence[str], account: str | None, *, new: bool) -> Iterator[str]:
        """Creates a user if `new` is true, and otherwise replaces a user's policies. A policy is `read`, `operate`,
        `admin` or JSON. Raises LocalError for an invalid name, account or policy. Raises LocalError if the user to
        create already exists, or if the user to change does not exist.
        """
        account_id = self._account(account)
        exists = any(user.name == name for user in self._call(LIST_USERS, account_id))
        if exists == new:
            state = "has a user" if new else "has no user"
            raise LocalError(f"the account {account_id} {state} {name!r}")
        self._run(access.store_user(name, list(policies), DatabaseOperator(account_id)), _no_user(account_id, name))
        yield f"user {name} of the account {account_id}: {', '.join(map(_policy_name, policies)) or 'no policy'}"
        if not new:
            seconds = self._settings.queue_access_cache_seconds
            yield f"every process applies the change within {seconds} s"

    def list_users(self) -> Iterator[str]:
        """Yields one line for each user."""
        return table(
            ("ACCOUNT", "USER", "CREATED", "POLICIES"),
            (
                (user.account_id, user.name, _time(user.created_at), ", ".join(map(_policy_name, user.policies)))
                for user in self._call(LIST_USERS, None)
            ),
        )

    def show_user(self, name: str, account: str | None) -> Iterator[str]:
        """Yields lines about a user's policies and keys. Raises LocalError for an unknown user."""
        account_id = self._account(account)
        for user in self._call(LIST_USERS, account_id):
            if user.name == name:
                yield f"{build_user_arn(account_id, name)}, created {_time(user.created_at)}"
                yield from (f"policy: {policy}" for policy in user.policies)
                keys = [key for key in self._call(LIST_KEYS, account_id) if key.user_name == name]
                yield from table(
                    ("KIND", "ID", "CREATED", "LAST USED", "EXPIRES", "REVOKED", "DESCRIPTION"),
                    ((key.kind, key.key_id, *_times(key), key.description) for key in keys),
                )
                return
        raise LocalError(_no_user(account_id, name))

    def end_user(self, name: str, account: str | None) -> Iterator[str]:
        """Revokes a user's keys and deletes the user. Raises LocalError for an unknown user."""
        account_id = self._account(account)
        self._run(access.drop_user(name, DatabaseOperator(account_id)), _no_user(account_id, name))
        seconds = self._settings.queue_access_cache_seconds
        yield f"deleted; every process refuses the user's keys within {seconds} s"

    def _account(self, account: str | None) -> str:
        account_id = account or self._settings.queue_account_id
        check_account(account_id)
        return account_id

    def revoke(self, key_id: str) -> Iterator[str]:
        """Revokes a key. Raises LocalError for an unknown key."""
        self._run(access.store_revocation(key_id, self._find_owner(key_id)), _no_key(key_id))
        seconds = self._settings.queue_access_cache_seconds
        yield f"revoked; every process refuses the key within {seconds} s"

    def rotate_signing(self) -> Iterator[str]:
        """Creates the key that signs SNS messages from now on. Raises SettingError for an invalid QUEUE_ENCRYPTION_KEY.
        Raises LocalError for another installation's encryption key.
        """
        if self._settings.queue_encryption_key:
            self._use_encryption_key()
        made = add_key(build_key(), self._settings.queue_encryption_key, rotate=True)
        (key,) = run(made, self._database)
        yield f"{build_certificate_path(key.key_id)} is the certificate of the new key"
        yield f"processes use the key within {KEEP_SECONDS:.0f} s, and serve earlier certificates for 30 days"

    def _use_encryption_key(self, *, may_be_new: bool = False) -> None:
        """Checks QUEUE_ENCRYPTION_KEY before a command encrypts a secret. Raises LocalError if the service has another
        encryption key and could not decrypt the secret. Raises SettingError if QUEUE_ENCRYPTION_KEY is not set.
        """
        key = self._settings.queue_encryption_key
        if not key:
            remedy = right_key(self._database, key, self._folder)
            raise SettingError(f"QUEUE_ENCRYPTION_KEY is not set. Penstock encrypts secrets with this key. {remedy}")
        found = list_keys_at_rest(self._database, key)
        is_other = found.unreadable and not found.readable
        if not may_be_new and (found.is_installations is False or (found.is_installations is None and is_other)):
            raise LocalError(
                "QUEUE_ENCRYPTION_KEY is not this installation's key. The service could not read the new key. "
                + right_key(self._database, key, self._folder)
            )
        if not found.is_installations:
            claim(self._database, key)

    def _find_owner(self, key_id: str) -> DatabaseOperator:
        """Returns an operator with the rights of the key's account. Raises LocalError for an unknown key."""
        for key in self._call(LIST_KEYS, None):
            if key.key_id == key_id:
                return DatabaseOperator(key.account_id)
        raise LocalError(_no_key(key_id))

    def _run(self, change: Operation[T], missing: str) -> T:
        """Runs a change. Raises LocalError if the database refuses the change. `missing` is the error text for a
        missing user or key.
        """
        try:
            return run(change, self._database)
        except ObjectNotFound:
            raise LocalError(missing) from None
        except (InvalidParameterValue, OverLimit) as error:
            raise LocalError(error.message) from None

    def _call(self, statement: Statement[RowT], *arguments: object) -> list[RowT]:
        return self._database.call(statement, arguments)


def create_first_key(settings: Settings) -> None:
    """Creates and prints the first access key if QUEUE_ACCESS is `sigv4`. If several processes call this function
    concurrently, exactly one process creates the key. Raises SettingError or LocalError.
    """
    if settings.queue_access != "sigv4":
        return
    if not settings.queue_encryption_key:
        raise SettingError(
            "QUEUE_ACCESS=sigv4 needs QUEUE_ENCRYPTION_KEY. `openssl rand -base64 32` creates a key. "
            "QUEUE_ACCESS=off admits every caller"
        )
    with KeyRing.open(settings, direct=True) as ring:
        for line in ring.create_first():
            print(line, flush=True)


def _no_user(account_id: str, name: str | None) -> str:
    return f"the account {account_id} has no user {name!r}"


def _no_key(key_id: str) -> str:
    return f"there is no key {key_id!r}"


def _policy_name(policy: str) -> str:
    return policy if policy in BUILT_IN else "a document"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields lines with aligned columns."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()


def _times(key: KeyRow) -> list[str]:
    """Returns the times when a key was created, was last used, expires and was revoked."""
    return [_time(at) for at in (key.created_at, key.last_used_at, key.expires_at, key.revoked_at)]


def _time(at: datetime | None) -> str:
    return "-" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def check_account(account_id: str) -> None:
    """Raises LocalError unless the text is an account id."""
    if not is_account_id(account_id):
        raise LocalError(f"an account is 12 digits, not {account_id!r}")
