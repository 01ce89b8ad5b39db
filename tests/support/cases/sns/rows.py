"""Holds what the tables of SNS's cases share: a row, names of resources, and answers."""

from typing import Any

from tests.support.cases.case import Answer, Source, reference
from tests.support.cases.sns.members import ACCOUNT, INVALID

ARN = f"arn:aws:sns:us-east-1:{ACCOUNT}:"
ID = "00000000-0000-4000-8000-000000000000"
NO_TOPIC = Answer("NotFound", "Topic does not exist")
NO_RESOURCE = Answer("ResourceNotFound", "Resource does not exist")
NO_SUBSCRIPTION = Answer("NotFound", "Subscription does not exist")

Row = tuple[str, str, str, dict[str, Any], Answer, Source]


def refused(text: str) -> Answer:
    """Returns InvalidParameter with AWS's text."""
    return Answer(INVALID.code, f"Invalid parameter: {text}")


def of(action: str) -> Source:
    """Returns the action's page."""
    return reference("sns", action)


def spellings(name: str) -> list[str]:
    """Returns the name in other letter cases."""
    forms = (name.lower(), name.upper(), name[:1].lower() + name[1:])
    return [form for form in dict.fromkeys(forms) if form != name]
