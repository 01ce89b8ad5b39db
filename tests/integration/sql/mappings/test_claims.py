"""Tests the choice of the process that polls for a mapping (queue.claim_mappings)."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from uuid import uuid4

import psycopg

from tests.support.database import Database

PROCESSES, MAPPINGS, ROUNDS = 4, 50, 60


def test_processes_that_begin_together_share_no_mapping(database: Database) -> None:
    """Otherwise the mapping would have twice as many concurrent invocations until the next claim."""
    began = Barrier(PROCESSES)

    def claim(connection: psycopg.Connection) -> list[object]:
        began.wait()
        rows = connection.execute("select mapping_id from queue.claim_mappings(%s, 60)", [uuid4()])
        return [row[0] for row in rows if row[0] is not None]

    connections = [psycopg.connect(database.dsn, autocommit=True) for _ in range(PROCESSES)]
    first = connections[0]
    first.execute(
        "insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled) "
        "select '000000000000', 'us-east-1', 'q', format('f%%s', n), '{}', true from generate_series(1, %s) n",
        [MAPPINGS],
    )
    with ThreadPoolExecutor(PROCESSES) as threads:
        for _ in range(ROUNDS):
            first.execute("delete from queue.poller")
            first.execute("update queue.event_source_mapping set poller_id = null")
            claimed = [mapping_id for found in threads.map(claim, connections) for mapping_id in found]
            assert len(claimed) == len(set(claimed)) == MAPPINGS
    for connection in connections:
        connection.close()


def test_a_process_knows_that_others_poll(database: Database) -> None:
    """An installation without mappings has no row, so an idle process seldom asks."""
    claim = "select mapping_id from queue.claim_mappings(gen_random_uuid(), 15)"
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        assert connection.execute(claim).fetchall() == []
        connection.execute(
            "insert into queue.event_source_mapping (account_id, region, queue_arn, function_arn, options, enabled)"
            " values ('000000000000', 'us-east-1', 'q', 'f', '{}', true)"
        )
        ((mapping,),) = connection.execute(claim).fetchall()
        assert mapping is not None
        claim_of_another = claim.replace("mapping_id", "mapping_id, next_end_ms between 1 and 15000")
        assert connection.execute(claim_of_another).fetchall() == [(None, True)]
        connection.execute("update queue.poller set alive_until = clock_timestamp()")
        assert connection.execute(claim).fetchall() == [(mapping,)]
