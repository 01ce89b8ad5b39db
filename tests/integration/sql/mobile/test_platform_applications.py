"""Tests platform applications and their endpoints in SQL under concurrent requests.

The sources are CreatePlatformApplication, CreatePlatformEndpoint and DeletePlatformApplication (API reference). Both
create actions are idempotent.
"""

import psycopg
import pytest

from tests.integration.sql.conftest import Connect
from tests.support.database import Database
from tests.support.sql.calls import ACCOUNT, REGION, Connection

APPLICATION = f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/shop"


def create_application(db: Connection) -> str | None:
    made = db.execute(
        "select arn from queue.create_platform_application(%s, %s, 'GCM', 'shop', '', '{}')", (ACCOUNT, REGION)
    ).fetchone()
    return None if made is None else made[0]


def create_endpoint(db: Connection, token: str) -> str | None:
    made = db.execute(
        "select arn from queue.create_platform_endpoint(%s, gen_random_uuid(), %s, '{}', 0)", (APPLICATION, token)
    ).fetchone()
    return None if made is None else made[0]


# --- deleted while it is made ----------------------------------------------------------------------------------------
DELETED_MEANWHILE = """
create function public.delete_meanwhile() returns trigger language plpgsql security definer as $$
begin
    if pg_trigger_depth() = 1 then
        delete from queue.{table};
    end if;
    return null;
end $$;
create trigger meanwhile after insert on queue.{table} for each statement
    when (current_setting('test.meanwhile', true) = 'on') execute function public.delete_meanwhile();
"""


@pytest.mark.parametrize("table", ["platform_application", "platform_endpoint"])
def test_an_application_deleted_during_its_creation_is_created_again(
    db: Connection, database: Database, table: str
) -> None:
    """The response always contains an ARN. The trigger imitates a session that deletes the row that the insert
    found."""
    assert create_application(db) == APPLICATION
    create_endpoint(db, "token")
    with psycopg.connect(database.dsn) as owner:
        owner.execute(DELETED_MEANWHILE.format(table=table))
    with db.transaction():
        db.execute("set local test.meanwhile = 'on'")
        made = create_application(db) if table == "platform_application" else create_endpoint(db, "token")
    assert made is not None


# --- deleted applications --------------------------------------------------------------------------------------------
def endpoints(db: Connection) -> int:
    """Returns the number of remaining rows."""
    found = db.execute("select count(*) from queue.platform_endpoint").fetchone()
    assert found is not None
    return int(found[0])


def counted(db: Connection) -> int:
    """Returns the number of endpoints that the quota limits."""
    found = db.execute("select sum(endpoints)::int from queue.platform_endpoint_count").fetchone()
    assert found is not None
    return int(found[0])


def test_endpoints_of_a_deleted_application_are_gone_at_once_and_removed_in_portions(db: Connection) -> None:
    create_application(db)
    arn, *_ = [create_endpoint(db, f"t{number}") for number in range(5)]
    db.execute("select queue.drop_platform_application(%s)", (APPLICATION,))
    assert create_endpoint(db, "late") is None
    assert db.execute("select * from queue.describe_platform_endpoint(%s)", (arn,)).fetchall() == []
    assert db.execute("select * from queue.set_platform_endpoint(%s, 't', '{}')", (arn,)).fetchone() == ("NotFound",)
    refusal = "select queue.outgoing_refusal(%s, %s, 'application', %s)"
    assert db.execute(refusal, (ACCOUNT, REGION, arn)).fetchone() == ("EndpointNotFound",)
    create_application(db)
    assert create_endpoint(db, "t0") not in (None, arn)
    assert endpoints(db) == counted(db) == 6
    left = []
    for _ in range(4):
        db.execute("select queue.maintain_installation(2, 30)")
        left.append(endpoints(db))
        assert counted(db) == left[-1]
    assert left == [4, 2, 1, 1]
    assert db.execute("select count(*) from queue.dropped_platform_application").fetchone() == (0,)


def test_an_endpoint_that_is_made_while_its_application_is_deleted_is_removed(db: Connection, connect: Connect) -> None:
    other = connect()
    create_application(db)
    with db.transaction():
        assert create_endpoint(db, "token") is not None
        other.execute("set lock_timeout = '100ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):  # The call waits until the other transaction commits.
            other.execute("select queue.drop_platform_application(%s)", (APPLICATION,))
    other.execute("select queue.drop_platform_application(%s)", (APPLICATION,))
    db.execute("select queue.maintain_installation(10, 30)")
    assert endpoints(db) == 0
