"""Attributes of server-side encryption: which exclude each other, and which are read back.

Sources: SetQueueAttributes; AWS as Terraform's provider records it (its acceptance tests of aws_sqs_queue) and as it
answered in community.aws issue 2433; where they are silent, the choice is said.
"""

from __future__ import annotations

import pytest

from tests.support.conformance.scheduler import Scheduler
from tests.support.conformance.sns import Sns
from tests.support.conformance.sqs import Sqs

KEY = {"KmsMasterKeyId": "alias/aws/sqs"}
ALL = ("KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled")
WITH_KEY = {**KEY, "KmsDataKeyReusePeriodSeconds": "300", "SqsManagedSseEnabled": "false"}
MANAGED = {"SqsManagedSseEnabled": "true"}
UNENCRYPTED = {"SqsManagedSseEnabled": "false"}


def change(sqs: Sqs, url: str, **attributes: str) -> dict[str, str]:
    """The attributes that are read back after the change."""
    sqs.client.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return sqs.attributes(url, *ALL)


def test_a_new_queue_has_the_services_own(sqs: Sqs) -> None:
    """SSE-SQS is on for every new queue (AWS, October 2022)."""
    assert sqs.attributes(sqs.create(), *ALL) == MANAGED


def test_a_new_queue_without(sqs: Sqs) -> None:
    assert sqs.attributes(sqs.create(**UNENCRYPTED), *ALL) == UNENCRYPTED


def test_a_new_queue_with_a_key(sqs: Sqs) -> None:
    """The key turns SSE-SQS off; a data key is reused for 300 seconds by default."""
    assert sqs.attributes(sqs.create(**KEY), *ALL) == WITH_KEY
    period = {"KmsDataKeyReusePeriodSeconds": "3600"}
    assert sqs.attributes(sqs.create(**KEY, **period, **UNENCRYPTED), *ALL) == {**WITH_KEY, **period}


def test_the_same_queue_again(sqs: Sqs) -> None:
    """CreateQueue with the same attributes, defaults written out or not, finds the queue."""
    name = sqs.name()
    urls = {
        sqs.client.create_queue(QueueName=name, Attributes=given)["QueueUrl"]
        for given in (KEY, WITH_KEY, UNENCRYPTED)
    }
    assert len(urls) == 1
    assert sqs.code("create_queue", QueueName=name, Attributes=MANAGED) == "QueueAlreadyExists"


@pytest.mark.parametrize("method", ["create_queue", "set_queue_attributes"])
def test_one_kind_at_a_time(sqs: Sqs, method: str) -> None:
    """ "Only one server-side encryption option is supported per queue"; code and text are AWS's."""
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
    """It sends both: the key removed, SSE-SQS on."""
    url = sqs.create(**KEY, KmsDataKeyReusePeriodSeconds="3600")
    assert change(sqs, url, KmsMasterKeyId="", **MANAGED) == MANAGED


def test_a_removed_key_leaves_no_encryption(sqs: Sqs) -> None:
    """An empty text removes the key. That SSE-SQS stays off is our choice."""
    url = sqs.create(**KEY)
    assert change(sqs, url, KmsMasterKeyId="") == UNENCRYPTED


def test_a_reuse_period_without_a_key(sqs: Sqs) -> None:
    """Accepted, kept and not shown: AWS "does not return" it, "even if it is sent" (Terraform's provider, pull request
    41234). It is there when the key comes."""
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


# --- QUEUE_REFUSE_KMS: a setting of ours, for those who would rely on such a key --------------------------------------
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
