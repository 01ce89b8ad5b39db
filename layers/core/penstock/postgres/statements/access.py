"""Statements for access keys, policies, and the console's sessions and audit log."""

from datetime import datetime
from typing import NamedTuple

from penstock.postgres.statement import BatchStatement, Statement


class AccessKeyRow(NamedTuple):
    """A valid access key. `sealed_secret` is encrypted with QUEUE_ENCRYPTION_KEY.

    `user_name` is None for a key of the account itself. `policies` are the user's policies. `expires_at` is None if the
    key never expires.
    """

    account_id: str
    sealed_secret: bytes
    user_name: str | None
    policies: list[str] | None
    expires_at: datetime | None


FIND_ACCESS_KEY = Statement("queue.find_access_key", ("text",), AccessKeyRow)


class SealedKeyRow(NamedTuple):
    """A valid key that is encrypted with QUEUE_ENCRYPTION_KEY. `kind` is access, webhook or signing. The key_id
    of a webhook is the ARN of its event source. A signing key has no account_id."""

    kind: str
    key_id: str
    account_id: str | None
    sealed: bytes


SEALED_KEYS = Statement("queue.sealed_keys", (), SealedKeyRow)


class EncryptionKeyRow(NamedTuple):
    """The fingerprint of the installation's QUEUE_ENCRYPTION_KEY, or None before the first use of the key."""

    fingerprint: bytes | None


ENCRYPTION_KEY = Statement("queue.encryption_key", ("bytea", "bool"), EncryptionKeyRow)


class BearerKeyRow(NamedTuple):
    """A valid bearer key. `secret_hash` is the SHA-256 of the key's secret."""

    account_id: str
    secret_hash: bytes
    user_name: str | None
    policies: list[str] | None
    expires_at: datetime | None


FIND_BEARER_KEY = Statement("queue.find_bearer_key", ("text",), BearerKeyRow)


class ResourceEntry(NamedTuple):
    arn: str


class PolicyRow(NamedTuple):
    """The policy of entry `n` (from 1), as JSON, and the account that owns the resource. The result has no row for an
    unknown resource.

    `receiver` is the account that owns a subscription's queue.
    """

    n: int
    policy: str | None
    owner: str
    receiver: str | None


READ_POLICIES = BatchStatement("queue.read_policies", ("text[]",), PolicyRow, entry=ResourceEntry, is_idempotent=True)
READ_TOPIC_POLICIES = BatchStatement("queue.read_topic_policies", ("text[]",), PolicyRow, entry=ResourceEntry)


class CreatedKeyRow(NamedTuple):
    """`created` is false if the key id already exists. `error` is UnknownUser or TooManyKeys."""

    created: bool
    error: str | None


CREATE_KEY = Statement(
    "queue.create_key",
    ("text", "text", "text", "bytea", "text", "text", "timestamptz"),
    CreatedKeyRow,
    is_audited=True,
    changed="created",
)


class CreatedFirstKeyRow(NamedTuple):
    created: bool


CREATE_FIRST_KEY = Statement(
    "queue.create_first_key", ("text", "text", "bytea", "text"), CreatedFirstKeyRow, is_audited=True, changed="created"
)


class KeyRow(NamedTuple):
    """A key in a list. `kind` is access or bearer. `last_used_at` is accurate to a minute, or None if the key was never
    used."""

    kind: str
    key_id: str
    account_id: str
    user_name: str | None
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    description: str


LIST_KEYS = Statement("queue.list_keys", ("text",), KeyRow)


class RevokedKeyRow(NamedTuple):
    revoked: bool


REVOKE_KEY = Statement("queue.revoke_key", ("text",), RevokedKeyRow, is_audited=True, changed="revoked")


class ExistsRow(NamedTuple):
    found: bool


LIMIT_KEY = Statement("queue.limit_key", ("text", "timestamptz"), ExistsRow, is_audited=True, changed="found")


class SetUserRow(NamedTuple):
    created: bool


SET_USER = Statement("queue.set_user", ("text", "text", "text[]"), SetUserRow, is_audited=True)


