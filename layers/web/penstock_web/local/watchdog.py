"""Restarts the database and the pooler of `penstock up` if they end unexpectedly."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from penstock_web.local_error import LocalError

from .pgbouncer import PgBouncer, running_pgbouncer
from .postgres import Postgres, start

_log = logging.getLogger(__name__)

_PAUSE_SECONDS: Final = 0.5


@contextmanager
def watch_servers(state: Path, server: Postgres, pooler: PgBouncer | None) -> Iterator[None]:
    """Checks the servers twice a second until the end of the block. The caller must end the block before stopping the
    servers. After a failed restart, the watchdog tries again. The service responds with 503 until a restart succeeds.
    """
    ending = threading.Event()
    with ExitStack() as stack:
        watcher = threading.Thread(target=_watch, args=(ending, stack, state, server, pooler), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ending.set()
            watcher.join()


def _watch(ending: threading.Event, stack: ExitStack, state: Path, server: Postgres, pooler: PgBouncer | None) -> None:
    while not ending.wait(_PAUSE_SECONDS):
        try:
            if not _is_running(server):
                _log.error("PostgreSQL has ended; starting it again")
                start(state, server.account)
            if pooler is not None and pooler.process.poll() is not None:
                _log.error("PgBouncer has ended; starting it again")
                pooler = stack.enter_context(running_pgbouncer(state, server, port=pooler.port))
        except (LocalError, OSError) as error:
            _log.error("not started again", extra={"cause": str(error)})


def _is_running(server: Postgres) -> bool:
    """Returns whether the postmaster runs. A zombie process does not count as running. Zombies remain in a container
    whose first process does not reap children.
    """
    try:
        postmaster = int((server.data / "postmaster.pid").read_text().split("\n")[0])
        os.kill(postmaster, 0)
        status = Path(f"/proc/{postmaster}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except PermissionError:  # The process runs, and belongs to another user.
        return True
    except (OSError, ValueError):
        return False
