"""Changes a queue's attributes. Shows a form, then the differences, and changes the attributes after a confirmation."""

from typing import Final, NamedTuple

from fastapi import Response

from penstock.documents.queue_names import build_queue_arn
from penstock.errors import InvalidParameterValue
from penstock.management.queues import Attributes, change_queue, describe_queue
from penstock.management.rights import require_on
from penstock_web.console.page import CurrentPage, Page
from penstock_web.console.responses import redirect, show_page
from penstock_web.console.screen import act, screen

FIELDS: Final = {
    "VisibilityTimeout": "how long a received message stays hidden: 0 to 43,200 (12 hours)",
    "MessageRetentionPeriod": "how long the queue keeps a message: 60 to 1,209,600 (14 days)",
    "DelaySeconds": "how long consumers cannot receive a new message: 0 to 900 (15 minutes)",
    "ReceiveMessageWaitTimeSeconds": "how long a receive waits for messages: 0 to 20",
    "MaximumMessageSize": "how large a message can be: 1,024 to 1,048,576 (1 MiB)",
    "archive": "true to keep deleted messages, otherwise false",
    "archive_seconds": "how long the queue keeps deleted messages",
    "history": "true to record each message's outcome for metrics, otherwise false",
    "PenstockTrace": "true to record each receive and its caller, otherwise false",
    "RedrivePolicy": "JSON with deadLetterTargetArn and maxReceiveCount, or empty",
    "RedriveAllowPolicy": "JSON: which queues can use this queue as their dead-letter queue",
    "Policy": "JSON: which other accounts and users can use the queue",
}
"""The form's fields and their descriptions."""
EDIT: Final = require_on("queue", "sqs:GetQueueAttributes", "sqs:SetQueueAttributes")
"""The rights to read and to change the attributes. The operation checks the right to change again."""
LONG: Final = ("RedrivePolicy", "RedriveAllowPolicy", "Policy")


class Difference(NamedTuple):
    """An attribute's values before and after the change. An empty value means that the attribute is not set."""

    name: str
    before: str
    after: str


@screen("/console/queues/{name}/attributes", right=EDIT)
async def attributes_form(name: str, page: CurrentPage) -> Response:
    """Shows the form."""
    return show(page, name, await read_attributes(name, page), [])


@act("/console/queues/{name}/attributes", right=EDIT)
async def change_attributes(name: str, page: CurrentPage) -> Response:
    """Shows the changes. If the form's field `confirmed` is "yes", makes the changes. Raises InvalidParameterValue if
    another user has changed the same attributes in the meantime.
    """
    there = await read_attributes(name, page)
    given = {field: page.form.get(field).strip().replace("\r\n", "\n") for field in FIELDS}
    differences = [
        Difference(field, there.get(field, ""), value)
        for field, value in given.items()
        if value != there.get(field, "")
    ]
    if not differences:
        raise InvalidParameterValue("The queue already has these values.")
    if page.form.get("confirmed") != "yes":
        return show(page, name, given, differences)
    if any(
        page.form.get(f"before.{difference.name}").replace("\r\n", "\n") != difference.before
        for difference in differences
    ):
        raise InvalidParameterValue(
            "Another user has changed the attributes in the meantime. Your changes were not made."
        )
    changed: Attributes = {difference.name: difference.after for difference in differences}
    operation = change_queue(name, changed, page.context)
    await page.act(operation)
    return redirect(f"/console/queues/{name}/settings?done=changed")


async def read_attributes(name: str, page: Page) -> dict[str, str]:
    """Returns the attributes that are set. Raises QueueDoesNotExist."""
    build_queue_arn(name, page.context)
    return dict((await page.run(describe_queue(name, page.context))).attributes)


def show(page: Page, name: str, values: dict[str, str], differences: list[Difference]) -> Response:
    """Shows `differences` for confirmation, or a form with `values` if `differences` is empty."""
    return show_page(
        page, "attributes.html", title=f"Attributes of {name}", name=name, values=values, differences=differences,
        fields=FIELDS, long=LONG,
    )  # fmt: skip
