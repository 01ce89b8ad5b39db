"""Models the storage as a small state machine, to try every order of its steps.

A state contains a database, its copy (a standby or a dump), and the clients' knowledge: handles, and acknowledged calls
with the handles. `steps` yields all possible next steps: a send, a receive, a delete with any of a consumer's handles,
a visibility change, a timeout, and cleaning. Other steps are a crash of the server, a failover or restore to the copy,
and the skip of ids after a failover. A crash loses receives that no later commit has flushed.

The model has the following parts of the real storage:

    log     messages with consecutive ids; the cursor is the last id that was delivered, and the highest lease
    lease   messages that were delivered together: the remaining ids, the timeout's state, and a unique nonce
    side    the side table: messages whose visibility was changed, with their original ids
    group   a FIFO queue with one message group: ids, receive counts, the timeout's state
    fence   after a failover, ids skip all ids that were given out, as soon as a process notices the failover

`Rules` removes parts: without `identity` a handle contains only its position, id and receive count.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple

JUMP: Final = 100


class Handle(NamedTuple):
    """Represents the content of a receipt handle. `uid` identifies the message, and `pos` its lease. `pos` is 0 for
    FIFO.
    """

    pos: int
    id: int
    receives: int
    nonce: int
    uid: int


class Row(NamedTuple):
    """Represents a message in the side table or in a FIFO queue."""

    id: int
    uid: int
    receives: int
    hidden: bool


class Lease(NamedTuple):
    pos: int
    ids: tuple[int, ...]
    receives: int
    nonce: int
    hidden: bool


class StoredDatabase(NamedTuple):
    """One queue. `sent` and `deleted` are the messages whose sends and deletes this state of the database has
    acknowledged.
    """

    log: tuple[tuple[int, int], ...] = ()  # id, uid
    leases: tuple[Lease, ...] = ()
    side: tuple[Row, ...] = ()
    group: tuple[Row, ...] = ()
    last_id: int = 0
    sent: frozenset[int] = frozenset()
    deleted: frozenset[int] = frozenset()

    @property
    def pos(self) -> int:
        """Returns the cursor, which is the last position that was delivered."""
        return max((lease.pos for lease in self.leases), default=0)

    def uid(self, id_: int) -> int | None:
        return dict(self.log).get(id_)

    def uids(self) -> frozenset[int]:
        """Returns all stored messages that can still be delivered."""
        left = {id_ for lease in self.leases for id_ in lease.ids}
        log = {uid for id_, uid in self.log if id_ > self.pos or id_ in left}
        return frozenset(log | {row.uid for row in (*self.side, *self.group)})


class SystemState(NamedTuple):
    database: StoredDatabase
    flushed: StoredDatabase | None = None  # the state after a crash that loses unflushed receives
    copy: StoredDatabase | None = None  # the standby or the dump
    noticed: bool = True  # False if a process still has to skip ids
    handles: frozenset[tuple[int, Handle]] = frozenset()  # each handle with its consumer
    # The uid of each hidden message, and its consumer.
    holds: frozenset[tuple[int, int]] = frozenset()
    budget: tuple[int, ...] = ()  # the remaining steps of each kind
    next_uid: int = 1
    next_nonce: int = 1


@dataclass(frozen=True)
class Rules:
    """Chooses the parts of the storage, and the number of events. `budget` counts sends, receives, time-outs, changes
    and failures.
    """

    fifo: bool
    identity: bool = True
    fence: bool = True
    consumers: int = 2
    budget: tuple[int, int, int, int, int] = (4, 3, 2, 1, 1)


class ViolationError(Exception):
    """A forbidden state. `path` lists the steps that lead to the state."""

    def __init__(self, what: str, path: tuple[str, ...] = ()) -> None:
        super().__init__(what, path)
        self.what = what
        self.path = path


SEND, RECEIVE, TIME_OUT, CHANGE, FAIL = range(5)


def explore(rules: Rules) -> int:
    """Tries every order of steps. Returns the number of states. Raises ViolationError with the path to a forbidden
    state.
    """
    start = SystemState(StoredDatabase(), budget=rules.budget)
    seen = {start}
    stack: list[tuple[SystemState, tuple[str, ...]]] = [(start, ())]
    while stack:
        state, path = stack.pop()
        try:
            following = list(steps(state, rules))
            for _, after in following:
                _check_nothing_lost(after)
        except ViolationError as error:
            raise ViolationError(error.what, path) from None
        for name, after in following:
            if after not in seen:
                seen.add(after)
                stack.append((after, (*path, name)))
    return len(seen)


def steps(state: SystemState, rules: Rules) -> Iterator[tuple[str, SystemState]]:
    yield from _calls(state, rules)
    if _left(state, TIME_OUT):
        yield from _time_outs(state)
    if _left(state, FAIL):
        yield from _failures(state, rules)
    if not state.noticed:
        last = state.database.last_id + JUMP
        yield "ids jump", state._replace(database=state.database._replace(last_id=last), noticed=True)


def _calls(state: SystemState, rules: Rules) -> Iterator[tuple[str, SystemState]]:
    """Yields the possible client calls."""
    if _left(state, SEND):
        yield "send", _send(state, rules)
    if _left(state, RECEIVE):
        for consumer, count in product(range(rules.consumers), (1, 2)):
            yield f"{consumer} receives {count}", _receive(state, rules, consumer, count)
    for consumer, handle in state.handles:
        yield f"{consumer} deletes with {handle}", _delete(state, rules, consumer, handle)
        if _left(state, CHANGE):
            yield f"{consumer} makes visible {handle}", _unhide(state, rules, handle)


def _failures(state: SystemState, rules: Rules) -> Iterator[tuple[str, SystemState]]:
    """Yields the failures: the creation of the standby or dump, a crash, and a failover or restore to the copy."""
    if state.copy is None:
        yield "the copy is made", state._replace(copy=state.database)
    else:
        after = state._replace(database=state.copy, flushed=None, copy=None, holds=frozenset())
        yield "failover", _spend(after._replace(noticed=not rules.fence), FAIL)
    if state.flushed is not None:
        yield "crash", _spend(state._replace(database=state.flushed, flushed=None, holds=frozenset()), FAIL)


# --- what clients do -------------------------------------------------------------------------------------------------
def _send(state: SystemState, rules: Rules) -> SystemState:
    """Sends a message. The acknowledgement follows when the commit and every earlier commit are on the disk."""
    uid, old = state.next_uid, state.database
    id_ = max(old.last_id, old.pos, *(id_ for id_, _ in old.log), 0) + 1
    new = old._replace(last_id=id_, sent=old.sent | {uid})
    if rules.fifo:
        new = new._replace(group=(*old.group, Row(id_, uid, 0, hidden=False)))
    else:
        new = new._replace(log=(*old.log, (id_, uid)))
    return _spend(state._replace(database=new, flushed=None, next_uid=uid + 1), SEND)


def _receive(state: SystemState, rules: Rules, consumer: int, count: int) -> SystemState:
    """Delivers messages. Receives from standard queues need not be on the disk yet."""
    hand_out = _receive_group if rules.fifo else _receive_log
    new, handles = hand_out(state, count)
    for handle in handles:
        if any(uid == handle.uid and holder != consumer for uid, holder in state.holds):
            raise ViolationError(f"{handle.uid} is delivered while another consumer has it")
        if handle.uid in state.database.deleted:
            raise ViolationError(f"{handle.uid} is delivered after its delete was acknowledged")
    return _spend(
        state._replace(
            database=new,
            flushed=None if rules.fifo else state.flushed or state.database,
            handles=state.handles | {(consumer, handle) for handle in handles},
            holds=state.holds | {(handle.uid, consumer) for handle in handles},
            next_nonce=state.next_nonce + 1,
        ),
        RECEIVE,
    )


def _receive_log(state: SystemState, count: int) -> tuple[StoredDatabase, list[Handle]]:
    """Receives expired leases first, then the side table, then new messages. A receive creates one lease."""
    old, nonce = state.database, state.next_nonce
    for lease in old.leases:
        if lease.ids and not lease.hidden:
            again = Lease(lease.pos, lease.ids, lease.receives + 1, nonce, hidden=True)
            new = old._replace(leases=tuple(again if each == lease else each for each in old.leases))
            return new, [_of_lease(new, again, id_) for id_ in again.ids]
    for row in old.side:
        if not row.hidden:
            taken = row._replace(receives=row.receives + 1, hidden=True)
            new = old._replace(side=tuple(taken if each == row else each for each in old.side))
            return new, [Handle(0, row.id, taken.receives, 0, row.uid)]
    fresh = [id_ for id_, _ in old.log if id_ > old.pos][:count]
    if not fresh:
        return old, []
    lease = Lease(fresh[-1], tuple(fresh), 1, nonce, hidden=True)
    new = old._replace(leases=(*old.leases, lease))
    return new, [_of_lease(new, lease, id_) for id_ in fresh]


def _of_lease(database: StoredDatabase, lease: Lease, id_: int) -> Handle:
    uid = database.uid(id_)
    assert uid is not None
    return Handle(lease.pos, id_, lease.receives, lease.nonce, uid)


def _receive_group(state: SystemState, count: int) -> tuple[StoredDatabase, list[Handle]]:
    """Receives the group's first messages up to its first hidden message."""
    old, taken = state.database, []
    for row in old.group[:count]:
        if row.hidden:
            break
        taken.append(row)
    earlier = {row.uid for row in old.group} - {row.uid for row in taken}
    if taken and any(uid < taken[0].uid for uid in earlier):
        raise ViolationError(f"{taken[0].uid} is delivered before {min(earlier)}")
    again = {row: row._replace(receives=row.receives + 1, hidden=True) for row in taken}
    new = old._replace(group=tuple(again.get(row, row) for row in old.group))
    return new, [Handle(0, row.id, row.receives + 1, 0, row.uid) for row in taken]


