"""Implements `penstock users`: manages users and their policies with QUEUE_ACCESS=sigv4. The commands use the database.
If --endpoint is given, the commands manage the caller's account over the REST API.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.settings import Settings
from penstock_web.cli.options import Account, Remote
from penstock_web.cli.printing import print_lines

from .keys import refuse_account

if TYPE_CHECKING:
    from penstock_web.cli.key_ring import KeyRing

app = typer.Typer(name="users", help="manage users and their policies for QUEUE_ACCESS=sigv4")

Name = Annotated[str, typer.Argument(metavar="NAME")]
Policies = Annotated[
    list[str],
    typer.Option("--policy", metavar="POLICY", help="read, operate, admin, or a file with an IAM policy; repeatable"),
]


@app.command("create", help="create a user; `penstock keys create --user` creates keys")
def create(name: Name, policy: Policies, account: Account = None, endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        refuse_account(account)
        remote_access.set_user(endpoint, name, _texts(policy), new=True)
        return
    with _key_ring() as ring:
        print_lines(ring.set_user(name, _texts(policy), account, new=True))


@app.command("list", help="show every user")
def list_(endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        remote_access.list_users(endpoint)
        return
    with _key_ring() as ring:
        print_lines(ring.list_users())


@app.command("show", help="show a user's policies and keys")
def show(name: Name, account: Account = None, endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        refuse_account(account)
        remote_access.show_user(endpoint, name)
        return
    with _key_ring() as ring:
        print_lines(ring.show_user(name, account))


@app.command("limit", help="replace a user's policies")
def limit(name: Name, policy: Policies, account: Account = None, endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        refuse_account(account)
        remote_access.set_user(endpoint, name, _texts(policy), new=False)
        return
    with _key_ring() as ring:
        print_lines(ring.set_user(name, _texts(policy), account, new=False))


@app.command("end", help="revoke a user's keys and delete the user")
def end(name: Name, account: Account = None, endpoint: Remote = None) -> None:
    if endpoint is not None:
        from penstock_web.cli import remote_access

        refuse_account(account)
        remote_access.end_user(endpoint, name)
        return
    with _key_ring() as ring:
        print_lines(ring.end_user(name, account))


def _texts(policies: list[str]) -> list[str]:
    """Returns the policies: the name of a built-in policy stays unchanged, and a file's text replaces the file's
    name.
    """
    from penstock.access.users import BUILT_IN
    from penstock_web.local_error import LocalError

    texts = []
    for policy in policies:
        try:
            texts.append(policy if policy in BUILT_IN else Path(policy).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            names = ", ".join(BUILT_IN)
            raise LocalError(f"--policy {policy} is not {names} or a readable file") from None
    return texts


def _key_ring() -> AbstractContextManager[KeyRing]:
    from penstock_web.cli.key_ring import KeyRing

    return KeyRing.open(Settings.read(os.environ))
