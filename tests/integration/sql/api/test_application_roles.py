"""Tests that an application's database role reaches only its own account, and only through the documented functions.

Each attack on the other account uses a login whose only role is `penstock_app`. After each attack, the test checks all
data of the other account. An attack succeeds if it names the caller's own queue instead.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.postgres.statements.access import SET_ROLE_ACCOUNT
from penstock_web.local.pgbouncer import install_lookup
from tests.support.database import Database, TestServer
from tests.support.sql.calls import call

VICTIM, ATTACKER = "111111111111", "222222222222"
REGION = "eu-west-1"
QUEUE, FIFO, DEAD = (f"arn:aws:sqs:{REGION}:{VICTIM}:{name}" for name in ("orders", "steps.fifo", "dead"))
SECRET_BODY = "only the owner may read this"
PASSWORD = "long enough"


class Setup(NamedTuple):
    """Holds the addresses of the superuser and two applications, and message ids from the queues of the first
    application."""

    dsn: str
    victim: str
    attacker: str
    ids: dict[str, int]


def login(database: Database, account: str, *groups: str) -> str:
    name = f"app_{account}_{database.name}"
    with psycopg.connect(database.dsn, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create role {} login password {} in role {}").format(
                sql.Identifier(name), sql.Literal(PASSWORD), sql.SQL(", ").join(map(sql.Identifier, groups))
            )
        )
        assert [row.problem for row in call(connection, SET_ROLE_ACCOUNT, name, account, REGION)] == [None]
    return make_conninfo(database.api_dsn, user=name, password=PASSWORD)


def user_of(address: str) -> sql.Identifier:
    return sql.Identifier(str(conninfo_to_dict(address)["user"]))


@pytest.fixture(scope="module")
def setup(postgres: TestServer) -> Iterator[Setup]:
    with postgres.database() as database:
        victim, attacker = (login(database, account, "penstock_app") for account in (VICTIM, ATTACKER))
        ids: dict[str, int] = {}
        with psycopg.connect(victim, autocommit=True) as connection:
            for statement in (
                "select queue.create('dead')", "select queue.create('orders')", "select queue.create_fifo('steps')",
                "select queue.subscribe('shop.#', 'orders')",
                "select queue.create_schedule('nightly', cron => '0 3 * * *', queue => 'orders', message => '{}')",
            ):  # fmt: skip
                connection.execute(statement.encode())
            body = json.dumps(SECRET_BODY)
            for kind, query in {
                "in flight": "select queue.send('orders', %s)",
                "visible": "select queue.send('orders', %s)",
                "fifo": "select queue.send_fifo('steps.fifo', %s, 'g')",
            }.items():
                ((ids[kind],),) = connection.execute(query.encode(), (body,)).fetchall()
                if kind == "in flight":
                    assert connection.execute("select * from queue.receive('orders', 40000)").fetchall()
        with psycopg.connect(attacker, autocommit=True) as connection:
            connection.execute("select queue.create('mine'), queue.create_fifo('mine')")
        yield Setup(database.dsn, victim, attacker, ids)
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            for address in (victim, attacker):
                connection.execute(sql.SQL("drop role {}").format(user_of(address)))


def test_acts_of_applications_are_in_the_audit(postgres: TestServer) -> None:
    """Each action adds one audit row in the same transaction. An action that changes no data or is rolled back adds no
    row."""
    queue = f"arn:aws:sqs:{REGION}:{VICTIM}:orders"
    schedule = f"arn:aws:scheduler:{REGION}:{VICTIM}:schedule/default/nightly"
    acts = (
        ("create('orders', '{\"DelaySeconds\": \"1\"}')", "sqs:CreateQueue", queue),
        ("create_fifo('orders')", "sqs:CreateQueue", f"{queue}.fifo"),
        ("create_schedule('nightly', every => '1h', queue => 'orders', message => '{}')",
         "scheduler:CreateSchedule", schedule),
        ("subscribe('shop.#', 'orders')", "penstock:Subscribe", "shop.#"),
        ("unsubscribe('shop.#', 'orders')", "penstock:Unsubscribe", "shop.#"),
        ("delete_schedule('nightly')", "scheduler:DeleteSchedule", schedule),
        ("send('orders', '1')", None, None),
        ("purge_queue('orders')", "sqs:PurgeQueue", queue),
        ("delete_queue('orders')", "sqs:DeleteQueue", queue),
    )  # fmt: skip
    once = {"create_schedule", "purge_queue"}  # fails, or is another act
    with postgres.database() as database:
        address = login(database, VICTIM, "penstock_app")
        with psycopg.connect(address) as application:
            for query, _, _ in acts:
                application.execute(f"select queue.{query}".encode())
                application.rollback()
                for _ in range(1 if query.partition("(")[0] in once else 2):
                    application.execute(f"select queue.{query}".encode())
                application.commit()
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            rows = connection.execute(
                "select action, target, account_id, interface, actor, address, affected from queue.audit order by 1"
            ).fetchall()
            user = str(conninfo_to_dict(address)["user"])
            who = (VICTIM, "database", user, "127.0.0.1")
            expected = sorted((action, target, *who) for _, action, target in acts if action)
            assert sorted(row[:6] for row in rows) == expected
            assert [row[6] for row in rows if row[6] != 1] == [2]  # the purge's messages
            details = connection.execute(
                "select details from queue.audit where target = %s and details <> '{}'", (queue,)
            ).fetchone()
            assert details == ({"attributes": {"DelaySeconds": "1"}},)
            connection.execute(sql.SQL("drop role {}").format(user_of(address)))


def test_through_a_pooler_each_login_has_its_own_account(postgres: TestServer) -> None:
    """PgBouncer shares a server connection only between clients of the same role."""
    with postgres.database() as database:
        install_lookup(postgres.server, database.name)
        accounts = {account: login(database, account, "penstock_app") for account in (VICTIM, ATTACKER)}
        pooler = conninfo_to_dict(database.pooled_dsn)
        for _ in range(2):
            for account, address in accounts.items():
                through = make_conninfo(address, host=str(pooler["host"]), port=str(pooler["port"]))
                with psycopg.connect(through, autocommit=True, prepare_threshold=None) as connection:
                    connection.execute("select queue.create('orders')")
                    arns = connection.execute("select arn from queue.list_queues()").fetchall()
                    assert arns == [(f"arn:aws:sqs:{REGION}:{account}:orders",)]
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            for address in accounts.values():
                connection.execute(sql.SQL("drop role {}").format(user_of(address)))


BELONGINGS = (
    """select arn, attributes, tags from queue.queues where account_id = %(account)s order by arn""",
    """select q.arn, m.body, m.attributes from queue.queues q
        join (select queue_id, id, body, attributes from queue.log union all
              select queue_id, id, body, attributes from queue.side) m using (queue_id)
        where q.account_id = %(account)s order by 1, m.id""",
    """select q.arn, l.shard, l.pos, l.ids, l.gone, l.visible_at::text, l.receive_count
        from queue.lease l join queue.queues q using (queue_id) where q.account_id = %(account)s order by 1, 2, 3""",
    """select m.id, m.visible_at::text, m.receive_count from queue.fifo_message m join queue.queues q using (queue_id)
        where q.account_id = %(account)s order by 1""",
    """select * from queue.binding
        where account_id = %(account)s or endpoint like '%%' || %(account)s || '%%' order by binding_id""",
    """select name, status, target, next_fire_at::text from queue.schedule
        where account_id = %(account)s or target::text like '%%' || %(account)s || '%%' order by name""",
    """select * from queue.role_account order by role_name""",
    """select key_id, account_id from queue.bearer_key union all
        select access_key_id, account_id from queue.access_key order by 1""",
    """select proname, proowner, proacl, prosrc, prosecdef, proconfig from pg_proc
        where pronamespace = 'queue'::regnamespace order by oid""",
)
"""Lists all data of the attacked account, and the keys, roles and functions of the installation."""


def belongings(setup: Setup) -> list[Any]:
    with psycopg.connect(setup.dsn) as connection:
        return [connection.execute(query.encode(), {"account": VICTIM}).fetchall() for query in BELONGINGS]


# Lists calls of the documented functions. {q} is a standard queue, and {f} is a FIFO queue with messages of these ids.
# The last calls name the other account's messages, schedules and routing keys by id or name instead of naming a queue.
CALLS = {
    "send": "select queue.send('{q}', '1')",
    "send_batch": "select queue.send_batch('{q}', array['1', '2']::jsonb[])",
    "send_fifo": "select queue.send_fifo('{f}', '1', 'g')",
    "receive": "select * from queue.receive('{q}', 0, 10)",
    "receive_fifo": "select * from queue.receive_fifo('{f}', 0, 10)",
    "metrics": "select * from queue.metrics('{q}')",
    "change_visibility": "select queue.change_visibility('{q}', {in_flight}, 0)",
    "change_visibility of FIFO": "select queue.change_visibility('{f}', {fifo}, 0)",
    "fail": "select queue.fail('{q}', {in_flight}, 'boom', 0)",
    "delete": "select queue.delete('{q}', {visible})",
    "delete of FIFO": "select queue.delete('{f}', {fifo})",
    "ack": "select queue.ack('{q}', array[{in_flight}])",
    "archive": "select queue.archive('{q}', {visible})",
    "pop": "select * from queue.pop('{q}', 10)",
    "purge_queue": "select queue.purge_queue('{q}')",
    "subscribe": "select queue.subscribe('other.#', '{q}')",
    "unsubscribe": "select queue.unsubscribe('shop.#', '{q}')",
    "dead letters": "select queue.create('q-' || left(gen_random_uuid()::text, 8), jsonb_build_object('RedrivePolicy',"
    " '{{\"deadLetterTargetArn\": \"{d}\", \"maxReceiveCount\": 1}}'))",
    "schedule": "select queue.create_schedule('s-' || left(gen_random_uuid()::text, 8), every => '1m', queue => '{q}',"
    " message => '1')",
    "delete_queue": "select queue.delete_queue('{d}')",
}  # fmt: skip
NAMELESS = {
    "events to another's bindings": "select * from queue.publish_event('shop.orders', '1')",
    "send_topic": "select queue.send_topic('shop.orders', '1')",
    "another's schedule": "select queue.delete_schedule('nightly')",
    "a message of another's queue under a name of one's own": "select queue.delete('mine', {visible})",
    "its visibility": "select queue.change_visibility('mine', {in_flight}, 0)",
    "its failure": "select queue.fail('mine', {in_flight}, 'boom')",
    "one of FIFO": "select queue.delete('mine.fifo', {fifo})",
    "the visibility of one of FIFO": "select queue.change_visibility('mine.fifo', {fifo}, 0)",
    "its copy": "select queue.archive('mine', {visible})",
    "the same plain name": "select queue.metrics('orders')",
    "a list": "select * from queue.list_queues()",
}
DIRECT = {
    **{
        f"select from {table}": f"select * from queue.{table}"
        for table in (
            "secret", "access_key", "bearer_key", "signing_key", "account_user", "role_account", "queues", "log",
            "side", "lease", "fifo_message", "archive", "schedule", "outgoing_delivery", "subscription", "topic",
            "live_message",
        )
    },
    "make a key": "insert into queue.bearer_key (key_id, account_id, secret_hash) values ('k', '{a}', sha256('x'))",
    "become the other account": "update queue.role_account set account_id = '{a}'",
    "by its function": "select queue.set_role_account(session_user, '{a}', 'eu-west-1')",
    "an internal receive": "select * from queue.receive_messages('{q}', 10, 10, 0, null, false)",
    "an internal send": "select * from queue.send_documents('{q}', array['1'::jsonb], null, null, null, null)",
    "an internal deletion": "select * from queue.drop_queue('{q}')",
    "the key of handles": "select * from queue.shared_secret()",
    "the owner's role": "set role penstock_owner",
    "the service's role": "set role penstock_api",
    "another session": "set session authorization postgres",
    "a function of the schema": "create function queue.resolve(text) returns text language sql as $$select '{q}'$$",
    "a table of the schema": "create table queue.evil (a int)",
    "replace a function": "create or replace function queue.caller_account() returns int language sql as 'select 1'",
    "alter a function": "alter function queue.send(text, jsonb, jsonb, int) security invoker",
    "lock a table": "do $$begin lock table queue.log in access exclusive mode; end$$",
    "truncate": "truncate queue.log",
    "drop": "drop schema queue cascade",
}  # fmt: skip


def filled(text: str, setup: Setup, *, foreign: bool) -> str:
    names = (QUEUE, FIFO, DEAD) if foreign else ("orders", "steps.fifo", "dead")
    ids = {name.replace(" ", "_"): number for name, number in setup.ids.items()}
    if foreign:
        return text.format(q=names[0], f=names[1], d=names[2], a=VICTIM, **ids)
    return text.format(q=names[0], f=names[1], d=DEAD if "RedrivePolicy" in text else names[2], **ids)


def attempt(address: str, statement: str, *before: str) -> tuple[str | None, list[Any]]:
    """Returns the SQLSTATE and the rows."""
    with psycopg.connect(address, autocommit=True) as connection:
        for each in before:
            connection.execute(each.encode())
        try:
            result = connection.execute(statement.encode())
            return None, result.fetchall() if result.description else []
        except psycopg.Error as error:
            return error.sqlstate, [(str(error),)]


# Lists how an application can change its session to make a function use the application's objects instead of Penstock's
# objects.
TRICKS = {
    "plainly": (),
    "shadowed": (
        "create temp table queues as select 1 as queue_id, '111111111111' as account_id",
        (
            "create temp table role_account as select session_user::text as role_name, '111111111111' as account_id,"
            " 'eu-west-1' as region"
        ),
        "create function pg_temp.resolve(text) returns text language sql as $$select $1$$",
        "create function pg_temp.like(text, text) returns boolean language sql as 'select true'",
        "set search_path = pg_temp, public, queue, pg_catalog",
        "set standard_conforming_strings = off",
    ),
}


@pytest.mark.parametrize(
    ("what", "trick"),
    [*((what, trick) for what in (*CALLS, *NAMELESS) for trick in TRICKS), *((what, "plainly") for what in DIRECT)],
)
def test_an_attempt_on_another_account(setup: Setup, what: str, trick: str) -> None:
    before = belongings(setup)
    text = {**CALLS, **NAMELESS, **DIRECT}[what]
    state, rows = attempt(setup.attacker, filled(text, setup, foreign=True), *TRICKS[trick])
    if what in DIRECT:
        assert state in ("42501", "42P01", "42883"), (state, rows)
    elif what in CALLS and what != "delete_queue":
        assert state in ("QU001", "QU003")
    else:
        assert VICTIM not in str(rows)
    assert SECRET_BODY not in str(rows)
    assert belongings(setup) == before


@pytest.mark.parametrize("what", CALLS)
def test_the_same_on_ones_own(postgres: TestServer, what: str) -> None:
    """Without this test, the attacks could fail because of a mistake in the calls."""
    with postgres.database() as database:
        address = login(database, VICTIM, "penstock_app")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("select queue.create('dead'), queue.create('orders'), queue.create_fifo('steps')")
            connection.execute("select queue.subscribe('shop.#', 'orders')")
            sends = (
                "select queue.send('orders', '1'), queue.send('orders', '2'), queue.send_fifo('steps.fifo', '3', 'g')"
            )
            ((in_flight, visible, fifo),) = connection.execute(sends.encode()).fetchall()
            connection.execute("select * from queue.receive('orders', 40000)")
        ids = {"in flight": in_flight, "visible": visible, "fifo": fifo}
        state, rows = attempt(address, filled(CALLS[what], Setup("", "", "", ids), foreign=False))
        assert state is None
        assert rows
        assert rows not in ([(False,)], [(None,)])
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("drop role {}").format(user_of(address)))


def test_events_reach_ones_own_bindings(setup: Setup) -> None:
    assert attempt(setup.attacker, "select queue.subscribe('mine.#', 'mine')")[0] is None
    state, rows = attempt(setup.attacker, "select queue_name from queue.publish_event('mine.x', '1')")
    assert (state, rows) == (None, [("mine",)])


def test_a_role_without_an_account_may_do_nothing(postgres: TestServer) -> None:
    with postgres.database() as database:
        address = login(database, ATTACKER, "penstock_app")
        assert attempt(address, "select queue.create('q')")[0] is None
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute("delete from queue.role_account")
        for statement in ("select queue.create('q')", "select queue.send('q', '1')", "select queue.list_queues()"):
            assert attempt(address, statement)[0] == "42501"
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            connection.execute(sql.SQL("drop role {}").format(user_of(address)))


def test_no_login_but_the_services_own_reads_secrets(setup: Setup) -> None:
    roles = ["penstock_app", "penstock_owner", "penstock_reader", "penstock_metrics"]
    tables = ["secret", "access_key", "bearer_key", "signing_key"]
    with psycopg.connect(setup.dsn) as connection:
        readers = connection.execute(
            "select r.rolname, t.name from pg_roles r, unnest(%s::text[]) t(name) where r.rolname = any (%s::text[])"
            " and has_table_privilege(r.oid, 'queue.' || t.name, 'select, insert, update, delete')",
            (tables, roles),
        ).fetchall()
        found = connection.execute("select count(*) from pg_roles where rolname = any (%s::text[])", (roles,))
        assert found.fetchone() == (len(roles),)
    assert readers == []
