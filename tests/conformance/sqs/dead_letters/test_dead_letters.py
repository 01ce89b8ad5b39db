"""Tests of dead-letter queues. The source is the Developer Guide, "Using dead-letter queues in Amazon SQS"

ListDeadLetterSourceQueues (API reference) lists the queues whose RedrivePolicy names this queue.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.sqs import Sqs

ATTRIBUTES = {"kind": {"DataType": "String", "StringValue": "order"}}


def redrive(arn: str, maximum: int = 1) -> str:
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": maximum})


def pair(sqs: Sqs, maximum: int = 1) -> tuple[str, str]:
    """Creates a queue and its dead-letter queue, and returns both URLs."""
    dead = sqs.create()
    return sqs.create(RedrivePolicy=redrive(sqs.arn(dead), maximum)), dead


def test_a_message_moves_on_the_receive_after_the_last_allowed_one(sqs: Sqs) -> None:
    """The first receive beyond maxReceiveCount moves the message, because no timer moves messages."""
    url, dead = pair(sqs, 2)
    sent = sqs.send(url, "poison", MessageAttributes=ATTRIBUTES)
    for count in ("1", "2"):
        message = sqs.receive_one(url, VisibilityTimeout=0, AttributeNames=["ApproximateReceiveCount"])
        assert message["Attributes"]["ApproximateReceiveCount"] == count
    assert sqs.counts(dead) == (0, 0, 0)
    assert sqs.poll(url) == []
    assert (sqs.counts(url), sqs.counts(dead)) == ((0, 0, 0), (1, 0, 0))
    moved = sqs.receive_one(dead, AttributeNames=["All"], MessageAttributeNames=["All"])
    assert (moved["MessageId"], moved["Body"]) == (sent["MessageId"], "poison")
    assert moved["MessageAttributes"] == ATTRIBUTES
    assert moved["Attributes"]["DeadLetterQueueSourceArn"] == sqs.arn(url)


def test_receives_are_counted_across_queues(sqs: Sqs) -> None:
    """ReceiveMessage, ApproximateReceiveCount: "across all queues". After five receives from the source queue, AWS
    returns the count 6 and the time of the first receive. The policy of the dead-letter queue counts only receives from
    the dead-letter queue.
    """
    last = sqs.create()
    dead = sqs.create(RedrivePolicy=redrive(sqs.arn(last), 2))
    url = sqs.create(RedrivePolicy=redrive(sqs.arn(dead), 2))
    sqs.send(url)
    names = ["ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "DeadLetterQueueSourceArn"]
    seen: list[dict[str, str]] = []
    for queue, receives in ((url, 2), (dead, 2), (last, 1)):
        seen += [
            sqs.receive_one(queue, VisibilityTimeout=0, AttributeNames=names)["Attributes"] for _ in range(receives)
        ]
        assert sqs.counts(queue) == (1, 0, 0)
        sqs.poll(queue)
    assert [attributes["ApproximateReceiveCount"] for attributes in seen] == list("12345")
    assert len({attributes["ApproximateFirstReceiveTimestamp"] for attributes in seen}) == 1
    sources = [attributes.get("DeadLetterQueueSourceArn") for attributes in seen]
    assert sources == [None, None, sqs.arn(url), sqs.arn(url), sqs.arn(dead)]


def test_the_time_of_sending_stays(sqs: Sqs) -> None:
    """Moving a message between standard queues keeps the enqueue timestamp (Developer Guide)."""
    url, dead = pair(sqs)
    sqs.send(url)
    before = sqs.receive_one(url, VisibilityTimeout=0, AttributeNames=["SentTimestamp"])["Attributes"]
    sqs.poll(url)
    after = sqs.receive_one(dead, AttributeNames=["SentTimestamp"])["Attributes"]
    assert after == before


def test_retention_counts_from_the_original_send(sqs: Sqs) -> None:
    """The move to a dead-letter queue does not change the enqueue timestamp ("Setting-up dead-letter queue
    retention").
    """
    dead = sqs.create(MessageRetentionPeriod="100")
    url = sqs.create(RedrivePolicy=redrive(sqs.arn(dead)))
    sqs.send(url)
    sqs.receive_one(url, VisibilityTimeout=0)
    sqs.clock.advance(60)
    sqs.poll(url)
    assert sqs.counts(dead) == (1, 0, 0)
    sqs.clock.advance(60)
    sqs.until_cleaned(dead)
    assert sqs.poll(dead) == []


def test_only_the_poisoned_message_moves(sqs: Sqs) -> None:
    """The receive's other messages were deleted or had fewer receives, so they do not move."""
    url, dead = pair(sqs)
    sqs.send_all(url, "good", "poison")
    for message in sqs.receive(url, 2):
        if message["Body"] == "good":
            sqs.delete(url, message)
        else:
            sqs.hide(url, message, 0)
    sqs.send(url, "new")
    assert sqs.receive_one(url)["Body"] == "new"
    assert [message["Body"] for message in sqs.receive(dead, 1)] == ["poison"]


def test_a_message_deleted_in_time_does_not_move(sqs: Sqs) -> None:
    url, dead = pair(sqs)
    sqs.send(url)
    sqs.delete(url, sqs.receive_one(url))
    sqs.clock.advance(100)
    assert (sqs.poll(url), sqs.counts(dead)) == ([], (0, 0, 0))


def test_without_its_dead_letter_queue_a_message_stays(sqs: Sqs) -> None:
    """A client deleted the dead-letter queue after it set the policy. The service must not lose a message."""
    url, dead = pair(sqs)
    sqs.send(url)
    sqs.client.delete_queue(QueueUrl=dead)
    for count in range(1, 4):
        message = sqs.receive_one(url, VisibilityTimeout=0, AttributeNames=["ApproximateReceiveCount"])
        assert message["Attributes"]["ApproximateReceiveCount"] == str(count)


def test_a_dead_letter_queue_must_be_of_the_same_region_and_account(sqs: Sqs) -> None:
    """The source queue and the dead-letter queue must be in the same account and region (Developer Guide)."""
    for other in (sqs.caller(region="eu-west-1"), sqs.caller(account="111122223333")):
        policy = redrive(other.arn(other.create()))
        code = sqs.code("create_queue", QueueName=sqs.name(), Attributes={"RedrivePolicy": policy})
        assert code == "InvalidParameterValue"


@pytest.mark.parametrize("permission", ["allowAll", "denyAll", "byQueue"])
def test_the_allow_policy_chooses_the_source_queues(sqs: Sqs, permission: str) -> None:
    """The source is SetQueueAttributes, RedriveAllowPolicy: allowAll, denyAll, byQueue. Penstock chose the error
    code."""
    url, stranger = sqs.create(), sqs.create()
    arns = {"sourceQueueArns": [sqs.arn(url)]} if permission == "byQueue" else {}
    dead = sqs.create(RedriveAllowPolicy=json.dumps({"redrivePermission": permission, **arns}))
    policy = {"RedrivePolicy": redrive(sqs.arn(dead))}
    if permission == "denyAll":
        assert sqs.code("set_queue_attributes", QueueUrl=url, Attributes=policy) == "InvalidParameterValue"
    else:
        sqs.client.set_queue_attributes(QueueUrl=url, Attributes=policy)
    if permission == "allowAll":
        sqs.client.set_queue_attributes(QueueUrl=stranger, Attributes=policy)
    else:
        assert sqs.code("set_queue_attributes", QueueUrl=stranger, Attributes=policy) == "InvalidParameterValue"


def test_hostile_policies_are_refused_before_the_database(sqs: Sqs) -> None:
    """The document contains the same key twice. PostgreSQL's JSON cannot store the first value, so the service refuses
    it."""
    arn = sqs.arn(sqs.create())
    for hidden in ('"\\u0000"', "1e999999", '"\\ud800"'):
        policy = f'{{"maxReceiveCount":{hidden},"maxReceiveCount":1,"deadLetterTargetArn":"{arn}"}}'
        code = sqs.code("create_queue", QueueName=sqs.name(), Attributes={"RedrivePolicy": policy})
        assert code == "InvalidParameterValue"


def source_of(sqs: Sqs, dead: str) -> str:
    redrive = json.dumps({"deadLetterTargetArn": sqs.arn(dead), "maxReceiveCount": 3})
    return sqs.create(RedrivePolicy=redrive)


def listed(sqs: Sqs, dead: str) -> list[str]:
    """Returns all entries of the list. The Query protocol's flattened XML has no element for an empty list."""
    return list(sqs.client.list_dead_letter_source_queues(QueueUrl=dead).get("queueUrls", []))


def pages(sqs: Sqs, dead: str, size: int) -> list[list[str]]:
    """Returns all pages of `size` entries by following NextToken."""
    found: list[list[str]] = []
    more: dict[str, Any] = {}
    while True:
        response = sqs.client.list_dead_letter_source_queues(QueueUrl=dead, MaxResults=size, **more)
        found.append(response["queueUrls"])
        if "NextToken" not in response:
            return found
        more = {"NextToken": response["NextToken"]}


def test_the_sources_are_listed(sqs: Sqs) -> None:
    dead, other = sqs.create(), sqs.create()
    sources = {source_of(sqs, dead) for _ in range(3)}
    source_of(sqs, other)
    assert set(listed(sqs, dead)) == sources


def test_a_queue_without_sources_has_an_empty_list(sqs: Sqs) -> None:
    assert listed(sqs, sqs.create()) == []


def test_a_source_whose_policy_was_removed_is_not_listed(sqs: Sqs) -> None:
    dead = sqs.create()
    source = source_of(sqs, dead)
    sqs.client.set_queue_attributes(QueueUrl=source, Attributes={"RedrivePolicy": ""})
    assert listed(sqs, dead) == []


def test_pages_hold_every_source_once(sqs: Sqs) -> None:
    dead = sqs.create()
    sources = [source_of(sqs, dead) for _ in range(5)]
    found = pages(sqs, dead, 2)
    assert [len(page) for page in found] == [2, 2, 1]
    assert sorted(url for page in found for url in page) == sorted(sources)


def test_bad_pages_and_missing_queues_are_refused(sqs: Sqs) -> None:
    dead = sqs.create()
    method = "list_dead_letter_source_queues"
    assert sqs.code(method, QueueUrl=dead, NextToken="made up") == "InvalidParameterValue"
    assert sqs.code(method, QueueUrl=dead, MaxResults=1001) == "InvalidParameterValue"
    sqs.client.delete_queue(QueueUrl=dead)
    assert sqs.code(method, QueueUrl=dead) == "AWS.SimpleQueueService.NonExistentQueue"


# --- redrive policies ------------------------------------------------------------------------------------------------
# Tests the syntax of RedrivePolicy and RedriveAllowPolicy. test_dead_letters tests their effect.
#
# The sources are CreateQueue and SetQueueAttributes (API reference) and "Configure a dead-letter queue" (Developer
# Guide).

QUEUE_ARN = "arn:aws:sqs:us-east-1:000000000000:q"


def redrive_policy(arn: str, maximum: object = 1, **more: object) -> dict[str, str]:
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
    """The count ranges from 1 to 1000. GetQueueAttributes returns the count as a number."""
    policy = redrive_policy(sqs.arn(sqs.create()), maximum)
    url = sqs.create(**policy)
    shown = json.loads(sqs.attributes(url, "RedrivePolicy")["RedrivePolicy"])
    assert shown == {**json.loads(policy["RedrivePolicy"]), "maxReceiveCount": int(maximum)}


def test_a_count_that_is_a_text_counts(sqs: Sqs) -> None:
    dead = sqs.create()
    url = sqs.create(**redrive_policy(sqs.arn(dead), "1"))
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
    """A policy allows 1-1000 receives and an existing queue of the same type ("Configure a dead-letter queue",
    Developer Guide).

    The texts and the code were recorded at AWS (serverless issue 5215: "Dead letter target does not exist").
    """
    url = sqs.create()
    code = sqs.code("set_queue_attributes", QueueUrl=url, Attributes={"RedrivePolicy": policy})
    assert code == "InvalidParameterValue"
    code = sqs.code("create_queue", QueueName=sqs.name(), Attributes={"RedrivePolicy": policy})
    assert code == "InvalidParameterValue"


@pytest.mark.parametrize("more", [{"extra": 1}, {"MaxReceiveCount": 1}, {"": None}])
def test_other_members_are_refused(sqs: Sqs, more: dict[str, object]) -> None:
    """The API reference defines two members."""
    arn = sqs.arn(sqs.create())
    assert is_refused(sqs, sqs.create(), redrive_policy(arn, **more))


def test_both_queues_are_of_one_type(sqs: Sqs) -> None:
    """ "The dead-letter queue of a FIFO queue must also be a FIFO queue", and a standard queue needs a standard
    dead-letter queue.
    """
    standard, fifo = sqs.create(), sqs.create_fifo()
    for url, other in ((standard, fifo), (fifo, standard)):
        policy = redrive_policy(sqs.arn(other))
        assert sqs.code("set_queue_attributes", QueueUrl=url, Attributes=policy) == "InvalidParameterValue"
    set_attributes(sqs, standard, redrive_policy(sqs.arn(sqs.create())))
    set_attributes(sqs, fifo, redrive_policy(sqs.arn(sqs.create_fifo())))


def test_an_empty_text_removes_it(sqs: Sqs) -> None:
    """Without a policy, messages stay in the queue, regardless of how often consumers receive them."""
    dead = sqs.create()
    url = sqs.create(**redrive_policy(sqs.arn(dead)))
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
    """The permission is allowAll, denyAll, or byQueue with up to 10 source queues. GetQueueAttributes returns the
    permission as the client wrote it.
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
    """The ARN can also name a queue that does not exist yet."""
    name = sqs.name()
    dead = sqs.create(**allow("byQueue", sqs.arn(sqs.create()).rpartition(":")[0] + f":{name}"))
    policy: dict[str, Any] = redrive_policy(sqs.arn(dead))
    assert sqs.code("create_queue", QueueName=sqs.name(), Attributes=policy) == "InvalidParameterValue"
    sqs.client.create_queue(QueueName=name, Attributes=policy)


def test_without_the_policy_every_source_may(sqs: Sqs) -> None:
    """ "allowAll (Default)": an empty string removes the policy."""
    dead = sqs.create(**allow("denyAll"))
    policy = redrive_policy(sqs.arn(dead))
    assert is_refused(sqs, sqs.create(), policy)
    set_attributes(sqs, dead, {"RedriveAllowPolicy": ""})
    assert sqs.attributes(dead, "RedriveAllowPolicy") == {}
    sqs.create(**policy)
