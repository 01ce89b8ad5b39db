"""Platform applications and their endpoints as SQL keeps them, where requests at the same time matter.

Sources: CreatePlatformApplication, CreatePlatformEndpoint, DeletePlatformApplication (API reference): the first two are
idempotent.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.support.database import Database
from tests.support.sql.calls import ACCOUNT, REGION, Connection

APPLICATION = f"arn:aws:sns:{REGION}:{ACCOUNT}:app/GCM/shop"


def create_application(db: Connection, name: str = "shop", account: str = ACCOUNT) -> str | None:
    made = db.execute(
        "select arn from queue.create_platform_application(%s, %s, 'GCM', %s, '', '{}')",
        (account, REGION, name),
    ).fetchone()
    return None if made is None else made[0]


def create_endpoint(db: Connection, token: str, application: str = APPLICATION) -> str | None:
    made = db.execute(
        "select arn from queue.create_platform_endpoint(%s, gen_random_uuid(), %s, '{}')",
        (application, token),
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
def test_what_is_deleted_while_it_is_made_is_made_again(
    db: Connection, database: Database, table: str
) -> None:
    """The answer has an ARN in any case. The trigger stands for another session's deletion after the insertion found it."""
    assert create_application(db) == APPLICATION
    create_endpoint(db, "token")
    with psycopg.connect(database.dsn) as owner:
        owner.execute(DELETED_MEANWHILE.format(table=table))
    with db.transaction():
        db.execute("set local test.meanwhile = 'on'")
        made = create_application(db) if table == "platform_application" else create_endpoint(db, "token")
    assert made is not None
