"""Signs the requests that the forgeries change, and holds the code that forgeries share."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.support.hostile.signatures.signing import Key, Recipe, Request, sign_address, sign_header

JSON = ("Content-Type", "application/x-amz-json-1.0")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
SEND = ("X-Amz-Target", "AmazonSQS.SendMessage")
RIGHT = Recipe()

Forgeries = Iterator[tuple[str, Request]]


class Signer(NamedTuple):
    """The owner of the key `key`. `queue_url` is a queue of the owner, `other_path` a path of another queue,
    and `partner` a key of another account."""

    endpoint_url: str
    queue_url: str
    other_path: str
    key: Key
    partner: Key

    @property
    def host(self) -> str:
        return urlsplit(self.endpoint_url).netloc

    @property
    def region(self) -> str:
        return RIGHT.region

    def unsigned_json(self, *more: tuple[str, str]) -> Request:
        body = b'{"QueueUrl":"%s","MessageBody":"signed"}' % self.queue_url.encode()
        return Request("POST", "/", (("Host", self.host), JSON, SEND, *more), body)

    def unsigned_form(self, *more: tuple[str, str]) -> Request:
        body = b"Action=SendMessage&MessageBody=signed"
        return Request("POST", urlsplit(self.queue_url).path, (("Host", self.host), FORM, *more), body)

    def unsigned_address(self, query: str = "Action=SendMessage&MessageBody=signed") -> Request:
        return Request("GET", f"{urlsplit(self.queue_url).path}?{query}", (("Host", self.host),), b"")

    def json(self, recipe: Recipe = RIGHT, *more: tuple[str, str]) -> Request:
        return sign_header(self.unsigned_json(*more), self.key, recipe)

    def form(self, recipe: Recipe = RIGHT, *more: tuple[str, str]) -> Request:
        return sign_header(self.unsigned_form(*more), self.key, recipe)

    def address(self, recipe: Recipe = RIGHT) -> Request:
        return sign_address(self.unsigned_address(), self.key, recipe)

    def each(self, recipe: Recipe, name: str) -> Forgeries:
        """Yields the three forms with this signature."""
        yield f"json, {name}", self.json(recipe)
        yield f"form, {name}", self.form(recipe)
        yield f"address, {name}", self.address(recipe)

    def headers(self, recipe: Recipe, name: str, *more: tuple[str, str]) -> Forgeries:
        """Yields the two forms with headers and this signature."""
        yield f"json, {name}", self.json(recipe, *more)
        yield f"form, {name}", self.form(recipe, *more)


def in_header(request: Request, changes: Iterable[tuple[str, str, str]]) -> Forgeries:
    """Yields the requests with a part of Authorization replaced after signing."""
    header = request.header("authorization")
    for name, old, new in changes:
        assert old in header, name
        yield name, request.with_header("authorization", header.replace(old, new, 1))


def in_target(request: Request, changes: Iterable[tuple[str, str, str]]) -> Forgeries:
    """Yields signed requests in which a part of the target was replaced after signing."""
    for name, old, new in changes:
        assert old in request.target, name
        yield name, request._replace(target=request.target.replace(old, new, 1))


def flips(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yields the text with the lowest bit of one character changed, for each character from `start`."""
    for place in range(start, len(text)):
        yield place, f"{text[:place]}{chr(ord(text[place]) ^ 1)}{text[place + 1 :]}"
