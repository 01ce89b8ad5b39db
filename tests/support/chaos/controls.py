"""Defines negative controls: defects that the checker must detect. Each control causes a defect that the ledgers do not
record.
"""

import time
from typing import Final

from tests.support.chaos.faults import Fault, Scene, paused_bus
from tests.support.chaos.traffic import Endpoint


def lose_messages(scene: Scene) -> float:
    """Deletes messages that no consumer has received yet."""
    return _sql(scene, "select queue.delete('standard', r.msg_id) from queue.receive('standard', 600, 3) r", 3)


def invent_messages(scene: Scene) -> float:
    return _sql(scene, "select queue.send('standard', '\"nobody sent this\"')")


def store_twice(scene: Scene) -> float:
    """Stores a sent message a second time, with another message id."""
    return _sql(
        scene,
        "insert into queue.side (id, visible_at, sent_at, message_id, queue_id, shard, body)"
        " select nextval('queue.side_id'), clock_timestamp(), l.sent_at, gen_random_uuid(), l.queue_id, -1, l.body"
        " from queue.log l join queue.queues q using (queue_id) where q.name = 'standard'"
        " order by l.sent_at desc limit 3",
    )


def undo_deletes(scene: Scene) -> float:
    """Acknowledges deletes without deleting."""
    scene.traffic.lies.add("undo deletes")
    time.sleep(1)
    scene.traffic.lies.discard("undo deletes")
    return time.time()


def end_leases_early(scene: Scene) -> float:
    """Makes messages visible while a consumer still processes them. For a second, the consumers keep what they receive,
    because messages in flight are usually being deleted, and no consumer receives these again."""
    scene.traffic.lies.add("keep messages")
    time.sleep(1)
    ended = _sql(
        scene,
        "select queue.change_visibility('standard', p.public_id, 0) from queue.peek_messages("
        " (select arn from queue.queues where name = 'standard'), 'in_flight', 0, 1000) p",
    )
    scene.traffic.lies.discard("keep messages")
    return ended


def change_order(scene: Scene) -> float:
    """Changes the order of a group by rotating the bodies of its waiting messages."""
    scene.traffic.lies.add("pause")
    time.sleep(1)
    changed = _sql(
        scene,
        "update queue.fifo_message m set body = n.body, message_id = n.message_id from ("
        " select f.id, lag(f.body) over w as body, lag(f.message_id) over w as message_id"
        " from queue.fifo_message f where f.receive_count = 0 window w as (partition by f.group_key order by f.id)) n"
        " where n.id = m.id and n.body is not null",
    )
    scene.traffic.lies.discard("pause")
    return changed


def move_early(scene: Scene) -> float:
    """Moves messages to the dead-letter queue after the first receive."""
    policy = "jsonb_set(attributes, '{RedrivePolicy}', to_jsonb(replace(attributes ->> 'RedrivePolicy', '2}', '1}')))"
    back = policy.replace("'2}', '1}'", "'1}', '2}'")
    _sql(scene, f"update queue.queues set attributes = {policy} where name = 'poison'")
    time.sleep(3)
    return _sql(scene, f"update queue.queues set attributes = {back} where name = 'poison'")


def fire_twice(scene: Scene) -> float:
    """Fires one occurrence twice, and skips another occurrence."""
    return _sql(
        scene,
        "update queue.schedule set next_fire_at = next_fire_at - interval '3 seconds',"
        " due_at = due_at - interval '3 seconds' where name = 'tick'",
        1,
        "delete from queue.schedule_run",
    )


def skip_occurrences(scene: Scene) -> float:
    return _sql(
        scene,
        "update queue.schedule set next_fire_at = next_fire_at + interval '2 seconds',"
        " due_at = due_at + interval '2 seconds' where name = 'tick'",
    )


