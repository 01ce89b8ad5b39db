"""Measures filter policies: µs of one queue.policy_matches in PostgreSQL, and of making a message's facts in Python.

python -m benchmarks.costs.filters
"""

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import msgspec
import psycopg

from penstock.postgres.migrations import migrate
from penstock.sns.filter_policy.compile import compile_policy
from penstock.sns.filter_policy.facts import attribute_facts, body_facts
from penstock.sqs.types import MessageAttributeValue
from penstock_web.local.postgres import ROLE, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.system_account import SystemAccount

# The page "Example filter policies" of the SNS Developer Guide has the first ones; the others are of the same size.
STORE = {
    "store": ["example_corp"],
    "event": [{"anything-but": "order_cancelled"}],
    "customer_interests": ["rugby", "football", "baseball"],
    "price_usd": [{"numeric": [">=", 100]}],
}
POLICIES: dict[str, Any] = {
    "one key, exact": {"store": ["example_corp"]},
    "three keys, exact": {"store": ["example_corp"], "event": ["order_placed"], "customer_interests": ["rugby"]},
    "four keys of AWS's example": STORE,
    "three keys, prefix, range, exists": {
        "event": [{"prefix": "order"}],
        "price_usd": [{"numeric": [">", 0, "<=", 300]}],
        "encrypted": [{"exists": False}],
    },
    "one key, no match": {"store": ["other"]},
    "wildcard and $or": {"event": [{"wildcard": "order*ed"}], "$or": [{"store": ["a"]}, {"price_usd": [210.75]}]},
}  # fmt: skip
BODY = {
    "store": "example_corp",
    "event": "order_placed",
    "customer_interests": ["soccer", "rugby", "hockey"],
    "price_usd": 210.75,
}
LINES = {**BODY, "lines": [{"sku": f"s{number}", "count": number} for number in range(10)]}
ATTRIBUTES = {
    "store": MessageAttributeValue(data_type="String", string_value="example_corp"),
    "event": MessageAttributeValue(data_type="String", string_value="order_placed"),
    "customer_interests": MessageAttributeValue(data_type="String.Array", string_value='["soccer", "rugby"]'),
    "price_usd": MessageAttributeValue(data_type="Number", string_value="210.75"),
}


@contextmanager
def server() -> Iterator[psycopg.Connection[Any]]:
    """A connection of the service's role to a new PostgreSQL with Penstock's schema."""
    with ephemeral_state() as state, running_postgres(state, SystemAccount.choose()) as postgres:
        with psycopg.connect(postgres.superuser_dsn(), autocommit=True) as administration:
            administration.execute(f"create database filters owner {ROLE}".encode())
        migrate(postgres.service_dsn("filters"), role=ROLE)
        with psycopg.connect(postgres.service_dsn("filters"), autocommit=True) as connection:
            yield connection


def matching_us(connection: psycopg.Connection[Any], policy: Any, body: Any, times: int) -> float:
    """Time of one call among many in a statement, as in a publish: the best of five."""
    compiled = compile_policy(json.dumps(policy), "MessageBody")
    facts = msgspec.json.encode(body_facts(json.dumps(body))).decode()
    query = (
        "explain (analyze, timing off, summary on, format json)"
        " select count(*) filter (where queue.policy_matches(p.policy, f.facts)) from generate_series(1, %s) n,"
        " lateral (select %s::jsonb || case when n < 0 then '[]' else '[]'::jsonb end as policy) p,"
        " lateral (select %s::jsonb || case when n < 0 then '{}' else '{}'::jsonb end as facts) f"
    )
    best = float("inf")
    for _ in range(5):
        row = connection.execute(query, (times, compiled, facts)).fetchone()
        assert row is not None
        best = min(best, row[0][0]["Execution Time"])
    return best / times * 1e3


def python_us(work: Callable[[], object], times: int) -> float:
    """CPU of one call: the best of five."""
    best = float("inf")
    for _ in range(5):
        began = process_time()
        for _ in range(times):
            work()
        best = min(best, process_time() - began)
    return best / times * 1e6


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20_000, help="calls a run")
    times = parser.parse_args().times
    lines, text = json.dumps(LINES), json.dumps(BODY)
    with server() as connection:
        for name, policy in POLICIES.items():
            print(f"{matching_us(connection, policy, BODY, times):7.1f} µs  SQL     {name}")
        together = {"lines": {"sku": ["s9"], "count": [9]}}
        print(
            f"{matching_us(connection, together, LINES, times // 10):7.1f} µs  SQL     two keys in ten elements"
        )
    print(
        f"{python_us(lambda: attribute_facts(ATTRIBUTES), times):7.1f} µs  Python  facts of four attributes"
    )
    print(
        f"{python_us(lambda: body_facts(text), times):7.1f} µs  Python  facts of a body of {len(text)} bytes"
    )
    print(
        f"{python_us(lambda: body_facts(lines), times):7.1f} µs  Python  facts of a body of {len(lines)} bytes"
    )


if __name__ == "__main__":
    main()
