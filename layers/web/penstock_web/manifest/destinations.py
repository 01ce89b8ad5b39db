"""Reads connections and API destinations, and plans their changes over the REST API.

The file has no secrets: `${env:NAME}` stands for the value of an environment variable. The service does not show
secrets, so the plan does not see a changed secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec

from penstock.events.connections import AuthParameters, hide_secrets
from penstock_web.local_error import LocalError

from .changes import Change, Phase, differences
from .model import Document, ManifestApiDestination, ManifestConnection
from .state import Current, Rest, read_pages

_VARIABLE: Final = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
SHORT: Final = "api-destination/"
"""The beginning of a subscriber's target that names an API destination of the file or the service."""


class CurrentConnection(msgspec.Struct):
    """A connection in the REST API's response."""

    name: str
    authorization_type: str
    auth_parameters: Document
    description: str


class CurrentApiDestination(msgspec.Struct):
    """An API destination in the REST API's response."""

    name: str
    arn: str
    connection: str
    invocation_endpoint: str
    http_method: str
    invocation_rate_limit_per_second: int
    description: str


def read_destinations(found: Current, rest: Rest) -> None:
    """Adds the connections and API destinations of the account to `found`."""
    connections = msgspec.convert(list(read_pages(rest, "/connections", "connections")), list[CurrentConnection])
    for row in connections:
        values = {name: value for name, value in msgspec.to_builtins(row).items() if name != "name"}
        found.manifest.connections[row.name] = msgspec.convert(values, ManifestConnection)
    pages = list(read_pages(rest, "/api-destinations", "api_destinations"))
    for each in msgspec.convert(pages, list[CurrentApiDestination]):
        found.destination_arns[each.name] = each.arn
        values = {name: value for name, value in msgspec.to_builtins(each).items() if name not in {"name", "arn"}}
        found.manifest.api_destinations[each.name] = msgspec.convert(values, ManifestApiDestination)


def shorten_target(target: str, found: Current) -> str:
    """Returns `api-destination/NAME` for the ARN of an API destination of the service, and another target unchanged."""
    return next((f"{SHORT}{name}" for name, arn in found.destination_arns.items() if arn == target), target)


def complete_target(target: str, found: Current) -> str:
    """Returns the ARN of a target. Raises LocalError for an API destination that does not exist."""
    if not target.startswith(SHORT):
        return target
    name = target.removeprefix(SHORT)
    if name not in found.destination_arns:
        raise LocalError(f"neither the file nor the service has the API destination {name!r}")
    return found.destination_arns[name]


def name_secrets(connections: Mapping[str, ManifestConnection]) -> None:
    """Puts variables of the environment in the places of the secrets, which the service does not show."""
    for name, row in connections.items():
        prefix = re.sub(r"[^A-Z0-9]", "_", name.upper())
        row.auth_parameters = _name_secrets(row.auth_parameters, prefix)
        row.description = row.description or msgspec.UNSET


_OWNERS: Final = {"BasicAuthParameters": "Password", "ApiKeyAuthParameters": "ApiKeyValue",
                  "ClientParameters": "ClientSecret"}  # fmt: skip


def _name_secrets(part: Document, prefix: str) -> Document:
    named: Document = {}
    for key, value in part.items():
        if isinstance(value, dict):
            named[key] = _name_secrets(value, prefix)
            if secret := _OWNERS.get(key):
                named[key] = {**_name_secrets(value, prefix), secret: f"${{env:{prefix}_{secret.upper()}}}"}
        elif isinstance(value, list):
            named[key] = [_name_secrets(each, prefix) if isinstance(each, dict) else each for each in value]
        else:
            named[key] = value
    if part.get("IsValueSecret"):
        place = re.sub(r"[^A-Z0-9]", "_", str(part["Key"]).upper())
        named["Value"] = f"${{env:{prefix}_{place}}}"
    return named


