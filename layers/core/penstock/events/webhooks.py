"""Receives requests of other systems at the URL of a webhook event source, and publishes them on the source's bus.

AWS documents neither the event nor the response. Our choices: a request is an event of PutRawEvents with the bytes of
the body, without a group. It is JSON if the Content-Type says so, and otherwise binary. The response has the status 202
after the event is stored.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from time import time
from typing import Final

import msgspec

from penstock.access.failures import rate_limit_key
from penstock.access.quotas import check_rate
from penstock.context import Context
from penstock.effects import Call, Operation, compute
from penstock.errors import AccessDenied, AwsError, InternalFailure, RequestEntityTooLarge
from penstock.postgres.statement import JsonObject
from penstock.postgres.statements.event_buses import FIND_WEBHOOK, WebhookRow

from .errors import InvalidInputException, WebhookNotFound
from .publishing import BINARY, JSON, MAX_BYTES, publish_all
from .shapes import PutRawEventsRequestEntry, PutRawEventsSystemMetadata, WebhookEventsSourceConfiguration
from .webhook_settings import decrypt, find_auth
from .webhook_signatures import Headers, verify

PATH: Final = "/v1/webhook-events/"
"""The path of each webhook's URL. The webhook's key follows."""
_is_json_type = re.compile(r"application/(?:[^;]*\+)?json\s*(?:;.*)?", re.IGNORECASE).fullmatch
_has_control = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search


def hide_key(path: str) -> str:
    """Returns a path without the key of a webhook, for logs and traces. AWS's model marks WebhookUrl as sensitive."""
    return f"{PATH}{{key}}" if path.startswith(PATH) else path


class ReceivedEvent(msgspec.Struct):
    """The event of a request. `duplicate` means that an equal event was published within five minutes, whose id and
    sequence number this is."""

    event_id: str
    sequence_number: str
    duplicate: bool


def build_headers(pairs: Sequence[tuple[bytes, bytes]]) -> Headers:
    """Returns the values of each header."""
    headers: dict[str, list[bytes]] = {}
    for name, value in pairs:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value)
    return headers


def receive(key: str, headers: Headers, body: bytes, context: Context) -> Operation[ReceivedEvent]:
    """Verifies a request and publishes it for the account of the event source. `body` has at most 1 MiB.

    Raises WebhookNotFound, WebhookRefused, AccessDenied for a revoked source, InvalidInputException for a body that is
    not JSON although the request says so, RequestEntityTooLarge and RequestThrottled. The rate of requests counts
    verified requests for the account, and other requests for the client's address.

    The operation makes two calls, because Python verifies signatures between them.
    """
    rate = context.environment.request_rate
    if rate is not None:
        rate.check_before(rate_limit_key(context.client_address))
    try:
        webhook, configuration = yield from _find_verified(key, headers, body, context)
    except AwsError:
        check_rate(context, len(body))
        raise
    if rate is not None:
        rate.check(webhook.account_id, len(body))
    if webhook.revoked:
        raise AccessDenied("The event source is revoked.")
    context.account_id, context.region = webhook.account_id, webhook.arn.split(":")[3]
    is_json = _is_json_type(b",".join(headers.get("content-type", ())).decode("latin-1").strip())
    system = PutRawEventsSystemMetadata(JSON if is_json else BINARY)
    metadata = _read_metadata(configuration, headers)
    entry = PutRawEventsRequestEntry(body, system, metadata)
    by_content = configuration.deduplication_configuration is not None
    (event,) = yield from publish_all(webhook.bus_arn, [entry], context, by_content=by_content)
    return ReceivedEvent(*event)


def _find_verified(
    key: str, headers: Headers, body: bytes, context: Context
) -> Operation[tuple[WebhookRow, WebhookEventsSourceConfiguration]]:
    rows = yield from Call(FIND_WEBHOOK, (key,)) if "\0" not in key else ()
    if not rows:
        raise WebhookNotFound
    (webhook,) = rows
    if len(body) > MAX_BYTES:
        raise RequestEntityTooLarge(f"The body can have at most {MAX_BYTES} bytes.")
    configuration = read_configuration(webhook.configuration)
    auth = find_auth(configuration.auth_configuration)
    credentials = _decrypt_credentials(webhook, context)
    now = time()
    yield from compute(lambda: verify(auth, credentials, headers, body, now), len(body))
    return webhook, configuration


def _decrypt_credentials(webhook: WebhookRow, context: Context) -> list[str]:
    """Returns the valid credentials. A credential from before a change of QUEUE_ENCRYPTION_KEY has ended."""
    credentials = [decrypt(webhook.secret, webhook.arn, context)]
    if webhook.previous_secret is not None:
        with suppress(InternalFailure):
            credentials.append(decrypt(webhook.previous_secret, webhook.arn, context))
    return credentials


def read_configuration(stored: JsonObject) -> WebhookEventsSourceConfiguration:
    """Returns the stored configuration of a webhook."""
    given = stored["Configuration"]["WebhookEventsConfiguration"]
    return msgspec.convert(given, WebhookEventsSourceConfiguration)


def _read_metadata(configuration: WebhookEventsSourceConfiguration, headers: Headers) -> dict[str, str] | None:
    """Returns the headers that become metadata. Omits missing and empty headers. A repeated header has its values
    separated by commas (RFC 9110, 5.3)."""
    names = [name.lower() for name in configuration.metadata_http_headers or ()]
    values = {name: b", ".join(headers.get(name, ())).decode("latin-1").strip() for name in names}
    if any(map(_has_control, values.values())):
        raise InvalidInputException("A header contains a control character.")
    return {name: value for name, value in values.items() if value} or None
