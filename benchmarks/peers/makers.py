"""The peers by name."""

from collections.abc import Callable

from benchmarks.fleet import Fleet
from benchmarks.penstock import Penstock
from benchmarks.system import System

from .fauxqs import Fauxqs
from .pgmq import Pgmq

# Made from the load generator and Penstock, whose PostgreSQL a peer copies.
Maker = Callable[[Fleet, Penstock], System]

PEERS: dict[str, Maker] = {
    "pgmq": lambda _, penstock: Pgmq(penstock.database_binaries(), penstock.database_settings()),
    "fauxqs": lambda fleet, _: Fauxqs(fleet, durable=False),
    "fauxqs-sqlite": lambda fleet, _: Fauxqs(fleet, durable=True),
}
