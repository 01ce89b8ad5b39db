"""Tests GetQueueAttributes and SetQueueAttributes. The sources are the API reference of SetQueueAttributes,
GetQueueAttributes and CreateQueue.

The attributes for server-side encryption exclude each other, and the tests check which attributes GetQueueAttributes
returns.

The sources for encryption are SetQueueAttributes, and AWS's responses as recorded in the acceptance tests of
Terraform's aws_sqs_queue and in community.aws issue 2433. The docstrings of some tests mention Penstock's choices.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs

pytestmark = pytest.mark.cbor("container")

POLICY = '{ "Version":"2012-10-17",  "Statement":[{"Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}] }'

# Lists the lowest and highest values of each attribute, from the API reference.
RANGES = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1_024, 1_048_576),
    "MessageRetentionPeriod": (60, 1_209_600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43_200),
    "KmsDataKeyReusePeriodSeconds": (60, 86_400),
}
DEFAULTS = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
    "SqsManagedSseEnabled": "true",
    "ApproximateNumberOfMessages": "0",
    "ApproximateNumberOfMessagesDelayed": "0",
    "ApproximateNumberOfMessagesNotVisible": "0",
}
FIFO_DEFAULTS = {
    "FifoQueue": "true",
    "ContentBasedDeduplication": "false",
    "DeduplicationScope": "queue",
    "FifoThroughputLimit": "perQueue",
}
TIMES = {"CreatedTimestamp", "LastModifiedTimestamp"}


def test_all_attributes_of_a_new_queue(sqs: Sqs) -> None:
    """For `All`, GetQueueAttributes returns the defaults that the page of CreateQueue lists."""
    url = sqs.create()
    name = url.rpartition("/")[2]
    found = sqs.attributes(url)
    assert found.pop("QueueArn") == f"arn:aws:sqs:us-east-1:000000000000:{name}"
    assert {key: value for key, value in found.items() if key not in TIMES} == DEFAULTS
    assert found.keys() - DEFAULTS.keys() == TIMES


def test_all_attributes_of_a_new_fifo_queue(sqs: Sqs) -> None:
    """The page of CreateQueue lists the attributes for FIFO queues and for high throughput."""
    found = sqs.attributes(sqs.create_fifo())
    assert {name: found[name] for name in FIFO_DEFAULTS} == FIFO_DEFAULTS
    assert found.keys() - DEFAULTS.keys() - FIFO_DEFAULTS.keys() == {*TIMES, "QueueArn"}


@pytest.mark.parametrize("name", RANGES)
def test_values_are_read_back_as_they_were_set(sqs: Sqs, name: str) -> None:
    """The page of CreateQueue lists the limits of each attribute. Both limits are allowed, but a value beyond a limit
    is InvalidAttributeValue.
    """
    low, high = RANGES[name]
    key = {"KmsMasterKeyId": "alias/aws/sqs"} if name.startswith("Kms") else {}
    url = sqs.create(**{name: str(low)}, **key)
    assert sqs.attributes(url, name) == {name: str(low)}
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={name: str(high)})
    assert sqs.attributes(url, name) == {name: str(high)}
    for value in (low - 1, high + 1, "", "x", "1.5", f" {high}", f"{high}\x00"):
        code = sqs.code("set_queue_attributes", QueueUrl=url, Attributes={name: str(value)})
        assert (value, code) == (value, "InvalidAttributeValue")
    assert sqs.attributes(url, name) == {name: str(high)}


def test_policies_keep_their_spelling(sqs: Sqs) -> None:
    """GetQueueAttributes returns the values exactly as set, because Terraform waits until the values are equal."""
    dead = sqs.arn(sqs.create())
    policies = {
        "Policy": POLICY,
        "RedrivePolicy": f'{{ "maxReceiveCount" : 3,"deadLetterTargetArn":"{dead}" }}',
        "RedriveAllowPolicy": '{"redrivePermission":  "denyAll"}',
    }
    url = sqs.create(**policies)
    assert sqs.attributes(url, *policies) == policies
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=dict.fromkeys(policies, ""))
    assert sqs.attributes(url, *policies) == {}


def test_redrive_policies_are_read_back_as_aws_shows_them(sqs: Sqs) -> None:
    """The service stores a count in a JSON string as a number, and drops nulls (terraform-provider-aws, issue 42453).

    Terraform waits until the shown values equal the values that it set. CreateQueue finds a queue whose policies differ
    only in white space.
    """
    dead = sqs.arn(sqs.create())
    policies = {
        "RedrivePolicy": f'{{"deadLetterTargetArn": "{dead}", "maxReceiveCount": "3"}}',
        "RedriveAllowPolicy": '{"redrivePermission": "denyAll", "sourceQueueArns": null}',
    }
    shown = {
        "RedrivePolicy": f'{{"deadLetterTargetArn":"{dead}","maxReceiveCount":3}}',
        "RedriveAllowPolicy": '{"redrivePermission":"denyAll"}',
    }
    url = sqs.create(**policies)
    assert sqs.attributes(url, *policies) == shown
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=dict.fromkeys(policies, ""))
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=policies)
    assert sqs.attributes(url, *policies) == shown
    name = url.rpartition("/")[2]
    for equal in (shown, {"RedrivePolicy": f'{{ "maxReceiveCount" : 3, "deadLetterTargetArn":"{dead}" }}'}):
        assert sqs.client.create_queue(QueueName=name, Attributes=equal)["QueueUrl"] == url
    other = {"RedrivePolicy": f'{{"deadLetterTargetArn":"{dead}","maxReceiveCount":4}}'}
    assert sqs.code("create_queue", QueueName=name, Attributes=other) == "QueueAlreadyExists"


def test_the_type_of_a_fifo_queue_can_be_set_to_itself(sqs: Sqs) -> None:
    """SetQueueAttributes accepts FifoQueue=true together with other attributes, and changes the others (recorded at
    AWS).
    """
    url = sqs.create_fifo()
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"FifoQueue": "true", "VisibilityTimeout": "7"})
    found = sqs.attributes(url, "FifoQueue", "VisibilityTimeout")
    assert found == {"FifoQueue": "true", "VisibilityTimeout": "7"}


FOREIGN = '{"Statement":{"Effect":"Deny","Principal":%s,"Action":"sqs:*","%s":"arn:aws%s:%s"}}'
ELSEWHERE = [
    FOREIGN % ('"*"', "Resource", "-cn", "sqs:us-east-1:000000000000:*"),
    FOREIGN % ('"*"', "NotResource", "-us-gov", "sqs:*:*:q"),
    FOREIGN % ('"*"', "Resource", "-*", "*"),
    FOREIGN % ('{"AWS":"arn:aws-cn:iam::000000000000:user/u"}', "Resource", "", "sqs:*:*:*"),
]


@pytest.mark.parametrize("policy", ["no json", "{", "[]", '"text"', "1", "null", '{"Version":}', *ELSEWHERE])
def test_an_access_policy_is_a_json_document(sqs: Sqs, policy: str) -> None:
    """CreateQueue, Policy: "a valid Amazon Web Services policy". After an error, the queue keeps the old policy."""
    url = sqs.create(Policy=POLICY)
    code = sqs.code("set_queue_attributes", QueueUrl=url, Attributes={"Policy": policy})
    assert (code, sqs.attributes(url, "Policy")) == ("InvalidAttributeValue", {"Policy": POLICY})
    code = sqs.code("create_queue", QueueName=sqs.name(), Attributes={"Policy": policy})
    assert code == "InvalidAttributeValue"


def test_an_attribute_that_is_not_set_is_left_out(sqs: Sqs) -> None:
    """For a queue without a policy, GetQueueAttributes returns neither the attribute nor an error."""
    url = sqs.create()
    assert sqs.attributes(url, "Policy", "RedrivePolicy", "KmsMasterKeyId") == {}


def test_no_names_no_attributes(sqs: Sqs) -> None:
    """AttributeNames of GetQueueAttributes is optional. Without AttributeNames, the response contains no attributes."""
    assert "Attributes" not in sqs.client.get_queue_attributes(QueueUrl=sqs.create())


def test_one_attribute_changes_and_the_others_stay(sqs: Sqs) -> None:
    """SetQueueAttributes sets only the given attributes."""
    url = sqs.create(VisibilityTimeout="7", DelaySeconds="3")
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "4"})
    found = sqs.attributes(url, "VisibilityTimeout", "DelaySeconds")
    assert found == {"VisibilityTimeout": "7", "DelaySeconds": "4"}


def test_one_bad_attribute_changes_nothing(sqs: Sqs) -> None:
    """If SetQueueAttributes fails, it sets no attribute."""
    url = sqs.create()
    bad = {"DelaySeconds": "4", "VisibilityTimeout": "43201"}
    assert sqs.code("set_queue_attributes", QueueUrl=url, Attributes=bad) == "InvalidAttributeValue"
    assert sqs.attributes(url, "DelaySeconds") == {"DelaySeconds": "0"}


@pytest.mark.parametrize(
    "name", ["Colour", "QueueArn", "CreatedTimestamp", "ContentBasedDeduplication", "All", "archive"]
)
def test_attributes_that_cannot_be_set(sqs: Sqs, name: str) -> None:
    """SetQueueAttributes answers InvalidAttributeName for unknown, read-only and FIFO attributes."""
    code = sqs.code("set_queue_attributes", QueueUrl=sqs.create(), Attributes={name: "true"})
    assert code == "InvalidAttributeName"
    code = sqs.code("create_queue", QueueName=sqs.name(), Attributes={name: "true"})
    assert code == "InvalidAttributeName"


def test_attributes_that_cannot_be_read(sqs: Sqs) -> None:
    """GetQueueAttributes answers InvalidAttributeName."""
    code = sqs.code("get_queue_attributes", QueueUrl=sqs.create(), AttributeNames=["VisibilityTimeout", "Colour"])
    assert code == "InvalidAttributeName"


def test_the_type_of_a_queue_stays(sqs: Sqs) -> None:
    """CreateQueue, FifoQueue: "You can't change it for an existing queue". A standard queue does not have the attribute
    FifoQueue.
    """
    for url, value, code, text in (
        (sqs.create(), "true", "InvalidAttributeName", "Unknown Attribute FifoQueue."),
        (sqs.create(), "false", "InvalidAttributeName", "Unknown Attribute FifoQueue."),
        (
            sqs.create_fifo(),
            "false",
            "InvalidAttributeValue",
            "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
        ),
    ):
        refusal = sqs.refusal("set_queue_attributes", QueueUrl=url, Attributes={"FifoQueue": value})
        assert (refusal.code, refusal.message) == (code, text)


@pytest.mark.parametrize("value", ["True", "TRUE", "tRuE"])
def test_booleans_in_any_letters(sqs: Sqs, value: str) -> None:
    """AWS accepts Python's `str(True)` and returns the value in lower case (recorded at AWS)."""
    name = f"{sqs.name()}.fifo"
    given = {"FifoQueue": value, "ContentBasedDeduplication": value, "SqsManagedSseEnabled": "False"}
    url = sqs.client.create_queue(QueueName=name, Attributes=given)["QueueUrl"]
    lower = {key: text.lower() for key, text in given.items()}
    assert sqs.attributes(url, *given) == lower
    assert sqs.client.create_queue(QueueName=name, Attributes=lower)["QueueUrl"] == url
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"SqsManagedSseEnabled": value})
    assert sqs.attributes(url, "SqsManagedSseEnabled") == {"SqsManagedSseEnabled": "true"}


