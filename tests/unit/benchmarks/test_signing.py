"""Signatures of the load generator, beside those of botocore."""

from __future__ import annotations

from re import fullmatch

import msgspec
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from benchmarks.load.signing import Key
from benchmarks.load.wire import Address, Requests

KEY = Key("111122223333", "PSTKAAAAAAAAAAAAAAAA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


def test_a_request_is_signed_as_botocore_signs_it() -> None:
    address = Address("127.0.0.1", 9324, "orders", KEY.account, KEY)
    request = Requests(address).send("hello")
    head, _, body = request.data.partition(b"\r\n\r\n")
    sent = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    assert msgspec.json.decode(body)["QueueUrl"] == "http://127.0.0.1:9324/111122223333/orders"

    names = ("Content-Type", "X-Amz-Target", "Host")
    expected = AWSRequest(
        "POST", "http://127.0.0.1:9324/", headers={name: sent[name] for name in names}, data=body
    )
    signer = SigV4Auth(Credentials(KEY.key_id, KEY.secret), "sqs", "us-east-1")
    expected.context["timestamp"] = sent["X-Amz-Date"]
    expected.headers["X-Amz-Date"] = sent["X-Amz-Date"]
    canonical = signer.canonical_request(expected)
    signature = signer.signature(signer.string_to_sign(expected, canonical), expected)
    assert sent["Authorization"].endswith(f"Signature={signature}")
    assert fullmatch(r"\d{8}T\d{6}Z", sent["X-Amz-Date"])


def test_without_a_key_nothing_is_signed() -> None:
    request = Requests(Address("127.0.0.1", 9324, "orders")).send("hello")
    assert b"X-Amz-Date" not in request.data
    assert request.data.count(b"Authorization: ") == 1
