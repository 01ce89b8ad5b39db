"""Forges the parts of a signature: its bits, keys, time, scope and algorithm.

The sources are "Elements of an AWS API request signature", "Create a signed AWS API request", "Troubleshoot signed
requests" (IAM User Guide) and "Common Query parameters" (SQS API reference).
"""

from base64 import b64encode
from hashlib import sha256

from tests.support.hostile.signatures.signing import (
    RIGHT,
    Forgeries,
    Recipe,
    Signer,
    flips,
    in_header,
    in_target,
    sign_address,
    sign_header,
)


def bits(signer: Signer) -> Forgeries:
    """Flips one bit of each character of each part except the key id, because another test covers unknown keys."""
    request = signer.json()
    key_id = signer.key[0]
    for name, start in (("authorization", 0), ("host", 0), ("content-type", 0), ("x-amz-target", 0), ("x-amz-date", 0)):
        value = request.header(name)
        own = range(value.find(key_id), value.find(key_id) + len(key_id)) if key_id in value else range(0)
        for place, changed in flips(value, start):
            if place not in own:
                yield f"{name}, character {place}", request.with_header(name, changed)
    for place, changed in flips(request.body.decode()):
        yield f"body, character {place}", request._replace(body=changed.encode("latin-1"))
    asked = signer.address()
    own = range(asked.target.find(key_id), asked.target.find(key_id) + len(key_id))
    for place, changed in flips(asked.target, asked.target.find("?") + 1):
        if place not in own and " " not in changed:
            yield f"query string, character {place}", asked._replace(target=changed)


def signatures(signer: Signer) -> Forgeries:
    """Yields wrong signature values, and wrong ways to calculate the signature ("Calculate the signature")."""
    for form, request in (("json", signer.json()), ("form", signer.form())):
        value = request.header("authorization").rpartition("=")[2]
        others = {"cut by a digit": value[:-1], "longer by a digit": value + "0", "in capitals": value.upper(),
                  "zeros": "0" * 64, "empty": "", "backwards": value[::-1],
                  "base64": b64encode(bytes.fromhex(value)).decode(),
                  "SHA-256 of nothing": sha256(b"").hexdigest(), "the secret": signer.key[1],
                  "twice": value * 2}  # fmt: skip
        yield from in_header(request, [(f"{form}, signature {name}", value, other) for name, other in others.items()])
        yield f"{form}, no Authorization", request.with_header("authorization", None)
    asked = signer.address()
    value = asked.target.rpartition("=")[2]
    others = {"cut by a digit": value[:-1], "in capitals": value.upper(), "zeros": "0" * 64, "empty": ""}
    yield from in_target(asked, [(f"address, signature {name}", value, other) for name, other in others.items()])
    yield "address, no parameters", asked._replace(target=asked.target.partition("&X-Amz-")[0])
    date = RIGHT.written_timestamp()[:8]
    for name, derived in {
        "the secret alone": (), "the date alone": (date,), "no region": (date, "sqs", "aws4_request"),
        "no service": (date, signer.region, "aws4_request"), "no end": (date, signer.region, "sqs"),
        "another order": (signer.region, date, "sqs", "aws4_request"),
        "another region": (date, "eu-west-1", "sqs", "aws4_request"),
        "another service": (date, signer.region, "sns", "aws4_request"),
        "another end": (date, signer.region, "sqs", "aws2_request"),
        "another day": ("20200101", signer.region, "sqs", "aws4_request"),
    }.items():  # fmt: skip
        yield from signer.each(Recipe(derived_from=derived), f"key derived from {name}")
    yield from signer.each(Recipe(prefix=""), "secret without AWS4")
    yield from signer.each(Recipe(prefix="AWS3"), "secret with AWS3")
    yield from signer.each(Recipe(scope_is_signed=False), "string to sign without its scope")


