"""Revokes subscribers and event sources, and changes the tags of buses, subscribers and event sources."""

from penstock.access.audit.acts import Act, audited
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statements.event_buses import CHANGE_EVENT_TAGS, READ_EVENT_TAGS, REVOKE_EVENT_RESOURCE

from . import stored
from . import types as events
from .errors import AccessDeniedException, ResourceNotFoundException


@audited(lambda request, _context: Act("events:RevokeResource", request.arn))
def revoke_resource(request: events.RevokeResourceRequest, context: Context) -> Operation[events.RevokeResourceResult]:
    """Ends the deliveries of a subscriber, or the events of a source, for ever. Only the owner of the bus can do so.

    A missing resource has the error of a bus that belongs to another account, as on AWS.
    """
    (row,) = yield from Call(REVOKE_EVENT_RESOURCE, (context.account_id, request.arn))
    if row.error is not None:
        raise AccessDeniedException(f"Only the owner of the event bus can revoke the resource {request.arn}.")
    return events.RevokeResourceResult(arn=request.arn)


@audited(lambda request, _context: Act("events:TagResource", request.resource_arn, when_changed=True))
def tag_resource(request: events.TagResourceRequest, context: Context) -> Operation[None]:
    """Adds tags. The new value replaces the value of an existing tag."""
    yield from _change_tags(request.resource_arn, stored.check_tags(request.tags), [], context)


@audited(lambda request, _context: Act("events:UntagResource", request.resource_arn, when_changed=True))
def untag_resource(request: events.UntagResourceRequest, context: Context) -> Operation[None]:
    """Removes tags. Ignores missing tags."""
    yield from _change_tags(request.resource_arn, {}, request.tag_keys, context)


def _change_tags(arn: str, added: dict[str, str], removed: list[str], context: Context) -> Operation[None]:
    stored.check_region(arn, context)
    (row,) = yield from Call(CHANGE_EVENT_TAGS, (arn, encode_jsonb(added), removed, stored.MAX_TAGS))
    stored.raise_error(row.error, arn)


def list_tags_for_resource(
    request: events.ListTagsForResourceRequest, context: Context
) -> Operation[events.ListTagsForResourceResult]:
    """Returns all tags of a bus, a subscriber or an event source."""
    stored.check_region(request.resource_arn, context)
    rows = yield from Call(READ_EVENT_TAGS, (request.resource_arn,))
    if not rows:
        raise ResourceNotFoundException.of(request.resource_arn)
    return events.ListTagsForResourceResult(tags=rows[0].tags)
