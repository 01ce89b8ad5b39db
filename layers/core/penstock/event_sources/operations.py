"""Creates, reads, lists, updates, deletes and tags event source mappings.

Source: "CreateEventSourceMapping" and the pages of the other actions (AWS Lambda API reference). A change takes effect
immediately, so a mapping's state is always Enabled or Disabled when a client reads the mapping. As on AWS, the state in
the response to a change can be Creating, Updating or Deleting.
"""

from uuid import UUID

import msgspec
from msgspec.structs import asdict

from penstock.access.audit.acts import Act, audited
from penstock.access.authorization import authorize_one
from penstock.access.quotas import check_quota
from penstock.calls import encode_jsonb
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.mappings import (
    CREATE_MAPPING,
    DROP_MAPPING,
    LIST_MAPPINGS,
    TAG_MAPPING,
    UPDATE_MAPPING,
)

from . import checks, filters, targets
from . import types as mappings
from .batches import StoredMapping, read_mapping
from .errors import (
    InvalidParameterValueException,
    NoSuchQueue,
    ResourceConflictException,
    ResourceNotFoundException,
    TooManyMappings,
)
from .types import Options
from .visibility import check_visibility, read_function_timeout

PAGE = 100
ARN_PREFIX = "arn:aws:lambda:{}:{}:event-source-mapping:"

Shown = Operation[mappings.EventSourceMapping]


def create_event_source_mapping(request: mappings.CreateEventSourceMappingRequest, context: Context) -> Shown:
    """Creates a mapping and returns it in AWS's format."""
    created = yield from create(request, context)
    return describe_mapping(created, "Creating" if created.enabled else None)


@audited(
    lambda request, _context: Act(
        "lambda:CreateEventSourceMapping",
        request.event_source_arn or "",
        {"function": request.function_name, "enabled": request.enabled is not False},
    )
)
def create(request: mappings.CreateEventSourceMappingRequest, context: Context) -> Operation[StoredMapping]:
    """Creates a mapping. The worker starts to poll for the mapping.

    Raises InvalidParameterValueException, ResourceConflictException, and AccessDenied for a caller who cannot receive
    from the queue. TooManyMappings takes precedence over the error for an existing mapping.
    """
    checks.check_members(request)
    queue = checks.read_source(request.event_source_arn)
    target = targets.parse_target(request.function_name, context.account_id, context.region)
    targets.check_target(target, context.account_id, context.region, context.environment.settings)
    timeout = yield from read_function_timeout(target, context)
    if (queue.region, queue.account_id) != (context.region, context.account_id):
        raise InvalidParameterValueException(
            "The queue must be in the mapping's account and region.", member="EventSourceArn"
        )
    options = read_options(request)
    checks.check_options(options, fifo=queue.fifo)
    checks.check_key(options, context.environment.settings)
    checks.check_tags(request.tags or {})
    yield from check_receiver(str(queue), context)
    yield from check_quota("mappings", None, context, TooManyMappings)
    yield from check_visibility(timeout, str(queue))
    row = yield from Call(
        CREATE_MAPPING,
        (context.account_id, context.region, str(queue), target, context.caller.principal.user_name,
         encode_jsonb(msgspec.to_builtins(options)), _encode_filters(options), request.enabled is not False,
         encode_jsonb(request.tags or {})),
    )  # fmt: skip
    return _read_stored(row[0].error, row[0].mapping, str(queue), request.function_name)


def get_event_source_mapping(request: mappings.GetEventSourceMappingRequest, context: Context) -> Shown:
    """Returns a mapping. Raises ResourceNotFoundException."""
    return describe_mapping((yield from read(request.uuid, context)))


def list_event_source_mappings(
    request: mappings.ListEventSourceMappingsRequest, context: Context
) -> Operation[mappings.ListEventSourceMappingsResult]:
    """Returns a page of mappings in AWS's format."""
    found, marker = yield from read_page(request, context)
    return mappings.ListEventSourceMappingsResult(
        event_source_mappings=[describe_mapping(mapping) for mapping in found], next_marker=marker
    )


def read_page(
    request: mappings.ListEventSourceMappingsRequest, context: Context
) -> Operation[tuple[list[StoredMapping], str | None]]:
    """Lists the account's mappings in the region, 100 per page. If the request names a queue or a function, lists only
    the mappings of that queue or function.

    Returns the mappings and the next page's marker. Raises InvalidParameterValueException.
    """
    most = min(request.max_items or PAGE, PAGE)
    function = request.function_name
    target = None if function is None else targets.parse_target(function, context.account_id, context.region)
    after = None if request.marker is None else parse_uuid(request.marker)
    if request.marker is not None and after is None:
        raise InvalidParameterValueException("Marker does not come from an earlier response.")
    rows = yield from Call(
        LIST_MAPPINGS, (context.account_id, context.region, None, request.event_source_arn, target, after, most + 1)
    )
    found = [read_mapping(row.mapping) for row in rows[:most]]
    return found, str(found[-1].mapping_id) if len(rows) > most else None


