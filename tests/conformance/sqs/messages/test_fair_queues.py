"""Fair queues. Source: SQS Developer Guide, "Amazon SQS fair queues" and "How Amazon SQS fair queues work"."""

from __future__ import annotations

from tests.support.conformance.sqs import Sqs


def test_quiet_tenants_come_before_the_backlog_of_a_noisy_one(sqs: Sqs) -> None:
    """The noisy one has far more than a tenth of the messages in flight, and more than 30 messages."""
    url = sqs.create()
    sqs.send_all(url, *(f"noisy {n}" for n in range(200)), MessageGroupId="noisy")
    sqs.receive(url, 40)
    sqs.send_all(url, "quiet", "quiet", MessageGroupId="quiet")
    sqs.send_all(url, "on its own")  # no group: a separate tenant
    sqs.clock.advance(1)  # noisy tenants are determined four times a second
    bodies = [message["Body"].split()[0] for message in sqs.poll(url, 10)]
    assert (sorted(bodies[:3]), bodies[3:]) == (["on", "quiet", "quiet"], ["noisy"] * 7)


def test_noisy_tenants_lose_nothing(sqs: Sqs) -> None:
    """A message set back is received once, as soon as no other tenant waits, and its group is read back."""
    url = sqs.create()
    sent = [f"noisy {n}" for n in range(100)]
    sqs.send_all(url, *sent, MessageGroupId="noisy")
    taken = sqs.receive(url, 40)
    sqs.send(url, "quiet", MessageGroupId="quiet")
    taken += sqs.receive(url, 61, AttributeNames=["All"])
    assert sorted(message["Body"] for message in taken) == sorted([*sent, "quiet"])
    assert {m["Attributes"]["MessageGroupId"] for m in taken[41:]} == {"noisy"}
    assert sqs.counts(url) == (0, 101, 0)