def _delete(state: SystemState, rules: Rules, consumer: int, handle: Handle) -> SystemState:
    """Deletes a message with any of a consumer's handles, even an old one. Has no effect if the message is gone or the
    handle is invalid.
    """
    old = state.database
    new = _delete_from_group(old, rules, handle) if rules.fifo else _delete_from_log(old, rules, handle)
    gone = old.uids() - new.uids()
    if gone - {handle.uid}:
        raise ViolationError(f"a handle of {handle.uid} deletes {min(gone)}")
    acknowledged = gone or (frozenset({handle.uid}) if not rules.fifo and handle.uid in old.sent else frozenset())
    return state._replace(
        database=new._replace(deleted=old.deleted | acknowledged),
        flushed=None,
        handles=state.handles - {(consumer, handle)},
        holds=frozenset(hold for hold in state.holds if hold[0] != handle.uid),
    )


def _delete_from_log(old: StoredDatabase, rules: Rules, handle: Handle) -> StoredDatabase:
    """Deletes from the handle's lease or, if another lease has replaced it, from the message's current place."""
    for lease in old.leases:
        same = lease.nonce == handle.nonce if rules.identity else lease.receives == handle.receives
        if lease.pos == handle.pos and same and handle.id in lease.ids:
            return _without(old, handle.id)
    return _without(old, handle.id) if _finds(old, rules, handle) else old


