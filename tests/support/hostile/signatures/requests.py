"""Forges requests after signing: changes their headers, method, path, query string and body, or uses other credentials.

The sources are "Create a signed AWS API request" (IAM User Guide), RFC 9110 and RFC 9112. Only S3 accepts unsigned
payloads, or payloads signed chunk by chunk ("Authenticating Requests: Using the Authorization Header", S3 API
reference).
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import md5, sha256
from urllib.parse import quote, urlsplit

from tests.support.hostile.signatures import altered, requests
from tests.support.hostile.signatures.signing import (
    FORM,
    RIGHT,
    Forgeries,
    Recipe,
    Signer,
    in_header,
    in_target,
    sign_address,
    sign_header,
)


def signed_headers(signer: Signer) -> Forgeries:
    """Yields wrong SignedHeaders. The list must be in lower case, sorted, and include `host` and every present
    `x-amz-*` header.
    """
    of_json = "content-type;host;x-amz-date;x-amz-target"
    for names in (
        "", "content-type", "content-type;x-amz-date;x-amz-target", "content-type;host;x-amz-target",
        "content-type;host;x-amz-date", "host", "host;x-amz-date", "x-amz-target;x-amz-date;host;content-type",
        "Content-Type;Host;X-Amz-Date;X-Amz-Target", f"{of_json};x-amz-target", f"content-type;{of_json}",
        f"{of_json};x-nothing", f"accept;{of_json}", f";{of_json}", f"{of_json};",
        "content-type;host;;x-amz-date;x-amz-target", of_json.replace(";", ","), of_json.replace(";", " "),
        of_json.replace("host", "h\u00f6st"),
    ):  # fmt: skip
        yield f"json, signed headers {names!r}", signer.json(Recipe(names=names))
    for names in ("", "accept", "Host", "host;host", "host;x-nothing", "host,"):
        yield f"address, signed headers {names!r}", signer.address(Recipe(names=names))
    for form, request in (("json", signer.json()), ("form", signer.form())):
        yield from in_header(request, [
            (f"{form}, one more", "SignedHeaders=", "SignedHeaders=accept;"),
            (f"{form}, one fewer", ";x-amz-date", ""), (f"{form}, one twice", "x-amz-date", "x-amz-date;x-amz-date"),
            (f"{form}, without host", "host;", ""), (f"{form}, misspelt", "SignedHeaders=", "Signedheaders="),
            (f"{form}, given twice", "SignedHeaders=", "SignedHeaders=host, SignedHeaders="),
            (f"{form}, without Credential", "Credential=", "Credentials="),
            (f"{form}, signature given twice", "Signature=", "Signature=0, Signature="),
        ])  # fmt: skip


def unsigned_headers(signer: Signer) -> Forgeries:
    """Adds unsigned headers that have a meaning for AWS."""
    body = signer.unsigned_json().body
    added = (
        ("X-Amz-Target", "AmazonSQS.PurgeQueue"), ("X-Amz-Security-Token", "token"), ("X-Amz-Security-Token", ""),
        ("X-Amz-Meta", "unsigned"), ("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD"),
        ("X-Amz-Content-Sha256", sha256(body).hexdigest()), ("X-Amz-Date", "20200101T000000Z"),
        ("X-Amz-Expires", "604800"), ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Signature", "0" * 64),
        ("X-Amz-User-Agent", "forger"), ("x-amz-acl", "public-read"), ("X-Amz-Region-Set", "*"),
    )  # fmt: skip
    for header in added:
        for form, request in (("json", signer.json()), ("form", signer.form()), ("address", signer.address())):
            yield f"{form}, with {header[0]}: {header[1][:20]}", request.adding(header)
    signed = signer.json()
    yield "json, content type changed", signed.with_header("content-type", "text/plain")
    yield "json, content type taken away", signed.with_header("content-type", None)
    yield "json, target changed", signed.with_header("x-amz-target", "AmazonSQS.PurgeQueue")
    yield "json, target of SNS", signed.with_header("x-amz-target", "AmazonSNS.Publish")
    yield "json, target taken away", signed.with_header("x-amz-target", None)
    yield ("form, content type changed", signer.form().with_header("content-type", "application/x-amz-json-1.0"))


def duplicate_headers(signer: Signer) -> Forgeries:
    """Repeats headers. Repeated headers form one list (RFC 9110, 5.3), which the signature does not cover. Host must
    not be repeated (RFC 9112, 3.2).
    """
    for form, request in (("json", signer.json()), ("form", signer.form())):
        for name, value in request.headers:
            for what, again in (("itself", value), ("another", "AmazonSQS.PurgeQueue"), ("nothing", "")):
                yield f"{form}, {name}, then {what}", request.adding((name.swapcase(), again))
                yield (f"{form}, {what}, then {name}", request._replace(headers=((name, again), *request.headers)))
    asked = signer.address()
    for what, again in (("itself", signer.host), ("another", "sqs.us-east-1.amazonaws.com")):
        yield f"address, Host, then {what}", asked.adding(("host", again))
        yield f"address, {what}, then Host", asked._replace(headers=(("host", again), *asked.headers))
    for form, request in (("json", signer.json()), ("form", signer.form())):
        both = request._replace(
            target=request.target + "?" + signer.address().target.partition("&")[2].partition("&")[2]
        )
        yield f"{form}, a signature in header and query string", both
    yield (
        "address, a signature in query string and header",
        asked.adding(("Authorization", signer.form().header("authorization"))),
    )


def folded_headers(signer: Signer) -> Forgeries:
    """Folds headers. A server must reject a value that continues in the next line, or replace the fold with a space
    (RFC 9112, 5.2). Penstock rejects it.
    """
    for blank in ("\r\n ", "\r\n\t", "\r\n  \t "):
        for form, request in (("json", signer.json()), ("form", signer.form())):
            for name in ("authorization", "x-amz-date", "content-type"):
                value = request.header(name)
                cut = value.find("/") + 1 or 8
                yield (
                    f"{form}, {name} folded by {blank!r}",
                    request.with_header(name, value[:cut] + blank + value[cut:]),
                )
            yield f"{form}, another header folded by {blank!r}", request.adding(("Accept", f"x{blank}y"))
            yield (
                f"{form}, a header within {blank!r}",
                request._replace(headers=(("Accept", f"x{blank}X-Amz-Target: AmazonSQS.PurgeQueue"), *request.headers)),
            )
        yield (
            f"json, target folded by {blank!r}",
            signer.json().with_header("x-amz-target", f"AmazonSQS.{blank}SendMessage"),
        )


def session_tokens(signer: Signer) -> Forgeries:
    """Adds session tokens. Only temporary credentials (AWS STS), which Penstock does not issue, have a session
    token.
    """
    for token in ("token", "x" * 400, b64encode(b"\x00" * 60).decode()):
        yield from signer.headers(RIGHT, f"signed token {token[:9]}", ("X-Amz-Security-Token", token))
        asked = signer.unsigned_address(
            f"Action=SendMessage&MessageBody=signed&X-Amz-Security-Token={quote(token, safe='')}"
        )
        yield f"address, signed token {token[:9]}", sign_address(asked, signer.key)
        later = signer.address()
        yield (
            f"address, token {token[:9]} added",
            later._replace(target=f"{later.target}&X-Amz-Security-Token={quote(token, safe='')}"),
        )


def other_schemes(signer: Signer) -> Forgeries:
    """Yields credentials other than a signature of version 4."""
    key_id, secret = signer.key
    pair = b64encode(f"{key_id}:{secret}".encode()).decode()
    values = (
        "", "AWS4-HMAC-SHA256", f"AWS {key_id}:{pair}", f"Basic {pair}", f"Bearer {secret}",
        f"Bearer {key_id}.{secret}",
        f'Digest username="{key_id}", realm="aws", nonce="x", uri="/", response="{md5(b"").hexdigest()}"',
        "Negotiate YII=", f"AWS3-HTTPS AWSAccessKeyId={key_id},Algorithm=HmacSHA256,Signature={pair}", secret,
        f"{key_id}:{secret}", "null",
    )  # fmt: skip
    for form, request in (("json", signer.unsigned_json()), ("form", signer.unsigned_form())):
        for value in values:
            yield f"{form}, Authorization: {value[:16]}", request.adding(("Authorization", value))
        yield f"{form}, nothing", request
        yield f"{form}, a cookie", request.adding(("Cookie", f"aws-creds={pair}"))
        yield f"{form}, another header", request.adding(("X-Amz-Security-Token", secret))
    signature_2 = (
        f"Action=SendMessage&MessageBody=signed&AWSAccessKeyId={key_id}&SignatureVersion=2&SignatureMethod=HmacSHA256"
        f"&Timestamp=2026-01-01T00%3A00%3A00Z&Signature={quote(pair, safe='')}"
    )
    yield "address, a signature of version 2", signer.unsigned_address(signature_2)
    yield "form, a signature of version 2", signer.unsigned_form()._replace(body=signature_2.encode())
    yield ("address, user information", signer.unsigned_address(f"Action=SendMessage&MessageBody=signed&key={pair}"))


def hosts(signer: Signer) -> Forgeries:
    """Changes the Host header, which the signature covers."""
    name, _, port = signer.host.partition(":")
    others = {
        "AWS's": "sqs.us-east-1.amazonaws.com", "without its port": name, "with another port": f"{name}:1",
        "localhost": f"localhost:{port}", "with a dot": f"{name}.:{port}", "with a name before": f"x@{signer.host}",
        "nothing": "", "a zero in the port": f"{name}:0{port}", "with a path": f"{signer.host}/x",
        "two": f"{signer.host},x",
    }  # fmt: skip
    for what, host in others.items():
        for form, request in (("json", signer.json()), ("form", signer.form()), ("address", signer.address())):
            yield f"{form}, Host {what}", request.with_header("host", host)
        for form, unsigned in (("json", signer.unsigned_json()), ("form", signer.unsigned_form())):
            signed = sign_header(unsigned.with_header("host", host), signer.key)
            yield f"{form}, signed for {what}", signed.with_header("host", signer.host)
    forwarded = ("X-Forwarded-Host", signer.host)
    yield "json, a forwarded host", signer.json().with_header("host", "evil.example").adding(forwarded)


UNHASHED = (
    "UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD",
    "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-EVENTS",
)  # fmt: skip


def payload_hashes(signer: Signer) -> Forgeries:
    """Changes payload hashes. The last line of the canonical request is the SHA-256 of the body. Only S3 accepts other
    values in the last line.
    """
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
            yield (f"{form}, {name}, another body", request._replace(body=request.body.replace(b"signed", b"forged")))
        yield from signer.headers(Recipe(payload=value), f"{name}, not said")
        # The signer's request with a query-string signature has an empty body, whose hash would be right.
        if name != "of nothing":
            yield f"address, {name}", signer.address(Recipe(payload=value))
    for form, request in (("json", signer.json()), ("form", signer.form())):
        body = request.body
        for name, changed in {
            "another word": body.replace(b"signed", b"forged"), "a blank more": body + b" ",
            "a line more": body + b"\r\n", "a byte less": body[:-1], "nothing": b"", "NUL before": b"\0" + body,
            "twice": body * 2,
        }.items():  # fmt: skip
            yield f"{form}, body with {name}", request._replace(body=changed)
    yield ("address, with a body", signer.address()._replace(method="POST", body=b"DelaySeconds=9").adding(FORM))
    yield "address, with a body by GET", signer.address()._replace(body=b"DelaySeconds=9").adding(FORM)


def queries(signer: Signer) -> Forgeries:
    """Changes query strings. The signature covers each name and value, and no name may occur twice."""
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
            yield (f"{name} twice, otherwise", asked._replace(target=asked.target.replace(part, f"{name}=x&{part}", 1)))
            yield f"without {name}", asked._replace(target=asked.target.replace(f"&{part}", "", 1))
    for form, request in (("json", signer.json()), ("form", signer.form())):
        for added in ("DelaySeconds=1", "Action=PurgeQueue", "X", "=", "Action=SendMessage&MessageBody=forged"):
            yield f"{form}, with ?{added}", request._replace(target=f"{request.target}?{added}")
    twice = signer.unsigned_form()._replace(target=f"{urlsplit(signer.queue_url).path}?DelaySeconds=1&DelaySeconds=0")
    yield "form, a name twice and signed", sign_header(twice, signer.key)


def paths(signer: Signer) -> Forgeries:
    """Changes paths. The method and the path are the first lines of the signed text."""
    path = urlsplit(signer.queue_url).path
    for form, request in (("form", signer.form()), ("address", signer.address())):
        for other in (
            signer.other_path, "/", path + "x", path.upper(), path.replace("0", "1"), path[:-1], f"{path}/x",
            f"/x{path}", path.replace("/queue", "/%71ueue%20"), f"{path};x",
        ):  # fmt: skip
            yield (f"{form}, path {other[:40]}", request._replace(target=request.target.replace(path, other, 1)))
        yield (
            f"{form}, signed for another queue",
            (
                sign_header(signer.unsigned_form(), signer.key, replace(RIGHT, target=signer.other_path))
                if form == "form"
                else sign_address(signer.unsigned_address(), signer.key, replace(RIGHT, target=asked_of(signer)))
            ),
        )
    yield "json, to a queue's path", signer.json()._replace(target=path)
    for form, request in (("json", signer.json()), ("form", signer.form())):
        for method in ("GET",):
            yield f"{form}, by {method}", request._replace(method=method)
            yield (
                f"{form}, signed for {method}",
                (signer.json(Recipe(method=method)) if form == "json" else signer.form(Recipe(method=method))),
            )
    yield "address, by POST", signer.address()._replace(method="POST")
    yield "address, signed for POST", signer.address(Recipe(method="POST"))


def asked_of(signer: Signer) -> str:
    """Returns a query string for the other queue."""
    return f"{signer.other_path}?Action=SendMessage&MessageBody=signed"


def methods(signer: Signer) -> Forgeries:
    """Yields methods that API Gateway's routes do not pass to a function."""
    for form, request in (("json", signer.json()), ("form", signer.form()), ("address", signer.address())):
        for method in ("PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"):
            yield f"{form}, by {method}", request._replace(method=method)


# --- kinds -----------------------------------------------------------------------------------------------------------
# Each kind yields SQS requests with invalid signatures. The service must refuse all of these requests.
#
#     Signer(...).json()      a valid AWS JSON request with an Authorization header
#     Signer(...).form()      the request in the Query protocol
#     Signer(...).address()   the request with the signature in the query string
#     KINDS["dates"](signer)  named forgeries of these three

KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "bits": altered.bits, "signatures": altered.signatures, "dates": altered.dates, "scopes": altered.scopes,
    "algorithms": altered.algorithms, "keys": altered.keys, "signed headers": requests.signed_headers,
    "unsigned headers": requests.unsigned_headers, "duplicate headers": requests.duplicate_headers,
    "session tokens": requests.session_tokens, "other schemes": requests.other_schemes, "hosts": requests.hosts,
    "payload hashes": requests.payload_hashes, "queries": requests.queries, "paths": requests.paths,
}  # fmt: skip
# Kinds whose requests only an HTTP server receives unchanged.
WIRE_KINDS: dict[str, Callable[[Signer], Forgeries]] = {
    "folded headers": requests.folded_headers,
    "methods": requests.methods,
}
