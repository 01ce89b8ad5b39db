"""Decides which problems to tell: when a problem began, became worse, grew or ended.

A problem is told after it has existed for some consecutive evaluations, and its end after the problem has been gone for
as many. A problem that another concern includes goes on. A problem that grows, or that comes back after its end, is
told again at most once in a pause, so a flapping queue sends few messages. While a user mutes a resource, no problem of
it is told, but the end of a told problem is.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from penstock.management.attention.concerns import (
    DELIVERIES_LATE,
    FAILS,
    GIVEN_UP,
    OLD_SNAPSHOT,
    OLD_TRANSACTION,
    PAUSED,
    SCHEDULES_LATE,
    Concern,
)
from penstock.management.verdicts import ORDER
from penstock.postgres.statements.alerts import AlertRow
from penstock.verdicts import Kind

from .mutes import TOGETHER as TOGETHER_NAMES

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
TOGETHER: Final = {SCHEDULES_LATE: TOGETHER_NAMES["schedules"], DELIVERIES_LATE: TOGETHER_NAMES["deliveries"]}
"""The names of problems that late work has together."""
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
    deliveries, and `new` counts those that came since the last alert, if the problem grew. `until` is the end of a
    problem or an outage. `title` names what has the problem, such as the first late schedule and the number of the
    others. After an end, `title` and `page` are those of the last alert.
    """

    what: What
    account_id: str = ""
    region: str = ""
    subject: str = ""
    name: str = ""
    title: str = ""
    kind: str = ""
    state: str = ""
    level: str = "warn"
    since: datetime | None = None
    until: datetime | None = None
    number: int = 0
    new: int = 0
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


def decide(
    rows: Mapping[Place, AlertRow], concerns: Mapping[Place, Concern], now: datetime, rules: Rules,
    included: Collection[Place] = frozenset(),
) -> Decision:  # fmt: skip
    """Compares stored alerts with the current concerns. `now` is the database's time. The problems in `included` exist,
    but other concerns include them.
    """
    decision = Decision([], [], [])
    for place, concern in concerns.items():
        row, what = advance(rows.get(place), place, concern, now, rules)
        if row != rows.get(place):
            decision.changed.append(row)
        if what is not None:
            decision.changes.append(describe(what, place, concern, row, rows.get(place)))
    for place, row in rows.items():
        if place in included and place not in concerns and row.state == "firing":
            if row.evaluations:
                decision.changed.append(row._replace(evaluations=0))
        elif place not in concerns:
            _miss(place, row, now, rules, decision)
    return decision


def advance(
    row: AlertRow | None, place: Place, concern: Concern, now: datetime, rules: Rules
) -> tuple[AlertRow, What | None]:
    """Returns the row of a problem that exists, and the change to tell, which is None for a muted problem."""
    rank = RANKS.get(concern.kind, 0)
    if row is None:
        since = concern.since or now
        title, page = concern.name, concern.page
        row = AlertRow(*place, concern.kind, "pending", 0, since, rank, concern.number, None, title, page, None)
    reported = row._replace(
        kind=concern.kind, state="firing", evaluations=0, reported_number=concern.number, reported_at=now,
        title=concern.name, page=concern.page,
    )  # fmt: skip
    if row.state == "firing":
        if rank < row.reported_rank and concern.muted_until is None:
            return reported._replace(reported_rank=rank), "worse"
        if count_new(row, concern) and find_held_until(row, concern, now, rules) is None:
            return reported, "grew"
        least = min(row.reported_number, concern.number) if concern.kind in GROWING else row.reported_number
        return row._replace(evaluations=0, reported_number=least), None
    held = min(row.evaluations + 1, rules.evaluations)
    if held < rules.evaluations or concern.muted_until or find_held_until(row, concern, now, rules) is not None:
        return row._replace(evaluations=held), None
    return reported._replace(
        since=concern.since or now if row.state == "ended" else row.since, reported_rank=rank
    ), "began"


def count_new(row: AlertRow, concern: Concern) -> int:
    """Returns the number of messages or deliveries since the last alert. The reported number decreases with the
    problem, so new trouble is not hidden behind old trouble that is mended.
    """
    is_growing = concern.kind in GROWING and concern.kind == row.kind
    return max(0, concern.number - row.reported_number) if is_growing else 0


def find_held_until(row: AlertRow, concern: Concern, now: datetime, rules: Rules) -> datetime | None:
    """Returns when the pause or the mute ends that delays an alert about a problem that came back or grew, or None."""
    if row.reported_at is None or not (row.state == "ended" or count_new(row, concern)):
        return None
    until = max(row.reported_at + rules.pause, concern.muted_until or now)
    return until if now < until else None


def _miss(place: Place, row: AlertRow, now: datetime, rules: Rules, decision: Decision) -> None:
    """Records that a problem does not exist now."""
    if row.state == "firing":
        missed = row.evaluations + 1
        if missed < rules.evaluations:
            decision.changed.append(row._replace(evaluations=missed))
            return
        decision.changed.append(row._replace(state="ended", evaluations=0))
        decision.changes.append(
            Change(what="ended", account_id=row.account_id, region=row.region, subject=row.subject,
                   name=row.name, title=row.title, kind=row.kind, since=row.since, until=now, page=row.page)
        )  # fmt: skip
    elif row.state == "pending" or row.reported_at is None or now - row.reported_at >= rules.pause:
        decision.gone.append(place)
    elif row.evaluations:
        decision.changed.append(row._replace(evaluations=0))


def describe(what: What, place: Place, concern: Concern, row: AlertRow, before: AlertRow | None) -> Change:
    return Change(
        what=what, account_id=place.account_id, region=place.region, subject=place.subject, name=place.name,
        title=concern.name, kind=concern.kind, state=concern.state, level=concern.level, since=row.since,
        number=concern.number, new=count_new(before, concern) if before is not None and what == "grew" else 0,
        text=concern.text, page=concern.page,
    )  # fmt: skip


def list_places(account_id: str, region: str, concerns: Sequence[Concern]) -> Iterator[tuple[Place, Concern]]:
    """Yields the concerns that alerts tell, by key. A user's pause of an endpoint needs no alert. An address of alerts
    that fails sends no alert, because the alert about it would fail too.
    """
    for concern in concerns:
        is_own = concern.kind not in TOGETHER and concern.name.startswith(OWN_ENDPOINTS)
        if concern.level != "info" and not is_own:
            yield find_place(account_id, region, concern.kind, concern.name), concern


def list_included(account_id: str, region: str, concerns: Sequence[Concern]) -> Iterator[Place]:
    """Yields the keys of the problems that other concerns include."""
    for concern in concerns:
        for one in concern.includes:
            yield find_place(account_id, region, one.kind, one.name)


def find_place(account_id: str, region: str, kind: str, name: str) -> Place:
    """Returns the key of a problem. All late schedules are one problem, whichever is the first."""
    if kind in OF_INSTALLATION:
        return Place("", "", kind, name)
    if kind in OF_ACCOUNT:
        return Place(account_id, "", kind, TOGETHER.get(kind, name))
    return Place(account_id, region, VERDICT if kind in RANKS else kind, TOGETHER.get(kind, name))