def _finds(old: StoredDatabase, rules: Rules, handle: Handle) -> bool:
    """Returns whether the handle's id belongs to its message in any place."""
    found = [row for row in old.side if row.id == handle.id]
    uid = found[0].uid if found else old.uid(handle.id)
    if rules.identity:
        return uid == handle.uid
    lease = next((lease for lease in old.leases if handle.id in lease.ids), None)
    count = found[0].receives if found else lease.receives if lease else 0
    return uid is not None and count <= handle.receives


def _without(old: StoredDatabase, id_: int) -> StoredDatabase:
    """Deletes a message from any place."""
    if any(row.id == id_ for row in old.side):
        return old._replace(side=tuple(row for row in old.side if row.id != id_))
    if id_ > old.pos:
        return old._replace(log=tuple(entry for entry in old.log if entry[0] != id_))
    leases = (lease._replace(ids=tuple(each for each in lease.ids if each != id_)) for lease in old.leases)
    return old._replace(leases=tuple(leases))


def _delete_from_group(old: StoredDatabase, rules: Rules, handle: Handle) -> StoredDatabase:
    """Deletes a FIFO message only with the last receive's handle, and only before the receive's timeout."""
    return old._replace(group=tuple(row for row in old.group if not _is_current(row, rules, handle)))


