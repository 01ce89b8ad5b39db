"""`penstock keys`: access keys, bearer keys and the key that signs SNS messages."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.settings import Settings

if TYPE_CHECKING:
    from .key_ring import KeyRing

app = typer.Typer(name="keys", help="keys of QUEUE_ACCESS=sigv4, and the one that signs SNS messages")


@app.command("create", help="make a key; its secret is shown this once")
def create(
    account: Annotated[
        str | None, typer.Option(metavar="ID", help="12 digits (default: QUEUE_ACCOUNT_ID)")
    ] = None,
    description: Annotated[
        str, typer.Option(metavar="TEXT", show_default=False, help="what the key is for")
    ] = "",
    bearer: Annotated[bool, typer.Option("--bearer", help="for the REST API instead of the SQS API")] = False,
) -> None:
    with _key_ring() as ring:
        print(*ring.create(account, description, bearer), sep="\n")


@app.command("list", help="show every key")
def list_() -> None:
    with _key_ring() as ring:
        for line in ring.list_keys():
            print(line)


@app.command("revoke", help="refuse a key from now on")
def revoke(key: Annotated[str, typer.Argument(metavar="ID")]) -> None:
    with _key_ring() as ring:
        print(*ring.revoke(key), sep="\n")


@app.command("rotate-signing", help="make a new key that signs SNS messages")
def rotate_signing() -> None:
    with _key_ring() as ring:
        print(*ring.rotate_signing(), sep="\n")


def _key_ring() -> AbstractContextManager[KeyRing]:
    from .key_ring import KeyRing

    return KeyRing.open(Settings.read(os.environ))