def test_a_change_of_attributes_changes_only_the_last_timestamp(sqs: Sqs) -> None:
    """CreatedTimestamp and LastModifiedTimestamp are in seconds since 1970. LastModifiedTimestamp changes when
    attributes change."""
    before = int(sqs.clock.now().timestamp())
    url = sqs.create()
    after = int(sqs.clock.now().timestamp())
    found = sqs.attributes(url, *TIMES)
    assert before <= int(found["CreatedTimestamp"]) <= after
    assert found["CreatedTimestamp"] == found["LastModifiedTimestamp"]
    sqs.clock.advance(100)
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "1"})
    found = sqs.attributes(url, *TIMES)
    assert int(found["LastModifiedTimestamp"]) - int(found["CreatedTimestamp"]) >= 100


def test_a_queue_counts_visible_in_flight_and_delayed_messages(sqs: Sqs) -> None:
    """The queue counts available, in-flight (received, not deleted) and delayed messages."""
    url = sqs.create()
    sqs.send_all(url, "a", "b", "c")
    sqs.send(url, "later", DelaySeconds=900)
    (message,) = sqs.receive(url, 1)
    assert sqs.counts(url) == (2, 1, 1)
    sqs.delete(url, message)
    assert sqs.counts(url) == (2, 0, 1)


