"""Platform applications, through which SNS publishes to mobile apps.

A request to create an application needs a push service's credentials. Penstock does not call push services and does not
store the credentials. Penstock stores a digest, to recognise an existing application with the same credentials.
Sources: CreatePlatformApplication, SetPlatformApplicationAttributes, GetPlatformApplicationAttributes (API reference).
"""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.aws.sns_arn import PLATFORMS, is_application_name, parse_application_arn
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.sns.mobile import (
    CREATE_PLATFORM_APPLICATION,
    DESCRIBE_PLATFORM_APPLICATION,
    DROP_PLATFORM_APPLICATION,
    LIST_PLATFORM_APPLICATIONS,
    SET_PLATFORM_APPLICATION,
)
from penstock.sns import errors, paging
from penstock.sns import types as sns
from penstock.sns.publishing.targets import read_application_arn
from penstock.sqs.validation import encode_text

PAGE = 100
SECRETS = ("PlatformCredential", "PlatformPrincipal")
ATTRIBUTES = frozenset((
    *SECRETS, "EventEndpointCreated", "EventEndpointDeleted", "EventEndpointUpdated", "EventDeliveryFailure",
    "SuccessFeedbackRoleArn", "FailureFeedbackRoleArn", "SuccessFeedbackSampleRate", "ApplePlatformTeamID",
    "ApplePlatformBundleID", "Enabled",
))  # fmt: skip
MAX_NAME_LENGTH = 256
MAX_CHARACTERS = 16_384  # the limit of one attribute (Penstock's choice); a certificate or a key file is shorter

_text = msgspec.json.Decoder(dict[str, str]).decode


@audited(
    lambda request, context: Act(
        "sns:CreatePlatformApplication",
        f"arn:aws:sns:{context.region}:{context.account_id}:app/{request.platform}/{request.name}",
        {"attributes": sorted(request.attributes or ())},
    )
)
def create_platform_application(
    request: sns.CreatePlatformApplicationRequest, context: Context
) -> Operation[sns.CreatePlatformApplicationResult]:
    """Creates an application, or returns the application with this platform, this name and the same attributes."""
    check_name(request.name)
    if request.platform not in PLATFORMS:
        raise errors.InvalidParameter.named("Platform", f"{request.platform[:64]} is not supported")
    given = request.attributes
    check_attributes(given)
    check_credentials(given, request.platform)
    arn = f"arn:aws:sns:{context.region}:{context.account_id}:app/{request.platform}/{request.name}"
    yield from check_quota("platform_applications", arn, context, errors.InvalidParameter)
    (row,) = yield from Call(
        CREATE_PLATFORM_APPLICATION,
        (
            context.account_id,
            context.region,
            request.platform,
            request.name,
            digest(given),
            encode_jsonb(keep_attributes(given)),
        ),
    )
    if row.error is not None:
        raise errors.InvalidParameter.named("This application already exists with different attributes")
    return sns.CreatePlatformApplicationResult(platform_application_arn=row.arn)


@audited(lambda request, _context: Act("sns:DeletePlatformApplication", request.platform_application_arn))
def delete_platform_application(request: sns.DeletePlatformApplicationRequest, context: Context) -> Operation[None]:
    """Deletes an application with its endpoints. A missing application is ignored."""
    read_application_arn(request.platform_application_arn, context)
    yield from Call(DROP_PLATFORM_APPLICATION, (request.platform_application_arn,))


def get_platform_application_attributes(
    request: sns.GetPlatformApplicationAttributesRequest, context: Context
) -> Operation[sns.GetPlatformApplicationAttributesResult]:
    """Returns the set attributes, without the credentials."""
    read_application_arn(request.platform_application_arn, context)
    stored = yield from describe_application(request.platform_application_arn)
    return sns.GetPlatformApplicationAttributesResult(attributes=show_attributes(stored))


@audited(
    lambda request, _context: Act(
        "sns:SetPlatformApplicationAttributes",
        request.platform_application_arn,
        {"attributes": sorted(request.attributes or ())},
    )
)
def set_platform_application_attributes(
    request: sns.SetPlatformApplicationAttributesRequest, context: Context
) -> Operation[None]:
    """Changes the given attributes. An empty value removes an attribute."""
    read_application_arn(request.platform_application_arn, context)
    given = request.attributes
    if given is None:
        raise errors.ValidationError.missing("Attributes")
    check_attributes(given)
    changed = {name: value or None for name, value in keep_attributes(given).items()}
    credentials = digest(given) if any(name in given for name in SECRETS) else None
    (row,) = yield from Call(
        SET_PLATFORM_APPLICATION, (request.platform_application_arn, encode_jsonb(changed), credentials)
    )
    if not row.found:
        raise build_application_error()


