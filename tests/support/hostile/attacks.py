"""Generates hostile requests as bytes for a socket. The same seed gives the same requests.

The service must respond to each request with status 4xx, and must not change the database. Tests can send the requests
with well-formed HTTP to any deployment.
"""

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import botocore.serialize

from tests.support.conformance.sdk_clients import service_model
from tests.support.hostile import values
from tests.support.hostile.connection import Attack, by_form, by_json, request
from tests.support.hostile.invalid_members import ON_A_QUEUE, POISONS, REST, Members, Target
from tests.support.hostile.invalid_topic_members import TOPIC_POISONS
from tests.support.hostile.service_requests import scheduler
from tests.support.hostile.transport import elsewhere, headers, http, large, rest_api

ALL_POISONS = (*POISONS, *TOPIC_POISONS)


# --- one member is bad -----------------------------------------------------------------------------------------------
def member_in_json(rng: Random, target: Target) -> Attack:
    poison = rng.choice(ALL_POISONS)
    members = poison.members(rng, target)
    text = json.dumps(members, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    kind = f"json {poison.action}.{poison.member}"
    return Attack(kind, by_json(poison.action, text, service=poison.service))


def member_in_query(rng: Random, target: Target) -> Attack:
    poison = rng.choice(ALL_POISONS)
    members = poison.members(rng, target)
    operation = service_model("query", poison.service).operation_model(poison.action)
    written = botocore.serialize.create_serializer("query", include_validation=False).serialize_to_request(
        members, operation
    )["body"]
    form = "&".join(f"{quote(name, safe='')}={quote(str(value), safe='')}" for name, value in written.items())
    kind = f"query {poison.action}.{poison.member}"
    if rng.random() < 0.2 and len(form) < 8_000:
        return Attack(kind, request(method=b"GET", path=b"/?" + form.encode()))
    return Attack(kind, by_form(form.encode()))


# --- JSON ------------------------------------------------------------------------------------------------------------
def good(action: str, target: Target) -> Members:
    more: Members = {
        "CreateQueue": {"QueueName": "never-made"}, "GetQueueUrl": {"QueueName": "never-made"},
        "StartMessageMoveTask": {"SourceArn": target.arn}, "ListMessageMoveTasks": {"SourceArn": target.arn},
        "CancelMessageMoveTask": {"TaskHandle": "x"},
    }.get(action, {})  # fmt: skip
    return {**({"QueueUrl": target.url} if action in ON_A_QUEUE else {}), **REST.get(action, {}), **more}


WRONG: dict[str, tuple[Any, ...]] = {
    "string": values.NOT_A_TEXT, "integer": values.NOT_A_NUMBER, "list": values.NOT_A_LIST, "map": values.NOT_A_MAP,
}  # fmt: skip
RAW = {"string": values.RAW_TEXTS, "integer": values.RAW_NUMBERS, "list": values.RAW_TEXTS, "map": values.RAW_TEXTS}


def wrong_type(rng: Random, target: Target) -> Attack:
    """Returns a request in which one member has a wrong type or a value that is not JSON. The member may follow a valid
    member of the same name.
    """
    action = rng.choice(service_model("json").operation_names)
    shapes = service_model("json").operation_model(action).input_shape.members
    name = rng.choice(list(shapes))
    kind = shapes[name].type_name
    members = good(action, target)
    first = f'"{name}":{json.dumps(members[name])},'.encode() if name in members and rng.random() < 0.3 else b""
    rest = json.dumps({key: value for key, value in members.items() if key != name})[1:-1].encode()
    bad = rng.choice((json.dumps(rng.choice(WRONG[kind])).encode(), rng.choice(RAW[kind])))
    if name == "QueueNamePrefix" and bad in values.SURROGATES:
        # Escaped surrogates are valid JSON. No queue name begins with a surrogate, so the service would respond with an
        # empty list.
        bad = b"x"
    body = b"{" + first + rest + (b"," if rest else b"") + b'"' + name.encode() + b'":' + bad + b"}"
    return Attack(f"type {action}.{name}", by_json(action, body))


def not_json(rng: Random, target: Target) -> Attack:
    """Returns a valid body that is cut or has an extra byte, or a body that is not an object."""
    action = rng.choice(ON_A_QUEUE)
    body = json.dumps(good(action, target)).encode()
    where = rng.randrange(1, len(body))
    bad = rng.choice((
        body[:where],
        body[:where] + rng.choice((b"\xff", b"\x00", b"\x1f", b"\xc3\x28", b"\xed\xa0\x80")) + body[where:],
        body + rng.choice((b"}", b",", b"x", b"{}", b"\x00", b"\xef\xbb\xbf")), b"\xef\xbb\xbf" + body, body[1:],
        body.decode().encode("utf-16"), body.replace(b'"', b"'"), body[:-1] + b",}", b"//x\n" + body,
        body[:-1] + b"]", b"[" + body + b"]", b"[]", b"null", b"1", b'""', b"true", b"", b"   ",
        b"[" * rng.randint(1, 100_000), b'{"a":' * rng.randint(1, 20_000),
        rng.randbytes(rng.randint(1, 300)).replace(b"{", b""),
    ))  # fmt: skip
    return Attack("not json", by_json(action, bad))


# --- Query -----------------------------------------------------------------------------------------------------------
def not_a_form(rng: Random, target: Target) -> Attack:
    """Returns an invalid form, with or without a valid beginning."""
    start = b"Action=SendMessage&QueueUrl=" + quote(target.url, safe="").encode() + b"&MessageBody=x"
    number = b"%d" % rng.randint(1, 999)
    bad = start + rng.choice((
        b"&a=%ff", b"&%ff=a", b"&\xff\xfe", b"&a=\xed\xa0\x80", b"&a=%ed%a0%80", b"&a=1&a.b=2", b"&a.b=1&a=2",
        b"&a=%c0%80", b"&" + b".".join([b"a"] * rng.randint(9, 4_000)) + b"=1", b"&a=1" * 6_000, b"&DelaySeconds=",
        b"&DelaySeconds=1.5", b"&DelaySeconds=%2B1", b"&DelaySeconds=NaN", b"&DelaySeconds=0x1",
        b"&DelaySeconds=" + b"9" * 999, b"&DelaySeconds.1=1", b"&MessageBody.1=x", b"&QueueUrl.1=x",
        b"&MessageAttribute=x", b"&MessageAttribute.1=x", b"&MessageAttribute." + number + b".Name=a",
        b"&MessageAttribute.1.Name=a&MessageAttribute.1.Value=x", b"&MessageAttribute.1.Value.DataType=String",
        b"&MessageAttribute.1.Name.x=a", b"&MessageBody=%00", b"&MessageBody=", b"&Action=", b"&Action=NoSuchAction",
        b"&Action.1=x", b"&MessageBody=%EF%BF%BF", b"&MessageBody=" + b"%01" * 9_000,
        b"&MessageBody=%01" + b"%zz" * 9_000, b"&QueueUrl=", b"&QueueUrl=x", b"&a=" + rng.randbytes(9) + b"\xff",
    ))  # fmt: skip
    name = values.text(rng, lambda action: not action.isalnum())
    other = rng.choice(
        (b"", b"&&&", b"=", b"Action", b"Version=2012-11-05", b"Action=" + quote(name, safe="").encode())
    )
    return Attack("not a form", by_form(bad if rng.random() < 0.9 else other))


KINDS: tuple[tuple[int, Callable[[Random, Target], Attack]], ...] = (
    (24, member_in_json), (24, member_in_query), (18, wrong_type), (8, not_json), (8, not_a_form), (8, elsewhere),
    (5, headers), (4, http), (16, rest_api), (8, scheduler),
)  # fmt: skip
LARGE_EVERY = 400


def attacks(seed: int, number: int, target: Target) -> Iterator[Attack]:
    """Yields `number` hostile requests. Every four-hundredth request contains several megabytes."""
    rng = Random(seed)
    builders = [build for weight, build in KINDS for _ in range(weight)]
    for count in range(number):
        yield (large if count % LARGE_EVERY == LARGE_EVERY // 2 else rng.choice(builders))(rng, target)
