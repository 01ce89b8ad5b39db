"""Implements `penstock keys`: manages access keys, bearer keys and the key that signs SNS messages. The commands use
the database. If --endpoint is given, the commands manage the caller's account over the REST API.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.settings import Settings
from penstock_web.cli.options import Account, Json, Remote
from penstock_web.cli.printing import print_lines

if TYPE_CHECKING:
    from penstock_web.cli.key_ring import KeyRing

EXPIRES_HELP = "expiry: a date such as 2027-01-31, optionally with a time (UTC), days from now (90d), or never"

app = typer.Typer(name="keys", help="manage keys for QUEUE_ACCESS=sigv4, and the key that signs SNS messages")


@app.command("create", help="create a key; only this command shows the secret")
def create(  # noqa: PLR0913, PLR0917 - options of the command
    account: Account = None,
    description: Annotated[str, typer.Option(metavar="TEXT", show_default=False, help="purpose of the key")] = "",
    bearer: Annotated[
        bool, typer.Option("--bearer", help="create a bearer key for the REST API instead of the SQS API")
    ] = False,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="user of the key (default: the account itself)")
    ] = None,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help=EXPIRES_HELP)] = None,
    new_encryption_key: Annotated[
        bool,
        typer.Option("--new-encryption-key", help="allow a QUEUE_ENCRYPTION_KEY that the service does not have yet"),
    ] = False,
    endpoint: Remote = None,
    json: Json = False,
) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        refuse_account(account)
        made = remote_access.create_key(
            endpoint, bearer=bearer, user=user, description=description, expires_at=_moment(expires)
        )
    else:
        with _key_ring() as ring:
            made = ring.create(
                account, description, bearer, user, _moment(expires), new_encryption_key=new_encryption_key
            )
    if json:
        from penstock_web.cli.printing import print_json

        print_json(made.document())
    else:
        print_lines(made.lines())


@app.command("show", help="show a key without the secret")
def show(key: Annotated[str, typer.Argument(metavar="ID")], endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        remote_access.show_key(endpoint, key)
        return
    with _key_ring() as ring:
        print_lines(ring.show(key))


@app.command("limit", help="set or remove the time when a key expires")
def limit(
    key: Annotated[str, typer.Argument(metavar="ID")],
    expires: Annotated[str, typer.Option(metavar="TIME", help=EXPIRES_HELP)],
    endpoint: Remote = None,
) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        remote_access.limit_key(endpoint, key, _moment(expires))
        return
    with _key_ring() as ring:
        print_lines(ring.limit(key, _moment(expires)))


@app.command("list", help="show every key")
def list_(endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        remote_access.list_keys(endpoint)
        return
    with _key_ring() as ring:
        print_lines(ring.list_keys())


@app.command("revoke", help="revoke a key")
def revoke(key: Annotated[str, typer.Argument(metavar="ID")], endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        remote_access.revoke_key(endpoint, key)
        return
    with _key_ring() as ring:
        print_lines(ring.revoke(key))


@app.command("rotate-signing", help="create a new key that signs SNS messages")
def rotate_signing() -> None:
    with _key_ring() as ring:
        print_lines(ring.rotate_signing())


def refuse_account(account: str | None) -> None:
    """Raises LocalError if --account is given, because the REST API always uses the caller's account."""
    from penstock_web.local_error import LocalError

    if account is not None:
        raise LocalError("--account and --endpoint exclude each other. The account is the account of PENSTOCK_TOKEN")


def _moment(text: str | None) -> datetime | None:
    """Parses an expiry: returns a future time, or None for "never". Raises LocalError for any other text."""
    from penstock_web.local_error import LocalError

    if text in (None, "never"):
        return None
    try:
        days = text.removesuffix("d")
        if days != text:
            return datetime.now(UTC) + timedelta(days=int(days))
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise LocalError(f"{text!r} is not a time such as 2027-01-31, 2027-01-31T12:00, 90d or never") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment <= datetime.now(UTC):
        raise LocalError(f"{text} is in the past")
    return moment


def _key_ring() -> AbstractContextManager[KeyRing]:
    from penstock_web.cli.key_ring import KeyRing

    return KeyRing.open(Settings.read(os.environ))
