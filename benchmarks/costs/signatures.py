"""Measures the verification of a signature: CPU µs of one process for a SendMessage of 1 KB with a cached key.

python -m benchmarks.costs.signatures
"""

import argparse
from collections.abc import Callable, Sequence
from time import process_time, time
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from penstock.access.sigv4 import parse, verify
from penstock.http import HttpRequest

URL = "http://queues.example:9324"
KEY_ID, SECRET = "PSTKAAAAAAAAAAAAAAAA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
CREDENTIALS = Credentials(KEY_ID, SECRET)


def header_signed_request(body: bytes) -> HttpRequest:
    """A request with a signature in a header, and the headers that boto3 adds."""
    headers = {
        "X-Amz-Target": "AmazonSQS.SendMessage",
        "x-amzn-query-mode": "true",
        "Content-Type": "application/x-amz-json-1.0",
        "User-Agent": "Boto3/1.35.0 md/Botocore#1.35.0 ua/2.0 os/linux#6.1 md/arch#x86_64 lang/python#3.11",
        "amz-sdk-invocation-id": "0cbb8a19-3a5e-4a7e-9a2f-0d7f0f0a7b1c",
        "amz-sdk-request": "attempt=1",
    }
    signed = AWSRequest("POST", f"{URL}/", headers=headers, data=body)
    SigV4Auth(CREDENTIALS, "sqs", "us-east-1").add_auth(signed)
    return to_http_request(signed, "POST", body)


def presigned_request(body: bytes) -> HttpRequest:
    """A presigned request, with the message in the URL."""
    signed = AWSRequest("GET", f"{URL}/000000000000/q?Action=SendMessage&MessageBody={body.decode()}")
    SigV4QueryAuth(CREDENTIALS, "sqs", "us-east-1").add_auth(signed)
    return to_http_request(signed, "GET", b"")


def to_http_request(signed: AWSRequest, method: str, body: bytes) -> HttpRequest:
    address = urlsplit(signed.url)
    given = {"Host": address.netloc, **{name: str(value) for name, value in signed.headers.items()}}
    headers = {name.lower().encode(): value.encode() for name, value in given.items()}
    return HttpRequest(method, address.path, address.query.encode(), headers, body)


def cost_us(work: Callable[[], None], times: int, repeats: int) -> float:
    """CPU of one call: the least of several runs, since other programs only add to a run."""
    best = float("inf")
    for _ in range(repeats):
        began = process_time()
        for _ in range(times):
            work()
        best = min(best, process_time() - began)
    return best / times * 1e6


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a line for each form of request."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.signatures", description=__doc__)
    parser.add_argument("--times", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--body-bytes", type=int, default=1024)
    options = parser.parse_args(argv)
    text = b"a" * options.body_bytes
    json = b'{"QueueUrl":"%s/000000000000/q","MessageBody":"%s"}' % (URL.encode(), text)
    for name, request in (
        ("header", header_signed_request(json)),
        ("presigned address", presigned_request(text)),
    ):

        def verified(request: HttpRequest = request) -> None:
            verify(request, parse(request), SECRET, time())

        print(f"{name}: {cost_us(verified, options.times, options.repeats):.1f} µs a verification")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
