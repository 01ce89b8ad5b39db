"""/v1/mappings: event source mappings, which let queues trigger functions."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from penstock.audit import Act
from penstock_web.rest.documents import decode_document
from penstock_web.rest.openapi import json_answers, request_body_schema
from penstock_web.rest.rest_route import RestRoute, Runner, json_response

from . import operations
from .documents import MappingList, MappingPatch, NewMapping, ShownMapping, mapping_patch, new_mapping

router = APIRouter(prefix="/mappings", tags=["mappings"], route_class=RestRoute)

MappingId = Annotated[str, Path(json_schema_extra={"format": "uuid"})]


@router.post(
    "", status_code=201, openapi_extra=request_body_schema(NewMapping), response_class=Response,
    responses=json_answers(ShownMapping, statuses=(201,)),
)  # fmt: skip
async def create_mapping(runner: Runner) -> Response:
    """Let a queue trigger a function, or a URL. A second mapping of both is 409 `mapping_conflict`."""
    new = await runner.read(lambda body: decode_document(new_mapping, body))
    made = await runner.run(operations.create(new, runner.context))
    response = json_response(made, 201)
    response.headers["location"] = f"/v1/mappings/{made.id}"
    return response


@router.get("", response_class=Response, responses=json_answers(MappingList))
async def list_mappings(
    runner: Runner,
    queue: str | None = None,
    function: Annotated[str | None, Query(min_length=1, max_length=256)] = None,
    next: str | None = None,  # noqa: A002
) -> Response:
    """Mappings by id, 100 a page; `next` of one page asks for the following one."""
    found = operations.list_mappings(queue, function, next, runner.context)
    return json_response(await runner.run(found))


@router.get("/{id}", response_class=Response, responses=json_answers(ShownMapping))
async def describe_mapping(id: MappingId, runner: Runner) -> Response:  # noqa: A002
    """A mapping, its state, and what became of its last batch."""
    return json_response(await runner.run(operations.describe(id, runner.context)))


@router.patch(
    "/{id}", openapi_extra=request_body_schema(MappingPatch), response_class=Response,
    responses=json_answers(ShownMapping),
)  # fmt: skip
async def change_mapping(id: MappingId, runner: Runner) -> Response:  # noqa: A002
    """Change the given members. `{"enabled": false}` stops it, `{"enabled": true}` starts it again."""
    patch = await runner.read(lambda body: decode_document(mapping_patch, body))
    return json_response(await runner.run(operations.change(id, patch, runner.context)))


@router.delete("/{id}", status_code=204)
async def delete_mapping(id: MappingId, runner: Runner) -> None:  # noqa: A002
    """Delete a mapping. Invocations under way end; messages that they leave become visible again."""
    act = Act("lambda:DeleteEventSourceMapping", id)
    await runner.act(act, operations.delete(id, runner.context), lambda _: 1)
