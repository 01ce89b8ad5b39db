"""Delivers messages to URLs, to the gateway, by e-mail and to functions.

The worker leases due deliveries, lets carriers send them concurrently, and writes many outcomes in one call.

    claim (a short transaction) ──► carry, up to QUEUE_HTTP_DELIVERY_BATCH_SIZE at once ──► settle (a short transaction)

No transaction is open during a request. A lease outlasts the slowest attempt. Only the lease's owner can write the
outcome, so a slow worker's late outcome has no effect. If a worker dies, another worker sends its deliveries after
their leases expire. The endpoint receives a message twice only if the first worker died before it wrote the outcome.
"""

import asyncio
import ssl
from collections import Counter
from contextlib import suppress
from time import monotonic
from typing import Final
from uuid import UUID

import psycopg

from penstock.delivery.carrier import Carrier
from penstock.delivery.delivery import FUNCTION, GATEWAY, MAIL, SCHEDULE, URL_KINDS
from penstock.delivery.functions.carrier import FunctionCarrier
from penstock.delivery.functions.client import FunctionClient
from penstock.delivery.http.carrier import HttpCarrier
from penstock.delivery.http.guard import EVERY_NETWORK, AddressGuard, read_networks
from penstock.delivery.http.request import read_secrets
from penstock.delivery.http.resolver import resolve
from penstock.delivery.http.sender import Resolver, Sender
from penstock.delivery.outcome import Finished
from penstock.delivery.run import WAIT_FOR_MORE_MS, DeliveryRun
from penstock.delivery.store import SETTLED, DeliveryStore, HandOver
from penstock.delivery.warnings import DeliveryWarnings
from penstock.observing.observer import NO_OBSERVER, Observer
from penstock.observing.trace_context import Tracer
from penstock.postgres.statement import Row
from penstock.settings import Settings
from penstock.settings.mail_address import parse_sender, parse_server

from . import Counts

MAX_RUN_SECONDS = 20.0
"""The time after which a run claims no more deliveries. Open requests end within 15 seconds."""
LOGGED_BYTES: Final = 1_024
"""The limit for a response's body if WEBHOOK_LOG_RESPONSES is on."""
KEPT_BYTES: Final = 1
"""The limit for the body of Lambda's response. The worker reads only the headers, but with the limit 0 the worker would
receive no headers."""
MAX_PER_HOST: Final = 20
"""The maximum number of concurrent requests from one process to one host and port, for one account."""


class Deliverer:
    """The worker of one process. Each run also writes the outcomes that an earlier run could not write.

    `watcher` is the id under which the process waits for notifications of new deliveries, or None if the worker only
    polls. `stop` and `wake` are safe to call from any thread.
    """

    def __init__(
        self,
        watcher: UUID | None = None,
        longest_run_seconds: float = MAX_RUN_SECONDS,
        resolver: Resolver = resolve,
        tls: ssl.SSLContext | None = None,
        observer: Observer = NO_OBSERVER,
        tracer: Tracer | None = None,
    ) -> None:
        self._watcher = watcher
        self._longest_run_seconds = longest_run_seconds
        self._resolver = resolver
        self._tls = tls
        self._observer = observer
        self._tracer = tracer
        self._stopping = False
        self._run: DeliveryRun | None = None
        self._warnings = DeliveryWarnings()
        self.unwritten: list[Finished] = []
        self.wait_ms: int | None = None
        """The number of milliseconds until a delivery is due, after an idle run. The number is None if no delivery is
        pending. After any other run, the value is 0."""

    def run_once(
        self, settings: Settings, connection: "psycopg.Connection[Row]", longest_run_seconds: float | None = None
    ) -> Counts:
        """Delivers until no delivery is due for a while, or until the run's time is over. At its end, the run waits for
        open requests.

        Raises psycopg.Error, but outcomes that were written earlier stay written.
        """
        counts = Counter(dict.fromkeys(SETTLED, 0))
        if not settings.queue_http_delivery_enabled or self._stopping:
            return counts
        store = DeliveryStore(
            connection,
            self._watcher,
            MAX_PER_HOST,
            settings.carriers,
            traced=self._tracer is not None,
            hand_over=HandOver(settings.quota_confirmation_mails, settings.quota_text_messages),
            warnings=self._warnings,
        )
        self.wait_ms = store.wait_ms()
        if self.unwritten or _is_near(self.wait_ms):
            self.wait_ms = 0
            expired = store.expire()
            counts.update(expired)
            self._observer.counted(expired)
            seconds = self._longest_run_seconds if longest_run_seconds is None else longest_run_seconds
            asyncio.run(self._deliver(settings, store, counts, seconds))
        return counts

    def stop(self) -> None:
        """Ends the current run soon. A stopped worker claims no more deliveries and cannot start again."""
        self._stopping = True
        self.wake()

    def wake(self) -> None:
        """Ends a pause of the current run, because a delivery may be due."""
        run = self._run
        if run is not None:
            with suppress(RuntimeError):  # the run has ended and closed its loop
                run.loop.call_soon_threadsafe(run.wake)

    async def _deliver(
        self, settings: Settings, store: DeliveryStore, counts: "Counter[str]", longest_run_seconds: float
    ) -> None:
        guard = AddressGuard(read_networks(settings.webhook_allow_cidrs))
        kept_bytes = LOGGED_BYTES if settings.webhook_log_responses else 0
        sender = Sender(guard, self._resolver, self._tls, kept_bytes)
        gateway = Sender(AddressGuard(EVERY_NETWORK), self._resolver, self._tls)
        client = FunctionClient(settings.queue_lambda_endpoint, KEPT_BYTES)
        functions = FunctionCarrier(settings, client)
        secrets = read_secrets(settings.webhook_signing_secret)
        seconds = float(settings.queue_http_delivery_timeout_secs)
        urls = HttpCarrier(sender, secrets, seconds)
        carriers: dict[str, Carrier] = {
            **dict.fromkeys(URL_KINDS, urls),
            GATEWAY: HttpCarrier(gateway, secrets, seconds, settings.sns_gateway_url),
            FUNCTION: functions,
            SCHEDULE: functions,
        }
        if settings.sns_smtp_url:
            carriers[MAIL] = self._mail_carrier(settings)
        run = DeliveryRun(settings, store, carriers, counts, self.unwritten, self._observer, self._tracer)
        self._run = run
        try:
            await self._run.work(monotonic() + longest_run_seconds, lambda: self._stopping)
        finally:
            self._run = None
            await sender.close()
            await gateway.close()
            await client.close()

    def _mail_carrier(self, settings: Settings) -> Carrier:
        # The import is here, because the standard library's e-mail package slows a cold start more than all other
        # carriers.
        from penstock.delivery.mail.carrier import MailCarrier  # noqa: PLC0415

        server, sender = parse_server(settings.sns_smtp_url), parse_sender(settings.sns_mail_from)
        return MailCarrier(server, sender, self._resolver, self._tls)


_deliverer = Deliverer()
run_once = _deliverer.run_once
"""Does one bounded run, for Lambda functions."""


def poll_seconds(settings: Settings) -> float | None:
    """Returns the pause between two runs of a polling function, or None if no work exists."""
    return settings.queue_http_delivery_poll_ms / 1000 if settings.queue_http_delivery_enabled else None


def _is_near(wait_ms: int | None) -> bool:
    return wait_ms is not None and wait_ms <= WAIT_FOR_MORE_MS
