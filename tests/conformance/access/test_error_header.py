"""Tests that the header X-Penstock-Error of a signed request counts only if the signature covers it
(docs/guides/why_failed.md)."""

from __future__ import annotations

from tests.support.conformance.access_keys import OWNER, SIGV4
from tests.support.conformance.sqs import Sqs
from tests.support.hostile.signatures.signing import Key


def test_an_unsigned_header_of_a_signed_request_does_not_count(sqs: Sqs, keys: dict[str, Key]) -> None:
    """The change of the visibility succeeds. Botocore signs what `before-sign` adds, and not what `before-send`
    adds."""
    signed = sqs.with_settings(SIGV4).with_key(*keys[OWNER])
    dead = signed.create()
    url = signed.create(RedrivePolicy=f'{{"deadLetterTargetArn": "{signed.arn(dead)}", "maxReceiveCount": 1}}')
    for event in ("before-send", "before-sign"):
        signed.send(url, event)
        with signed.failing("boom", event):
            signed.hide(url, signed.receive_one(url), 0)
        assert signed.poll(url) == []
    letters = signed.receive(dead, 2, MessageAttributeNames=["PenstockError"])
    found = {letter["Body"]: letter.get("MessageAttributes", {}).get("PenstockError") for letter in letters}
    assert found == {"before-send": None, "before-sign": {"StringValue": "boom", "DataType": "String"}}
