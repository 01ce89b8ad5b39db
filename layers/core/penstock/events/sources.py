"""Creates, describes, updates, deletes and lists the event sources of buses, and rotates the credentials of webhooks.

A webhook receives the requests of other systems. At AWS, also services and partners send events to a source. None of
them can send events to Penstock, so Penstock refuses a source that would stay empty.
"""

from secrets import token_urlsafe

import msgspec

from penstock.access.audit.acts import Act, audited
from penstock.access.quotas import check_quota
from penstock.aws.bus_arn import SOURCE, build_events_arn, build_id
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.event_buses import (
    CREATE_EVENT_SOURCE,
    DELETE_EVENT_SOURCE,
    LIST_EVENT_SOURCES,
    READ_EVENT_SOURCE,
    READ_WEBHOOK_SECRET,
    ROTATE_WEBHOOK_SECRET,
    UPDATE_EVENT_SOURCE,
)

from . import stored
from . import types as events
from .errors import InvalidInputException, LimitExceededException, ResourceNotFoundException
from .shapes import (
    EventSourceConfiguration,
    EventSourceDetails,
    WebhookBasicHttpAuthConfiguration,
    WebhookDetails,
    WebhookEventsSourceConfiguration,
)
from .stored import StoredResource, convert_time
from .subscribers import find_listed_account
from .webhook_settings import (
    CheckedWebhook,
    build_credential,
    check_same_kind,
    check_webhook,
    choose_rotated,
    decrypt,
    encrypt,
    find_auth,
    hash_request,
)
from .webhooks import PATH, read_configuration

REASONS = {
    "aws_service_events_configuration": "AWS's services do not emit events to Penstock.",
    "partner_events_configuration": "AWS's partners do not emit events to Penstock.",
}
WEBHOOK = f"{SOURCE}/webhook"
KEY_BYTES = 32
"""The random bytes in the URL of a webhook."""


def create_event_source(
    request: events.CreateEventSourceRequest, context: Context
) -> Operation[events.CreateEventSourceResult]:
    """Creates a webhook. The same request with the same ClientToken within 8 hours returns the webhook that it created.

    Raises InvalidInputException for a source of AWS's services or partners. With QUEUE_ACCESS=sigv4, the caller needs
    the right to publish raw events on the bus, which replaces the right to pass the role.
    """
    checked = check_webhook(_read_webhook(request.configuration), context)
    arn = build_events_arn(context.region, context.account_id, WEBHOOK, request.name, build_id())
    yield from _authorize_publication(request.event_bus_arn, context)
    row = yield from _create(arn, request, checked, context)
    return events.CreateEventSourceResult(
        **_describe(row), event_source_details=_show_details(row, context), creation_time=convert_time(row.created_at)
    )


@audited(
    lambda arn, request, _checked, _context: Act("events:CreateEventSource", arn, {"event_bus": request.event_bus_arn})
)
def _create(
    arn: str, request: events.CreateEventSourceRequest, checked: CheckedWebhook, context: Context
) -> Operation[StoredResource]:
    credential = checked.credential or build_credential(find_auth(checked.configuration.auth_configuration))
    configuration = {
        "Configuration": EventSourceConfiguration(webhook_events_configuration=checked.configuration),
        "Description": request.description or None,
    }
    fields = {
        "configuration": {name: value for name, value in configuration.items() if value is not None},
        "tags": stored.check_tags(request.tags),
    }
    yield from check_quota("event_sources", request.name, context, LimitExceededException)
    key = (request.event_bus_arn, context.account_id, context.region, request.name, arn)
    secret = (token_urlsafe(KEY_BYTES), encrypt(credential, arn, context))
    token = (request.client_token, hash_request(request, context))
    (row,) = yield from Call(CREATE_EVENT_SOURCE, (*key, encode_jsonb(fields), *secret, *token))
    named = request.event_bus_arn if row.error == "ResourceNotFound" else f"{WEBHOOK}/{request.name}"
    stored.raise_error(row.error, named)
    return stored.read_resource_row(row.source or {})


def update_event_source(
    request: events.UpdateEventSourceRequest, context: Context
) -> Operation[events.UpdateEventSourceResult]:
    """Changes the given members of a webhook. A given configuration replaces the whole configuration, as on AWS, but
    the kind of authentication and the credential stay."""
    row = yield from _read(request.event_source_arn, context)
    if row.revoked:
        stored.raise_error("InvalidState", row.arn)
    changes: JsonObject = {}
    if request.description is not None:
        changes["Description"] = request.description or None
    if request.configuration is not None:
        checked = check_webhook(_read_webhook(request.configuration), context)
        check_same_kind(read_configuration(row.configuration), checked)
        changes["Configuration"] = EventSourceConfiguration(webhook_events_configuration=checked.configuration)
        yield from _authorize_publication(row.bus_arn, context)
    row = yield from _update(request.event_source_arn, changes, context)
    return events.UpdateEventSourceResult(**_describe(row), last_modified_time=convert_time(row.updated_at))


@audited(lambda arn, _changes, _context: Act("events:UpdateEventSource", arn, when_changed=True))
def _update(arn: str, changes: JsonObject, _context: Context) -> Operation[StoredResource]:
    (updated,) = yield from Call(UPDATE_EVENT_SOURCE, (arn, encode_jsonb(changes)))
    stored.raise_error(updated.error, arn)
    return stored.read_resource_row(updated.source or {})