def dates(signer: Signer) -> Forgeries:
    """Yields wrong dates. A header signature is valid for 15 minutes before and after its time, and a query-string
    signature for X-Amz-Expires seconds, at most 604,800 ("Troubleshoot signed requests").
    """
    # The query-string signature, which is valid for 60 seconds, has expired too.
    yield from signer.each(Recipe(seconds=-16 * 60), "16 minutes ago")
    for name, seconds in {"in 16 minutes": 16 * 60, "a day ago": -86_400, "a day from now": 86_400,
                          "a year ago": -365 * 86_400, "in a year": 365 * 86_400}.items():  # fmt: skip
        yield from signer.each(Recipe(seconds=seconds), name)
    now = RIGHT.written_timestamp()
    for name, text in {
        "with hyphens": f"{now[:4]}-{now[4:6]}-{now[6:8]}T{now[9:11]}:{now[11:13]}:{now[13:15]}Z",
        "without Z": now[:-1], "another zone": f"{now[:-1]}+0100", "a day alone": now[:8],
        "no day of the calendar": f"{now[:4]}1332{now[8:]}", "no time of the day": f"{now[:8]}T256199Z",
        "Arabic digits": now.translate({ord(str(n)): chr(0x660 + n) for n in range(10)}), "Unix time": "1700000000",
        "a word": "now", "small letters": now.lower(),
    }.items():  # fmt: skip
        if text.isascii():
            yield from signer.headers(Recipe(timestamp=text, scope=_scope(signer, text)), f"date {name}")
        yield f"address, date {name}", signer.address(Recipe(timestamp=text, scope=_scope(signer, text)))
    yield from signer.headers(Recipe(timestamp=""), "no date at all")
    yesterday = Recipe(seconds=-86_400).written_timestamp()
    yield from signer.each(Recipe(scope=_scope(signer, yesterday)), "the scope of yesterday")
    for form, request in (("json", signer.json()), ("form", signer.form())):
        old, day = request.header("x-amz-date"), request.header("x-amz-date")[:8]
        yield (f"{form}, later by some seconds", request.with_header("x-amz-date", f"{old[:-2]}{9 - int(old[-2])}Z"))
        yield f"{form}, date of 2020", request.with_header("x-amz-date", "20200101T000000Z")
        yield f"{form}, date moved to Date", request.with_header("x-amz-date", None).adding(("Date", old))
        yield f"{form}, date taken away", request.with_header("x-amz-date", None)
        yield from in_header(request, [(f"{form}, another day in the scope", f"/{day}/", "/20200101/")])
    for expires in ("0", "-1", "604801", "1e9", "", "60.5", "99999999999999999999", "x"):
        yield f"address, expires {expires!r}", signer.address(Recipe(expires=expires))
    yield (
        "address, expires a week, a week and a day ago",
        signer.address(Recipe(expires="604800", seconds=-8 * 86_400)),
    )
    asked = signer.address()
    yield from in_target(asked, [
        ("address, lives longer", "X-Amz-Expires=60", "X-Amz-Expires=604800"),
        ("address, lives for ever", "X-Amz-Expires=60&", ""),
        ("address, of another second", "Z&X-Amz-Expires", "1Z&X-Amz-Expires"),
    ])  # fmt: skip


def _scope(signer: Signer, timestamp: str) -> str:
    return f"{timestamp[:8]}/{signer.region}/sqs/aws4_request"


def scopes(signer: Signer) -> Forgeries:
    """Yields wrong scopes. The scope is date/region/service/aws4_request with the called service and region."""
    day = RIGHT.written_timestamp()[:8]
    for service in ("sns", "s3", "scheduler", "sqs2", "SQS", "", "*"):
        yield from signer.each(Recipe(service=service), f"for the service {service!r}")
    for region in ("", "*", "US-EAST-1", "us-east-1/", "us east 1", "u" * 33):
        yield from signer.each(Recipe(region=region), f"for the region {region!r}")
    for name, scope in {
        "without its end": f"{day}/us-east-1/sqs", "with another end": f"{day}/us-east-1/sqs/aws4_reques",
        "with a part too many": f"{day}/us-east-1/sqs/aws4_request/x",
        "turned round": f"aws4_request/sqs/us-east-1/{day}", "empty": "", "of slashes": "////",
        "with another end in capitals": f"{day}/us-east-1/sqs/AWS4_REQUEST",
    }.items():  # fmt: skip
        yield from signer.each(Recipe(scope=scope), f"scope {name}")
    for form, request in (("json", signer.json()), ("form", signer.form())):
        yield from in_header(request, [
            (f"{form}, another region", "/us-east-1/", "/eu-west-1/"), (f"{form}, another service", "/sqs/", "/sns/"),
            (f"{form}, another end", "aws4_request", "aws4_requesT"),
        ])  # fmt: skip
    yield from in_target(signer.address(), [
        ("address, another region", "%2Fus-east-1%2F", "%2Feu-west-1%2F"),
        ("address, another service", "sqs%2Faws4_request", "sns%2Faws4_request"),
    ])  # fmt: skip


