"""Writes code that users can copy."""

import json
import re
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from penstock.aws.fifo_name import is_fifo_name
from penstock.context import Context
from penstock.management.access import MadeKey


class Snippet(NamedTuple):
    """A text to copy."""

    label: str
    text: str


def queue_snippets(name: str, context: Context) -> list[Snippet]:
    """Returns code that uses a queue, for Python, a shell, SQL and Terraform."""
    base, url = context.base_url, context.queue_url(name)
    group = ', MessageGroupId="customer-7"' if is_fifo_name(name) else ""
    boto3 = f"""import boto3

sqs = boto3.client("sqs", endpoint_url={base!r}, region_name={context.region!r})
url = {url!r}
sqs.send_message(QueueUrl=url, MessageBody="hello"{group})
for message in sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", []):
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
"""
    quoted = shlex.quote(name)
    shell = f"""penstock --endpoint {base} send {quoted} hello
penstock --endpoint {base} receive {quoted} --wait 20 --delete

aws --region {context.region} --endpoint-url {base} sqs receive-message --queue-url {url}
"""
    send = (
        f"select queue.send_fifo('{name}', 'hello', 'customer-7');"
        if group
        else f"select queue.send('{name}', 'hello');"
    )
    sql = f"""begin;
{send}
commit;
"""
    terraform = f"""provider "aws" {{
  region = "{context.region}"
  endpoints {{
    sqs = "{base}"
  }}
}}

resource "aws_sqs_queue" "this" {{
  name = "{name}"{chr(10) + "  fifo_queue = true" if group else ""}
}}
"""
    return [Snippet("boto3", boto3), Snippet("Shell", shell), Snippet("SQL", sql), Snippet("Terraform", terraform)]


def key_snippet(made: MadeKey, context: Context) -> Snippet:
    """Returns shell lines that give a new key to SDKs, or a bearer key to `penstock`. The secret occurs once."""
    base = context.base_url
    if made.token is not None:
        return Snippet(
            "For penstock and the REST API",
            f"export PENSTOCK_ENDPOINT={base}\nexport PENSTOCK_TOKEN={made.token}\n"
            '# REST API: curl -H "Authorization: Bearer $PENSTOCK_TOKEN" "$PENSTOCK_ENDPOINT/v1/queues"\n',
        )
    services = "\n".join(f"export AWS_ENDPOINT_URL_{service}={base}" for service in ("SQS", "SNS", "SCHEDULER"))
    return Snippet(
        "For SDKs and the AWS CLI",
        f"export AWS_ACCESS_KEY_ID={made.id}\nexport AWS_SECRET_ACCESS_KEY={made.secret}\n"
        f"export AWS_REGION={context.region}\n{services}\n",
    )


class Attribute(NamedTuple):
    """A message attribute. `text` is base64 for a binary attribute."""

    kind: str
    text: str


def message_snippets(
    name: str, body: str, attributes: Mapping[str, Attribute], group_id: str | None, context: Context
) -> list[Snippet]:
    """Returns code for curl and boto3 that sends a message with this content."""
    request: dict[str, object] = {"QueueUrl": context.queue_url(name), "MessageBody": body}
    if attributes:
        request["MessageAttributes"] = {
            key: {
                "DataType": attribute.kind,
                ("BinaryValue" if attribute.kind.startswith("Binary") else "StringValue"): attribute.text,
            }
            for key, attribute in attributes.items()
        }
    if group_id is not None:
        request["MessageGroupId"] = group_id
    document = json.dumps(request, ensure_ascii=False)
    curl = (
        f"curl -f -s {context.base_url}/ -H 'content-type: application/x-amz-json-1.0' "
        f"-H 'x-amz-target: AmazonSQS.SendMessage' -d {shlex.quote(document)}\n"
    )
    arguments = ",\n".join(f"    {key}={value!r}" for key, value in request.items() if key != "MessageAttributes")
    if attributes:
        arguments += f",\n    MessageAttributes={{{', '.join(boto3_attribute(*pair) for pair in attributes.items())}}}"
    boto3 = f"sqs.send_message(\n{arguments},\n)\n"
    return [Snippet("curl", curl), Snippet("boto3", boto3)]


def boto3_attribute(name: str, attribute: Attribute) -> str:
    """Formats an attribute as an item of a Python dict."""
    if attribute.kind.startswith("Binary"):
        return f'{name!r}: {{"DataType": {attribute.kind!r}, "BinaryValue": base64.b64decode({attribute.text!r})}}'
    return f'{name!r}: {{"DataType": {attribute.kind!r}, "StringValue": {attribute.text!r}}}'


def as_markdown(title: str, facts: Mapping[str, object], body: str, language: str) -> Snippet:
    """Formats a message as Markdown. The fence is longer than every run of backticks in the body."""
    fence = "`" * (1 + max(2, *map(len, re.findall("`+", body)), 2))
    lines = [f"- {key}: {value}" for key, value in facts.items() if value not in (None, "")]
    return Snippet("Markdown", "\n".join([f"**{title}**", "", *lines, "", f"{fence}{language}", body, fence, ""]))
