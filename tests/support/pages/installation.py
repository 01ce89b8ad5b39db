"""Prepares the environment for a page's code blocks: an empty home, a new database, and a service unless the page
starts one.
"""

import os
import signal
import subprocess
import sys
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_bytes
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg import sql

from penstock.postgres.migrations import migrate
from penstock.postgres.roles import ROLES
from penstock_web.local.binaries import find_binaries
from penstock_web.local.pgbouncer import find_pgbouncer
from penstock_web.local.postgres import DATABASE, ROLE, Postgres, free_port
from penstock_web.local.system_account import SystemAccount
from tests.support.database import TestServer, new_cluster
from tests.support.pages.script import ROOT, Block, printed, starts_a_service, write_script
from tests.support.programs.penstock_up import running

# The timeout of a block, even on an overloaded machine.
SECONDS = 300
# The pages in OWN_CLUSTER have a new PostgreSQL, with its superuser's address in ADMIN_URL. FIRST begins without a
# database, and the other page begins after the steps of FIRST.
FIRST = "docs/guides/your_database.md"
OWN_CLUSTER = (FIRST, "docs/guides/share_database.md")
# TRIAL uses the data folder of `penstock up`.
TRIAL = "docs/guides/transactions.md"


@dataclass(frozen=True)
class PageInstallation:
    """Contains the environment variables for the page's commands, and the ports that replace the page's ports."""

    variables: dict[str, str]
    ports: defaultdict[str, int]


@contextmanager
def installation(found: list[Block], server: TestServer) -> Iterator[PageInstallation]:
    """Prepares one page. Removes everything that the page created afterwards, including roles."""
    ports: defaultdict[str, int] = defaultdict(free_port)
    service = {"PENSTOCK_ENDPOINT": f"http://127.0.0.1:{ports['9324']}"}
    with ExitStack() as stack:
        if found[0].page in OWN_CLUSTER:
            cluster = stack.enter_context(new_cluster("any", fsync="on"))
            ports["5432"] = cluster.port
            variables = {"ADMIN_URL": cluster.superuser_dsn()}
            _emptied(cluster)
            if found[0].page != FIRST:
                variables |= _owner(cluster)
            yield PageInstallation(variables, ports)
        elif found[0].page == TRIAL:
            yield stack.enter_context(trial())
        elif any(map(starts_a_service, found)):
            yield PageInstallation(service, ports)
        else:
            stack.enter_context(_roles_removed(server))
            database = stack.enter_context(server.database())
            settings = {"DATABASE_URL": database.api_dsn, "WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8"}
            stack.enter_context(running(port=ports["9324"], **settings))
            variables = {"DATABASE_URL": database.api_dsn, "ADMIN_URL": database.dsn}
            yield PageInstallation(variables | service, ports)


@contextmanager
def trial() -> Iterator[PageInstallation]:
    """Runs `penstock up`, which starts PostgreSQL and keeps its data in the home folder."""
    ports: defaultdict[str, int] = defaultdict(free_port)
    # The name is short, because a socket's path has at most 107 bytes.
    with TemporaryDirectory(prefix="reader-") as home:
        Path(home).chmod(0o755)  # As root, `penstock up` runs PostgreSQL as another user.
        data = f"{home}/.local/state/penstock"
        key = b64encode(token_bytes(32)).decode()
        secret = {"WEBHOOK_SIGNING_SECRET": f"whsec_{key}", "QUEUE_ENCRYPTION_KEY": key}
        with running("--data-dir", data, port=ports["9324"], **secret) as up:
            service = {"PENSTOCK_ENDPOINT": up.address, "DATABASE_URL": up.dsn, "HOME": home} | secret
            yield PageInstallation(service, ports)


def _emptied(cluster: Postgres) -> None:
    """Removes the database and the roles that `penstock up` has created on a separate PostgreSQL."""
    with psycopg.connect(cluster.superuser_dsn(), autocommit=True) as administrator:
        administrator.execute(f"drop database {DATABASE}".encode())
        for role in (ROLE, *ROLES):
            administrator.execute(f"drop role {role}".encode())


def _owner(cluster: Postgres) -> dict[str, str]:
    """Creates the role, database and schema of the first page. Returns the owner's variables."""
    with psycopg.connect(cluster.superuser_dsn(), autocommit=True) as administrator:
        create = sql.SQL("create role {} login createrole password {}")
        administrator.execute(create.format(sql.Identifier(ROLE), cluster.password))
        administrator.execute(f"create database {DATABASE} owner {ROLE} template template0".encode())
    owner = cluster.service_dsn()
    migrate(owner, role=ROLE)
    return dict.fromkeys(("DATABASE_URL", "DATABASE_DIRECT_URL"), owner)


@contextmanager
def _roles_removed(server: TestServer) -> Iterator[None]:
    """Removes the roles that pages created, after the removal of the pages' databases."""

    def roles() -> set[str]:
        return {name for (name,) in server.administration.execute("select rolname from pg_roles").fetchall()}

    before = roles()
    try:
        yield
    finally:
        for name in roles() - before:
            server.administration.execute(sql.SQL("drop role {}").format(sql.Identifier(name)))


def run(found: list[Block], where: PageInstallation, folder: Path) -> str | None:
    """Runs the blocks in the empty `folder`. Returns None, or the failed block's place and output."""
    own, checkout = folder / "blocks", folder / "checkout"
    own.mkdir()
    checkout.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in {".git", ".github", "dist", "build"}:
            (checkout / entry.name).symlink_to(entry)
    script = write_script(found, own, where.ports.__getitem__)
    environment = _environment(folder, own) | where.variables
    with (own / "stderr").open("wb") as errors:
        code = _exit_code(["bash", str(script)], cwd=checkout, env=environment, stdout=errors, stderr=errors)
    if code == 0:
        return None
    at = (own / "at").read_text().strip() if (own / "at").exists() else found[0].page
    output = next((printed(block, own) for block in found if block.place == at), "")
    return f"{at} ended with {code}:\n{output}{(own / 'stderr').read_text()}"


def _exit_code(command: list[str], **options: Any) -> int:
    """Runs a command, ends all of its processes, and returns its exit code, or -1 after a timeout."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options) as process:
        try:
            return process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            return -1
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)


def _environment(folder: Path, own: Path) -> dict[str, str]:
    """Returns the environment of a user without settings, with `penstock`, Python, the tests' packages and psql on the
    path.
    """
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE") if name in os.environ}
    pgbouncer = find_pgbouncer(SystemAccount.choose())
    folders = (Path(sys.executable).parent, os.environ["PATH"], find_binaries().directory, pgbouncer.path.parent)
    programs = ":".join(map(str, folders))
    aws = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_PAGER": ""}
    return (
        kept
        | aws
        | {"HOME": str(folder), "PATH": programs, "PAGE_FOLDER": str(own), "PGBOUNCER_LIBRARIES": pgbouncer.libraries}
    )
