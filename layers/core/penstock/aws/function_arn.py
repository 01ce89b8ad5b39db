"""Parses names of AWS Lambda functions.

Source: FunctionName of "CreateEventSourceMapping" (AWS Lambda API reference),
https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html
"""

import re
from typing import NamedTuple

_NAME = re.compile(
    r"(?:arn:aws:lambda:(?P<region>[a-z0-9-]+):)?(?:(?P<account>[0-9]{12}):)?(?:function:)?"
    r"(?P<name>[a-zA-Z0-9_-]{1,64})(?::(?P<qualifier>\$LATEST|[a-zA-Z0-9_-]{1,128}))?"
).fullmatch
_ARN = re.compile(r"arn:aws:lambda:[a-z0-9-]+:[0-9]{12}:function:.*").fullmatch


class FunctionArn(NamedTuple):
    """The parts of a function's ARN. `qualifier` is a version, an alias or empty."""

    region: str
    account_id: str
    name: str
    qualifier: str = ""

    def __str__(self) -> str:
        arn = f"arn:aws:lambda:{self.region}:{self.account_id}:function:{self.name}"
        return f"{arn}:{self.qualifier}" if self.qualifier else arn


def parse_function(text: str, account_id: str, region: str) -> FunctionArn | None:
    """Returns the function that a name, a partial ARN or a whole ARN identifies, or None for any other text."""
    match = _NAME(text)
    if match is None:
        return None
    return FunctionArn(
        match["region"] or region, match["account"] or account_id, match["name"], match["qualifier"] or ""
    )


def parse_function_arn(text: str) -> FunctionArn | None:
    """Returns the function of a whole ARN, or None for any other text."""
    return parse_function(text, "", "") if _ARN(text) else None
