"""The OpenAPI document of the REST API, made without a database. What it must contain: OpenAPI Specification 3.1."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.environment import Environment
from penstock.errors import AwsError
from penstock_web.rest.api import ROUTES
from penstock_web.rest.application import RestApplication
from penstock_web.routing.errors import ERROR_TABLE
from penstock_web.routing.openapi import EVERY_ROUTE

Operation = dict[str, Any]


def document(access: object = None) -> dict[str, Any]:
    """The document of a service; `access`: None as with QUEUE_ACCESS=off."""
    environment = cast("Environment", SimpleNamespace(access=access))
    return RestApplication(environment, cast("Any", None)).openapi()


def operations(path: dict[str, Any]) -> Iterator[tuple[str, Operation]]:
    for template, methods in path.items():
        for method, operation in methods.items():
            yield f"{method.upper()} {template}", operation


@pytest.fixture(scope="module")
def routes() -> dict[str, Operation]:
    """The operations below /v1 of QUEUE_ACCESS=off; the certificate's has no errors of the REST API."""
    return {name: one for name, one in operations(document()["paths"]) if "certificates" not in one["tags"]}


def test_every_error_of_the_rest_api_is_in_the_document() -> None:
    documented = set(EVERY_ROUTE).union(*(route.raises for routes in ROUTES for route in routes))
    assert ERROR_TABLE.keys() - documented == set()


def test_no_response_is_left_to_a_default(routes: dict[str, Operation]) -> None:
    """`default` would document every status there is; 422 is FastAPI's, which the service answers with 400."""
    assert {name for name, one in routes.items() if {"default", "422"} & one["responses"].keys()} == set()


@pytest.mark.parametrize("status", [400, 401, 403, 408, 413, 415, 421, 429, 500, 503])
def test_what_every_request_may_meet(routes: dict[str, Operation], status: int) -> None:
    """docs/access.md: 401, 403, 415 and 421; 429 for unknown keys."""
    assert {name for name, one in routes.items() if str(status) not in one["responses"]} == set()


@pytest.mark.parametrize(
    ("operation", "status", "code"),
    [
        ("POST /v1/queues", "409", "queue_exists"),
        ("GET /v1/queues/{name}", "404", "queue_not_found"),
        ("DELETE /v1/queues/{name}/messages/{id}", "404", "message_not_found"),
        ("POST /v1/transactions", "409", "stale_receipt"),
        ("PATCH /v1/schedules/{name}", "404", "schedule_not_found"),
    ],
)
def test_a_status_names_its_codes(
    routes: dict[str, Operation], operation: str, status: str, code: str
) -> None:
    assert f"`{code}`" in routes[operation]["responses"][status]["description"]


def test_a_body_of_success_has_a_schema(routes: dict[str, Operation]) -> None:
    """Also where msgspec writes it, which FastAPI does not see."""
    bodies = {
        f"{name} {status}": form.get("schema")
        for name, one in routes.items()
        for status, response in one["responses"].items()
        if status in ("200", "201", "202")
        for form in response.get("content", {"none": {}}).values()
    }
    assert {name for name, schema in bodies.items() if not schema} == set()


def test_every_parameter_of_a_path_is_described() -> None:
    """OpenAPI 3.1, Path Item: each template expression corresponds to a path parameter."""
    missing = {
        name
        for name, one in operations(document()["paths"])
        for parameter in name.split("{")[1:]
        if parameter.partition("}")[0] not in {known["name"] for known in one.get("parameters", ())}
    }
    assert missing == set()


def test_a_key_is_wanted_where_access_is_controlled(routes: dict[str, Operation]) -> None:
    assert {name for name, one in routes.items() if "security" in one} == set()
    controlled = dict(operations(document(access=object())["paths"]))
    assert {name for name in routes if controlled[name].get("security") != [{"HTTPBearer": []}]} == set()


def test_bodies_say_what_excludes_what(routes: dict[str, Operation]) -> None:
    """docs/schedules.md: exactly one of cron, every, when and fire_at; members of references are not lost."""
    new = routes["POST /v1/schedules"]["requestBody"]["content"]["application/json"]["schema"]
    assert [choice["required"] for choice in new["oneOf"]] == [
        [form, "name"] for form in ("cron", "every", "when", "fire_at")
    ]
    assert "properties" in new
    assert "message" in new["properties"]["target"]["required"]


def test_a_binding_has_what_it_binds(routes: dict[str, Operation]) -> None:
    """docs/topics.md, "Events": a queue has no endpoint, and a URL no queue; null members are left out."""
    binding = routes["POST /v1/events/{pattern}/subscriptions"]["responses"]["201"]["content"]
    required = binding["application/json"]["schema"]["required"]
    assert {"queue_name", "endpoint", "filter_policy"} & set(required) == set()


def test_an_error_of_an_unknown_kind_is_a_bad_request() -> None:
    assert ERROR_TABLE[AwsError][:2] == (400, "bad_request")
