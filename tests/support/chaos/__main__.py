"""Runs `make chaos SECONDS=60`, which causes random faults on a running installation and then runs the checker's
negative controls.

The exit code is 1 if the checker reports a violation, or misses a negative control. As root, the program runs in a
sandbox (sandbox.py), which allows more faults. The program adds each run of at least ten minutes to the summary
(summary.py).
"""

from __future__ import annotations

import random
import sys
from typing import Annotated

import typer

from tests.support.chaos.campaign import endless, play
from tests.support.chaos.controls import CONTROLS
from tests.support.chaos.faults import QUICK, ROOT
from tests.support.chaos.sandbox import enter_sandbox
from tests.support.chaos.servers import running_servers
from tests.support.chaos.summary import RECORDED_SECONDS, add_to_summary, say, show, write_page

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def main(
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="duration of the faults in seconds")] = 60,
    seed: Annotated[int, typer.Option(help="seed of an earlier run, to repeat that run; 0 selects a random seed")] = 0,
    only: Annotated[str, typer.Option(help="names of faults, separated by commas")] = "",
) -> None:
    """Runs random faults and reports violations in the ledgers."""
    sandbox = enter_sandbox()
    known = QUICK + (ROOT if sandbox else ())
    seed = seed or random.SystemRandom().randrange(1, 2**31)
    numbers = random.Random(seed)
    faults = [fault for fault in known if not only or fault.name in only.split(",")]
    say(f"seed {seed}")
    with running_servers(sandbox) as servers:
        try:
            report = play(servers, endless(faults, numbers), numbers, seconds, say)
        except Exception:  # The database's log explains many failures of the harness.
            say(servers.database_log()[-4000:])
            raise
        if servers.unexpected_restarts:
            say(f"PostgreSQL was recovering by itself {servers.unexpected_restarts} times")
            say(servers.database_log()[-4000:])
        show(report)
        if seconds >= RECORDED_SECONDS:
            add_to_summary(report, seed, "one server")
            write_page()
        controls = play(servers, CONTROLS, numbers, 120, say, patient=False)
    missed = set(CONTROLS.values()) - set(controls.violations)
    say(f"negative controls: {len(CONTROLS) - len(missed)} of {len(CONTROLS)} found {sorted(missed) or ''}")
    sys.exit(0 if report.is_good and not missed else 1)


app()