@dataclass(slots=True)
class DestinationPlanner:
    """Computes the changes of connections and API destinations."""

    connections: Mapping[str, ManifestConnection]
    destinations: Mapping[str, ManifestApiDestination]
    found: Current
    rest: Rest
    prune: bool

    def plan_changes(self) -> Iterator[Change]:
        """Yields the changes, with deletions if `prune` is set."""
        existing = self.found.manifest
        for name, row in self.connections.items():
            yield from self._plan_connection(name, row, existing.connections.get(name))
        for name, each in self.destinations.items():
            yield from self._plan_destination(name, each, existing.api_destinations.get(name))
        if self.prune:
            for name in sorted(existing.api_destinations.keys() - self.destinations.keys()):
                yield self._plan_deletion("api_destination", "/api-destinations", name, Phase.API_DESTINATIONS_GO)
            for name in sorted(existing.connections.keys() - self.connections.keys()):
                yield self._plan_deletion("connection", "/connections", name, Phase.CONNECTIONS_GO)

    def _plan_connection(
        self, name: str, wanted: ManifestConnection, existing: ManifestConnection | None
    ) -> Iterator[Change]:
        changed = differences(_connection_values(wanted), {} if existing is None else _list_given(existing))
        if not changed:
            return
        body = {**_list_given(wanted), "auth_parameters": _fill_in(wanted.auth_parameters)}
        path = f"/connections/{quote(name, safe='')}"
        if existing is None:
            run = partial(self.rest.call, "POST", "/connections", {**body, "name": name})
        else:
            run = partial(self.rest.call, "PATCH", path, body)
        yield Change("~" if existing else "+", f"connection {name}", [(Phase.CONNECTIONS, run)], changed)

    def _plan_destination(
        self, name: str, wanted: ManifestApiDestination, existing: ManifestApiDestination | None
    ) -> Iterator[Change]:
        changed = differences(_list_given(wanted), {} if existing is None else _list_given(existing))
        what = f"api_destination {name}"
        body = {key: value for key, (_, value) in changed.items()}
        if existing is None:
            yield Change("+", what, [(Phase.API_DESTINATIONS, partial(self._create_destination, name, body))], changed)
        elif changed:
            path = f"/api-destinations/{quote(name, safe='')}"
            step = (Phase.API_DESTINATIONS, partial(self.rest.call, "PATCH", path, body))
            yield Change("~", what, [step], changed)

    def _create_destination(self, name: str, body: Document) -> None:
        made = self.rest.call("POST", "/api-destinations", {**body, "name": name})
        self.found.destination_arns[name] = str(made["arn"])

    def _plan_deletion(self, kind: str, path: str, name: str, phase: Phase) -> Change:
        return Change(
            "-", f"{kind} {name}", [(phase, partial(self.rest.call, "DELETE", f"{path}/{quote(name, safe='')}"))]
        )


def _list_given(row: ManifestConnection | ManifestApiDestination) -> Document:
    return {name: value for name, value in msgspec.structs.asdict(row).items() if value is not msgspec.UNSET}


def _connection_values(row: ManifestConnection) -> Document:
    """Returns the values of a connection without secrets, as the service shows them."""
    parameters = msgspec.convert(_fill_in(row.auth_parameters, is_strict=False), AuthParameters)
    return {**_list_given(row), "auth_parameters": hide_secrets(parameters)}


def check_connection(row: ManifestConnection) -> None:
    """Raises LocalError for parameters of another authorization type, and for parameters that AWS does not have."""
    try:
        parameters = msgspec.convert(_fill_in(row.auth_parameters, is_strict=False), AuthParameters)
    except msgspec.ValidationError as error:
        raise LocalError(f"auth_parameters: {error}") from None
    if parameters.authorization_types != [row.authorization_type]:
        raise LocalError(f"auth_parameters: only the parameters of {row.authorization_type}")


def _fill_in(part: Document, *, is_strict: bool = True) -> Document:
    filled = _fill_in_value(part, is_strict)
    return filled if isinstance(filled, dict) else {}


def _fill_in_value(value: object, is_strict: bool) -> object:
    """Replaces variables with their values. A missing variable stays, or raises LocalError if `is_strict` is set."""

    def read(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if found is None and is_strict:
            raise LocalError(f"the environment variable {match[1]} is not set")
        return match[0].replace(":", "_") if found is None else found

    if isinstance(value, str):
        return _VARIABLE.sub(read, value)
    if isinstance(value, dict):
        return {name: _fill_in_value(each, is_strict) for name, each in value.items()}
    return [_fill_in_value(each, is_strict) for each in value] if isinstance(value, list) else value
