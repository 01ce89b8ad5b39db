"""Logs the start of the service with its settings, and the stop with its reason."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from penstock import __version__
from penstock.settings import ADDRESSES, SETTINGS, Settings, Value

_log = logging.getLogger(__name__)


def log_start(settings: Settings, database: str, postgresql: str, address: str, workers: int) -> None:
    """Logs the start of the service. `database` is the address of the database without the password. `postgresql` is
    the version of the server.
    """
    _log.info(
        "started",
        extra={
            "version": __version__,
            "postgresql": postgresql,
            "address": address,
            "database": database,
            "workers": workers,
            "pid": os.getpid(),
            "settings": list_chosen_settings(settings),
        },
    )


def list_chosen_settings(settings: Settings) -> dict[str, Value]:
    """Returns the settings that differ from the defaults, without the addresses of the database. The value `(set)`
    replaces the value of a secret.
    """
    chosen = {setting: getattr(settings, setting.attribute) for setting in SETTINGS}
    return {
        setting.name: "(set)" if setting.secret or setting.hidden else value
        for setting, value in chosen.items()
        if value != setting.default and setting.name not in ADDRESSES
    }


def log_signal(number: int) -> None:
    """Logs the signal that stops the process."""
    _log.info("stopping", extra={"reason": signal.Signals(number).name, "pid": os.getpid()})


@contextmanager
def log_stop() -> Iterator[None]:
    """At the end of the block, logs the service's uptime and any error."""
    began = monotonic()
    reason: str | None = None
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split())
        raise
    finally:
        extra = {"pid": os.getpid(), "seconds": round(monotonic() - began, 1)}
        _log.info("stopped", extra=extra if reason is None else {**extra, "cause": reason})
