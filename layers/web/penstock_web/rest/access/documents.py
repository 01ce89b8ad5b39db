"""Documents of /v1/users and /v1/keys."""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from penstock.postgres.statements.access import KeyRow, UserRow

USER_NAME: Final = "[A-Za-z0-9_+=,.@-]{1,64}"
Policy = Annotated[str, msgspec.Meta(min_length=1)]


class UserPolicies(msgspec.Struct, forbid_unknown_fields=True):
    """What a user may do: `read`, `operate`, `admin`, or IAM's JSON as text; at most ten policies."""

    policies: Annotated[list[Policy], msgspec.Meta(max_length=10)]


class ShownUser(msgspec.Struct):
    """A user of the account."""

    name: str
    policies: list[str]
    created_at: datetime


class NewKey(msgspec.Struct, forbid_unknown_fields=True):
    """A key to make. `bearer`: for the REST API instead of the AWS APIs. `user`: null, the account's own key.

    `expires_at`: with an offset, in the future; null, never.
    """

    bearer: bool = False
    user: Annotated[str, msgspec.Meta(pattern=f"^{USER_NAME}$")] | None = None
    description: Annotated[str, msgspec.Meta(max_length=256)] = ""
    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class KeyExpiry(msgspec.Struct, forbid_unknown_fields=True):
    """When a key expires; null: never."""

    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None


class ShownKey(msgspec.Struct):
    """A key, without its secret. `last_used_at`: to within a minute."""

    id: str
    kind: Literal["access", "bearer"]
    user: str | None
    description: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None


class MadeKey(msgspec.Struct):
    """A new key. The secret is shown this once. `token`: of a bearer key, what follows `Authorization: Bearer`."""

    id: str
    secret: str
    token: str | None


def shown_user(row: UserRow) -> ShownUser:
    """A user as a document."""
    return ShownUser(row.name, list(row.policies), row.created_at)


def shown_key(row: KeyRow) -> ShownKey:
    """A key as a document."""
    return ShownKey(
        row.key_id, "bearer" if row.kind == "bearer" else "access", row.user_name, row.description, row.created_at,
        row.last_used_at, row.expires_at, row.revoked_at,
    )  # fmt: skip
