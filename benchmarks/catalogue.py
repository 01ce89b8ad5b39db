"""All studies by name, and names for several of them."""

from .neighbours import study as neighbours
from .queen import study as queen
from .studies import checks, fan_out, growth, hostile, jobs, long_polls, million, others, table, warski
from .studies.study import Study

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
    "others": others.STUDIES,
    "growth": growth.STUDIES,
}
STUDIES: dict[str, Study] = {study.name: study for studies in PARTS.values() for study in studies}
GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(STUDIES),
    **{name: tuple(study.name for study in studies) for name, studies in PARTS.items()},
    "warski": ("warski", *(study.name for study in warski.STUDIES)),
}


def select_studies(names: list[str]) -> list[Study]:
    """The studies with these names or in these groups, each once, in the order of the catalogue."""
    selected = {name for given in names for name in GROUPS.get(given, (given,))}
    return [study for name, study in STUDIES.items() if name in selected]
