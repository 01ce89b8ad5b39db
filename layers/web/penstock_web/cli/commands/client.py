"""Calls the REST API of a running service for the commands, and finds the service."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote

from penstock import __version__
from penstock.settings import ADDRESSES
from penstock_web.system_account import LocalError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urllib3 import BaseHTTPResponse

    from penstock.management.messages.types import StoredMessage
    from penstock_web.local.announced import Running

_COMMANDS: Final = {
    "Create it with POST /v1/queues.": "`penstock queues` lists those of the region {region}; `penstock --region NAME` "
    "sees another.",
    "Create it with POST /v1/topics.": "`penstock topics list` lists those of the region {region}; `penstock --region "
    "NAME` sees another.",
    "GET /v1/mappings lists them.": "`penstock mappings list` lists them.",
    "GET /v1/deliveries/endpoints lists them.": "`penstock webhooks list` lists them.",
}
"""Replaces the hints of the REST API that name a route with hints that name a command."""

T = TypeVar("T")
Document = dict[str, object]
"""Represents a JSON object of an answer without messages, as the OpenAPI document describes it."""
USUAL_ENDPOINT: Final = "http://127.0.0.1:9324"
_SECONDS: Final = 30
"""Limits the time for an answer, because a receive waits up to 20 s."""


class RefusedError(LocalError):
    """The response is an error. `code` is the REST API's code, or "" for a response without a code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class RestClient:
    """Calls a service. Each method raises LocalError with one line for an error or a missing response."""

    def __init__(self, endpoint: str | None = None, *, region: str | None = None, seconds: float = _SECONDS) -> None:
        """`endpoint` defaults to PENSTOCK_ENDPOINT, then to the `penstock up` of this machine, then to the usual
        address.

        PENSTOCK_TOKEN is a bearer key, for services with QUEUE_ACCESS=sigv4 (`penstock keys create --bearer`). `region`
        defaults to PENSTOCK_REGION, then to the service's region. `seconds` is the longest time for an answer.
        """
        import urllib3

        self.endpoint = (endpoint or os.environ.get("PENSTOCK_ENDPOINT") or _only_running()).rstrip("/")
        if not self.endpoint.startswith(("http://", "https://")):
            raise LocalError(f"{self.endpoint} is not the address of a service, such as {USUAL_ENDPOINT}")
        token = os.environ.get("PENSTOCK_TOKEN", "").removeprefix("Authorization: ").removeprefix("Bearer ")
        self._headers = {"user-agent": f"penstock-cli/{__version__}"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        if chosen := region or os.environ.get("PENSTOCK_REGION"):
            self._headers["penstock-region"] = chosen
        for value, name in ((token, "PENSTOCK_TOKEN"), (chosen or "", "--region or PENSTOCK_REGION")):
            if not value.isascii() or not value.isprintable():
                raise LocalError(f"{name} contains a character that no HTTP header can have")
        self._pool = urllib3.PoolManager(retries=False, timeout=seconds)

    def call(self, method: str, path: str, body: object = None, **parameters: object) -> Document:
        """Returns the response's JSON object, or {} without a body.

        `path` begins after /v1. The request omits parameters that are None, and repeats a parameter whose value is a
        list.
        """
        import msgspec

        data = self._request(method, path, body, parameters)
        answer: Document = msgspec.json.decode(data) if data else {}
        return answer

    def decoded(self, kind: type[T], method: str, path: str, body: object = None) -> T:
        """Returns the answer as a msgspec type, with the JSON of messages unchanged."""
        import msgspec

        return msgspec.json.decode(self._request(method, path, body, {}), type=kind)

    def members(self, path: str, name: str | None = None, **parameters: object) -> list[Document]:
        """Returns the documents of a list response, or of the response's list with this name."""
        import msgspec

        data = self._request("GET", path, None, parameters)
        found = msgspec.json.decode(data) if name is None else msgspec.json.decode(data)[name]
        return msgspec.convert(found, list[dict[str, object]])

    def pages(self, path: str, name: str, **parameters: object) -> Iterator[Document]:
        """Yields the documents with this name from all pages. `next` of one page requests the following page."""
        following: object = None
        while True:
            page = self.call("GET", path, next=following, **parameters)
            if isinstance(found := page[name], list):
                yield from found
            if not (following := page.get("next")):
                return

    def health(self, path: str) -> Document:
        """Returns the response of /livez or /readyz, even if the response reports a problem."""
        import msgspec

        answer = self._send("GET", f"{self.endpoint}{path}", None, self._headers)
        try:
            return msgspec.json.decode(answer.data, type=dict[str, object])
        except msgspec.DecodeError:
            raise LocalError(self._error(answer.data, answer.status)) from None

    def messages(self, path: str, **parameters: object) -> list[StoredMessage]:
        """Returns a response's messages with unchanged JSON."""
        import msgspec

        from penstock.management.messages.types import StoredMessage

        return msgspec.json.decode(self._request("GET", path, None, parameters), type=list[StoredMessage])

    def _request(self, method: str, path: str, body: object, parameters: dict[str, object]) -> bytes:
        import msgspec

        headers = dict(self._headers)
        data = None
        if body is not None:
            data, headers["content-type"] = msgspec.json.encode(body), "application/json"
        fields = [
            (name, str(element))
            for name, value in parameters.items()
            if value is not None
            for element in (value if isinstance(value, list) else [value])
        ]
        query = "?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in fields)
        answer = self._send(method, f"{self.endpoint}/v1{path}{query if fields else ''}", data, headers)
        if answer.status >= 400:
            raise RefusedError(self._error(answer.data, answer.status), _code(answer.data))
        return answer.data

    @property
    def region(self) -> str:
        """Returns the region of the queues: PENSTOCK_REGION, or else the service's region (QUEUE_REGION)."""
        return self._headers.get("penstock-region") or str(self.health("/livez").get("region", "us-east-1"))

    def _error(self, data: bytes, status: int) -> str:
        """Returns the response's error in one line for a user of the command line."""
        import msgspec

        try:
            error = msgspec.json.decode(data)["error"]
            parts = [str(error["message"]), str(error.get("detail") or ""), str(error.get("hint") or "")]
        except (msgspec.DecodeError, KeyError, TypeError):
            return f"the answer was {status}, and it is not an answer of Penstock: is the address right?"
        parts[0] = parts[0].removeprefix("body: ").replace(" - at `$", " - in `$")
        if status == 503 and error.get("code") == "service_unavailable":
            parts[0] = f"The service at {self.endpoint} cannot use its database; `penstock doctor` says why"
        if command := _COMMANDS.get(parts[2]):
            parts[2] = command.format(region=self.region) if "{region}" in command else command
        if suggestion := error.get("suggestion"):
            parts.append(f'Did you mean "{suggestion}"?')
        elif isinstance(examples := error.get("examples"), list):
            parts.append(f"Examples: {'; '.join(map(str, examples))}")
        if status in (401, 403) and "authorization" not in self._headers:
            parts.append("PENSTOCK_TOKEN is not set; `penstock keys create --bearer` creates a key.")
        return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts if part)

    def _send(self, method: str, url: str, data: bytes | None, headers: dict[str, str]) -> BaseHTTPResponse:
        import urllib3

        try:
            return self._pool.request(method, url, body=data, headers=headers)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise LocalError(
                f"no service answers at {self.endpoint} ({type(error).__name__}); start one with `penstock up`, or "
                "name its address with --endpoint or PENSTOCK_ENDPOINT"
            ) from None

    def queue_names(self) -> Iterator[str]:
        """Returns the names of all pages in their order."""
        return (str(queue["name"]) for queue in self.pages("/queues", "queues", limit=1_000))


