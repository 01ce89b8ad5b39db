"""GetCallerIdentity, and the actions with which SDKs exchange a role, or an identity provider's token, for credentials.

If access control is off, the credentials contain the caller's key id, which determines the account
(`context.parse_scope`). Any secret works, because the service does not check signatures. If `QUEUE_ACCESS` is `sigv4`,
the access rule refuses the exchange earlier, because Penstock does not have roles or session tokens.

Sources: the pages of the actions in the STS API reference. Penstock ignores a role's account (Penstock's choice).
"""

import secrets
from datetime import UTC, datetime, timedelta

from penstock.context import Context, read_key_id
from penstock.effects import Operation

from .types import (
    AssumedRoleUser,
    AssumeRoleRequest,
    AssumeRoleResult,
    AssumeRoleWithWebIdentityRequest,
    AssumeRoleWithWebIdentityResult,
    Credentials,
    GetCallerIdentityRequest,
    GetCallerIdentityResult,
    GetSessionTokenRequest,
    GetSessionTokenResult,
)


def get_caller_identity(
    request: GetCallerIdentityRequest,  # noqa: ARG001 - as every operation
    context: Context,
) -> Operation[GetCallerIdentityResult]:
    """Returns the caller's account, ARN and name. The root user has the account's id."""
    yield from ()
    arn, account_id = context.caller_arn, context.account_id
    user_id = arn.rpartition("/")[2] if "/" in arn else account_id
    return GetCallerIdentityResult(user_id=user_id, account=account_id, arn=arn)


def get_session_token(request: GetSessionTokenRequest, context: Context) -> Operation[GetSessionTokenResult]:
    yield from ()
    return GetSessionTokenResult(credentials=build_credentials(request.duration_seconds, context))


def assume_role(request: AssumeRoleRequest, context: Context) -> Operation[AssumeRoleResult]:
    """Returns the caller's credentials under the name of a role."""
    yield from ()
    return AssumeRoleResult(
        credentials=build_credentials(request.duration_seconds, context),
        assumed_role_user=describe_assumed_role(request, context),
    )


def assume_role_with_web_identity(
    request: AssumeRoleWithWebIdentityRequest, context: Context
) -> Operation[AssumeRoleWithWebIdentityResult]:
    """Returns credentials for an unsigned request of the default account. Ignores the token."""
    yield from ()
    return AssumeRoleWithWebIdentityResult(
        credentials=build_credentials(request.duration_seconds, context),
        assumed_role_user=describe_assumed_role(request, context),
    )


def build_credentials(seconds: int, context: Context) -> Credentials:
    expiration = datetime.now(UTC) + timedelta(seconds=seconds)
    return Credentials(
        access_key_id=read_key_id(context.http) or context.account_id,
        secret_access_key=secrets.token_urlsafe(30),
        session_token=secrets.token_urlsafe(48),
        expiration=expiration.strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def describe_assumed_role(request: AssumeRoleRequest, context: Context) -> AssumedRoleUser:
    """Returns the role and the session for the response."""
    role, session = request.role_arn.rpartition("/")[2], request.role_session_name
    return AssumedRoleUser(
        assumed_role_id=f"{role}:{session}", arn=f"arn:aws:sts::{context.account_id}:assumed-role/{role}/{session}"
    )
