"""Tests queue attributes with the names, ranges and texts of CreateQueue and SetQueueAttributes."""

import json

import botocore.session
import pytest

from penstock.errors import AwsError, InvalidAttributeName, InvalidAttributeValue, InvalidParameterValue
from penstock.settings import Settings
from penstock.sqs import attributes
from penstock.sqs.attributes import PENSTOCK, check_queue_attributes, show_attributes

ARN = "arn:aws:sqs:us-east-1:000000000000:dead"
POLICY = json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": 3})
MODEL = botocore.session.get_session().get_service_model("sqs")


def test_every_attribute_of_the_model_is_known() -> None:
    names = set(MODEL.shape_for("QueueAttributeName").enum)
    assert names == attributes.READABLE - attributes.PENSTOCK.keys() | {"All"}


def test_every_system_attribute_of_the_model_is_known() -> None:
    assert set(MODEL.shape_for("MessageSystemAttributeName").enum) == attributes.MESSAGE_SYSTEM | {"All"}


# --- writing ---------------------------------------------------------------------------------------------------------
RANGES = [
    ("DelaySeconds", 0, 900),
    ("MaximumMessageSize", 1_024, 1_048_576),
    ("MessageRetentionPeriod", 60, 1_209_600),
    ("ReceiveMessageWaitTimeSeconds", 0, 20),
    ("VisibilityTimeout", 0, 43_200),
    ("KmsDataKeyReusePeriodSeconds", 60, 86_400),
]


@pytest.mark.parametrize(("name", "low", "high"), RANGES)
def test_an_attribute_outside_its_range_is_refused(name: str, low: int, high: int) -> None:
    for value in (low, high):
        assert check_queue_attributes({name: str(value)}, fifo=False) == {name: str(value)}
    for text in (str(low - 1), str(high + 1), "", "x", "1.5", " 60", "60 ", "\u0661", "0x50", "9" * 30):
        with pytest.raises(InvalidAttributeValue) as caught:
            check_queue_attributes({name: text}, fifo=False)
        assert caught.value.message == f"Invalid value for the parameter {name}."


ACCESS = '{"Statement":{"Effect":"Allow","Principal":"*","Action":"sqs:SendMessage","Resource":"*"}}'


