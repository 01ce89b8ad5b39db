"""What a mapping invokes: a function of AWS Lambda by its name or ARN, or a URL, which is our extension.

A function is invoked with the credentials of the installation, not with those of who makes the mapping. So its account
must be the caller's, and QUEUE_LAMBDA_FUNCTIONS decides. A URL passes the guard of webhooks when it is called.
Source: "CreateEventSourceMapping" (AWS Lambda API reference), https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
"""

import re
from fnmatch import fnmatchcase
from typing import NamedTuple

from penstock.delivery.webhooks.endpoint import EndpointInvalid, parse_endpoint
from penstock.setting_forms import entries
from penstock.settings import Settings

from .errors import InvalidParameterValueException

URL_PREFIXES = ("http://", "https://")

_NAME = re.compile(
    r"(?:arn:aws[a-zA-Z-]*:lambda:(?P<region>[a-z0-9-]+):)?(?:(?P<account>[0-9]{12}):)?(?:function:)?"
    r"(?P<name>[a-zA-Z0-9_-]{1,64})(?::(?P<qualifier>\$LATEST|[a-zA-Z0-9_-]{1,128}))?"
).fullmatch


class FunctionArn(NamedTuple):
    """The parts of a function's ARN. `qualifier`: a version or an alias; empty: none."""

    region: str
    account_id: str
    name: str
    qualifier: str = ""

    def __str__(self) -> str:
        arn = f"arn:aws:lambda:{self.region}:{self.account_id}:function:{self.name}"
        return f"{arn}:{self.qualifier}" if self.qualifier else arn


def is_url(target: str) -> bool:
    """Whether the target is a URL, not a function."""
    return target.startswith(URL_PREFIXES)


def parse_function(text: str, account_id: str, region: str) -> FunctionArn | None:
    """The function of a name, a partial ARN or an ARN; None when the text is none of these."""
    match = _NAME(text)
    if match is None:
        return None
    return FunctionArn(
        match["region"] or region, match["account"] or account_id, match["name"], match["qualifier"] or ""
    )


def target_of(text: str, account_id: str, region: str) -> str:
    """The ARN or URL that a text names, as it is stored. Raises InvalidParameterValueException."""
    if is_url(text):
        try:
            parse_endpoint(text)
        except EndpointInvalid as error:
            raise InvalidParameterValueException(f"The URL of a mapping cannot be used: {error}.") from error
        return text
    function = parse_function(text, account_id, region)
    if function is None:
        raise InvalidParameterValueException(f"{text} is not the name or the ARN of a function.")
    return str(function)


def check_target(target: str, account_id: str, region: str, settings: Settings) -> None:
    """Raises InvalidParameterValueException unless a mapping of this account may invoke the target now."""
    if is_url(target):
        return
    function = parse_function(target, account_id, region)
    if function is None or (function.account_id, function.region) != (account_id, region):
        raise InvalidParameterValueException(
            f"The function {target} must be in the region {region} and belong to the account {account_id}."
        )
    if not settings.queue_lambda_endpoint:
        raise InvalidParameterValueException(
            "This installation invokes no functions: its setting QUEUE_LAMBDA_ENDPOINT is empty."
        )
    if not is_listed(function, settings):
        raise InvalidParameterValueException(
            f"The function {target} is not among those that this installation may invoke (QUEUE_LAMBDA_FUNCTIONS)."
        )


def is_listed(function: FunctionArn, settings: Settings) -> bool:
    """Whether QUEUE_LAMBDA_FUNCTIONS has the function. Empty: any, but none where access is checked."""
    listed = entries(settings.queue_lambda_functions)
    if not listed:
        return settings.queue_access == "off"
    arn = str(function._replace(qualifier=""))
    return any(fnmatchcase(arn, entry) or fnmatchcase(function.name, entry) for entry in listed)
