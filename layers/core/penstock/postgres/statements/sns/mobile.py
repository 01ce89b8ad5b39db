"""Statements for platform applications and their endpoints."""

from typing import NamedTuple

from penstock.postgres.statement import Statement


class CreatedArnRow(NamedTuple):
    """The new or existing application or endpoint, or an error."""

    arn: str | None
    error: str | None


CREATE_PLATFORM_APPLICATION = Statement(
    "queue.create_platform_application",
    ("text", "text", "text", "text", "text", "jsonb"),
    CreatedArnRow,
    is_audited=True,
)
CREATE_PLATFORM_ENDPOINT = Statement(
    "queue.create_platform_endpoint", ("text", "uuid", "text", "jsonb", "int4"), CreatedArnRow, is_audited=True
)


class PlatformApplicationRow(NamedTuple):
    """The attributes of an application, as JSON."""

    attributes: str


DESCRIBE_PLATFORM_APPLICATION = Statement("queue.describe_platform_application", ("text",), PlatformApplicationRow)


class FoundApplicationRow(NamedTuple):
    found: bool


SET_PLATFORM_APPLICATION = Statement(
    "queue.set_platform_application", ("text", "jsonb", "text"), FoundApplicationRow, is_audited=True, changed="found"
)


class DroppedRow(NamedTuple):
    dropped: bool


DROP_PLATFORM_APPLICATION = Statement(
    "queue.drop_platform_application", ("text",), DroppedRow, is_audited=True, changed="dropped"
)
DROP_PLATFORM_ENDPOINT = Statement(
    "queue.drop_platform_endpoint", ("text",), DroppedRow, is_audited=True, changed="dropped"
)


class ListedApplicationRow(NamedTuple):
    """An application in a list. `attributes` is JSON."""

    arn: str
    attributes: str


LIST_PLATFORM_APPLICATIONS = Statement(
    "queue.list_platform_applications", ("text", "text", "text", "int4"), ListedApplicationRow
)


class PlatformEndpointRow(NamedTuple):
    """An endpoint. `attributes` is JSON without the endpoint's token."""

    token: str
    attributes: str


DESCRIBE_PLATFORM_ENDPOINT = Statement("queue.describe_platform_endpoint", ("text",), PlatformEndpointRow)


class EndpointErrorRow(NamedTuple):
    error: str | None


SET_PLATFORM_ENDPOINT = Statement(
    "queue.set_platform_endpoint", ("text", "text", "jsonb"), EndpointErrorRow, is_audited=True
)


class ListedEndpointRow(NamedTuple):
    endpoint_id: str
    arn: str
    token: str
    attributes: str


LIST_PLATFORM_ENDPOINTS = Statement("queue.list_platform_endpoints", ("text", "uuid", "int4"), ListedEndpointRow)
