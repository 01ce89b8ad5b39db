"""Evaluates what needs attention in all accounts with alerts, and stores what to tell in the same transaction."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Final
from uuid import UUID

import msgspec

from penstock.context import Context
from penstock.effects import Call, Operation
from penstock.environment import Environment, build_worker_environment
from penstock.event_sources.batches import read_mapping
from penstock.http import HttpRequest
from penstock.management.attention.concerns import MAPPING_FAILS, Concern, name_mapping
from penstock.management.attention.reading import read_attention
from penstock.postgres.statements.alerts import ALERT_SCOPES, LIST_ALERTS, STORE_ALERTS, AlertRow, BegunRow
from penstock.postgres.statements.mappings import LIST_MAPPINGS
from penstock.settings import Settings
from penstock.settings.alert_url import parse_alert_url

from .messages import Message, Recipient, write_messages
from .state import Change, Place, Rules, decide, find_place, list_included, list_places

OUTAGE_INTERVALS: Final = 3
"""An evaluation that comes later than this many intervals after the last one means an outage."""
OUTAGE: Final = "No process of Penstock could change the database"
"""The text of an outage whose cause is unknown: no process ran, or none reached the database."""
MAX_OUTAGE: Final = timedelta(days=1)
"""After a longer time, the installation was probably stopped, or had no alerts."""
MAX_MAPPINGS: Final = 1_000
"""The number of mappings that a call reads to compare them with the stored alerts."""
_NO_REQUEST: Final = HttpRequest("GET", "/", b"", {}, b"")


def evaluate(settings: Settings, begun: BegunRow, interval_ms: int, refusal: str) -> Operation[int]:
    """Runs the evaluation that queue.begin_alerts began. `refusal` says why the database refused changes before.
    Returns the number of messages that the call stored.
    """
    urls, scopes = yield from read_scopes(settings)
    has_default = bool(find_default_recipients(settings))
    concerns: dict[Place, Concern] = {}
    included: set[Place] = set()
    for account_id, region in scopes:
        if has_default or urls.get(account_id):
            found = yield from read_attention(act_for(account_id, region, settings))
            concerns.update(list_places(account_id, region, found.concerns))
            included.update(list_included(account_id, region, found.concerns))
    rows: dict[Place, AlertRow] = {}
    for row in (yield from Call(LIST_ALERTS, (None,))):
        if has_default or row.url is not None:
            rows[Place(row.account_id, row.region, row.subject, row.name)] = row._replace(url=None)
            urls[row.account_id] = row.url
    if not has_default:  # no address learns of the installation's problems
        concerns = {place: concern for place, concern in concerns.items() if place.account_id}
    included.update((yield from find_unproven(rows.keys() - concerns.keys())))
    decision = decide(rows, concerns, begun.now, read_rules(settings), included)
    changes = [*find_outage(begun, interval_ms, refusal), *decision.changes]
    messages = list(address_changes(changes, urls, settings)) if changes else []
    changed = [row._asdict() for row in decision.changed]
    gone = [place._asdict() for place in decision.gone]
    default = settings.queue_alert_url or None
    (stored,) = yield from Call(
        STORE_ALERTS, (begun.round, default, encode_rows(changed), encode_rows(gone), encode_rows(messages))
    )
    return stored.deliveries


def find_unproven(places: Iterable[Place]) -> Operation[list[Place]]:
    """Returns the problems of mappings that have had no success since. Such a mapping needs no attention while its
    queue is empty or a user has disabled it, but only a success shows that its function works again.
    """
    mappings = [place for place in places if place.subject == MAPPING_FAILS]
    failing: set[Place] = set()
    for account_id, region in {(place.account_id, place.region) for place in mappings}:
        for name in (yield from name_failing_mappings(account_id, region)):
            failing.add(find_place(account_id, region, MAPPING_FAILS, name))
    return [place for place in mappings if place in failing]


def name_failing_mappings(account_id: str, region: str) -> Operation[list[str]]:
    """Returns the names of the mappings whose last invocation failed, also of those that a user has disabled."""
    names: list[str] = []
    after: UUID | None = None
    while True:
        limits = (account_id, region, None, None, None, after, MAX_MAPPINGS)
        page = [read_mapping(row.mapping) for row in (yield from Call(LIST_MAPPINGS, limits))]
        failing = (one for one in page if one.failing_since is not None)
        names += [name_mapping(one.queue_arn.rpartition(":")[2], one.function_arn) for one in failing]
        if len(page) < MAX_MAPPINGS:
            return names
        after = page[-1].mapping_id


def read_rules(settings: Settings) -> Rules:
    return Rules(settings.queue_alert_evaluations, timedelta(seconds=settings.queue_alert_pause_seconds))


def read_scopes(settings: Settings) -> Operation[tuple[dict[str, str | None], list[tuple[str, str]]]]:
    """Returns the own address of each account, and the accounts and regions to evaluate. The installation's own account
    is always among them, because its scope also has the problems of the database.
    """
    rows = yield from Call(ALERT_SCOPES, ())
    urls: dict[str, str | None] = {row.account_id: row.url for row in rows}
    scopes = {(row.account_id, row.region or settings.queue_region): None for row in rows if row.account_id}
    scopes.setdefault((settings.queue_account_id, settings.queue_region))
    return urls, [scope for scope in scopes if scope[0]]


def act_for(account_id: str, region: str, settings: Settings) -> Context:
    """Returns a context with all rights in an account, for reading what needs attention."""
    return Context(account_id, region, "", _build_environment(settings), _NO_REQUEST)


@lru_cache(maxsize=1)
def _build_environment(settings: Settings) -> Environment:
    return build_worker_environment(settings.replace(queue_access="off"))


def find_outage(begun: BegunRow, interval_ms: int, refusal: str = "") -> Iterator[Change]:
    """Yields the outage since the last evaluation, if there was one. `refusal` is its cause, if this process knows that
    the database refused changes.
    """
    if begun.last_at is None:
        return
    shortest = timedelta(milliseconds=OUTAGE_INTERVALS * interval_ms)
    if shortest < begun.now - begun.last_at < MAX_OUTAGE:
        text = f"The database refused changes ({refusal})" if refusal else OUTAGE
        yield Change(what="outage", level="bad", since=begun.last_at, until=begun.now, text=text)


def address_changes(changes: Sequence[Change], urls: Mapping[str, str | None], settings: Settings) -> Iterator[Message]:
    """Yields the messages of an evaluation. An account's changes go to its own address, or else to the installation's.
    Each address learns of an outage.
    """
    shared: list[Change] = [change for change in changes if urls.get(change.account_id) is None]
    for recipient in find_default_recipients(settings) if shared else ():
        yield from write_messages(recipient, shared, settings)
    outages = [change for change in changes if change.what == "outage"]
    for account_id, url in urls.items():
        own = [*outages, *(change for change in changes if change.account_id == account_id)]
        private = find_own_recipient(account_id, url) if url is not None and own else None
        if private is not None:
            yield from write_messages(private, own, settings)


def find_default_recipients(settings: Settings) -> list[Recipient]:
    """Returns the installation's addresses. Their deliveries belong to the account QUEUE_ACCOUNT_ID."""
    account_id = settings.queue_account_id
    found = []
    if settings.queue_alert_url:
        found.append(Recipient(account_id, address=parse_alert_url(settings.queue_alert_url)))
    if settings.queue_alert_email:
        found.append(Recipient(account_id, mail=settings.queue_alert_email))
    return found


def find_own_recipient(account_id: str, url: str) -> Recipient | None:
    """Returns the account's own address, or None if no API has checked the stored text."""
    try:
        return Recipient(account_id, account_id, parse_alert_url(url))
    except ValueError:
        return None


def encode_rows(rows: Sequence[object]) -> str:
    """Returns rows as the JSON that the SQL functions of alerts take."""
    documents = [row._asdict() if isinstance(row, Message) else row for row in rows]
    return msgspec.json.encode(documents).decode()