@audited(lambda request, _context: Act("events:RotateWebhookCredentials", request.event_source_arn))
def rotate_webhook_credentials(
    request: events.RotateWebhookCredentialsRequest, context: Context
) -> Operation[events.RotateWebhookCredentialsResult]:
    """Replaces the credential of a webhook by the given or a random one. The replaced credential stays valid for 15
    minutes. The user name of Basic authentication stays.

    The same request with the same ClientToken within 8 hours changes nothing. Unlike AWS, Penstock has no limit of
    rotations a day.
    """
    row = yield from _read(request.event_source_arn, context)
    found = yield from Call(READ_WEBHOOK_SECRET, (row.account_id, context.region, row.name))
    if not found:
        raise ResourceNotFoundException.of(row.arn)
    auth = find_auth(read_configuration(row.configuration).auth_configuration)
    is_basic = isinstance(auth, WebhookBasicHttpAuthConfiguration)
    user_name = decrypt(found[0].secret, row.arn, context).partition(":")[0] if is_basic else None
    secret = encrypt(choose_rotated(auth, request.credential, user_name), row.arn, context)
    token = (request.client_token, hash_request(request, context))
    (rotated,) = yield from Call(ROTATE_WEBHOOK_SECRET, (row.arn, secret, *token))
    stored.raise_error(rotated.error, row.arn)
    return events.RotateWebhookCredentialsResult(_build_secret_arn(row))


def _read_webhook(configuration: EventSourceConfiguration) -> WebhookEventsSourceConfiguration:
    """Returns the configuration of a webhook. Raises InvalidInputException for another kind of event source."""
    given = [name for name in configuration.__struct_fields__ if getattr(configuration, name) is not None]
    if len(given) != 1:
        raise InvalidInputException("Configuration must contain exactly one kind of event source.")
    if configuration.webhook_events_configuration is None:
        raise InvalidInputException(f"Configuration: {REASONS[given[0]]}")
    return configuration.webhook_events_configuration


def _authorize_publication(bus_arn: str, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller may publish raw events on the bus."""
    if context.user is not None:
        from penstock.access.authorization import authorize_one  # noqa: PLC0415 - only QUEUE_ACCESS=sigv4 needs it

        yield from authorize_one("events", "PutRawEvents", bus_arn, context)


def describe_event_source(
    request: events.DescribeEventSourceRequest, context: Context
) -> Operation[events.DescribeEventSourceResult]:
    """Returns an event source without its credential."""
    row = yield from _read(request.event_source_arn, context)
    return events.DescribeEventSourceResult(
        **_describe(row),
        configuration=msgspec.convert(row.configuration.get("Configuration"), EventSourceConfiguration | None),
        description=row.configuration.get("Description"),
        revoked=row.revoked or None,
        event_source_details=_show_details(row, context),
        creation_time=convert_time(row.created_at),
        last_modified_time=convert_time(row.updated_at),
    )


@audited(lambda request, _context: Act("events:DeleteEventSource", request.event_source_arn))
def delete_event_source(request: events.DeleteEventSourceRequest, context: Context) -> Operation[None]:
    """Deletes an event source, also a revoked one."""
    stored.check_region(request.event_source_arn, context)
    (row,) = yield from Call(DELETE_EVENT_SOURCE, (request.event_source_arn,))
    if not row.deleted:
        raise ResourceNotFoundException.of(request.event_source_arn)


def list_event_sources(
    request: events.ListEventSourcesRequest, context: Context
) -> Operation[events.ListEventSourcesResult]:
    """Returns the caller's event sources. The owner of a bus sees the sources of all accounts on the bus."""
    limit = request.max_results or stored.PAGE
    after = stored.read_page_token(request)
    owner = yield from find_listed_account(request.event_bus_arn, context)
    key = (owner, context.region, request.event_bus_arn, request.name_prefix, after)
    rows = yield from Call(LIST_EVENT_SOURCES, (*key, limit + 1))
    found = [stored.read_resource_row(row.source) for row in rows[:limit]]
    return events.ListEventSourcesResult(
        event_sources=list(map(_summarise, found)),
        next_token=stored.build_page_token(request, found[-1].arn) if len(rows) > limit else None,
    )


def _read(arn: str, context: Context) -> Operation[StoredResource]:
    """Returns the event source. Raises ResourceNotFoundException."""
    stored.check_region(arn, context)
    rows = yield from Call(READ_EVENT_SOURCE, (arn,))
    if not rows:
        raise ResourceNotFoundException.of(arn)
    return stored.read_resource_row(rows[0].source)


def _describe(row: StoredResource) -> JsonObject:
    return {"event_source_arn": row.arn, "name": row.name, "event_bus_arn": row.bus_arn, "state": row.state}


def build_url(url_key: str, context: Context) -> str:
    """Returns the URL of a webhook."""
    return f"{context.link_base_url}{PATH}{url_key}"


def _show_details(row: StoredResource, context: Context) -> EventSourceDetails | None:
    if row.url_key is None:
        return None
    return EventSourceDetails(WebhookDetails(build_url(row.url_key, context), _build_secret_arn(row)))


def _build_secret_arn(row: StoredResource) -> str:
    """Returns an ARN in the form of AWS. Penstock has no Secrets Manager, and shows credentials by other ways
    (docs/reference/webhook_sources.md)."""
    _, _, _, region, account_id, resource = row.arn.split(":")
    return f"arn:aws:secretsmanager:{region}:{account_id}:secret:events-webhook!{resource.rpartition('/')[2]}"


def _summarise(row: StoredResource) -> events.EventSourceSummary:
    return events.EventSourceSummary(
        event_source_arn=row.arn,
        name=row.name,
        event_bus_arn=row.bus_arn,
        type=row.type,
        state=row.state,
        revoked=row.revoked or None,
        creation_time=convert_time(row.created_at),
        last_modified_time=convert_time(row.updated_at),
        event_source_account_id=row.account_id,
    )
