"""Starts the image's PgBouncer with the image's entry point."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from penstock_web.local.pgbouncer import find_pgbouncer
from penstock_web.local.postgres import DATABASE, ROLE, Postgres, free_port
from penstock_web.local.state import ephemeral_state
from tests.support.database import memory_directory
from tests.support.wait import wait_until

ROOT = Path(__file__).parents[3]


@contextmanager
def running_pooler(server: Postgres, *, ready: bool = True, **more: str) -> Iterator[int]:
    """Yields the port of the image's pooler, in front of the server's TCP port. With `ready`, waits until the service's
    role can log in.
    """
    account, port = server.account, free_port()
    with ephemeral_state(memory_directory()) as state:
        folder = account.create_private_folder(state / "image")
        for source in ("pgbouncer/pgbouncer.ini.tmpl", "container/pgbouncer/entrypoint.sh"):
            shutil.copy(ROOT / "infra" / source, folder)
        program = find_pgbouncer(account)
        environment = {
            "PATH": f"{program.path.parent}:/usr/local/bin:/usr/bin:/bin",
            "DATABASE_HOST": "127.0.0.1",
            "DATABASE_PORT": str(server.port),
            "DATABASE_NAME": DATABASE,
            "DATABASE_USER": ROLE,
            "DATABASE_PASSWORD": server.password,
            "LISTEN_HOST": "127.0.0.1",
            "LISTEN_PORT": str(port),
            "RUNTIME_FOLDER": str(folder),
            "LD_LIBRARY_PATH": program.libraries,
            **more,
        }
        output = subprocess.DEVNULL
        process = account.start(["sh", folder / "entrypoint.sh"], output=output, environment=environment)
        try:
            wait_until(
                lambda: (
                    process.poll() is not None or (responses(port, ROLE, server.password) if ready else listens(port))
                )
            )
            assert process.poll() is None
            yield port
        finally:
            process.terminate()
            process.wait(60)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def responses(port: int, role: str, password: str) -> bool:
    address = psycopg.conninfo.make_conninfo(
        host="127.0.0.1", port=port, user=role, password=password, dbname=DATABASE, connect_timeout=10
    )
    try:
        with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
            return connection.execute("select current_user").fetchone() == (role,)
    except psycopg.OperationalError:
        return False
