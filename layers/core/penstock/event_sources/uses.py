"""Lists the resources that requests about event source mappings use, for authorization."""

from typing import Protocol

from penstock.access.resources import ANY, Use, Uses, build_mapping_arn
from penstock.context import Context


class _WithUuid(Protocol):
    uuid: str


class _WithResource(Protocol):
    resource: str


def use_mapping(request: _WithUuid, context: Context) -> Uses:
    """Returns the event source mapping. The operations check the mapping's queue."""
    return (_use_mapping(request.uuid, context),)


def use_mappings(_: object, context: Context) -> Uses:
    """Returns all event source mappings of the account. The operations check the queue of a new mapping."""
    return (_use_mapping(ANY, context),)


def use_tagged_mapping(request: _WithResource, _: Context) -> Uses:
    return (Use(request.resource, is_owned=False),)


def _use_mapping(mapping_id: str, context: Context) -> Use:
    return Use(build_mapping_arn(mapping_id, context), is_owned=False)
