"""Tests that every AWS action checks its right on the ARN of the resource, for any partition in the ARN that a request
contains.

The source is "IAM JSON policy elements: Resource" and "NotResource" (IAM User Guide). The cases come from the table of
actions, so a developer who adds an action must also add it to this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError

from penstock.actions import ACTIONS, MAPPING_ACTIONS, AnyAction
from penstock_web.cli.key_ring import KeyRing
from tests.support.conformance.access_keys import OWNER, SIGV4, key_ring, new_key
from tests.support.conformance.events import Events
from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sdk_clients import build_client
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs
from tests.support.conformance.valid_requests import events as events_requests
from tests.support.conformance.valid_requests import scheduler as scheduler_requests
from tests.support.conformance.valid_requests import sns as sns_requests
from tests.support.conformance.valid_requests import sqs as sqs_requests
from tests.support.database import Database

Members = dict[str, Any]

pytestmark = pytest.mark.parametrize("sqs", ["container-json"], indirect=True)

ACCOUNT = {
    "sqs:ListQueues", "sns:ListTopics", "sns:ListSubscriptions", "sns:ListPlatformApplications",
    "sns:CheckIfPhoneNumberIsOptedOut", "sns:GetSMSAttributes", "sns:ListOriginationNumbers",
    "sns:ListPhoneNumbersOptedOut", "sns:OptInPhoneNumber", "sns:SetSMSAttributes", "sns:CreateSMSSandboxPhoneNumber",
    "sns:DeleteSMSSandboxPhoneNumber", "sns:GetSMSSandboxAccountStatus", "sns:ListSMSSandboxPhoneNumbers",
    "sns:VerifySMSSandboxPhoneNumber", "events:ListEventBuses",
}  # fmt: skip
"""These actions have no resource, so they check the right on `*`."""
PARTITIONS = ("arn:aws-cn:", "arn:awsx:", "arn:aws--:")
MAPPING = "00000000-0000-4000-8000-000000000000"
MAPPINGS = f"arn:aws:lambda:us-east-1:{OWNER}:event-source-mapping:"
MAPPED: dict[str, Members] = {
    "CreateEventSourceMapping": {
        "FunctionName": "http://127.0.0.1/", "EventSourceArn": f"arn:aws:sqs:us-east-1:{OWNER}:q"
    },
    "GetEventSourceMapping": {"UUID": MAPPING},
    "ListEventSourceMappings": {},
    "UpdateEventSourceMapping": {"UUID": MAPPING},
    "DeleteEventSourceMapping": {"UUID": MAPPING},
    "ListTags": {"Resource": MAPPINGS + MAPPING},
    "TagResource": {"Resource": MAPPINGS + MAPPING, "Tags": {"a": "b"}},
    "UntagResource": {"Resource": MAPPINGS + MAPPING, "TagKeys": ["a"]},
}  # fmt: skip
SHORT: dict[str, Members] = {
    "sns:ListSubscriptions": {},
    "sns:ListSubscriptionsByTopic": {"TopicArn": f"arn:aws:sns:us-east-1:{OWNER}:t"},
    "sns:ConfirmSubscription": {"TopicArn": f"arn:aws:sns:us-east-1:{OWNER}:t", "Token": "t"},
    "sns:ListPhoneNumbersOptedOut": {},
    "sns:VerifySMSSandboxPhoneNumber": {"PhoneNumber": "+15550111111", "OneTimePassword": "123456"},
}
"""These requests replace valid requests that take long to prepare."""
REFUSED_ON = re.compile(r"on resource: (\S+) ").search


@pytest.fixture(scope="module")
def ring(installation: Database) -> Iterator[KeyRing]:
    with key_ring(installation) as ring:
        list(ring.set_user("of-rights", ["read"], OWNER, new=True))
        yield ring


@pytest.fixture(scope="module")
def key(installation: Database, ring: KeyRing) -> tuple[str, str]:
    return new_key(installation, OWNER, "of-rights")


@pytest.fixture
def owner(sqs: Sqs, keys: dict[str, tuple[str, str]]) -> Sqs:
    return sqs.with_settings(SIGV4).with_key(*keys[OWNER])


@pytest.fixture
def caller(owner: Sqs, key: tuple[str, str]) -> Sqs:
    return owner.with_key(*key)


def set_policy(ring: KeyRing, *statements: Members) -> None:
    list(ring.set_user("of-rights", [json.dumps({"Statement": list(statements)})], OWNER, new=False))


def prepare(action: AnyAction, owner: Sqs) -> Members:
    """Returns the members of a valid request."""
    if action.label in SHORT:
        return SHORT[action.label]
    if action.service == "sqs":
        return sqs_requests.GOOD[action.name].needs(owner)
    if action.service == "sns":
        return sns_requests.GOOD[action.name].needs(Sns(owner))
    if action.service == "scheduler":
        return scheduler_requests.GOOD[action.name].needs(Scheduler(owner))
    if action.service == "events":
        Events(owner).clear()
        return events_requests.GOOD[action.name].needs(Events(owner))
    return MAPPED[action.name]


def find_error(action: AnyAction, members: Members, caller: Sqs) -> tuple[int, str]:
    """Returns the status and the message of the refusal, or 200 if the service accepts the request."""
    client = {
        "sqs": lambda: caller.client,
        "sns": lambda: Sns(caller).client,
        "scheduler": lambda: Scheduler(caller).client,
        "events": lambda: Events(caller).client,
        "lambda": lambda: build_client(
            "rest-json", caller.endpoint_url, caller.account, secret=caller.secret, service="lambda"
        )[0],
    }[action.service]()
    try:
        getattr(client, xform_name(action.name))(**members)
    except ClientError as error:
        return error.response["ResponseMetadata"]["HTTPStatusCode"], error.response["Error"]["Message"]
    return 200, ""


def spell(value: Any, partition: str) -> Any:
    """Returns members in which every ARN is in another partition."""
    return json.loads(json.dumps(value).replace("arn:aws:", partition))


@pytest.mark.parametrize("action", [*ACTIONS, *MAPPING_ACTIONS], ids=lambda action: action.label)
def test_an_action_asks_for_its_arn(action: AnyAction, owner: Sqs, caller: Sqs, ring: KeyRing) -> None:
    members = prepare(action, owner)
    everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    name = action.label.removesuffix("Batch")
    set_policy(ring, everything, {"Effect": "Deny", "Action": name, "Resource": "*"})
    status, text = find_error(action, members, caller)
    found = REFUSED_ON(text)
    assert (status, found is not None) == (403, True), text
    arn = found[1] if found else ""
    assert (arn == "*") == (action.label in ACCOUNT), text
    if action.label in ACCOUNT:
        return
    set_policy(ring, everything, {"Effect": "Deny", "Action": name, "Resource": arn})
    assert find_error(action, members, caller) == (403, text)
    for partition in PARTITIONS:
        other = spell(members, partition)
        assert other == members or 400 <= find_error(action, other, caller)[0] < 500, partition
    set_policy(ring, {"Effect": "Allow", "Action": "*", "NotResource": arn})
    assert find_error(action, members, caller)[0] == 403
    assert arn in find_error(action, members, caller)[1]
