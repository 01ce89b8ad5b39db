"""Decides which problems to tell: when a problem began, became worse, grew or ended.

A problem is told after it has existed for some consecutive evaluations, and its end after the problem has been gone for
as many. A problem that comes back soon after its end is told only after a pause, so a flapping queue sends few
messages.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from penstock.management.attention import (
    DELIVERIES_LATE,
    FAILS,
    GIVEN_UP,
    OLD_SNAPSHOT,
    OLD_TRANSACTION,
    PAUSED,
    Concern,
)
from penstock.management.verdicts import ORDER
from penstock.postgres.statements.alerts import AlertRow
from penstock.verdicts import Kind

What = Literal["began", "worse", "grew", "ended", "outage", "test"]
VERDICT: Final = "verdict"
RANKS: Final[dict[str, int]] = {kind.value: rank for kind, rank in ORDER.items() if kind is not Kind.DEAD_LETTERS}
"""The rank of each verdict, the worst first. Dead letters are a problem beside the verdict on their queue."""
GROWING: Final = frozenset((Kind.DEAD_LETTERS.value, GIVEN_UP))
"""The kinds that are told again when their number grows."""
OF_ACCOUNT: Final = frozenset((GIVEN_UP, PAUSED, FAILS, DELIVERIES_LATE))
"""The kinds that belong to the account and not to one of its regions."""
OF_INSTALLATION: Final = frozenset((OLD_TRANSACTION, OLD_SNAPSHOT))
"""The kinds that only the installation's operator can mend."""
OWN_ENDPOINTS: Final = ("alert://", "smtp://mail/alert")
"""The beginnings of the endpoints of alerts (queue.send_alerts)."""


class Place(NamedTuple):
    """The key of an alert. All verdicts on a queue share the subject `verdict`; any other subject is the kind.

    `region` is empty for a problem of the account, and `account_id` for a problem of the installation.
    """

    account_id: str
    region: str
    subject: str
    name: str


class Change(Struct, kw_only=True):
    """A change to tell. `state` is the word for the kind, and is empty for an end. `number` counts messages or
    deliveries. `until` is the end of a problem or an outage.
    """

    what: What
    account_id: str = ""
    region: str = ""
    subject: str = ""
    name: str = ""
    kind: str = ""
    state: str = ""
    level: str = "warn"
    since: datetime | None = None
    until: datetime | None = None
    number: int = 0
    text: str = ""
    page: str = ""


class Rules(NamedTuple):
    """`evaluations` is QUEUE_ALERT_EVALUATIONS, and `pause` is QUEUE_ALERT_PAUSE_SECONDS."""

    evaluations: int
    pause: timedelta


class Decision(NamedTuple):
    """The rows to store, the keys of rows to delete, and the changes to tell."""

    changed: list[AlertRow]
    gone: list[Place]
    changes: list[Change]


def decide(rows: Mapping[Place, AlertRow], concerns: Mapping[Place, Concern], now: datetime, rules: Rules) -> Decision:
    """Compares stored alerts with the current concerns. `now` is the database's time."""
    decision = Decision([], [], [])
    for place, concern in concerns.items():
        row, what = advance(rows.get(place), place, concern, now, rules)
        if row != rows.get(place):
            decision.changed.append(row)
        if what is not None:
            decision.changes.append(describe(what, place, concern, row))
    for place, row in rows.items():
        if place not in concerns:
            _miss(place, row, now, rules, decision)
    return decision


def advance(
    row: AlertRow | None, place: Place, concern: Concern, now: datetime, rules: Rules
) -> tuple[AlertRow, What | None]:
    """Returns the row of a problem that exists, and the change to tell."""
    rank = RANKS.get(concern.kind, 0)
    if row is None:
        since = concern.since or now
        row = AlertRow(*place, concern.kind, "pending", 0, since, rank, concern.number, None, None)
    reported = row._replace(
        kind=concern.kind, state="firing", evaluations=0, reported_number=concern.number, reported_at=now
    )
    if row.state == "firing":
        if rank < row.reported_rank:
            return reported._replace(reported_rank=rank), "worse"
        paused = row.reported_at is not None and now - row.reported_at < rules.pause
        if concern.kind in GROWING and concern.kind == row.kind and concern.number > row.reported_number and not paused:
            return reported, "grew"
        return row._replace(evaluations=0), None
    held = min(row.evaluations + 1, rules.evaluations)
    resting = row.state == "ended" and row.reported_at is not None and now - row.reported_at < rules.pause
    if held < rules.evaluations or resting:
        return row._replace(evaluations=held), None
    return reported._replace(
        since=concern.since or now if row.state == "ended" else row.since, reported_rank=rank
    ), "began"


def _miss(place: Place, row: AlertRow, now: datetime, rules: Rules, decision: Decision) -> None:
    """Records that a problem does not exist now."""
    if row.state == "firing":
        missed = row.evaluations + 1
        if missed < rules.evaluations:
            decision.changed.append(row._replace(evaluations=missed))
            return
        decision.changed.append(row._replace(state="ended", evaluations=0, reported_at=now))
        decision.changes.append(
            Change(what="ended", account_id=row.account_id, region=row.region, subject=row.subject,
                   name=row.name, kind=row.kind, since=row.since, until=now)
        )  # fmt: skip
    elif row.state == "pending" or row.reported_at is None or now - row.reported_at >= rules.pause:
        decision.gone.append(place)
    elif row.evaluations:
        decision.changed.append(row._replace(evaluations=0))


def describe(what: What, place: Place, concern: Concern, row: AlertRow) -> Change:
    return Change(
        what=what, account_id=place.account_id, region=place.region, subject=place.subject, name=concern.name,
        kind=concern.kind, state=concern.state, level=concern.level, since=row.since, number=concern.number,
        text=concern.text, page=concern.page,
    )  # fmt: skip


def list_places(account_id: str, region: str, concerns: list[Concern]) -> Iterator[tuple[Place, Concern]]:
    """Yields the concerns that alerts tell, by key. A user's pause of an endpoint needs no alert. An address of alerts
    that fails sends no alert, because the alert about it would fail too.
    """
    for concern in concerns:
        if concern.level == "info" or concern.name.startswith(OWN_ENDPOINTS):
            continue
        if concern.kind in OF_INSTALLATION:
            yield Place("", "", concern.kind, concern.name), concern
        elif concern.kind in OF_ACCOUNT:
            yield Place(account_id, "", concern.kind, concern.name), concern
        else:
            subject = VERDICT if concern.kind in RANKS else concern.kind
            yield Place(account_id, region, subject, concern.name), concern