def test_values_stay_as_they_were_written() -> None:
    given = {"DelaySeconds": "007", "Policy": f" {ACCESS}", "RedrivePolicy": " " + POLICY}
    assert check_queue_attributes(given, fifo=False) == given


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("SqsManagedSseEnabled", ("true", "false", "True"), ("", "1")),
        ("ContentBasedDeduplication", ("true", "false", "TRUE"), ("", "yes")),
        ("DeduplicationScope", ("queue", "messageGroup"), ("", "Queue")),
        ("FifoThroughputLimit", ("perQueue", "perMessageGroupId"), ("", "perqueue")),
        (
            "Policy",
            ("", ACCESS),
            (
                "[]",
                "x",
                "{",
                "1",
                "{}",
                *(f'{{"Statement":{statement}}}' for statement in ("1", '["x"]', "null", "{}", "[{}]")),
            ),
        ),
        ("KmsMasterKeyId", ("", "alias/aws/sqs"), ("\x00",)),
    ],
)
def test_an_attribute_accepts_only_its_values(name: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    for value in good:
        check_queue_attributes({name: value}, fifo=True)
    for value in bad:
        with pytest.raises(InvalidAttributeValue):
            check_queue_attributes({name: value}, fifo=True)


@pytest.mark.parametrize("name", ["Nothing", "All", "QueueArn", "CreatedTimestamp", "ApproximateNumberOfMessages",
                                  "delayseconds", "", "archive", "archive_seconds", "history"])  # fmt: skip
def test_names_that_cannot_be_written(name: str) -> None:
    with pytest.raises(InvalidAttributeName) as caught:
        check_queue_attributes({name: "1"}, fifo=True)
    assert caught.value.message == f"Unknown Attribute {name}."


@pytest.mark.parametrize("name", ["ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"])
def test_attributes_of_fifo_queues_are_unknown_to_others(name: str) -> None:
    with pytest.raises(InvalidAttributeName):
        check_queue_attributes({name: "true"}, fifo=False, creating=True)


def test_the_type_of_a_queue_is_given_once() -> None:
    assert check_queue_attributes({"FifoQueue": "true"}, fifo=True, creating=True) == {"FifoQueue": "true"}
    assert check_queue_attributes({"FifoQueue": "True"}, fifo=True, creating=True) == {"FifoQueue": "true"}
    assert check_queue_attributes({"FifoQueue": "true", "DelaySeconds": "1"}, fifo=True) == {"DelaySeconds": "1"}
    for value, fifo, creating, error in (
        ("false", True, True, InvalidAttributeValue),
        ("true", False, True, InvalidAttributeName),
        ("false", False, True, InvalidAttributeName),
        ("false", True, False, InvalidAttributeValue),
        ("true", False, False, InvalidAttributeName),
    ):
        with pytest.raises(error):
            check_queue_attributes({"FifoQueue": value}, fifo, creating=creating)


def test_our_own_attributes_belong_to_the_native_api() -> None:
    given = {"archive": "true", "archive_seconds": "3600", "history": "false"}
    assert check_queue_attributes(given, fifo=False, extensions=True) == given
    for bad in ({"archive": "yes"}, {"archive_seconds": "0"}, {"history": ""}):
        with pytest.raises(InvalidAttributeValue):
            check_queue_attributes(bad, fifo=False, extensions=True)


@pytest.mark.parametrize("name", PENSTOCK)
@pytest.mark.parametrize("fifo", [False, True])
def test_attributes_with_our_prefix_belong_to_every_interface(name: str, fifo: bool) -> None:
    assert name.startswith("Penstock")
    for creating, extensions in ((False, False), (True, False), (False, True)):
        assert check_queue_attributes({name: "True"}, fifo, creating=creating, extensions=extensions) == {name: "true"}
        for bad in ("", "yes", "1"):
            with pytest.raises(InvalidAttributeValue):
                check_queue_attributes({name: bad}, fifo, creating=creating, extensions=extensions)
    stored = {name: "true", "archive": "true", "DelaySeconds": "0"}
    assert show_attributes(stored) == {"DelaySeconds": "0"}
    assert show_attributes(stored, ["All", name]) == {name: "true", "DelaySeconds": "0"}


def test_one_kind_of_encryption_at_a_time() -> None:
    check_queue_attributes({"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "false"}, fifo=False)
    check_queue_attributes({"KmsMasterKeyId": "", "SqsManagedSseEnabled": "true"}, fifo=False)
    with pytest.raises(InvalidAttributeName):
        check_queue_attributes({"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "True"}, fifo=False)


def test_high_throughput_needs_the_scope_of_a_group() -> None:
    limit = {"FifoThroughputLimit": "perMessageGroupId"}
    check_queue_attributes(limit | {"DeduplicationScope": "messageGroup"}, fifo=True, creating=True)
    with pytest.raises(InvalidAttributeValue):
        check_queue_attributes(limit, fifo=True, creating=True)
    with pytest.raises(InvalidAttributeValue):
        check_queue_attributes(limit | {"DeduplicationScope": "queue"}, fifo=True)


# --- redrive policies ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 1000, "5"])
def test_redrive_policies(count: int | str) -> None:
    text = json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": count})
    assert attributes.parse_redrive_policy(text, fifo=False) == attributes.RedrivePolicy(ARN, int(count))


def test_an_empty_policy_removes_it() -> None:
    assert attributes.parse_redrive_policy("", fifo=False) is None
    assert attributes.parse_redrive_allow_policy("") is None


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        # The first two texts are recorded responses: community.aws issue 2321, jets pull request 101.
        ("{}", "Redrive policy does not contain mandatory attribute: maxReceiveCount."),
        (
            json.dumps({"MaxReceiveCount": "4", "DeadLetterTargetArn": ARN}),
            "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
        ),
        ('{"maxReceiveCount": 1}', "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."),
        ("[]", "Redrive policy is not a valid JSON map."),
        ("x", "Redrive policy is not a valid JSON map."),
        (
            json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": 0}),
            "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
        ),
        (
            json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": 1001}),
            "Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.",
        ),
        (
            json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": True}),
            "Invalid value for maxReceiveCount: true, valid values are from 1 to 1000 both inclusive.",
        ),
        (
            json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": None}),
            "Invalid value for maxReceiveCount: null, valid values are from 1 to 1000 both inclusive.",
        ),
        (json.dumps({"deadLetterTargetArn": "dead", "maxReceiveCount": 1}), "Invalid value for deadLetterTargetArn."),
        (
            json.dumps({"deadLetterTargetArn": ARN + ".fifo", "maxReceiveCount": 1}),
            "Dead-letter queue must be same type of queue as the source.",
        ),
        (
            json.dumps({"deadLetterTargetArn": ARN, "maxReceiveCount": 1, "more": 1}),
            "Only following attributes are supported: [deadLetterTargetArn, maxReceiveCount].",
        ),
    ],
)
def test_redrive_policies_that_are_refused(policy: str, reason: str) -> None:
    with pytest.raises(InvalidParameterValue) as caught:
        check_queue_attributes({"RedrivePolicy": policy}, fifo=False)
    assert caught.value.message == f"Value {policy} for parameter RedrivePolicy is invalid. Reason: {reason}"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"redrivePermission": "allowAll"}, ("allowAll", ())),
        ({"redrivePermission": "denyAll"}, ("denyAll", ())),
        ({"redrivePermission": "byQueue", "sourceQueueArns": [ARN] * 10}, ("byQueue", (ARN,) * 10)),
    ],
)
def test_redrive_allow_policies(policy: object, expected: tuple[str, tuple[str, ...]]) -> None:
    found = attributes.parse_redrive_allow_policy(json.dumps(policy))
    assert found == attributes.RedriveAllowPolicy(*expected)