def algorithms(signer: Signer) -> Forgeries:
    """Yields algorithms other than AWS4-HMAC-SHA256 ("Elements of an AWS API request signature")."""
    for algorithm, digest in (
        ("AWS4-HMAC-SHA1", "sha1"), ("AWS4-HMAC-SHA512", "sha512"), ("AWS4-HMAC-SHA384", "sha384"),
        ("AWS4-HMAC-MD5", "md5"), ("AWS4-HMAC-SHA224", "sha224"), ("AWS4-ECDSA-P256-SHA256", "sha256"),
        ("AWS4-HMAC-SHA256-PAYLOAD", "sha256"), ("AWS4", "sha256"), ("AWS5-HMAC-SHA256", "sha256"),
        ("HmacSHA256", "sha256"), ("none", "sha256"), ("HS256", "sha256"),
    ):  # fmt: skip
        yield from signer.each(Recipe(algorithm=algorithm, digest=digest), algorithm)
    yield from signer.each(Recipe(digest="sha512"), "SHA-512 under the name of SHA-256")
    yield from in_header(signer.json(), [
        ("json, changed to SHA-1", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"),
        ("json, no algorithm", "AWS4-HMAC-SHA256 ", ""),
        ("json, two algorithms", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 AWS4-HMAC-SHA256"),
    ])  # fmt: skip
    yield from in_target(signer.address(), [
        ("address, no algorithm", "X-Amz-Algorithm=AWS4-HMAC-SHA256&", ""),
        ("address, changed to SHA-1", "AWS4-HMAC-SHA256", "AWS4-HMAC-SHA1"),
    ])  # fmt: skip


def keys(signer: Signer) -> Forgeries:
    """Yields a wrong secret, or another user's id with the right secret."""
    key_id, secret = signer.key
    partner_id, partner_secret = signer.partner
    unsigned = {"json": signer.unsigned_json(), "form": signer.unsigned_form()}
    for name, key in {
        "another secret": (key_id, "another secret"), "a part of the secret": (key_id, secret[:-1]),
        "the secret and more": (key_id, secret + "x"), "no secret": (key_id, ""),
        "the secret in capitals": (key_id, secret.upper()), "the id as the secret": (key_id, key_id),
        "the secret of another account": (key_id, partner_secret), "the id of another account": (partner_id, secret),
    }.items():  # fmt: skip
        for form, request in unsigned.items():
            yield f"{form}, {name}", sign_header(request, key)
        yield f"address, {name}", sign_address(signer.unsigned_address(), key)
    yield from in_header(signer.json(), [("json, the id changed to another account's", key_id, partner_id)])
    yield from in_target(signer.address(), [("address, the id changed to another account's", key_id, partner_id)])


def unknown_keys(signer: Signer) -> Forgeries:
    """Yields unknown key ids: a valid id with each character changed, and other ids.

    After 50 failures within ten seconds, the service makes the client's address wait.
    """
    key_id, secret = signer.key
    for place, changed in flips(key_id):
        yield f"json, character {place} of the id", sign_header(signer.unsigned_json(), (changed, secret))
    for name in (
        "PSTKNOBODYNOBODYNOBO",
        "AKIAIOSFODNN7EXAMPLE",
        "000000000000",
        key_id.lower(),
        key_id + "A",
        key_id[:-1],
        "*",
    ):
        yield f"json, the id {name}", sign_header(signer.unsigned_json(), (name, secret))
        yield f"address, the id {name}", sign_address(signer.unsigned_address(), (name, secret))
