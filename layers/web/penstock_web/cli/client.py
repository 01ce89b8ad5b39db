"""Finds a running service and calls the service's REST API."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import quote, unquote

from penstock import __version__
from penstock.settings import ADDRESSES
from penstock_web.local_error import LocalError, explain_tls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urllib3 import BaseHTTPResponse

    from penstock.management.messages.types import StoredMessage
    from penstock_web.local.announced import Running

_COMMANDS: Final = {
    "queue_not_found": "`penstock queues` lists the queues of the region {region}. `penstock --region "
    "NAME` selects another region.",
    "topic_not_found": "`penstock topics list` lists the topics of the region {region}. `penstock "
    "--region NAME` selects another region.",
    "mapping_not_found": "`penstock mappings list` lists the mappings.",
    "bus_not_found": "`penstock buses list` lists the event buses of the region {region}.",
    "event_source_not_found": "`aws eventbridgev2 list-event-sources` lists the event sources.",
    "subscriber_not_found": "`penstock subscribers list BUS` lists the subscribers.",
    "endpoint_not_found": "`penstock webhooks list` lists the endpoints.",
}
"""Maps an error code to a hint that names a command. The REST API's own hints name a route instead."""

_LISTS: Final = {"queue_not_found": "queues", "topic_not_found": "topics", "bus_not_found": "buses"}
"""Maps an error code to the member of the list in which a similar name can be, which is also the path of the list."""
_MAX_NAMES: Final = {"queues": "?limit=1000"}

T = TypeVar("T")
Document = dict[str, object]
"""A response's JSON object, without messages."""
USUAL_ENDPOINT: Final = "http://127.0.0.1:9324"
_SECONDS: Final = 30
"""The longest wait for a response. A receive request alone can wait 20 s for messages."""