def update_event_source_mapping(request: mappings.UpdateEventSourceMappingRequest, context: Context) -> Shown:
    """Updates a mapping and returns it in AWS's format."""
    before, changed = yield from update(request, context)
    if request.enabled is None or request.enabled == before.enabled:
        return describe_mapping(changed, "Updating")
    return describe_mapping(changed, "Enabling" if request.enabled else "Disabling")


@audited(
    lambda request, context: Act(
        "lambda:UpdateEventSourceMapping",
        f"{ARN_PREFIX.format(context.region, context.account_id)}{request.uuid}",
        when_changed=True,
    )
)
def update(
    request: mappings.UpdateEventSourceMappingRequest, context: Context
) -> Operation[tuple[StoredMapping, StoredMapping]]:
    """Changes the members that the request contains. After the change, the mapping uses the caller's permissions.

    Returns the mapping before and after the change. Raises ResourceNotFoundException, InvalidParameterValueException,
    ResourceConflictException and AccessDenied.
    """
    checks.check_members(request)
    mapping = yield from read(request.uuid, context)
    options = read_options(request)
    checks.check_options(merge_options(mapping.options, options), fifo=mapping.queue.is_fifo)
    checks.check_key(options, context.environment.settings)
    function = request.function_name
    target = (
        mapping.function_arn if function is None else targets.parse_target(function, context.account_id, context.region)
    )
    yield from check_receiver(mapping.queue_arn, context)
    # A caller without the permissions can still stop the mapping.
    if function is not None or request.enabled is not False:
        targets.check_target(target, context.account_id, context.region, context.environment.settings)
        yield from check_visibility((yield from read_function_timeout(target, context)), mapping.queue_arn)
    row = yield from Call(
        UPDATE_MAPPING,
        (context.account_id, context.region, mapping.mapping_id, None if function is None else target,
         context.caller.principal.user_name,
         encode_jsonb(msgspec.to_builtins(options)), _encode_filters(options), request.enabled),
    )  # fmt: skip
    return mapping, _read_stored(row[0].error, row[0].mapping, mapping.queue_arn, function or target)


def delete_event_source_mapping(request: mappings.DeleteEventSourceMappingRequest, context: Context) -> Shown:
    """Deletes a mapping and returns it in AWS's format."""
    return describe_mapping((yield from drop(request, context)), "Deleting")


@audited(
    lambda request, context: Act(
        "lambda:DeleteEventSourceMapping", f"{ARN_PREFIX.format(context.region, context.account_id)}{request.uuid}"
    )
)
def drop(request: mappings.DeleteEventSourceMappingRequest, context: Context) -> Operation[StoredMapping]:
    """Deletes a mapping. Current invocations can finish, and the remaining messages become visible again.

    Raises ResourceNotFoundException.
    """
    mapping_id = parse_uuid(request.uuid)
    rows = yield from Call(DROP_MAPPING, (context.account_id, context.region, mapping_id))
    if not rows:
        raise ResourceNotFoundException
    return read_mapping(rows[0].mapping)


# --- tags ------------------------------------------------------------------------------------------------------------
def list_tags(request: mappings.ListTagsRequest, context: Context) -> Operation[mappings.ListTagsResult]:
    """Returns the tags of a mapping."""
    mapping_id = parse_uuid(read_tagged_id(request.resource, context))
    found = None if mapping_id is None else (yield from find(mapping_id, context))
    if found is None:
        raise build_tagged_error(request.resource)
    return mappings.ListTagsResult(tags=found.tags)


def tag_resource(request: mappings.TagResourceRequest, context: Context) -> Operation[None]:
    """Adds or changes tags of a mapping."""
    checks.check_tags(request.tags)
    yield from change_tags(request.resource, request.tags, [], context)


def untag_resource(request: mappings.UntagResourceRequest, context: Context) -> Operation[None]:
    """Removes tags from a mapping. Ignores missing tags."""
    yield from change_tags(request.resource, {}, request.tag_keys, context)


@audited(
    lambda resource, tags, _, _context: Act(
        "lambda:TagResource" if tags else "lambda:UntagResource", resource, when_changed=True
    )
)
def change_tags(resource: str, tags: dict[str, str], removed: list[str], context: Context) -> Operation[None]:
    """Changes tags. Raises ResourceNotFoundException, and InvalidParameterValueException for more than 50 tags."""
    mapping_id = parse_uuid(read_tagged_id(resource, context))
    key = (context.account_id, context.region, mapping_id)
    (row,) = yield from Call(TAG_MAPPING, (*key, encode_jsonb(tags), removed))
    if row.error is not None:
        raise (checks.build_tag_limit_error() if row.error == "TagLimitExceeded" else build_tagged_error(resource))