def lose_bus_events(scene: Scene) -> float:
    """Moves the cursor of the queue `bus` past pages that the queue has not received. A subscriber that was behind for
    a while has its own cursor. The other subscriber's cursor may be behind although `bus` has received all pages."""
    return _change_undelivered(
        scene,
        "update queue.event_cursor c set page = p.page from queue.event_subscriber s,"
        " (select bus_id, max(page) as page from queue.event_page group by bus_id) p"
        " where s.name = 'bus' and s.bus_id = c.bus_id and p.bus_id = c.bus_id and c.page < p.page"
        " and c.subscriber_id = case when s.follows then 0 else s.subscriber_id end",
    )


def repeat_bus_events(scene: Scene) -> float:
    """Moves all cursors back."""
    return _change_undelivered(scene, "update queue.event_cursor c set page = page - 3 where page > 3")


def reorder_bus_events(scene: Scene) -> float:
    """Reverses the order of the events in pages that the subscribers have not received."""
    return _change_undelivered(
        scene,
        "update queue.event_page p set numbers = array(select n from unnest(p.numbers) n order by n desc)"
        " where p.page > (select max(page) from queue.event_cursor)"
        " and cardinality(p.numbers) > 8",
    )


def _change_undelivered(scene: Scene, query: str) -> float:
    """Runs `query` while the worker cannot deliver the bus's events, until the query has affected a row."""
    with paused_bus(scene) as connection:
        until, rows = time.time() + 20, 0
        while not rows and time.time() < until:
            time.sleep(0.5)
            rows = connection.execute(query.encode()).rowcount
    return time.time()


def lose_webhooks(scene: Scene) -> float:
    """Makes the endpoint acknowledge messages without noting them in the ledger."""
    return _lose(scene, "lose webhooks", scene.traffic.endpoint)


def lose_mapped(scene: Scene) -> float:
    """Makes a mapping's target drop some messages, and report success for all of them."""
    return _lose(scene, "lose mapped", scene.traffic.target)


def _lose(scene: Scene, lie: str, endpoint: Endpoint) -> float:
    """Enables the defect until the endpoint has lost a message, for ten seconds at most."""
    scene.traffic.lies.add(lie)
    until = time.time() + 10
    while not endpoint.lost and time.time() < until:
        time.sleep(0.1)
    scene.traffic.lies.discard(lie)
    return time.time()


def _sql(scene: Scene, query: str, times: int = 1, then: str = "") -> float:
    """Repeats `query` for up to ten seconds, until the query has affected `times` rows, and then runs `then`."""
    with scene.servers.database() as connection:
        until, rows = time.time() + 10, 0
        while rows < times and time.time() < until:
            rows += connection.execute(query.encode()).rowcount
        if then:
            connection.execute(then.encode())
    return time.time()


CONTROLS: Final = {
    Fault("lose_messages", "other", lose_messages): "standard: lost",
    Fault("invent_messages", "other", invent_messages): "standard: phantom",
    Fault("store_twice", "other", store_twice): "standard: stored_twice",
    Fault("undo_deletes", "other", undo_deletes): "standard: resurrected",
    Fault("end_leases_early", "other", end_leases_early): "standard: overlapping",
    Fault("change_order", "other", change_order): "fifo.fifo: out_of_order",
    Fault("move_early", "other", move_early): "poison: beyond_maximum",
    Fault("fire_twice", "other", fire_twice): "ticks: fired twice",
    Fault("skip_occurrences", "other", skip_occurrences): "ticks: missing",
    Fault("lose_mapped", "other", lose_mapped): "mapped: lost",
    Fault("lose_webhooks", "other", lose_webhooks): "webhooks: lost",
    Fault("reorder_bus_events", "other", reorder_bus_events): "bus.fifo: out_of_order",
    Fault("repeat_bus_events", "other", repeat_bus_events): "bus: stored_twice",
    # The last control of the bus, because a repetition would deliver the lost events.
    Fault("lose_bus_events", "other", lose_bus_events): "bus: lost",
}
"""The violations that each control must cause."""
