"""Changes method, path, query string and body after signing.

The source is "Create a signed AWS API request" (IAM User Guide). Only S3 accepts unsigned payloads, or payloads signed
chunk by chunk ("Authenticating Requests: Using the Authorization Header", S3 API reference).
"""

from dataclasses import replace
from hashlib import md5, sha256
from urllib.parse import urlsplit

from tests.support.hostile.signatures.signer import FORM, RIGHT, Forgeries, Signer, in_target
from tests.support.hostile.signatures.signing import Recipe, sign_address, sign_header

UNHASHED = (
    "UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
    "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-EVENTS",
)  # fmt: skip


def payload_hashes(signer: Signer) -> Forgeries:
    """Yields other payload hashes. The last line of the canonical request is the SHA-256 of the body. Only S3 accepts
    others."""
    other = {
        "of nothing": sha256(b"").hexdigest(), "of another body": sha256(b"x").hexdigest(), "zeros": "0" * 64,
        "MD5": md5(b"").hexdigest(), "none": "",
    }  # fmt: skip
    hashes = {**{name: name for name in UNHASHED}, **other}
    for name, value in hashes.items():
        claims = ("X-Amz-Content-Sha256", value)
        for form, request in (
            ("json", signer.json(Recipe(payload=value), claims)), ("form", signer.form(Recipe(payload=value), claims)),
        ):  # fmt: skip
            yield f"{form}, {name}", request
            yield (
                f"{form}, {name}, another body",
                request._replace(body=request.body.replace(b"signed", b"forged")),
            )
        yield from signer.headers(Recipe(payload=value), f"{name}, not said")
        if name != "of nothing":  # The hash of an empty body is right there.
            yield f"address, {name}", signer.address(Recipe(payload=value))
    for form, request in (("json", signer.json()), ("form", signer.form())):
        body = request.body
        for name, changed in {
            "another word": body.replace(b"signed", b"forged"), "a blank more": body + b" ",
            "a line more": body + b"\r\n", "a byte less": body[:-1], "nothing": b"", "NUL before": b"\0" + body,
            "twice": body * 2,
        }.items():  # fmt: skip
            yield f"{form}, body with {name}", request._replace(body=changed)
    yield (
        "address, with a body",
        signer.address()._replace(method="POST", body=b"DelaySeconds=9").adding(FORM),
    )
    yield "address, with a body by GET", signer.address()._replace(body=b"DelaySeconds=9").adding(FORM)


def queries(signer: Signer) -> Forgeries:
    """Yields changed query strings. The signature covers each name and value, and no name may occur twice."""
    asked = signer.address()
    yield from in_target(asked, [
        ("another body", "MessageBody=signed", "MessageBody=forged"), ("another action", "SendMessage", "PurgeQueue"),
        ("a parameter more", "MessageBody=signed", "MessageBody=signed&DelaySeconds=1"),
        ("a parameter twice", "MessageBody=signed", "MessageBody=signed&MessageBody=signed"),
        ("a parameter twice, otherwise", "MessageBody=signed", "MessageBody=signed&MessageBody=forged"),
        ("an action before", "Action=", "Action=PurgeQueue&Action="), ("a parameter fewer", "&MessageBody=signed", ""),
        ("a name in small letters", "X-Amz-Signature=", "x-amz-signature="),
        ("a name with an escape", "X-Amz-Signature=", "X-Amz-Signature%00="),
        ("an empty name", "Action=", "=x&Action="), ("a semicolon", "&MessageBody", ";MessageBody"),
        ("a value with NUL", "MessageBody=signed", "MessageBody=signed%00"),
        ("a value with a blank", "MessageBody=signed", "MessageBody=signed+"),
    ])  # fmt: skip
    for part in asked.target.partition("?")[2].split("&"):
        if part.startswith("X-Amz-"):
            name = part.partition("=")[0]
            yield f"{name} twice", asked._replace(target=f"{asked.target}&{part}")
            yield (
                f"{name} twice, otherwise",
                asked._replace(target=asked.target.replace(part, f"{name}=x&{part}", 1)),
            )
            yield f"without {name}", asked._replace(target=asked.target.replace(f"&{part}", "", 1))
    for form, request in (("json", signer.json()), ("form", signer.form())):
        for added in (
            "DelaySeconds=1",
            "Action=PurgeQueue",
            "X",
            "=",
            "Action=SendMessage&MessageBody=forged",
        ):
            yield f"{form}, with ?{added}", request._replace(target=f"{request.target}?{added}")
    twice = signer.unsigned_form()._replace(
        target=f"{urlsplit(signer.queue_url).path}?DelaySeconds=1&DelaySeconds=0"
    )
    yield "form, a name twice and signed", sign_header(twice, signer.key)


def paths(signer: Signer) -> Forgeries:
    """Yields changed paths. Method and path are the first lines of the signed text."""
    path = urlsplit(signer.queue_url).path
    for form, request in (("form", signer.form()), ("address", signer.address())):
        for other in (
            signer.other_path, "/", path + "x", path.upper(), path.replace("0", "1"), path[:-1], f"{path}/x",
            f"/x{path}", path.replace("/queue", "/%71ueue%20"), f"{path};x",
        ):  # fmt: skip
            yield (
                f"{form}, path {other[:40]}",
                request._replace(target=request.target.replace(path, other, 1)),
            )
        yield (
            f"{form}, signed for another queue",
            (
                sign_header(signer.unsigned_form(), signer.key, replace(RIGHT, target=signer.other_path))
                if form == "form"
                else sign_address(
                    signer.unsigned_address(), signer.key, replace(RIGHT, target=asked_of(signer))
                )
            ),
        )
    yield "json, to a queue's path", signer.json()._replace(target=path)
    for form, request in (("json", signer.json()), ("form", signer.form())):
        for method in ("GET",):
            yield f"{form}, by {method}", request._replace(method=method)
            yield (
                f"{form}, signed for {method}",
                (
                    signer.json(Recipe(method=method))
                    if form == "json"
                    else signer.form(Recipe(method=method))
                ),
            )
    yield "address, by POST", signer.address()._replace(method="POST")
    yield "address, signed for POST", signer.address(Recipe(method="POST"))


def asked_of(signer: Signer) -> str:
    """Returns a query string of the other queue."""
    return f"{signer.other_path}?Action=SendMessage&MessageBody=signed"


def methods(signer: Signer) -> Forgeries:
    """Yields methods that API Gateway's routes do not pass to a function."""
    for form, request in (("json", signer.json()), ("form", signer.form()), ("address", signer.address())):
        for method in ("PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"):
            yield f"{form}, by {method}", request._replace(method=method)