def _is_current(row: Row, rules: Rules, handle: Handle) -> bool:
    same = row.id == handle.id and row.receives == handle.receives and row.hidden
    return same and (row.uid == handle.uid or not rules.identity)


def _unhide(state: SystemState, rules: Rules, handle: Handle) -> SystemState:
    """Applies ChangeMessageVisibility to 0. A message in a standard queue moves to the side table."""
    old = state.database
    if rules.fifo:
        rows = (row._replace(hidden=False) if _is_current(row, rules, handle) else row for row in old.group)
        new = old._replace(group=tuple(rows))
        changed = {row.uid for row, now in zip(old.group, new.group, strict=True) if row != now}
    elif _finds(old, rules, handle) and handle.uid in old.uids():
        uid = next((row.uid for row in old.side if row.id == handle.id), None) or old.uid(handle.id)
        assert uid is not None
        new = _without(old, handle.id)
        new = new._replace(side=(*new.side, Row(handle.id, uid, handle.receives, hidden=False)))
        changed = {uid}
    else:
        new, changed = old, set()
    holds = frozenset(hold for hold in state.holds if hold[0] not in changed)
    return _spend(state._replace(database=new, flushed=None, holds=holds), CHANGE)


# --- what happens to them --------------------------------------------------------------------------------------------
def _time_outs(state: SystemState) -> Iterator[tuple[str, SystemState]]:
    """Yields the end of each timeout of a lease or message. Any consumer may receive the message afterwards."""
    old = state.database
    for lease in old.leases:
        if lease.hidden and lease.ids:
            ended = lease._replace(hidden=False)
            new = old._replace(leases=tuple(ended if each == lease else each for each in old.leases))
            yield f"{lease} ends", _release(state, new, {old.uid(id_) for id_ in lease.ids})
    for row in (*old.side, *old.group):
        if row.hidden:
            side, group = (_visible(rows, row) for rows in (old.side, old.group))
            yield f"{row} ends", _release(state, old._replace(side=side, group=group), {row.uid})


def _visible(rows: tuple[Row, ...], row: Row) -> tuple[Row, ...]:
    return tuple(each._replace(hidden=False) if each == row else each for each in rows)


def _release(state: SystemState, database: StoredDatabase, uids: set[int | None]) -> SystemState:
    holds = frozenset(hold for hold in state.holds if hold[0] not in uids)
    return _spend(state._replace(database=database, holds=holds), TIME_OUT)


def _check_nothing_lost(state: SystemState) -> None:
    lost = state.database.sent - state.database.deleted - state.database.uids()
    if lost:
        raise ViolationError(f"{min(lost)} is lost")


def _left(state: SystemState, kind: int) -> bool:
    return state.budget[kind] > 0


def _spend(state: SystemState, kind: int) -> SystemState:
    budget = tuple(left - (number == kind) for number, left in enumerate(state.budget))
    return state._replace(budget=budget)