KEY = {"KmsMasterKeyId": "alias/aws/sqs"}
ALL = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
WITH_KEY = {**KEY, "KmsDataKeyReusePeriodSeconds": "300", "SqsManagedSseEnabled": "false"}
MANAGED = {"SqsManagedSseEnabled": "true"}
UNENCRYPTED = {"SqsManagedSseEnabled": "false"}


def change(sqs: Sqs, url: str, **attributes: str) -> dict[str, str]:
    """Changes attributes and returns the stored values."""
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return sqs.attributes(url, *ALL)


def test_a_new_queue_has_the_services_own(sqs: Sqs) -> None:
    """SSE-SQS is on for every new queue (AWS, October 2022)."""
    assert sqs.attributes(sqs.create(), *ALL) == MANAGED


def test_a_new_queue_without(sqs: Sqs) -> None:
    assert sqs.attributes(sqs.create(**UNENCRYPTED), *ALL) == UNENCRYPTED


def test_a_new_queue_with_a_key(sqs: Sqs) -> None:
    """A key turns SSE-SQS off. By default, SQS reuses a data key for 300 seconds."""
    assert sqs.attributes(sqs.create(**KEY), *ALL) == WITH_KEY
    period = {"KmsDataKeyReusePeriodSeconds": "3600"}
    assert sqs.attributes(sqs.create(**KEY, **period, **UNENCRYPTED), *ALL) == {**WITH_KEY, **period}


