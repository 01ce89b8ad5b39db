"""Endpoints of platform applications. An endpoint is an app on a device, identified by a push service's token.

Sources: CreatePlatformEndpoint, GetEndpointAttributes, SetEndpointAttributes (API reference). The SNS Developer Guide
has sample code for registering tokens. The code reads the ARN from the error for a token that has other attributes.
"""

from collections.abc import Mapping
from uuid import uuid4

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.deliveries import do_policies_decide
from penstock.access.quotas import explain_quota, read_quota
from penstock.aws.sns_arn import is_subscription_id, parse_endpoint_arn
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.mobile import (
    CREATE_PLATFORM_ENDPOINT,
    DESCRIBE_PLATFORM_ENDPOINT,
    DROP_PLATFORM_ENDPOINT,
    LIST_PLATFORM_ENDPOINTS,
    SET_PLATFORM_ENDPOINT,
)
from penstock.sns import errors, paging
from penstock.sns import types as sns
from penstock.sns.publishing.targets import read_application_arn, read_endpoint_arn
from penstock.sqs.validation import encode_text

from .platform_applications import PAGE, build_application_error, describe_application

ATTRIBUTES = frozenset(("CustomUserData", "Enabled", "Token"))
MAX_USER_DATA_BYTES = 2_048
MAX_TOKEN_CHARACTERS = 4_096  # Penstock's choice; push services' tokens have less than 300 characters

_text = msgspec.json.Decoder(dict[str, str]).decode


@audited(lambda request, _context: Act("sns:CreatePlatformEndpoint", request.platform_application_arn))
def create_platform_endpoint(
    request: sns.CreatePlatformEndpointRequest, context: Context
) -> Operation[sns.CreatePlatformEndpointResult]:
    """Creates an endpoint, or returns the endpoint with this token and the same attributes."""
    arn = read_application_arn(request.platform_application_arn, context)
    given = dict(request.attributes or {})
    if request.custom_user_data is not None:
        given.setdefault("CustomUserData", request.custom_user_data)  # Attributes take precedence (recorded at AWS)
    check_attributes(given)
    token = check_token(request.token, arn.platform)
    given.pop("Token", None)
    most = read_quota("platform_endpoints", context)
    (row,) = yield from Call(
        CREATE_PLATFORM_ENDPOINT,
        (request.platform_application_arn, uuid4(), token, encode_jsonb(keep_attributes(given)), most),
    )
    if row.error == "NotFound":
        raise build_application_error()
    if row.error == "TooMany":
        raise errors.InvalidParameter(explain_quota("platform_endpoints", context))
    if row.error is not None:
        raise errors.InvalidParameter.named(
            "Token", f"Endpoint {row.arn} already exists with the same Token, but different attributes."
        )
    return sns.CreatePlatformEndpointResult(endpoint_arn=row.arn)


@audited(lambda request, _context: Act("sns:DeleteEndpoint", request.endpoint_arn))
def delete_endpoint(request: sns.DeleteEndpointRequest, context: Context) -> Operation[None]:
    """Deletes an endpoint, but not its subscriptions. A missing endpoint is ignored."""
    read_endpoint_arn(request.endpoint_arn, context)
    yield from Call(DROP_PLATFORM_ENDPOINT, (request.endpoint_arn,))


def get_endpoint_attributes(
    request: sns.GetEndpointAttributesRequest, context: Context
) -> Operation[sns.GetEndpointAttributesResult]:
    """Returns Token, Enabled and CustomUserData."""
    read_endpoint_arn(request.endpoint_arn, context)
    rows = yield from Call(DESCRIBE_PLATFORM_ENDPOINT, (request.endpoint_arn,))
    if not rows:
        raise build_endpoint_error()
    (row,) = rows
    return sns.GetEndpointAttributesResult(attributes=show_attributes(row.token, row.attributes))


