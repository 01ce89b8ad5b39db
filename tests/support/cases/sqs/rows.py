"""Holds what the tables of SQS's cases share: a row and answers."""

from typing import Any

from tests.support.cases.case import Answer, Source, reference, report

ACCOUNT = "710000000001"
UNKNOWN = report("CoorpAcademy/serverless-plugins", 225)

Row = tuple[str, str, str, dict[str, Any], Answer, Source]


def of(action: str) -> Source:
    """Returns the action's page."""
    return reference("sqs", action)


def unknown(name: str) -> Answer:
    """Returns InvalidAttributeName with AWS's text."""
    return Answer("InvalidAttributeName", f"Unknown Attribute {name}.")
