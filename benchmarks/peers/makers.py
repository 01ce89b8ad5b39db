"""Maps names to the functions that make the peers."""

from collections.abc import Callable

from benchmarks.load.fleet import Fleet
from benchmarks.penstock import Penstock
from benchmarks.system import System

from .bullmq import Bullmq
from .fauxqs import Fauxqs
from .moto import Moto
from .pgmq import Pgmq
from .plain_postgres import PlainPostgres
from .python_queues import PythonQueue
from .rabbitmq import Rabbitmq

# Makes a peer. The function gets the load generator and Penstock, whose PostgreSQL settings some peers copy.
Maker = Callable[[Fleet, Penstock], System]


def python_queue(name: str, penstock: Penstock) -> System:
    return PythonQueue(name, penstock.database_binaries(), penstock.database_settings())


PEERS: dict[str, Maker] = {
    "penstock-plain": lambda fleet, _: PlainPostgres(fleet),
    "pgmq": lambda _, penstock: Pgmq(penstock.database_binaries(), penstock.database_settings()),
    "procrastinate": lambda _, penstock: python_queue("procrastinate", penstock),
    "pgqueuer": lambda _, penstock: python_queue("pgqueuer", penstock),
    "bullmq": lambda *_: Bullmq(),
    "rabbitmq-classic": lambda *_: Rabbitmq("classic"),
    "rabbitmq-lazy": lambda *_: Rabbitmq("lazy"),
    "rabbitmq-quorum": lambda *_: Rabbitmq("quorum"),
    "moto": lambda fleet, _: Moto(fleet),
    "fauxqs": lambda fleet, _: Fauxqs(fleet, durable=False),
    "fauxqs-sqlite": lambda fleet, _: Fauxqs(fleet, durable=True),
}
