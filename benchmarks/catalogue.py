"""All studies by name, and names for several of them."""

from . import hostile, jobs, long_polls, million, table, warski
from .queen import study as queen
from .study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        *table.STUDIES,
        *warski.STUDIES,
        *jobs.STUDIES,
        *million.STUDIES,
        *queen.STUDIES,
        *hostile.STUDIES,
        *long_polls.STUDIES,
    )
}

GROUPS: dict[str, tuple[str, ...]] = {
    "all": tuple(STUDIES),
    "table": tuple(study.name for study in table.STUDIES),
    "warski": ("warski", *(study.name for study in warski.STUDIES)),
    "queen": tuple(study.name for study in queen.STUDIES),
    "jobs": tuple(study.name for study in jobs.STUDIES),
}


def chosen(names: list[str]) -> list[Study]:
    """The studies that are meant, each once, in the order of the catalogue."""
    wanted = {name for given in names for name in GROUPS.get(given, (given,))}
    return [study for name, study in STUDIES.items() if name in wanted]