class RefusedError(LocalError):
    """Signals an error response. `code` is the REST API's error code, or "" if the response has no code."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class RestClient:
    """Calls a service. Each method raises LocalError if the service returns an error or does not respond."""

    def __init__(self, endpoint: str | None = None, *, region: str | None = None, seconds: float = _SECONDS) -> None:
        """`endpoint` defaults to PENSTOCK_ENDPOINT, then to the service of `penstock up` on this machine, then to
        USUAL_ENDPOINT. If QUEUE_ACCESS is `sigv4`, PENSTOCK_TOKEN must be a bearer key (`penstock keys create
        --bearer`). `region` defaults to PENSTOCK_REGION, then to the service's region. `seconds` is the longest wait
        for a response.
        """
        import urllib3

        self.endpoint = (endpoint or os.environ.get("PENSTOCK_ENDPOINT") or _find_only_service()).rstrip("/")
        if not self.endpoint.startswith(("http://", "https://")):
            raise LocalError(f"{self.endpoint} is not an address such as {USUAL_ENDPOINT}")
        token = os.environ.get("PENSTOCK_TOKEN", "").removeprefix("Authorization: ").removeprefix("Bearer ")
        self._headers = {"user-agent": f"penstock-cli/{__version__}"}
        if token:
            self._headers["authorization"] = f"Bearer {token}"
        if chosen := region or os.environ.get("PENSTOCK_REGION"):
            self._headers["penstock-region"] = chosen
        for value, name in ((token, "PENSTOCK_TOKEN"), (chosen or "", "--region or PENSTOCK_REGION")):
            if not value.isascii() or not value.isprintable():
                raise LocalError(f"{name} contains a character that an HTTP header cannot contain")
        self._pool = urllib3.PoolManager(retries=False, timeout=seconds)

    def call(self, method: str, path: str, body: object = None, **parameters: object) -> Document:
        """Returns the response's JSON object, or {} if the body is empty. `path` is the part of the path after /v1. The
        request omits parameters that are None. If a parameter is a list, the request repeats the parameter for each
        element.
        """
        import msgspec

        data = self._request(method, path, body, parameters).data
        response: Document = msgspec.json.decode(data) if data else {}
        return response

    def call_as(self, kind: type[T], method: str, path: str, body: object = None) -> T:
        """Decodes the response as a msgspec type. Fields of the type `Raw`, such as message bodies, keep their original
        JSON.
        """
        import msgspec

        return msgspec.json.decode(self._request(method, path, body, {}).data, type=kind)

    def call_list(
        self, path: str, name: str | None = None, method: str = "GET", body: object = None, **parameters: object
    ) -> list[Document]:
        """Returns the documents of a list response, or of the response's member `name`."""
        import msgspec

        data = self._request(method, path, body, parameters).data
        found = msgspec.json.decode(data) if name is None else msgspec.json.decode(data)[name]
        return msgspec.convert(found, list[dict[str, object]])

    def read_pages(self, path: str, name: str, **parameters: object) -> Iterator[Document]:
        """Requests all pages, and yields the documents in each page's member `name`."""
        following: object = None
        while True:
            page = self.call("GET", path, next=following, **parameters)
            if isinstance(found := page[name], list):
                yield from found
            if not (following := page.get("next")):
                return

    def read_health(self, path: str) -> Document:
        """Returns the response of /livez or /readyz, even if the response reports a problem."""
        import msgspec

        response = self._send("GET", f"{self.endpoint}{path}", None, self._headers)
        try:
            return msgspec.json.decode(response.data, type=dict[str, object])
        except msgspec.DecodeError:
            raise LocalError(self._describe_error(response.data, response.status)) from None

    def serves(self, path: str) -> bool:
        """Returns whether the service has something at a path, for anybody."""
        return self._send("GET", f"{self.endpoint}{path}", None, self._headers).status != 404

    def read_messages(self, path: str, **parameters: object) -> list[StoredMessage]:
        """Returns a response's messages. The bodies keep their original JSON."""
        import msgspec

        from penstock.management.messages.types import StoredMessage

        return msgspec.json.decode(self._request("GET", path, None, parameters).data, type=list[StoredMessage])

    def read_account(self) -> str:
        """Returns the caller's account: the account of the bearer key, or QUEUE_ACCOUNT_ID if QUEUE_ACCESS is `off`."""
        response = self._request("GET", "/queues", None, {"limit": 1})
        if not (account := response.headers.get("penstock-account")):
            raise LocalError(f"the response of {self.endpoint} does not name the account of the REST API")
        return account

    def _request(self, method: str, path: str, body: object, parameters: dict[str, object]) -> BaseHTTPResponse:
        """Raises RefusedError for an error response."""
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
        response = self._send(method, f"{self.endpoint}/v1{path}{query if fields else ''}", data, headers)
        if response.status >= 400:
            error, code = self._describe_error(response.data, response.status), _code(response.data)
            raise RefusedError(error + self._suggest(code, path, error), code)
        return response

    def read_region(self) -> str:
        """Returns the region: PENSTOCK_REGION, or else the service's region (QUEUE_REGION)."""
        return self._headers.get("penstock-region") or str(self.read_health("/livez").get("region", "us-east-1"))

    def _describe_error(self, data: bytes, status: int) -> str:
        """Returns the response's error as one line for the user."""
        import msgspec

        try:
            error = msgspec.json.decode(data)["error"]
            parts = [str(error["message"]), str(error.get("detail") or ""), str(error.get("hint") or "")]
        except (msgspec.DecodeError, KeyError, TypeError):
            return f"the response, with status {status}, is not from Penstock. Check the address."
        parts[0] = parts[0].removeprefix("body: ").replace(" - at `$", " - in `$")
        if status == 503 and error.get("code") == "service_unavailable":
            parts[0] = f"The service at {self.endpoint} cannot use its database. `penstock doctor` explains the reason"
        if command := _COMMANDS.get(str(error.get("code"))):
            parts[2] = command.format(region=self.read_region()) if "{region}" in command else command
        if suggestion := error.get("suggestion"):
            parts.append(f'Did you mean "{suggestion}"?')
        elif isinstance(examples := error.get("examples"), list):
            parts.append(f"Examples: {'; '.join(map(str, examples))}")
        if status in (401, 403) and "authorization" not in self._headers:
            parts.append("PENSTOCK_TOKEN is not set. `penstock keys create --bearer` creates a key.")
        return " ".join(part if part.endswith((".", "?")) else f"{part}." for part in parts if part)

    def _suggest(self, code: str, path: str, error: str) -> str:
        """Returns the most similar name of a resource that does not exist, as a question, or an empty text."""
        import re
        from difflib import get_close_matches

        import msgspec

        if (kind := _LISTS.get(code)) is None:
            return ""
        quoted = re.match("[A-Za-z ]*'([^']+)'", error)
        name = quoted[1] if quoted else unquote(path.removeprefix(f"/{kind}/").partition("/")[0])
        url = f"{self.endpoint}/v1/{kind}{_MAX_NAMES.get(kind, '')}"
        response = self._send("GET", url, None, self._headers)
        if response.status != 200:
            return ""
        names = [str(row["name"]) for row in msgspec.json.decode(response.data)[kind]]
        similar = get_close_matches(name, names, 1)
        return f' Did you mean "{similar[0]}"?' if similar else ""

    def _send(self, method: str, url: str, data: bytes | None, headers: dict[str, str]) -> BaseHTTPResponse:
        import urllib3

        try:
            return self._pool.request(method, url, body=data, headers=headers)
        except urllib3.exceptions.SSLError as error:
            raise LocalError(explain_tls(self.endpoint, error)) from None
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise LocalError(
                f"no service responds at {self.endpoint} ({type(error).__name__}). Start a service with `penstock up`, "
                "or set the address with --endpoint or PENSTOCK_ENDPOINT"
            ) from None

    def list_queue_names(self) -> Iterator[str]:
        """Yields the names of all queues."""
        return (str(queue["name"]) for queue in self.read_pages("/queues", "queues", limit=1_000))


def _code(data: bytes) -> str:
    import msgspec

    try:
        return str(msgspec.json.decode(data)["error"]["code"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""


def build_queue_path(name: str, rest: str = "") -> str:
    """Returns /queues/NAME with an escaped name."""
    return f"/queues/{quote(name, safe='')}{rest}"


def _find_only_service() -> str:
    from penstock_web.local.announced import list_running_services

    found = list_running_services()
    if len(found) > 1:
        addresses = ", ".join(service.address for service in found)
        raise LocalError(f"several services run: {addresses}. Choose a service with --endpoint or PENSTOCK_ENDPOINT")
    if not found:
        return USUAL_ENDPOINT
    refuse_another_database(found[0])
    return found[0].address


def refuse_another_database(service: Running) -> None:
    """Raises LocalError if DATABASE_URL differs from the local service's database. Without this check, commands over
    REST and commands that use DATABASE_URL, such as `penstock keys`, would change different installations.
    """
    from penstock_web.local.migrating import is_same_database, without_password

    addresses = [value for name in ADDRESSES if (value := os.environ.get(name))]
    if not addresses or not service.databases:
        return
    if any(is_same_database(one, other) for one in addresses for other in service.databases):
        return
    raise LocalError(
        f"DATABASE_URL is {without_password(addresses[0])}, but the service that runs here, {service.address}, uses "
        f"another database, {service.databases[0]}. Choose a service with --endpoint or PENSTOCK_ENDPOINT, or unset "
        "DATABASE_URL"
    )
