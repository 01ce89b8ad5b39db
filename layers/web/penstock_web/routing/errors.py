"""Maps the core package's typed errors to codes and statuses, for the REST API and the console. A class that is missing
in ERROR_TABLE uses the row of its nearest ancestor. The row of AwsError has the code `bad_request`.
"""

from penstock import errors
from penstock.errors import AwsError
from penstock.event_sources.errors import (
    NoSuchQueue,
    ResourceConflictException,
    ResourceNotFoundException,
    TooManyMappings,
)
from penstock.events.errors import (
    InvalidStateException,
    LimitExceededException,
    ResourceAlreadyExistsException,
    ResourceInUseException,
    WebhookNotFound,
    WebhookRefused,
)
from penstock.management.errors import (
    AccessIsOff,
    AlertsNotSet,
    ApiDestinationConflict,
    ApiDestinationNotFound,
    BusNotFound,
    ConnectionConflict,
    ConnectionNotFound,
    DeliveryNotFound,
    DuplicateMessage,
    EndpointNotFound,
    EventSourceNotFound,
    KeyNotFound,
    MessageInFlight,
    MessageNotFound,
    ScheduleConflict,
    ScheduleNotFound,
    ScheduleUnusable,
    StaleReceipt,
    SubscriberNotFound,
    SubscriptionNotFound,
    UserNotFound,
)
from penstock.management.move_tasks import MoveTaskConflict, MoveTaskNotFound
from penstock.sns.errors import NotFound, Throttled


class UnsupportedMediaType(AwsError):  # noqa: N818 - called as the response is
    """The Content-Type header does not declare JSON. Pages of other sites can send only requests with other content
    types."""

    json_type = query_code = "UnsupportedMediaType"
    status = 415
    default_message = "The body must be JSON, and the Content-Type header must be application/json."


ERROR_TABLE: dict[type[AwsError], tuple[int, str, str | None]] = {
    errors.QueueDoesNotExist: (404, "queue_not_found", "Create it with POST /v1/queues."),
    MessageNotFound: (404, "message_not_found", "The message was deleted, or has expired."),
    MessageInFlight: (409, "message_in_flight", "Try again after its visibility timeout."),
    DuplicateMessage: (409, "duplicate_message", None),
    SubscriptionNotFound: (404, "subscription_not_found", None),
    StaleReceipt: (409, "stale_receipt", "The transaction had no effect."),
    NotFound: (404, "topic_not_found", "Create it with POST /v1/topics."),
    Throttled: (429, "too_many_requests", None),
    BusNotFound: (404, "bus_not_found", "GET /v1/buses lists them."),
    SubscriberNotFound: (404, "subscriber_not_found", "GET /v1/buses/{bus}/subscribers lists them."),
    InvalidStateException: (409, "subscriber_revoked", "Only its deletion is possible."),
    EventSourceNotFound: (404, "event_source_not_found", "CreateEventSource of AWS's API creates it."),
    WebhookNotFound: (404, "webhook_not_found", "DescribeEventSource returns the WebhookUrl."),
    WebhookRefused: (401, "unauthorized", None),
    ResourceAlreadyExistsException: (409, "name_exists", None),
    ResourceInUseException: (
        409,
        "bus_in_use",
        "DELETE /v1/buses/{bus}/subscribers/{subscriber} deletes a subscriber.",
    ),
    LimitExceededException: (429, "too_many_requests", None),
    ConnectionNotFound: (404, "connection_not_found", "GET /v1/connections lists them."),
    ConnectionConflict: (409, "connection_conflict", None),
    ApiDestinationNotFound: (404, "api_destination_not_found", "GET /v1/api-destinations lists them."),
    ApiDestinationConflict: (409, "api_destination_conflict", None),
    DeliveryNotFound: (404, "delivery_not_found", "The delivery may have succeeded."),
    AlertsNotSet: (404, "alerts_not_set", "Set an address with PUT /v1/alerts, or QUEUE_ALERT_URL."),
    UserNotFound: (404, "user_not_found", None),
    KeyNotFound: (404, "key_not_found", None),
    AccessIsOff: (409, "access_is_off", "penstock users and penstock keys change users and keys in the database."),
    EndpointNotFound: (404, "endpoint_not_found", "GET /v1/deliveries/endpoints lists them."),
    MoveTaskNotFound: (404, "move_not_found", "A queue keeps its last ten moves."),
    MoveTaskConflict: (409, "move_conflict", None),
    UnsupportedMediaType: (415, "unsupported_media_type", "Send content-type: application/json."),
    ScheduleNotFound: (404, "schedule_not_found", None),
    ScheduleConflict: (409, "schedule_conflict", None),
    NoSuchQueue: (404, "queue_not_found", "Create it with POST /v1/queues."),
    ResourceNotFoundException: (404, "mapping_not_found", "GET /v1/mappings lists them."),
    ResourceConflictException: (409, "mapping_conflict", "Change the existing mapping with PATCH /v1/mappings/{id}."),
    ScheduleUnusable: (400, "schedule_invalid", None),
    errors.QueueNameExists: (409, "queue_exists", None),
    errors.QueueDeletedRecently: (409, "queue_exists", "QUEUE_RECREATE_INTERVAL_SECONDS sets the interval."),
    errors.ReceiptHandleIsInvalid: (400, "invalid_receipt_handle", "A receipt is valid only for its queue."),
    errors.RequestEntityTooLarge: (413, "payload_too_large", None),
    errors.ResponseTooLarge: (400, "response_too_large", None),
    errors.PurgeQueueInProgress: (429, "too_many_requests", "QUEUE_PURGE_INTERVAL_SECONDS sets the interval."),
    errors.OverLimit: (429, "too_many_requests", None),
    TooManyMappings: (429, "too_many_requests", None),
    errors.RequestThrottled: (429, "too_many_requests", None),
    errors.RequestTimeout: (408, "request_timeout", None),
    errors.MisdirectedRequest: (421, "misdirected_request", None),
    errors.ServiceUnavailable: (503, "service_unavailable", None),
    errors.InternalFailure: (500, "internal_error", None),
    errors.MissingAuthenticationToken: (401, "unauthorized", "Send Authorization: Bearer <key>."),
    errors.InvalidClientTokenId: (401, "unauthorized", "The key is unknown or revoked."),
    errors.AccessDenied: (403, "unauthorized", None),
    AwsError: (400, "bad_request", None),
}
"""Maps each class to a status, a code and a hint."""


def status_and_code(kind: type[AwsError]) -> tuple[int, str]:
    """Returns the status and code of a typed error."""
    status, code, _ = find_row(kind)
    return status, code


def find_row(kind: type[AwsError]) -> tuple[int, str, str | None]:
    """Returns the status, code and hint of a typed error."""
    return next(ERROR_TABLE[base] for base in kind.__mro__ if base in ERROR_TABLE)
