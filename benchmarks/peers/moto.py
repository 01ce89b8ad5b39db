"""Runs moto's server (PyPI): SQS in Python, in memory. The server answers about a hundred calls a second, so its runs
are short.
"""

from dataclasses import replace

from benchmarks.load.fleet import Fleet
from benchmarks.measure.outcome import Outcome, Plan, StageCallback, ignore_stages
from benchmarks.scenarios import Scenario

from . import packages
from .http_peer import HttpPeer

VERSION = "5.2.5"
WAITRESS = "3.0.2"
MAX_MESSAGES = 1_000
# moto's server closes the connection after every response. waitress keeps the connection open, which favours moto.
SERVE = """
import sys, waitress
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
application = DomainDispatcherApplication(create_backend_app)
waitress.serve(application, host="127.0.0.1", port=int(sys.argv[1]), threads=16, connection_limit=4000)
"""


class Moto(HttpPeer):
    """The peer `moto`."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__("moto", fleet)

    def command(self, port: int) -> list[str]:
        interpreter = packages.python("moto", [f"moto[server,sqs]=={VERSION}", f"waitress=={WAITRESS}"])
        return [str(interpreter), "-c", SERVE, str(port)]

    def run(self, scenario: Scenario, plan: Plan, watch: StageCallback = ignore_stages) -> Outcome:
        messages, samples = min(plan.messages, MAX_MESSAGES), min(plan.idle_samples, 100)
        return super().run(scenario, replace(plan, messages=messages, idle_samples=samples), watch)

    def facts(self) -> dict[str, object]:
        return {
            "version": VERSION,
            "server": f"waitress {WAITRESS}",
            "storage": "memory",
            "most messages of a run": MAX_MESSAGES,
        }