def read_tagged_id(resource: str, context: Context) -> str:
    """Returns the mapping's id from its ARN. Raises ResourceNotFoundException for other ARNs, because only mappings
    have tags in Penstock."""
    prefix = ARN_PREFIX.format(context.region, context.account_id)
    if not resource.startswith(prefix):
        raise build_tagged_error(resource)
    return resource.removeprefix(prefix)


def build_tagged_error(resource: str) -> ResourceNotFoundException:
    """Returns the error, with AWS's text, for an ARN that does not identify a mapping."""
    return ResourceNotFoundException(f"Event source mapping not found: {resource}")


# --- parts -----------------------------------------------------------------------------------------------------------
def check_receiver(queue_arn: str, context: Context) -> Operation[None]:
    """Raises AccessDenied unless the caller can receive and delete the queue's messages."""
    if context.user is not None:
        for action in ("ReceiveMessage", "DeleteMessage"):
            yield from authorize_one("sqs", action, queue_arn, context)


def read(uuid: str, context: Context) -> Operation[StoredMapping]:
    """Returns the mapping with this id. Raises ResourceNotFoundException."""
    mapping_id = parse_uuid(uuid)
    found = None if mapping_id is None else (yield from find(mapping_id, context))
    if found is None:
        raise ResourceNotFoundException
    return found


def find(mapping_id: UUID, context: Context) -> Operation[StoredMapping | None]:
    """Returns the account's mapping with this id in the region, or None."""
    rows = yield from Call(LIST_MAPPINGS, (context.account_id, context.region, mapping_id, None, None, None, 1))
    return read_mapping(rows[0].mapping) if rows else None


def parse_uuid(text: str) -> UUID | None:
    """Returns the id, or None. Accepts only the canonical form (lower case, with hyphens), because policies compare
    ARNs as text."""
    try:
        mapping_id = UUID(text)
    except ValueError:
        return None
    return mapping_id if str(mapping_id) == text else None


def read_options(request: mappings.ChangeRequest) -> Options:
    return Options(**{name: getattr(request, name) for name in Options.__struct_fields__})


def merge_options(old: Options, new: Options) -> Options:
    """Returns the old options, updated with the new options."""
    given = {name: value for name, value in asdict(new).items() if value is not None}
    return Options(**{**asdict(old), **given})


def build_arn(mapping: StoredMapping) -> str:
    return f"{ARN_PREFIX.format(mapping.region, mapping.account_id)}{mapping.mapping_id}"


def describe_mapping(mapping: StoredMapping, state: str | None = None) -> mappings.EventSourceMapping:
    """Returns a mapping in the API's format. `state` replaces the stored state.

    AWS shows no LastProcessingResult for a queue's mapping, but the REST API shows this member.
    """
    options = asdict(mapping.options)
    if mapping.options.provisioned_poller_config == mappings.ProvisionedPollerConfig():
        options["provisioned_poller_config"] = None  # an empty config ends the provisioned mode
    options["kms_key_arn"] = options["kms_key_arn"] or None
    options["batch_size"] = mapping.batch_size
    options["maximum_batching_window_in_seconds"] = mapping.window_seconds
    options["function_response_types"] = options["function_response_types"] or []
    return mappings.EventSourceMapping(
        uuid=str(mapping.mapping_id),
        event_source_arn=mapping.queue_arn,
        function_arn=mapping.function_arn,
        last_modified=mapping.updated_at,
        state=state or ("Enabled" if mapping.enabled else "Disabled"),
        state_transition_reason=mapping.reason,
        event_source_mapping_arn=build_arn(mapping),
        **options,
    )


def _encode_filters(options: Options) -> str | None:
    compiled = filters.compile_filters(options.filter_criteria)
    return None if compiled is None else msgspec.json.encode(compiled).decode()


def _read_stored(error: str | None, mapping: JsonObject | None, queue_arn: str, function: str) -> StoredMapping:
    if error == "QueueDoesNotExist":
        raise NoSuchQueue(
            "Error occurred while ReceiveMessage. SQS Error Code: AWS.SimpleQueueService.NonExistentQueue. SQS Error "
            "Message: The specified queue does not exist.",
            member="EventSourceArn",
        )
    if error == "MappingExists" and mapping is not None:
        raise ResourceConflictException(
            f'An event source mapping with SQS arn (" {queue_arn} ") and function (" {function} ") already exists. '
            f"Please update or delete the existing mapping with UUID {mapping['mapping_id']}",
            member="FunctionName",
        )
    if mapping is None:
        raise ResourceNotFoundException
    return read_mapping(mapping)
