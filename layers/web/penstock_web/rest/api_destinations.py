"""Serves /v1/api-destinations: HTTP endpoints that can be targets of subscribers of event buses."""

from typing import Annotated, Final

from fastapi import Path, Query, Response

from penstock import errors
from penstock.documents.decoding import build_reader
from penstock.management import api_destinations
from penstock.management.api_destinations import (
    ApiDestinationPage,
    ApiDestinationPatch,
    NewApiDestination,
    ShownApiDestination,
)
from penstock.management.errors import ApiDestinationConflict, ApiDestinationNotFound, ConnectionNotFound
from penstock.management.rights import right_of
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response

routes = Routes("api_destinations", prefix="/api-destinations")

UNKNOWN: Final = (ApiDestinationNotFound,)
ApiDestination = Annotated[str, Path(json_schema_extra={"minLength": 1, "maxLength": 64})]
_read_new = build_reader(NewApiDestination)
_read_patch = build_reader(ApiDestinationPatch)


@routes.post(
    "",
    right=right_of(api_destinations.create_api_destination),
    status=201,
    body=NewApiDestination,
    response=ShownApiDestination,
    raises=(ConnectionNotFound, ApiDestinationConflict, errors.OverLimit),
)
async def create_api_destination(runner: Runner) -> Response:
    """Create an API destination. Its `arn` can be the TargetArn of a subscriber."""
    new = await runner.read(_read_new)
    made = await runner.run(api_destinations.create_api_destination(new, runner.context))
    return json_response(made, 201, f"/v1/api-destinations/{made.name}")


@routes.get("", right=right_of(api_destinations.list_api_destinations), response=ApiDestinationPage)
async def list_api_destinations(
    runner: Runner,
    limit: Annotated[int, Query(ge=1, le=100)] = 100,
    next: str | None = None,  # noqa: A002
) -> ApiDestinationPage:
    """List API destinations by name. `next` is the value of `next` from the previous page."""
    return await runner.run(api_destinations.list_api_destinations(limit, next, runner.context))


@routes.get(
    "/{api_destination}",
    right=right_of(api_destinations.describe_api_destination),
    response=ShownApiDestination,
    raises=UNKNOWN,
)
async def describe_api_destination(api_destination: ApiDestination, runner: Runner) -> ShownApiDestination:
    """Describe an API destination."""
    return await runner.run(api_destinations.describe_api_destination(api_destination, runner.context))


@routes.patch(
    "/{api_destination}",
    right=right_of(api_destinations.change_api_destination),
    body=ApiDestinationPatch,
    response=ShownApiDestination,
    statuses=CHANGED,
    raises=(ApiDestinationNotFound, ConnectionNotFound),
)
async def change_api_destination(api_destination: ApiDestination, runner: Runner) -> ShownApiDestination | None:
    """Change the given members. The next request of a subscriber uses them."""
    patch = await runner.read(_read_patch)
    return await runner.run(api_destinations.change_api_destination(api_destination, patch, runner.context))


@routes.delete(
    "/{api_destination}", right=right_of(api_destinations.delete_api_destination), status=204, raises=UNKNOWN
)
async def delete_api_destination(api_destination: ApiDestination, runner: Runner) -> None:
    """Delete an API destination. Events of its subscribers then fail, and go to their failure queues."""
    await runner.run(api_destinations.delete_api_destination(api_destination, runner.context))
