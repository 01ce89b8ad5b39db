"""Requests and results of the STS actions, with the members of botocore's model `sts/2011-06-15` that clients use.

The service ignores members that do not apply to it (policies, tags, MFA).
"""

from typing import Annotated

from msgspec import Meta

from penstock.aws.codec.names import IsoTime, Request, Result

# The model's limits and patterns. The error texts repeat the patterns.
_TEXT = r"[\u0009\u000A\u000D\u0020-\u007E\u0085\u00A0-\uD7FF\uE000-\uFFFD\u10000-\u10FFFF]+"
RoleArn = Annotated[str, Meta(min_length=20, max_length=2048, pattern=_TEXT)]
SessionName = Annotated[str, Meta(min_length=2, max_length=64, pattern=r"[\w+=,.@-]*")]
SessionSeconds = Annotated[int, Meta(ge=900, le=129_600)]
RoleSeconds = Annotated[int, Meta(ge=900, le=43_200)]


class Credentials(Result):
    """Temporary credentials. `expiration` is ISO 8601 in UTC."""

    access_key_id: str
    secret_access_key: str
    session_token: str
    expiration: IsoTime


class AssumedRoleUser(Result):
    """The role and the session in the response."""

    assumed_role_id: str
    arn: str


class GetCallerIdentityRequest(Request):
    pass


class GetCallerIdentityResult(Result):
    user_id: str
    account: str
    arn: str


class GetSessionTokenRequest(Request):
    duration_seconds: SessionSeconds = 43_200


class GetSessionTokenResult(Result):
    credentials: Credentials


class AssumeRoleRequest(Request):
    role_arn: RoleArn
    role_session_name: SessionName
    duration_seconds: RoleSeconds = 3_600


class AssumeRoleResult(Result):
    credentials: Credentials
    assumed_role_user: AssumedRoleUser


class AssumeRoleWithWebIdentityRequest(AssumeRoleRequest, kw_only=True):
    web_identity_token: str


class AssumeRoleWithWebIdentityResult(AssumeRoleResult):
    subject_from_web_identity_token: str = "penstock"  # noqa: S105 - no token