def test_the_same_queue_again(sqs: Sqs) -> None:
    """CreateQueue with the same attributes, with or without the defaults, returns the existing queue."""
    name = sqs.name()
    urls = {
        sqs.client.create_queue(QueueName=name, Attributes=given)["QueueUrl"] for given in (KEY, WITH_KEY, UNENCRYPTED)
    }
    assert len(urls) == 1
    assert sqs.code("create_queue", QueueName=name, Attributes=MANAGED) == "QueueAlreadyExists"


@pytest.mark.parametrize("method", ["create_queue", "set_queue_attributes"])
def test_one_kind_at_a_time(sqs: Sqs, method: str) -> None:
    """ "Only one server-side encryption option is supported per queue"; AWS returns this code and text."""
    where = {"QueueName": sqs.name()} if method == "create_queue" else {"QueueUrl": sqs.create()}
    refusal = sqs.refusal(method, Attributes={**KEY, **MANAGED}, **where)
    assert (refusal.code, refusal.status) == ("InvalidAttributeName", 400)
    assert refusal.message.startswith("You can use one type of server-side encryption (SSE) at one time.")


def test_from_the_services_own_to_a_key_and_back(sqs: Sqs) -> None:
    url = sqs.create()
    assert change(sqs, url, **KEY) == WITH_KEY
    assert change(sqs, url, KmsDataKeyReusePeriodSeconds="3600")["KmsDataKeyReusePeriodSeconds"] == "3600"
    assert change(sqs, url, **MANAGED) == MANAGED
    assert change(sqs, url, **KEY) == WITH_KEY


def test_as_terraform_goes_back(sqs: Sqs) -> None:
    """Terraform sends two attributes: an empty key, and SSE-SQS on."""
    url = sqs.create(**KEY, KmsDataKeyReusePeriodSeconds="3600")
    assert change(sqs, url, KmsMasterKeyId="", **MANAGED) == MANAGED


def test_a_removed_key_leaves_no_encryption(sqs: Sqs) -> None:
    """An empty string removes the key. After the removal of the key, SSE-SQS stays off (Penstock's choice)."""
    url = sqs.create(**KEY)
    assert change(sqs, url, KmsMasterKeyId="") == UNENCRYPTED


