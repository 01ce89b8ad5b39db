"""Runs a worker in a separate process that a test may kill: `python -m tests.support.programs.webhook_worker DSN`."""

import os
import sys

import psycopg

from penstock.settings import Settings
from penstock.workers.deliver import Deliverer


def main(dsn: str) -> None:
    usual = {"WEBHOOK_ALLOW_CIDRS": "127.0.0.0/8", "QUEUE_HTTP_DELIVERY_POLL_MS": "20"}
    settings = Settings.read({**os.environ, **usual})
    deliverer = Deliverer(longest_run_seconds=3600)
    with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as connection:
        while True:
            deliverer.run_once(settings, connection)


if __name__ == "__main__":
    main(sys.argv[1])
