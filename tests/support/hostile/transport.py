"""Generates hostile requests with a fault outside their members: paths, methods, headers, HTTP syntax, and size."""

import json
from random import Random
from urllib.parse import quote, quote_from_bytes

from tests.support.hostile import values
from tests.support.hostile.connection import FORM, Attack, by_form, by_json, request
from tests.support.hostile.invalid_members import Target
from tests.support.hostile.service_requests import rest_request

# --- where it goes ---------------------------------------------------------------------------------------------------
METHODS = (b"PUT", b"DELETE", b"PATCH", b"OPTIONS", b"TRACE", b"PROPFIND", b"LOCK", b"PURGE")


def elsewhere(rng: Random, _target: Target) -> Attack:
    """Returns a path, a method or an action that does not exist."""
    part = quote_from_bytes(values.text(rng, lambda text: len(text) < 9_000).encode(), safe="'()*;:@$,")
    path = rng.choice(
        (
            f"/x{part}",
            f"/x/{part}/y",
            f"//{part}",
            f"/000000000000/{part}",
            f"/{part}/x/y/z",
            f"/1/{part}",
            f"/v1/x{part}",
            f"/_aws/{part}",
            f"/000000000000/q{part}/x",
            "/%2e%2e/",
            "/%00",
            "/" + "x/" * 2_000,
        )
    )
    action = rng.choice(("ReceiveMessage", "PurgeQueue", "DeleteQueue", part))
    asked = rng.choice(("", f"?Action={action}", "?" + part))
    kind = rng.randrange(3)
    if kind == 0:
        return Attack("path", request(b"", b"Content-Type: " + FORM, path=f"{path}{asked}".encode()))
    if kind == 1:
        return Attack("path by get", request(method=b"GET", path=f"{path}{asked}".encode()))
    return Attack("method", request(b"Action=ListQueues", method=rng.choice(METHODS)), http=False)


BAD_TARGETS = (b"", b"x", b"AmazonSQS", b"AmazonSQS.", b"AmazonSQS.x", b"AmazonSNS.Publish",
b"AmazonSQS.SendMessage ;",
               b"amazonsqs.sendmessage", b"\xff\xfe", b"a" * 9_000, b"AmazonSQS.../SendMessage",
               b"'; drop table x; --")  # fmt: skip


def headers(rng: Random, target: Target) -> Attack:
    """Returns an invalid request with unusual headers."""
    body = json.dumps({"QueueUrl": target.url, "MessageBody": ""}).encode()
    strange = rng.choice((
        b"Content-Type: application/json; charset=klingon", b"Content-Type: \xff", b"Content-Type: " + b"a" * 9_000,
        b"Accept: " + b"application/json;q=" + b"9" * 400, b"Accept: \xff\xfe;;;,,,q=q=", b"Accept-Encoding: klingon",
        b"Authorization: " + rng.randbytes(90).translate(None, b"\r\n\0" + bytes(range(32))),
        b"Authorization: AWS4-HMAC-SHA256 Credential=" + b"/" * 5_000, b"X-Amz-Date: never", b"Expect: 200-maybe",
        b"Authorization: AWS4-HMAC-SHA256 Credential=a/b/'; drop table x; --/sqs/aws4_request", b"Range: bytes=0-",
        b"X-Amzn-Trace-Id: " + b"x" * 50_000, b"Cookie: " + b"a=b; " * 5_000, b"X-Forwarded-Host: evil",
        b"Te: trailers", b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: eA==", b"If-Match: *",
        b"X: y\r\n" * 800 + b"Z: z",
    ))  # fmt: skip
    kind = rng.randrange(3)
    if kind == 0:
        return Attack("target", request(body, b"X-Amz-Target: " + rng.choice(BAD_TARGETS), strange), http=False)
    if kind == 1:
        return Attack("headers", by_json("SendMessage", body, strange), http=False)
    return Attack("headers", request(b"Action=SendMessage&MessageBody=x", strange), http=False)


def rest_api(rng: Random, target: Target) -> Attack:
    method, path, body = rest_request(rng, target.url.rpartition("/")[2])
    shown = f"rest {method} {path[:40]}"
    headers = (b"Content-Type: application/json",)
    return Attack(shown, request(body, *headers, method=method.encode(), path=path.encode()), http=False)


