"""Serves /v1/mappings. A queue invokes a function or a URL through an event source mapping."""

from typing import Annotated, Final

from fastapi import Path, Query, Response

from penstock import errors
from penstock.documents.decoding import build_reader
from penstock.event_sources.errors import (
    NoSuchQueue,
    ResourceConflictException,
    ResourceNotFoundException,
    TooManyMappings,
)
from penstock.management import mappings
from penstock.management.mappings import MappingList, MappingPatch, NewMapping, ShownMapping
from penstock.management.rights import right_of
from penstock_web.routing.routes import CHANGED, Routes, Runner, json_response

routes = Routes("mappings", prefix="/mappings")

_read_patch = build_reader(MappingPatch)
UNKNOWN: Final = (errors.QueueDoesNotExist,)
MappingId = Annotated[str, Path(json_schema_extra={"format": "uuid"})]


@routes.post(
    "",
    right=right_of(mappings.create_mapping),
    status=201,
    body=NewMapping,
    response=ShownMapping,
    raises=(NoSuchQueue, ResourceConflictException, TooManyMappings),
)
async def create_mapping(runner: Runner) -> Response:
    """Let a queue invoke a function or a URL. A second mapping between the same queue and target fails with 409
    `mapping_conflict`.
    """
    new = await runner.read(mappings.read_mapping)
    made = await runner.run(mappings.create_mapping(new, runner.context))
    return json_response(made, 201, f"/v1/mappings/{made.id}")


@routes.get("", right=right_of(mappings.list_mappings), response=MappingList, raises=UNKNOWN)
async def list_mappings(
    runner: Runner,
    queue: str | None = None,
    function: Annotated[str | None, Query(min_length=1, max_length=256)] = None,
    next: str | None = None,  # noqa: A002
) -> MappingList:
    """List mappings by id, 100 on each page. `next` is the value of `next` from the previous page."""
    found = mappings.list_mappings(queue, function, next, runner.context)
    return await runner.run(found)


@routes.get(
    "/{id}", right=right_of(mappings.describe_mapping), response=ShownMapping, raises=(ResourceNotFoundException,)
)
async def describe_mapping(id: MappingId, runner: Runner) -> ShownMapping:  # noqa: A002
    """Describe a mapping, its state, and the result of the last batch."""
    return await runner.run(mappings.describe_mapping(id, runner.context))


@routes.patch(
    "/{id}",
    right=right_of(mappings.change_mapping),
    body=MappingPatch,
    response=ShownMapping,
    statuses=CHANGED,
    raises=(ResourceNotFoundException, ResourceConflictException),
)
async def change_mapping(id: MappingId, runner: Runner) -> ShownMapping | None:  # noqa: A002
    """Change the given members. `{"enabled": false}` stops the mapping, and `{"enabled": true}` restarts the
    mapping."""
    patch = await runner.read(_read_patch)
    return await runner.run(mappings.change_mapping(id, patch, runner.context))


@routes.delete("/{id}", right=right_of(mappings.delete_mapping), status=204, raises=(ResourceNotFoundException,))
async def delete_mapping(id: MappingId, runner: Runner) -> None:  # noqa: A002
    """Delete a mapping. Running invocations finish. Messages that the running invocations do not delete become visible
    again."""
    await runner.run(mappings.delete_mapping(id, runner.context))
