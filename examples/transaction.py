"""Stores an order and sends its job in one SQL transaction, so that the database has either both or neither.

DATABASE_URL is the address of a database with the schema `queue`. For a trial, copy the address that `penstock up`
prints in the line `database`.
"""

from __future__ import annotations

import os
import sys

import psycopg
from psycopg.types.json import Jsonb

SETUP = """
    create table if not exists example_order (id bigint generated always as identity, item text, state text);
    select queue.create('example-shipping');
"""


def place_order(connection: psycopg.Connection, item: str, *, in_stock: bool) -> None:
    with connection.transaction():
        connection.execute("insert into example_order (item, state) values (%s, 'open')", [item])
        connection.execute("select queue.send('example-shipping', %s)", [Jsonb({"ship": item})])
        if not in_stock:
            raise LookupError(f"there is no {item}")  # rolls back the order and the message
    print(f"committed the order of a {item}, and its message")


def ship(connection: psycopg.Connection) -> list[str]:
    """Ships the orders in the queue.

    The receive commits at once, so that no transaction stays open during the work. The change of the order and the
    acknowledgement of the message are one transaction: if the order is shipped, the message does not return.
    """
    shipped = []
    receive = "select msg_id, message ->> 'ship' from queue.receive('example-shipping', vt => 30, qty => 10)"
    for message_id, item in connection.execute(receive).fetchall():
        with connection.transaction():
            connection.execute("update example_order set state = 'shipped' where item = %s", [item])
            connection.execute("select queue.ack('example-shipping', %s::bigint[])", [[message_id]])
        shipped.append(item)
    return shipped


def main() -> None:
    address = os.environ.get("DATABASE_URL")
    if address is None:
        sys.exit("set DATABASE_URL to the address that `penstock up` prints in the line `database`")
    # With autocommit, each statement is committed at once, unless it is in a block `with connection.transaction()`.
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
