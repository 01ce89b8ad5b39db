"""Tests which universal targets and inputs are refused.

The sources are "Using universal targets in EventBridge Scheduler" (EventBridge Scheduler User Guide) and "Universal
targets for a Custom Event Bus" (EventBridge User Guide).
"""

import json
from typing import Any

import pytest

from penstock.aws.universal_target import INVOKE, PUBLISH, SEND_MESSAGE, UniversalTargetInvalid, read_action
from penstock.context import Context
from penstock.environment import build_worker_environment
from penstock.http import HttpRequest
from penstock.settings import Settings
from penstock.sqs.types import SendMessageRequest
from penstock.universal_calls import InvokeRequest, build_payload, read_call

REQUEST = HttpRequest("POST", "/", b"", {b"host": b"localhost"}, b"")
CONTEXT = Context("000000000000", "eu-west-1", "", build_worker_environment(Settings.read({})), REQUEST)
MESSAGE = {"QueueUrl": "jobs", "MessageBody": "m"}
TOPIC = "arn:aws:sns:us-east-1:111122223333:news"


@pytest.mark.parametrize("service", ["scheduler", "events"])
def test_the_arn_names_the_action(service: str) -> None:
    assert read_action(f"arn:aws:{service}:::aws-sdk:sqs:sendMessage") is SEND_MESSAGE
    for wrong in ("sqs:SendMessage", "sqs:receiveMessage", "dynamodb:putItem"):
        name, _, api_action = wrong.partition(":")
        with pytest.raises(UniversalTargetInvalid, match=f"The api {api_action} is not valid for the service {name}. "):
            read_action(f"arn:aws:{service}:::aws-sdk:{wrong}")
    with pytest.raises(UniversalTargetInvalid, match="aws-sdk:service:apiAction"):
        read_action(f"arn:aws:{service}:::aws-sdk:sqs")


@pytest.mark.parametrize(
    ("action", "request_", "arn"),
    [
        (SEND_MESSAGE, MESSAGE, "arn:aws:sqs:eu-west-1:000000000000:jobs"),
        (SEND_MESSAGE, {**MESSAGE, "QueueUrl": "https://sqs.us-east-1.amazonaws.com/111122223333/jobs"},
         "arn:aws:sqs:us-east-1:111122223333:jobs"),
        (PUBLISH, {"Message": "m", "TopicArn": TOPIC}, TOPIC),
        (PUBLISH, {"Message": "m", "TargetArn": TOPIC}, TOPIC),
        (INVOKE, {"FunctionName": "f"}, "arn:aws:lambda:eu-west-1:000000000000:function:f"),
        (INVOKE, {"FunctionName": "f", "Qualifier": "live"}, "arn:aws:lambda:eu-west-1:000000000000:function:f:live"),
        (INVOKE, {"FunctionName": "111122223333:f:1"}, "arn:aws:lambda:eu-west-1:111122223333:function:f:1"),
    ],
)  # fmt: skip
def test_the_request_names_its_resource(action: Any, request_: dict[str, str], arn: str) -> None:
    assert read_call(action, json.dumps(request_), CONTEXT).arn == arn


@pytest.mark.parametrize(
    ("action", "text", "reason"),
    [
        (SEND_MESSAGE, "no JSON", "not a JSON object"),
        (SEND_MESSAGE, "[" * 100_000, "not a JSON object"),
        (SEND_MESSAGE, "[]", "not a JSON object"),
        (SEND_MESSAGE, "{}", r"missing required field\(s\): MessageBody, QueueUrl"),
        (SEND_MESSAGE, '{"QueueUrl": "jobs", "MessageBody": null}', r"missing required field\(s\): MessageBody"),
        (SEND_MESSAGE, '{"queueUrl": "jobs", "messageBody": "m"}', r"missing required field\(s\)"),
        (SEND_MESSAGE, '{"QueueUrl": "jobs", "MessageBody": "m", "DelaySecond": 9}', "unknown member.*'DelaySecond'"),
        (SEND_MESSAGE, '{"QueueUrl": "jobs", "MessageBody": 1}', "can not be converted to a String"),
        (SEND_MESSAGE, '{"QueueUrl": "jobs", "MessageBody": "m", "DelaySeconds": "1"}', "to an Integer"),
        (SEND_MESSAGE, '{"QueueUrl": "a b", "MessageBody": "m"}', "QueueUrl"),
        (SEND_MESSAGE, '{"QueueUrl": "http://<aws.scheduler.schedule-arn>/000000000000/q", "MessageBody": "m"}',
         "QueueUrl"),
        (SEND_MESSAGE, r'{"QueueUrl": "jobs", "MessageBody": "m", "other": "\u0000"}', "U.0000"),
        (SEND_MESSAGE, r'{"QueueUrl": "jobs", "MessageBody": "m", "other": "\\\u0000"}', "U.0000"),
        (SEND_MESSAGE, r'{"QueueUrl": "jobs", "MessageBody": "m", "other": ["\ud800"]}', "surrogate"),
        (PUBLISH, '{"Message": "m"}', "TopicArn"),
        (PUBLISH, f'{{"Message": "m", "TopicArn": "{TOPIC}", "PhoneNumber": "+49"}}', "TopicArn"),
        (PUBLISH, '{"Message": "m", "TargetArn": "arn:aws:sns:us-east-1:0:endpoint/GCM/a/b"}', "TopicArn"),
        (INVOKE, '{"FunctionName": "a b"}', "FunctionName"),
        (INVOKE, '{"FunctionName": "f", "InvocationType": "DryRun"}', "InvocationType"),
        (INVOKE, '{"FunctionName": "f", "Payload": "no JSON"}', "Payload"),
        (INVOKE, '{"FunctionName": "f", "ClientContext": "e30="}', "ClientContext"),
    ],
)  # fmt: skip
def test_an_input_is_refused(action: Any, text: str, reason: str) -> None:
    with pytest.raises(UniversalTargetInvalid, match=reason):
        read_call(action, text, CONTEXT)


def test_an_escaped_backslash_is_no_escape() -> None:
    text = r'{"QueueUrl": "jobs", "MessageBody": "\\u0000 \\ud800"}'
    assert read_call(SEND_MESSAGE, text, CONTEXT).request == SendMessageRequest("jobs", r"\u0000 \ud800")


@pytest.mark.parametrize(
    ("payload", "event"), [(None, "{}"), ('{ "a": 1.50 }', '{ "a": 1.50 }'), ({"a": [1]}, '{"a":[1]}'), ([], "[]")]
)
def test_the_payload_is_a_text_or_a_value(payload: object, event: str) -> None:
    assert build_payload(InvokeRequest("f", payload=payload)) == event