def test_a_reuse_period_without_a_key(sqs: Sqs) -> None:
    """The queue stores the period but does not show it: AWS "does not return" it, "even if it is sent" (Terraform's
    provider, pull request 41234). A queue with a key shows the period.
    """
    period = {"KmsDataKeyReusePeriodSeconds": "60"}
    name = sqs.name()
    url = sqs.client.create_queue(QueueName=name, Attributes=period)["QueueUrl"]
    assert sqs.attributes(url, *ALL) == MANAGED
    assert sqs.client.create_queue(QueueName=name, Attributes=period)["QueueUrl"] == url
    assert change(sqs, url, **KEY) == {**WITH_KEY, **period}


def test_other_attributes_leave_the_key_alone(sqs: Sqs) -> None:
    url = sqs.create(**KEY)
    assert change(sqs, url, DelaySeconds="1") == WITH_KEY
    assert change(sqs, url, **UNENCRYPTED) == WITH_KEY


# --- QUEUE_REFUSE_KMS: a setting of Penstock, for users who would rely on such a key
# ----------------------------------
REFUSE = {"QUEUE_REFUSE_KMS": "true"}


def test_keys_are_refused(sqs: Sqs) -> None:
    strict = sqs.with_settings(REFUSE)
    for method, where in (
        ("create_queue", {"QueueName": sqs.name()}),
        ("set_queue_attributes", {"QueueUrl": strict.create()}),
    ):
        refusal = strict.refusal(method, Attributes=KEY, **where)
        assert (refusal.code, refusal.status) == ("AWS.SimpleQueueService.UnsupportedOperation", 400)
        assert "QUEUE_REFUSE_KMS" in refusal.message


def test_a_key_that_is_there_can_be_removed(sqs: Sqs) -> None:
    strict, url = sqs.with_settings(REFUSE), sqs.create(**KEY)
    assert change(strict, url, DelaySeconds="1") == WITH_KEY
    assert change(strict, url, KmsMasterKeyId="") == UNENCRYPTED
    assert strict.attributes(strict.create(**MANAGED), *ALL) == MANAGED


def test_keys_of_topics_are_refused(sqs: Sqs) -> None:
    sns = Sns(sqs.with_settings(REFUSE))
    code, status, text = sns.refusal("create_topic", Name=sqs.name(), Attributes=KEY)
    assert (code, status, "QUEUE_REFUSE_KMS" in text) == ("InvalidParameter", 400, True)
    new = {"AttributeName": "KmsMasterKeyId", "AttributeValue": "alias/aws/sns"}
    assert sns.refusal("set_topic_attributes", TopicArn=sns.create(), **new)[:2] == ("InvalidParameter", 400)


def test_keys_of_schedules_are_refused(sqs: Sqs) -> None:
    scheduler = Scheduler(sqs.with_settings(REFUSE))
    key = "arn:aws:kms:us-east-1:000000000000:key/k"
    refusal = scheduler.refusal("create_schedule", **scheduler.given(KmsKeyArn=key))
    assert (refusal.code, refusal.status) == ("ValidationException", 400)
    scheduler.create()


# --- permissions -----------------------------------------------------------------------------------------------------
# Tests AddPermission and RemovePermission. The sources are AddPermission and RemovePermission (API reference) and
# "Basic examples of Amazon SQS policies" (Developer Guide).


def policy(sqs: Sqs, url: str) -> dict[str, Any]:
    text = sqs.attributes(url, "Policy").get("Policy")
    return {} if text is None else dict(json.loads(text))


def permit(sqs: Sqs, url: str, label: str = "partner", **more: Any) -> None:
    parameters = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"], **more}
    sqs.client.add_permission(QueueUrl=url, Label=label, **parameters)


def test_a_permission_is_a_statement_of_the_policy(sqs: Sqs) -> None:
    """AddPermission generates a policy. The label is the statement's Sid, and the account is its principal."""
    url = sqs.create()
    permit(sqs, url)
    (statement,) = policy(sqs, url)["Statement"]
    assert statement == {
        "Sid": "partner",
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
        "Action": "SQS:SendMessage",
        "Resource": sqs.arn(url),
    }