@pytest.mark.parametrize(
    "policy",
    [
        {},
        [],
        1,
        {"redrivePermission": "all"},
        {"redrivePermission": ["allowAll"]},
        {"redrivePermission": "byQueue"},
        {"redrivePermission": "byQueue", "sourceQueueArns": []},
        {"redrivePermission": "byQueue", "sourceQueueArns": ["x"]},
        {"redrivePermission": "byQueue", "sourceQueueArns": [1]},
        {"redrivePermission": "byQueue", "sourceQueueArns": ARN},
        {"redrivePermission": "byQueue", "sourceQueueArns": [ARN] * 11},
        {"redrivePermission": "denyAll", "sourceQueueArns": [ARN]},
        {"redrivePermission": "denyAll", "more": 1},
    ],
)
def test_redrive_allow_policies_that_are_refused(policy: object) -> None:
    with pytest.raises(InvalidParameterValue, match="RedriveAllowPolicy is invalid"):
        check_queue_attributes({"RedriveAllowPolicy": json.dumps(policy)}, fifo=False)


# --- limits of all of them -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["Policy", "RedrivePolicy", "RedriveAllowPolicy"])
def test_json_that_is_nested_deeply_is_refused(name: str) -> None:
    """The service refuses deeply nested documents of any depth, even beyond the limit of Python's JSON parser."""
    for depth in range(500, 1_100):
        value = '{"a":' + "[" * depth + "]" * depth + "}"
        with pytest.raises((InvalidAttributeValue, InvalidParameterValue)):
            check_queue_attributes({name: value}, fifo=False)


def test_a_policy_has_at_most_8192_bytes() -> None:
    """Developer Guide, "Amazon SQS policy quotas". No other attribute can have the same length."""
    longest = ACCESS[:-1] + ',"Id":"' + "x" * (8_192 - len(ACCESS) - 8) + '"}'
    assert len(longest) == 8_192
    check_queue_attributes({"Policy": longest}, fifo=False)
    for longer in (longest + " ", longest.replace("xx", "€")):
        with pytest.raises(InvalidAttributeValue):
            check_queue_attributes({"Policy": longer}, fifo=False)
    with pytest.raises(InvalidAttributeValue):
        check_queue_attributes({"KmsMasterKeyId": "k" * 8_193}, fifo=False)


# --- defaults and reading --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("fifo", [False, True])
def test_defaults_are_those_of_aws_and_valid(fifo: bool) -> None:
    values = attributes.build_defaults(fifo, Settings.read({"QUEUE_DEFAULT_VISIBILITY_TIMEOUT": "45"}))
    assert check_queue_attributes(values, fifo, creating=True) == values
    assert values["VisibilityTimeout"] == "45"
    assert values["MessageRetentionPeriod"] == "345600"
    assert values["MaximumMessageSize"] == "1048576"
    assert values.get("FifoQueue") == ("true" if fifo else None)


def test_reading_all_some_or_none() -> None:
    stored = {"DelaySeconds": "0", "QueueArn": ARN}
    assert attributes.check_attribute_names(None).pick(stored) == {}
    assert attributes.check_attribute_names([]).pick(stored) == {}
    assert attributes.check_attribute_names(["QueueArn", "Policy"]).pick(stored) == {"QueueArn": ARN}
    assert attributes.check_attribute_names(["QueueArn", "All"]).pick(stored) == stored


def test_messages_are_counted_only_when_asked_for() -> None:
    assert not attributes.check_attribute_names(None).counts
    assert not attributes.check_attribute_names(["QueueArn"]).counts
    assert attributes.check_attribute_names(["QueueArn", "ApproximateNumberOfMessagesDelayed"]).counts
    assert attributes.check_attribute_names(["All"]).counts


def test_an_unknown_name_is_refused_when_reading() -> None:
    with pytest.raises(InvalidAttributeName) as caught:
        attributes.check_attribute_names(["All", "Nothing"])
    assert caught.value.message == "Unknown Attribute Nothing."
    with pytest.raises(AwsError):
        attributes.check_system_attribute_names(["QueueArn"])


def test_both_lists_of_system_attributes_count() -> None:
    selection = attributes.check_system_attribute_names(["SenderId"], None, ["SentTimestamp"])
    assert ["SenderId" in selection, "SentTimestamp" in selection, "MessageGroupId" in selection] == [True, True, False]
    assert "MessageGroupId" in attributes.check_system_attribute_names(None, ["All"])
    assert not attributes.check_system_attribute_names(None, None)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (None, set()),
        ([], set()),
        (["All"], {"bar", "bar.one", "other"}),
        ([".*"], {"bar", "bar.one", "other"}),
        (["bar.*"], {"bar", "bar.one"}),
        (["bar.*", "other"], {"bar", "bar.one", "other"}),
        (["bar"], {"bar"}),
        (["missing"], set()),
    ],
)
def test_message_attributes_by_name_and_prefix(names: list[str] | None, chosen: set[str]) -> None:
    stored = {"bar": 1, "bar.one": 2, "other": 3}
    assert set(attributes.select_message_attributes(names).pick(stored)) == chosen
