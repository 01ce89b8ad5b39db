"""Names of functions. Source: FunctionName of "CreateEventSourceMapping" (AWS Lambda API reference)."""

from __future__ import annotations

import pytest

from penstock.event_sources.errors import InvalidParameterValueException
from penstock.event_sources.targets import check_target, parse_target
from penstock.settings import Settings

ACCOUNT, REGION = "123456789012", "us-west-2"
ARN = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:MyFunction"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("MyFunction", ARN),
        (ARN, ARN),
        (f"{ARN}:PROD", f"{ARN}:PROD"),
        ("123456789012:function:MyFunction", ARN),
        ("https://example.com/hook?x=1", "https://example.com/hook?x=1"),
    ],
)
def test_forms_of_the_reference(text: str, target: str) -> None:
    assert parse_target(text, ACCOUNT, REGION) == target


@pytest.mark.parametrize(
    "text", ["", "a b", "arn:aws:lambda", "https://user@host/", "arn:aws:sqs:us-west-2:1:q"]
)
def test_other_texts(text: str) -> None:
    with pytest.raises(InvalidParameterValueException):
        parse_target(text, ACCOUNT, REGION)


@pytest.mark.parametrize(
    ("access", "listed", "allowed"),
    [
        ("off", "", True),
        ("off", "Other", False),
        ("sigv4", "", False),
        ("presence", "", False),
        ("sigv4", "Other, My*", True),
        ("sigv4", ARN, True),
        ("sigv4", f"arn:aws:lambda:*:{ACCOUNT}:function:*", True),
        ("sigv4", "arn:aws:lambda:*:999999999999:function:*", False),
    ],
)
def test_which_functions_may_be_invoked(access: str, listed: str, allowed: bool) -> None:
    """No function is allowed by default where access is checked."""
    settings = Settings.read(
        {
            "QUEUE_ACCESS": access,
            "QUEUE_LAMBDA_FUNCTIONS": listed,
            "QUEUE_LAMBDA_ENDPOINT": "http://localhost:3001",
        }
    )
    if allowed:
        check_target(f"{ARN}:1", ACCOUNT, REGION, settings)
    else:
        with pytest.raises(InvalidParameterValueException, match="QUEUE_LAMBDA_FUNCTIONS"):
            check_target(f"{ARN}:1", ACCOUNT, REGION, settings)