def test_several_accounts_and_actions_stand_in_lists(sqs: Sqs) -> None:
    url = sqs.create()
    permit(sqs, url, AWSAccountIds=["111122223333", "444455556666"], Actions=["SendMessage", "ReceiveMessage"])
    assert policy(sqs, url)["Version"] == "2008-10-17"  # AWS returns the same response (recorded at AWS).
    (statement,) = policy(sqs, url)["Statement"]
    assert statement["Principal"]["AWS"] == ["arn:aws:iam::111122223333:root", "arn:aws:iam::444455556666:root"]
    assert statement["Action"] == ["SQS:SendMessage", "SQS:ReceiveMessage"]


def test_labels_are_added_beside_the_users_own_statements_and_removed_alone(sqs: Sqs) -> None:
    own = {"Sid": "own", "Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    url = sqs.create(Policy=json.dumps({"Version": "2012-10-17", "Statement": own}))
    permit(sqs, url, "one")
    permit(sqs, url, "two", Actions=["*"])
    assert [statement["Sid"] for statement in policy(sqs, url)["Statement"]] == ["own", "one", "two"]
    sqs.client.remove_permission(QueueUrl=url, Label="one")
    assert [statement["Sid"] for statement in policy(sqs, url)["Statement"]] == ["own", "two"]


def test_the_policy_goes_with_its_last_statement(sqs: Sqs) -> None:
    url = sqs.create()
    permit(sqs, url)
    sqs.client.remove_permission(QueueUrl=url, Label="partner")
    assert "Policy" not in sqs.attributes(url)


def test_a_label_is_used_once(sqs: Sqs) -> None:
    url = sqs.create()
    permit(sqs, url)
    refusal = sqs.refusal(
        "add_permission", QueueUrl=url, Label="partner", AWSAccountIds=["444455556666"], Actions=["*"]
    )
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message == "Value partner for parameter Label is invalid. Reason: Already exists."


def test_an_unknown_label_cannot_be_removed(sqs: Sqs) -> None:
    url = sqs.create()
    refusal = sqs.refusal("remove_permission", QueueUrl=url, Label="stranger")
    assert refusal.code == "InvalidParameterValue"
    assert refusal.message == "Value stranger for parameter Label is invalid. Reason: can't find label."


@pytest.mark.parametrize(
    "bad",
    [
        {"Actions": ["CreateQueue"]},
        {"Actions": ["NoSuchAction"]},
        {"AWSAccountIds": ["12345"]},
        {"AWSAccountIds": ["١٢٣٤٥٦٧٨٩٠١٢"]},
        {"Label": "not a label"},
        {"Label": "l" * 81},
    ],
)
def test_an_invalid_permission_is_refused(sqs: Sqs, bad: dict[str, Any]) -> None:
    """Only the owner of the account can create queues. Accounts have 12 digits, and labels have 1-80 letters, digits,
    `-` or `_`."""
    url = sqs.create()
    parameters = {"Label": "label", "AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"], **bad}
    assert sqs.code("add_permission", QueueUrl=url, **parameters) == "InvalidParameterValue"
    assert policy(sqs, url) == {}


def test_twenty_statements_and_seven_actions_are_the_most(sqs: Sqs) -> None:
    """A policy can have 20 statements, and a statement can have seven actions (API reference). One more statement or
    action is OverLimit."""
    url = sqs.create()
    for number in range(20):
        permit(sqs, url, f"label-{number}")
    one = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]}
    assert sqs.code("add_permission", QueueUrl=url, Label="label-20", **one) == "OverLimit"
    other = sqs.create()
    many = {**one, "Actions": ["SendMessage"] * 8}
    assert sqs.code("add_permission", QueueUrl=other, Label="label", **many) == "OverLimit"
    long = {**one, "AWSAccountIds": ["111122223333"] * 250}  # a policy has at most 8,192 bytes
    assert sqs.code("add_permission", QueueUrl=other, Label="label", **long) == "OverLimit"


def test_a_queue_that_is_not_there_gives_no_permission(sqs: Sqs) -> None:
    url = sqs.create()
    sqs.client.delete_queue(QueueUrl=url)
    missing = "AWS.SimpleQueueService.NonExistentQueue"
    one = {"AWSAccountIds": ["111122223333"], "Actions": ["SendMessage"]}
    assert sqs.code("add_permission", QueueUrl=url, Label="label", **one) == missing
    assert sqs.code("remove_permission", QueueUrl=url, Label="label") == missing
