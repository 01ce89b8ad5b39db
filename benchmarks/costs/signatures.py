"""What it costs to verify a signature: CPU µs of one process for a SendMessage of 1 KB, its key known.

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


def by_header(body: bytes) -> HttpRequest:
    """As boto3 sends it, with the headers that boto3 adds."""
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
    return received(signed, "POST", body)


def by_address(body: bytes) -> HttpRequest:
    """Presigned, with the message in the address."""
    signed = AWSRequest("GET", f"{URL}/000000000000/q?Action=SendMessage&MessageBody={body.decode()}")
    SigV4QueryAuth(CREDENTIALS, "sqs", "us-east-1").add_auth(signed)
    return received(signed, "GET", b"")


def received(signed: AWSRequest, method: str, body: bytes) -> HttpRequest:
    address = urlsplit(signed.url)
    given = {"Host": address.netloc, **{name: str(value) for name, value in signed.headers.items()}}
    headers = {name.lower().encode(): value.encode() for name, value in given.items()}
    return HttpRequest(method, address.path, address.query.encode(), headers, body)


def cost_us(work: Callable[[], None], times: int, repeats: int) -> float:
    """CPU of one call: the best of some runs, since what disturbs a run only adds."""
    best = float("inf")
    for _ in range(repeats):
        began = process_time()
        for _ in range(times):
            work()
        best = min(best, process_time() - began)
    return best / times * 1e6


def main(argv: Sequence[str] | None = None) -> int:
    """Prints a line a form."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.signatures", description=__doc__)
    parser.add_argument("--times", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--body-bytes", type=int, default=1024)
    options = parser.parse_args(argv)
    text = b"a" * options.body_bytes
    json = b'{"QueueUrl":"%s/000000000000/q","MessageBody":"%s"}' % (URL.encode(), text)
    for name, request in (("header", by_header(json)), ("presigned address", by_address(text))):

        def verified(request: HttpRequest = request) -> None:
            verify(request, parse(request), SECRET, time())

        print(f"{name}: {cost_us(verified, options.times, options.repeats):.1f} µs a verification")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
