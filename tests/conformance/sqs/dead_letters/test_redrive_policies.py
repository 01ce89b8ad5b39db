"""Tests the syntax of RedrivePolicy and RedriveAllowPolicy. test_dead_letters tests their effect.

Sources: CreateQueue and SetQueueAttributes of the API reference; Developer Guide, "Configure a dead-letter queue".
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs

QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:q"


def redrive(arn: str, maximum: object = 1, **more: object) -> dict[str, str]:
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": maximum, **more})}


def allow(permission: str, *arns: str) -> dict[str, str]:
    policy = {"redrivePermission": permission, **({"sourceQueueArns": list(arns)} if arns else {})}
    return {"RedriveAllowPolicy": json.dumps(policy)}


def set_attributes(sqs: Sqs, url: str, attributes: dict[str, str]) -> None:
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)


def is_refused(sqs: Sqs, url: str, attributes: dict[str, str]) -> bool:
    """Returns whether both SetQueueAttributes and CreateQueue refuse the attributes."""
    codes = {
        sqs.code("set_queue_attributes", QueueUrl=url, Attributes=attributes),
        sqs.code("create_queue", QueueName=sqs.name(), Attributes=attributes),
    }
    return codes == {"InvalidParameterValue"}


# --- RedrivePolicy ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("maximum", [1, 1000, "1", "1000"])
def test_the_count_may_be_a_number_or_a_text(sqs: Sqs, maximum: int | str) -> None:
    """The count is 1 to 1000. The count reads back as a number."""
    policy = redrive(sqs.arn(sqs.create()), maximum)
    url = sqs.create(**policy)
    shown = json.loads(sqs.attributes(url, "RedrivePolicy")["RedrivePolicy"])
    assert shown == {**json.loads(policy["RedrivePolicy"]), "maxReceiveCount": int(maximum)}


def test_a_count_that_is_a_text_counts(sqs: Sqs) -> None:
    dead = sqs.create()
    url = sqs.create(**redrive(sqs.arn(dead), "1"))
    sqs.send(url, "poison")
    sqs.receive_one(url, VisibilityTimeout=0)
    assert (sqs.poll(url), sqs.counts(dead)) == ([], (1, 0, 0))


@pytest.mark.parametrize(
    "policy",
    [
        "no json",
        "[]",
        '{"maxReceiveCount":1}',
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead"}',
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":0}',
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1001}',
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"x"}',
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead.fifo","maxReceiveCount":1}',
        '{"deadLetterTargetArn":"dead","maxReceiveCount":1}',
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:nobody-made-it","maxReceiveCount":1}',
    ],
)
def test_redrive_policies_that_cannot_be(sqs: Sqs, policy: str) -> None:
    """Developer Guide, "Configure a dead-letter queue": 1-1000 receives, an existing queue of the same type.

    Texts and code are recorded answers (serverless issue 5215: "Dead letter target does not exist").
    """
    url = sqs.create()
    code = sqs.code("set_queue_attributes", QueueUrl=url, Attributes={"RedrivePolicy": policy})
    assert code == "InvalidParameterValue"
    code = sqs.code("create_queue", QueueName=sqs.name(), Attributes={"RedrivePolicy": policy})
    assert code == "InvalidParameterValue"


@pytest.mark.parametrize("more", [{"extra": 1}, {"MaxReceiveCount": 1}, {"": None}])
def test_other_members_are_refused(sqs: Sqs, more: dict[str, object]) -> None:
    """The reference names two members."""
    arn = sqs.arn(sqs.create())
    assert is_refused(sqs, sqs.create(), redrive(arn, **more))


def test_both_queues_are_of_one_type(sqs: Sqs) -> None:
    """ "The dead-letter queue of a FIFO queue must also be a FIFO queue"; a standard queue needs a standard one."""
    standard, fifo = sqs.create(), sqs.create_fifo()
    for url, other in ((standard, fifo), (fifo, standard)):
        policy = redrive(sqs.arn(other))
        assert sqs.code("set_queue_attributes", QueueUrl=url, Attributes=policy) == "InvalidParameterValue"
    set_attributes(sqs, standard, redrive(sqs.arn(sqs.create())))
    set_attributes(sqs, fifo, redrive(sqs.arn(sqs.create_fifo())))


def test_an_empty_text_removes_it(sqs: Sqs) -> None:
    """After that, messages stay in the queue, however often they are received."""
    dead = sqs.create()
    url = sqs.create(**redrive(sqs.arn(dead)))
    sqs.send(url)
    sqs.receive_one(url, VisibilityTimeout=0)
    set_attributes(sqs, url, {"RedrivePolicy": ""})
    for _ in range(3):
        sqs.receive_one(url, VisibilityTimeout=0)
    assert sqs.counts(dead) == (0, 0, 0)


# --- RedriveAllowPolicy ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "policy", [allow("allowAll"), allow("denyAll"), allow("byQueue", *(f"{QUEUE_ARN}{n}" for n in range(10)))]
)
def test_the_allow_policy_reads_back_as_it_was_written(sqs: Sqs, policy: dict[str, str]) -> None:
    """The permission is allowAll, denyAll, or byQueue with up to 10 source queues. The permission reads back as
    written.
    """
    url = sqs.create(**policy)
    assert sqs.attributes(url, "RedriveAllowPolicy") == policy


@pytest.mark.parametrize(
    "policy",
    [
        "{}",
        "no json",
        '{"redrivePermission":"allowSome"}',
        '{"sourceQueueArns":["' + QUEUE_ARN + '"]}',
        '{"redrivePermission":"denyAll","more":1}',
        *(
            allow(permission, *arns)["RedriveAllowPolicy"]
            for permission, *arns in (
                ("byQueue",),
                ("byQueue", "orders"),
                ("byQueue", *(f"{QUEUE_ARN}{n}" for n in range(11))),
                ("allowAll", QUEUE_ARN),
                ("denyAll", QUEUE_ARN),
            )
        ),
    ],
)
def test_redrive_allow_policies_that_cannot_be(sqs: Sqs, policy: str) -> None:
    """ "You can specify this parameter only when the redrivePermission parameter is set to byQueue", up to 10 ARNs."""
    assert is_refused(sqs, sqs.create(), {"RedriveAllowPolicy": policy})


def test_a_source_is_allowed_by_its_arn(sqs: Sqs) -> None:
    """The ARN may also name a queue that does not exist yet."""
    name = sqs.name()
    dead = sqs.create(**allow("byQueue", sqs.arn(sqs.create()).rpartition(":")[0] + f":{name}"))
    policy: dict[str, Any] = redrive(sqs.arn(dead))
    assert sqs.code("create_queue", QueueName=sqs.name(), Attributes=policy) == "InvalidParameterValue"
    sqs.client.create_queue(QueueName=name, Attributes=policy)


def test_without_the_policy_every_source_may(sqs: Sqs) -> None:
    """ "allowAll (Default)": an empty text removes the policy."""
    dead = sqs.create(**allow("denyAll"))
    policy = redrive(sqs.arn(dead))
    assert is_refused(sqs, sqs.create(), policy)
    set_attributes(sqs, dead, {"RedriveAllowPolicy": ""})
    assert sqs.attributes(dead, "RedriveAllowPolicy") == {}
    sqs.create(**policy)
