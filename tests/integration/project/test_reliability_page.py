"""docs/reliability.md says what the summary of the runs says."""

from tests.support.chaos.faults import QUICK
from tests.support.chaos.page import PAGE, page


def test_the_tables_are_those_of_the_summary() -> None:
    assert PAGE.read_text() == page()


def test_names_of_faults_are_unique() -> None:
    names = [fault.name for fault in QUICK]
    assert len(names) == len(set(names))
