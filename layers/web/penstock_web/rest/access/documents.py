"""Defines the documents of /v1/users and /v1/keys."""

from datetime import datetime
from typing import Annotated

import msgspec

Policy = Annotated[str, msgspec.Meta(min_length=1)]


class UserPolicies(msgspec.Struct, forbid_unknown_fields=True):
    """Lists the rights of a user: `read`, `operate`, `admin`, or IAM's JSON as text. There are at most ten policies."""

    policies: Annotated[list[Policy], msgspec.Meta(max_length=10)]


class KeyExpiry(msgspec.Struct, forbid_unknown_fields=True):
    """Says when a key expires. Null means never."""

    expires_at: Annotated[datetime, msgspec.Meta(tz=True)] | None