class UserRow(NamedTuple):
    """A user of an account. `policies` are names of built-in policies, or JSON."""

    account_id: str
    name: str
    policies: list[str]
    created_at: datetime


LIST_USERS = Statement("queue.list_users", ("text",), UserRow)
END_USER = Statement("queue.end_user", ("text", "text"), ExistsRow, is_audited=True, changed="found")


class RoleProblemRow(NamedTuple):
    """A database role that now represents an account. `problem` is the reason why an application should not use the
    role."""

    problem: str | None


SET_ROLE_ACCOUNT = Statement("queue.set_role_account", ("text", "text", "text"), RoleProblemRow)


class RoleAccountRow(NamedTuple):
    """A database role, and its account and region in the SQL interface. `problem` has the same meaning as in
    RoleProblemRow."""

    role_name: str
    account_id: str
    region: str
    created_at: datetime
    problem: str | None


LIST_ROLE_ACCOUNTS = Statement("queue.list_role_accounts", (), RoleAccountRow)
UNSET_ROLE_ACCOUNT = Statement("queue.unset_role_account", ("text",), ExistsRow)


class QuotaRow(NamedTuple):
    reached: bool


QUOTA_REACHED = Statement("queue.quota_reached", ("text", "text", "text", "text", "text", "int4"), QuotaRow)


# --- the console -----------------------------------------------------------------------------------------------------
class OpenedSessionRow(NamedTuple):
    """The time when the session ends, unless the session's key expires earlier."""

    expires_at: datetime


OPEN_SESSION = Statement(
    "queue.open_console_session", ("text", "text", "text", "int4"), OpenedSessionRow, is_audited=True
)


class SessionRow(NamedTuple):
    """The owner of the key with which a browser signed in. `user_name` is None for a key of the account itself."""

    account_id: str
    key_id: str
    user_name: str | None
    policies: list[str] | None
    expires_at: datetime


FIND_SESSION = Statement("queue.find_console_session", ("text",), SessionRow)


class ClosedSessionRow(NamedTuple):
    closed: bool


CLOSE_SESSION = Statement("queue.close_console_session", ("text",), ClosedSessionRow)


class WrittenAuditRow(NamedTuple):
    audit_id: int


WRITE_AUDIT = Statement(
    "queue.write_audit",
    ("text", "text", "text", "text", "text", "text", "text", "jsonb", "bool", "int8", "jsonb", "bool"),
    WrittenAuditRow,
)


class NotedRefusalsRow(NamedTuple):
    noted: int


NOTE_REFUSALS = Statement(
    "queue.note_refusals",
    ("text[]", "text[]", "text[]", "text[]", "text[]", "text[]", "text[]", "text[]", "int4[]"),
    NotedRefusalsRow,
)


class AuditRow(NamedTuple):
    """A user action, or the refusals of one minute (with an `error`), or the message reads of one minute.

    `details` and `changes` are JSON. `actor` is None if the service required no key. `affected` is None if the number
    is unknown.
    """

    audit_id: int
    happened_at: datetime
    interface: str
    actor: str | None
    key_id: str | None
    address: str
    action: str
    target: str
    details: str
    changes: str
    affected: int | None
    error: str | None
    repeated: int


LIST_AUDIT = Statement("queue.list_audit", ("text", "int8", "int4", "text", "text"), AuditRow)


# --- keys that sign notifications ------------------------------------------------------------------------------------
class SigningKeyRow(NamedTuple):
    """The key that signs messages now. `sealed` says whether `private_key` is encrypted."""

    key_id: str
    sealed: bool
    private_key: bytes


CURRENT_SIGNING_KEY = Statement("queue.current_signing_key", (), SigningKeyRow)
ADD_SIGNING_KEY = Statement("queue.add_signing_key", ("text", "bool", "bytea", "text", "bool"), SigningKeyRow)


class CertificateRow(NamedTuple):
    """A certificate in PEM."""

    certificate: str


FIND_CERTIFICATE = Statement("queue.find_certificate", ("text",), CertificateRow)