def list_platform_applications(
    request: sns.ListPlatformApplicationsRequest, context: Context
) -> Operation[sns.ListPlatformApplicationsResult]:
    """Returns the account's applications, at most 100 on a page."""
    after = paging.read_token(request.next_token, lambda last: parse_application_arn(last) is not None)
    rows = yield from Call(LIST_PLATFORM_APPLICATIONS, (context.account_id, context.region, after, PAGE + 1))
    return sns.ListPlatformApplicationsResult(
        platform_applications=[
            sns.PlatformApplication(platform_application_arn=row.arn, attributes=show_attributes(row.attributes))
            for row in rows[:PAGE]
        ],
        next_token=paging.build_token(rows[PAGE - 1].arn) if len(rows) > PAGE else None,
    )


# --- names and credentials -------------------------------------------------------------------------------------------
def check_name(name: str) -> None:
    """Raises InvalidParameter, whose text contains the value, as recorded at AWS."""
    if not name:
        raise errors.InvalidParameter.named("", "cannot be empty")
    if len(name) > MAX_NAME_LENGTH:
        raise errors.InvalidParameter.named(name, f"must be at most {MAX_NAME_LENGTH} characters long")
    if not is_application_name(name):
        allowed = "'a'-'z', 'A'-'Z', '0'-'9', '_', '-', and '.'"
        raise errors.InvalidParameter.named(name, f"must contain only characters {allowed}")


def check_credentials(given: Mapping[str, str], platform: str) -> None:
    """Raises InvalidParameter unless the platform's credentials are complete. GCM and BAIDU have no principal."""
    credential, principal = given.get("PlatformCredential"), given.get("PlatformPrincipal")
    if principal and not credential:
        reason = "PlatformPrincipal attribute provided without PlatformCredential"
    elif not credential:
        reason = "PlatformCredential is required"
    elif platform not in ("GCM", "BAIDU") and not principal:
        reason = "PlatformCredential attribute provided without PlatformPrincipal"
    else:
        return
    raise errors.InvalidParameter.named("Attributes", reason)


# --- attributes ------------------------------------------------------------------------------------------------------
def check_attributes(given: Mapping[str, str]) -> None:
    """Raises InvalidParameter for an invalid value, and for an attribute that applications do not have."""
    for name, value in given.items():
        if name not in ATTRIBUTES:
            raise errors.InvalidParameter.named("Attributes", f"Invalid attribute name: {name[:64]}")
        if len(value) > MAX_CHARACTERS or encode_text(value) is None:
            raise errors.InvalidParameter.named("Attributes", f"Invalid value for attribute: {name}")
        if name == "Enabled" and value.lower() not in ("true", "false"):
            raise errors.InvalidParameter.named("Attributes", f"Invalid value for attribute: {name}")
        if name == "SuccessFeedbackSampleRate" and not is_percentage(value):
            raise errors.InvalidParameter.named("Attributes", f"Invalid value for attribute: {name}")


def is_percentage(value: str) -> bool:
    """Returns whether a text is an integer from 0 to 100."""
    return value.isascii() and value.isdigit() and len(value) <= 3 and int(value) <= 100


def keep_attributes(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the attributes to store, without the credentials."""
    return {name: value.lower() if name == "Enabled" else value for name, value in given.items() if name not in SECRETS}


def digest(given: Mapping[str, str]) -> str:
    """Returns the digest of the credentials. Penstock stores only the digest."""
    return sha256(msgspec.json.encode([given.get(name, "") for name in SECRETS])).hexdigest()


def show_attributes(stored: str) -> dict[str, str]:
    """Returns an application's attributes as SNS shows them."""
    return {"Enabled": "true"} | _text(stored)


# --- the application of a request ------------------------------------------------------------------------------------
def describe_application(arn: str) -> Operation[str]:
    """Returns an application's stored attributes, in JSON. Raises NotFound."""
    rows = yield from Call(DESCRIBE_PLATFORM_APPLICATION, (arn,))
    if not rows:
        raise build_application_error()
    (row,) = rows
    return row.attributes


def build_application_error() -> errors.NotFound:
    return errors.NotFound("PlatformApplication does not exist")
