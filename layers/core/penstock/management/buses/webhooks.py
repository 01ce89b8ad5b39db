"""Shows the credentials of webhook event sources. At AWS, Secrets Manager shows them."""

import msgspec

from penstock.access.authorization import check_user
from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.events.shapes import WebhookBasicHttpAuthConfiguration
from penstock.events.sources import build_url
from penstock.events.stored import read_resource_row
from penstock.events.webhook_settings import decrypt, find_auth
from penstock.events.webhooks import read_configuration
from penstock.management.errors import EventSourceNotFound
from penstock.management.rights import needs
from penstock.postgres.statements.event_buses import READ_WEBHOOK_SECRET


class WebhookSecret(msgspec.Struct, omit_defaults=True):
    """The URL and the current credential of a webhook. `secret` is the token, the password, or the key of signatures in
    its encoding. Only Basic authentication has a `user_name`."""

    name: str
    arn: str
    url: str
    secret: str
    user_name: str | None = None


@needs("operation", "penstock:ReadWebhookSecret")
def read_webhook_secret(name: str, context: Context) -> Operation[WebhookSecret]:
    """Returns the credential of the account's webhook. Raises EventSourceNotFound."""
    if "\0" in name:  # PostgreSQL cannot compare NUL
        raise EventSourceNotFound.named(name)
    rows = yield from Call(READ_WEBHOOK_SECRET, (context.account_id, context.region, name))
    if not rows:
        raise EventSourceNotFound.named(name)
    source = read_resource_row(rows[0].source)
    if context.user is not None:
        check_user("penstock", "ReadWebhookSecret", source.arn, context)
    credential = decrypt(rows[0].secret, source.arn, context)
    shown = WebhookSecret(source.name, source.arn, build_url(source.url_key or "", context), credential)
    auth = find_auth(read_configuration(source.configuration).auth_configuration)
    if isinstance(auth, WebhookBasicHttpAuthConfiguration):
        shown.user_name, _, shown.secret = credential.partition(":")
    return shown
