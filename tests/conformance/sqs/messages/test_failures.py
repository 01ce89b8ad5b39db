"""Tests the header X-Penstock-Error of ChangeMessageVisibility and ChangeMessageVisibilityBatch.

The header is an addition of Penstock (docs/guides/why_failed.md). A client without the header sees what AWS documents.
"""

from __future__ import annotations

from urllib.parse import quote

from tests.support.conformance.sqs import Sqs

ERROR = "TimeoutError: 30 s, naïve 日本"


def create_queues(sqs: Sqs) -> tuple[str, str]:
    dead = sqs.create()
    policy = f'{{"deadLetterTargetArn": "{sqs.arn(dead)}", "maxReceiveCount": 1}}'
    return sqs.create(RedrivePolicy=policy), dead


def read_letters(sqs: Sqs, url: str, dead: str, number: int = 1) -> dict[str, str | None]:
    """Returns the error of each dead letter by its body, or None for a letter without an error."""
    assert sqs.poll(url) == []
    letters = sqs.receive(dead, number, MessageAttributeNames=["All"])
    return {
        letter["Body"]: letter.get("MessageAttributes", {}).get("PenstockError", {}).get("StringValue")
        for letter in letters
    }


def test_the_header_is_the_error_of_the_dead_letter(sqs: Sqs) -> None:
    """Botocore also checks MD5OfMessageAttributes of the letter."""
    url, dead = create_queues(sqs)
    sqs.send(url)
    with sqs.failing(quote(ERROR)):
        sqs.hide(url, sqs.receive_one(url), 0)
    assert read_letters(sqs, url, dead) == {"body": ERROR}


def test_the_header_of_a_batch_is_the_error_of_each_changed_message(sqs: Sqs) -> None:
    url, dead = create_queues(sqs)
    sqs.send_all(url, "1", "2", "3")
    messages = sqs.receive(url, 3)
    entries = [
        {"Id": str(n), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
        for n, message in enumerate(messages)
    ]
    with sqs.failing(quote("x" * 1_025)):
        response = sqs.client.change_message_visibility_batch(QueueUrl=url, Entries=entries[:2])
    assert len(response["Successful"]) == 2
    sqs.hide(url, messages[2], 0)
    found = read_letters(sqs, url, dead, 3)
    assert [found[message["Body"]] for message in messages] == ["x" * 1_024, "x" * 1_024, None]