def _code(data: bytes) -> str:
    import msgspec

    try:
        return str(msgspec.json.decode(data)["error"]["code"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""


def queue_path(name: str, rest: str = "") -> str:
    """Returns /queues/NAME with the name escaped."""
    return f"/queues/{quote(name, safe='')}{rest}"


def _only_running() -> str:
    from penstock_web.local.announced import running_services

    found = running_services()
    if len(found) > 1:
        addresses = ", ".join(service.address for service in found)
        raise LocalError(f"several services run: {addresses}; choose one with --endpoint or PENSTOCK_ENDPOINT")
    if not found:
        return USUAL_ENDPOINT
    refuse_another_database(found[0])
    return found[0].address


def refuse_another_database(service: Running) -> None:
    """Raises LocalError if DATABASE_URL differs from the database of the local service.

    Other commands, such as `penstock keys`, would use DATABASE_URL, and the user would change two installations.
    """
    from penstock_web.local.migrating import is_same_database, without_password

    given = [value for name in ADDRESSES if (value := os.environ.get(name))]
    if not given or not service.databases:
        return
    if any(is_same_database(one, other) for one in given for other in service.databases):
        return
    raise LocalError(
        f"DATABASE_URL names {without_password(given[0])}, but the service that runs here, {service.address}, has "
        f"another database, {service.databases[0]}: choose a service with --endpoint or PENSTOCK_ENDPOINT, or unset "
        "DATABASE_URL"
    )