# --- HTTP itself -----------------------------------------------------------------------------------------------------
def http(rng: Random, target: Target) -> Attack:
    """Returns bytes that are not HTTP, or a request that ends too early."""
    body = json.dumps({"QueueUrl": target.url, "MessageBody": ""}).encode()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n"
    chunks = head + b"Transfer-Encoding: chunked\r\n\r\n"
    data = rng.choice((
        chunks + b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n", chunks + b"zz\r\n",
        chunks + b"-1\r\nx\r\n0\r\n\r\n", chunks + b"1\r\nxyz\r\n0\r\n\r\n", chunks + b"f" * 40 + b"\r\n",
        chunks + b"1;" + b"a" * 500 + b"\r\n{\r\n0\r\n\r\n",
        b"".join((chunks, *(b"1\r\n%c\r\n" % byte for byte in body), b"0\r\n\r\n")),
        head + b"Content-Length: -1\r\n\r\n", head + b"Content-Length: x\r\n\r\n",
        head + b"Content-Length: 9" * 30 + b"\r\n\r\n", head + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        head + b"Content-Length: 7000000\r\n\r\n",
        head + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
        head + b"Transfer-Encoding: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n", b"\x00" * 64 + b"\r\n\r\n", b"SSH-2.0-OpenSSH_9.0\r\n",
        b"GET / HTTP/1.1\r\nA B: c\r\n\r\n", b"GET / HTTP/1.1\r\nHost: \x00\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"GET x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\n: x\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 400_000 + b"\r\n\r\n",
        b"GET /" + b"a" * 400_000 + b" HTTP/1.1\r\n\r\n", b"FOO / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"post / HTTP/1.1\r\nHost: x\r\n\r\n", rng.randbytes(200) + b"\r\n\r\n",
    ))  # fmt: skip
    if rng.random() < 0.1:
        whole = by_json("SendMessage", body)
        return Attack("cut off", whole[: rng.randrange(1, len(whole) - 1)], http=False, silent=True)
    return Attack("http", data, http=False)


# --- size ------------------------------------------------------------------------------------------------------------
MIB = 1_048_576


def large(rng: Random, target: Target) -> Attack:
    """Returns megabytes of one kind of data."""
    url = b'{"QueueUrl":"' + target.url.encode() + b'",'
    form = b"Action=SendMessage&QueueUrl=" + quote(target.url, safe="").encode() + b"&MessageBody="
    size = rng.randint(MIB + 1, 6 * MIB - 1_000)
    unit = rng.choice(
        (b"a", b"[", b"[],", b"0,", b'"",', b'{"a":', b"{},", b"null,", b"1.5,", b" ", b"\xff", b"\\u0041", b"9")
    )
    filler = (unit * (size // len(unit) + 1))[:size]
    escapes = rng.choice((b"%41", b"%e2%82%ac", b"%00", b"%zz", b"+", b"=", b"%", b"&", b"%3D%26", b"a=b&", b"%41="))
    at, rest = b"/v1/queues/" + target.url.rpartition("/")[2].encode(), (b"Content-Type: application/json",)
    return rng.choice((
        Attack("large json", by_json("ReceiveMessage", filler)),
        Attack("large json", by_json("SendMessage", url + b'"MessageBody":"\\u0000' + filler + b'"}')),
        Attack("large json", by_json("SendMessageBatch", url + b'"Entries":[' + filler + b"]}")),
        Attack("large json", by_json("UntagQueue", url + b'"TagKeys":[' + filler + b"0]}")),
        Attack("large json", by_json("SetQueueAttributes", url + b'"Attributes":{"Policy":"' + filler + b'"}}')),
        Attack("large form", by_form(form + (escapes * (size // len(escapes)))[:size] + b"%00")),
        Attack("large form", by_form(b"Action=ReceiveMessage&QueueUrl=" + (escapes * (size // len(escapes)))[:size])),
        Attack("large rest", request(b'{"message":1,"more":' + filler + b"}", *rest, path=at + b"/messages"),
        http=False),
        Attack("large rest", request(b'{"attributes":' + filler + b"}", *rest, method=b"PATCH", path=at), http=False),
        Attack("too large", by_form(form + b"x" * 6 * MIB), silent=True),
    ))  # fmt: skip
