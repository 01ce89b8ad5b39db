"""Stores an order and sends its job in one SQL transaction, so that the database has either both or neither.

DATABASE_URL is the address of a database with the schema `queue`. The default is the database of `make run`.
"""

from __future__ import annotations

import os
import sys

import psycopg

from penstock_web.local.postgres import service_dsn
from penstock_web.local.state import default_state_directory

SETUP = """
    create table if not exists example_order (id bigint generated always as identity, item text, state text);
    select queue.create('example-shipping');
"""


def place_order(connection: psycopg.Connection, item: str, *, in_stock: bool) -> None:
    with connection.transaction():
        connection.execute("insert into example_order (item, state) values (%s, 'open')", [item])
        job = f'{{"ship": "{item}"}}'
        connection.execute("select queue.send('example-shipping', %s::jsonb)", [job])
        if not in_stock:
            raise LookupError(f"there is no {item}")  # rolls back the order and the message
    print(f"committed the order of a {item}, and its message")


def ship(connection: psycopg.Connection) -> list[str]:
    """Ships the orders in the queue. The message and the order also change in one transaction."""
    shipped = []
    with connection.transaction():
        query = "select msg_id, message ->> 'ship' from queue.receive('example-shipping', 30, 10)"
        for message_id, item in connection.execute(query).fetchall():
            connection.execute("update example_order set state = 'shipped' where item = %s", [item])
            connection.execute("select queue.delete('example-shipping', %s)", [message_id])
            shipped.append(item)
    return shipped


def main() -> None:
    address = os.environ.get("DATABASE_URL") or service_dsn(default_state_directory())
    if address is None:
        sys.exit("no database: set DATABASE_URL, or start one with `make run`")
    # With autocommit, a transaction lasts only for the block of `with connection.transaction()`.
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(SETUP)
        place_order(connection, "lamp", in_stock=True)
        try:
            place_order(connection, "chair", in_stock=False)
        except LookupError as error:
            print(f"rolled back: {error}")
        shipped = ship(connection)
        print(f"shipped: {', '.join(shipped)}")
    if shipped != ["lamp"]:
        sys.exit("the queue must only have the lamp's message")


if __name__ == "__main__":
    main()
