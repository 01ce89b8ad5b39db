"""Lists all studies by name, and defines names for groups of studies."""

from collections.abc import Callable
from functools import partial

from .neighbours import study as neighbours
from .queen import study as queen
from .studies import checks, fairness, fan_out, growth, hostile, jobs, long_polls, million, schedules, table, warski
from .studies.study import Bench, Findings, Study


def run_program(main: Callable[[list[str]], int], bench: Bench) -> Findings:
    """Runs a study that is also a separate program, with its defaults. A small --scale makes the run shorter."""
    scale = float(bench.options.scale)
    seconds = [] if scale >= 1 else ["--seconds", f"{max(5, round(30 * scale))}"]
    return Findings([], main(seconds + ["--no-results"] * bool(bench.options.no_results)) == 0)


PROGRAMS = [
    Study(
        "fairness", "how long quiet tenants wait beside a noisy one", partial(run_program, fairness.main), alone=True
    ),
    Study(
        "schedules",
        "how late schedules fire, and what idle ones cost",
        partial(run_program, schedules.main),
        alone=True,
    ),
]
PARTS: dict[str, list[Study]] = {
    "table": table.STUDIES,
    "warski": warski.STUDIES,
    "jobs": jobs.STUDIES,
    "million": million.STUDIES,
    "queen": queen.STUDIES,
    "hostile": hostile.STUDIES,
    "long_polls": long_polls.STUDIES,
    "fan_out": fan_out.STUDIES,
    "checks": checks.STUDIES,
    "neighbours": neighbours.STUDIES,
    "others": PROGRAMS,
    "growth": growth.STUDIES,
}
STUDIES: dict[str, Study] = {study.name: study for studies in PARTS.values() for study in studies}
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(STUDIES),
    **{name: tuple(study.name for study in studies) for name, studies in PARTS.items()},
    "warski": ("warski", *(study.name for study in warski.STUDIES)),
}


def select_studies(names: list[str]) -> list[Study]:
    """Returns each study with these names or in these groups once, in the order of the catalogue."""
    selected = {name for given in names for name in GROUPS.get(given, (given,))}
    return [study for name, study in STUDIES.items() if name in selected]