@audited(
    lambda request, _context: Act(
        "sns:SetEndpointAttributes", request.endpoint_arn, {"attributes": sorted(request.attributes or ())}
    )
)
def set_endpoint_attributes(request: sns.SetEndpointAttributesRequest, context: Context) -> Operation[None]:
    arn = read_endpoint_arn(request.endpoint_arn, context)
    if request.attributes is None:
        raise errors.ValidationError.missing("Attributes")
    given = dict(request.attributes)
    check_attributes(given)
    token = given.pop("Token", None)
    if token is not None:
        token = check_token(token, arn.platform)
    (row,) = yield from Call(SET_PLATFORM_ENDPOINT, (request.endpoint_arn, token, encode_jsonb(keep_attributes(given))))
    if row.error == "TokenTaken":
        raise errors.InvalidParameter.named("This endpoint is already registered with a different token.")
    if row.error is not None:
        raise build_endpoint_error()


def list_endpoints_by_platform_application(
    request: sns.ListEndpointsByPlatformApplicationRequest, context: Context
) -> Operation[sns.ListEndpointsByPlatformApplicationResult]:
    """Returns an application's endpoints, at most 100 on a page."""
    application = request.platform_application_arn
    read_application_arn(application, context)
    after = paging.read_token(request.next_token, is_subscription_id)
    rows = yield from Call(LIST_PLATFORM_ENDPOINTS, (application, after, PAGE + 1))
    if not rows:
        yield from describe_application(application)
    return sns.ListEndpointsByPlatformApplicationResult(
        endpoints=[
            sns.PlatformEndpoint(endpoint_arn=row.arn, attributes=show_attributes(row.token, row.attributes))
            for row in rows[:PAGE]
        ],
        next_token=paging.build_token(rows[PAGE - 1].endpoint_id) if len(rows) > PAGE else None,
    )


def check_platform_endpoint(arn: str, context: Context) -> Operation[None]:
    """Checks an endpoint for Subscribe. Raises InvalidParameter if the endpoint does not exist.

    Raises AuthorizationError for another account's endpoint. Publish refuses another account's endpoint, so a topic
    must not push to the endpoint either.
    """
    parsed = parse_endpoint_arn(arn)
    if do_policies_decide(context) and parsed is not None and parsed.account_id != context.account_id:
        raise errors.AuthorizationError(f"Access to the resource {arn} is denied.")
    if not (yield from Call(DESCRIBE_PLATFORM_ENDPOINT, (arn,))):
        raise errors.InvalidParameter.named("Endpoint", f"Endpoint does not exist for endpoint arn{arn}")  # AWS's


# --- attributes ------------------------------------------------------------------------------------------------------
def check_attributes(given: Mapping[str, str]) -> None:
    """Raises InvalidParameter for an invalid value, and for an attribute that endpoints do not have."""
    for name, value in given.items():
        if name not in ATTRIBUTES:
            raise errors.InvalidParameter.named("Attributes", f"Invalid attribute name: {name[:64]}")
        data = encode_text(value)
        if data is None:
            raise errors.InvalidParameter.named("Attributes", f"Invalid value for attribute: {name}")
        if name == "CustomUserData" and len(data) > MAX_USER_DATA_BYTES:
            limit = f"must be at most {MAX_USER_DATA_BYTES} bytes long in UTF-8 encoding"
            raise errors.InvalidParameter.named("Attributes", f"Invalid value for attribute: {name}: {limit}")
        if name == "Enabled" and value.lower() not in ("true", "false"):
            raise errors.InvalidParameter.named("Attributes", f"Invalid value for attribute: {name}: {value[:64]}")


def check_token(token: str, platform: str) -> str:
    """Returns the token in its stored format, which is lower case for Apple (GetEndpointAttributes). Raises
    InvalidParameter."""
    if not token or len(token) > MAX_TOKEN_CHARACTERS or encode_text(token) is None:
        raise errors.InvalidParameter.named("Token")
    return token.lower() if platform.startswith(("APNS", "MACOS")) else token


def keep_attributes(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the attributes to store with the token."""
    return {name: value.lower() if name == "Enabled" else value for name, value in given.items()}


def show_attributes(token: str, stored: str) -> dict[str, str]:
    """Returns an endpoint's attributes as SNS shows them."""
    return {**{name: value for name, value in _text(stored).items() if value}, "Token": token}


# --- the endpoint of a request ---------------------------------------------------------------------------------------
def build_endpoint_error() -> errors.NotFound:
    return errors.NotFound("Endpoint does not exist")
