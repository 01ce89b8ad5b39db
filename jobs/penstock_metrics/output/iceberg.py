"""Registers the files as the Iceberg tables `windows`, `latencies` and `messages` of a namespace, through pyiceberg.

pyiceberg's configuration defines the catalog: `~/.pyiceberg.yaml`, or variables such as PYICEBERG_CATALOG__LAKE__URI.
The module registers data files unchanged (`add_files`). These data files have no column ids, so the table's name
mapping assigns ids (Iceberg's specification, "Name Mapping Serialization"). One commit exchanges all files of the
changed days. The tables' metadata is below PATH/_iceberg.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .datasets import DATASETS, Dataset
from .place import Place, Slot, parse_slot

_PROPERTIES: Final = {
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "10",
}
_DAY: Final = "day"
_SLOTS_PER_DELETE: Final = 50  # pyiceberg reads a condition recursively.


class NoCatalogError(Exception):
    """pyiceberg is not installed, or pyiceberg's configuration lacks the catalog. The text has a remedy."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a namespace."""

    catalog: Any
    namespace: str
    place: Place

    @classmethod
    def of(cls, name: str, place: Place) -> Tables:
        """Opens the tables of `name` (CATALOG.NAMESPACE). Raises NoCatalogError or ValueError."""
        catalog, _, namespace = name.partition(".")
        if not (catalog and namespace):
            raise ValueError(f"--iceberg must be CATALOG.NAMESPACE, such as lake.penstock, not {name!r}")
        return cls(_load_catalog(catalog), namespace, place)

    def register(self, files: Mapping[str, Collection[str]]) -> None:
        """Makes each table consist of exactly the files of its dataset. The files' names are relative to the place."""
        self.catalog.create_namespace_if_not_exists(self.namespace)
        for dataset in DATASETS:
            exchange(self.table(dataset), dataset, self.place, files[dataset.name])

    def table(self, dataset: Dataset) -> Any:
        """Returns the table of a dataset. Creates a missing table, and adds columns that are new in this release."""
        from pyiceberg.transforms import DayTransform, IdentityTransform  # noqa: PLC0415

        location = self.place.address(f"_iceberg/{dataset.name}")
        table = self.catalog.create_table_if_not_exists(
            f"{self.namespace}.{dataset.name}", dataset.schema, location=location, properties=_PROPERTIES
        )
        if table.spec().is_unpartitioned() and table.current_snapshot() is None:
            with table.update_spec() as update:
                update.add_field("queue_name", IdentityTransform(), "queue_name")
                update.add_field(dataset.time, DayTransform(), _DAY)
        if set(dataset.schema.names) - set(table.schema().column_names):
            with table.update_schema() as change:
                change.union_by_name(dataset.schema)
        return table


def exchange(table: Any, dataset: Dataset, place: Place, names: Iterable[str]) -> None:
    """Makes a table consist of exactly the given files in one commit. Does not commit if the table already has exactly
    the given files."""
    wanted = _group_by_slot(place.address(name) for name in names)
    there = _group_by_slot(table.inspect.data_files()["file_path"].to_pylist())
    stale = [slot for slot, paths in there.items() if paths - wanted[slot]]
    added = {path for slot, paths in wanted.items() for path in paths - (set() if slot in stale else there[slot])}
    if not (stale or added):
        return
    with table.transaction() as transaction:
        for first in range(0, len(stale), _SLOTS_PER_DELETE):
            transaction.delete(_match_rows(dataset, stale[first : first + _SLOTS_PER_DELETE]))
        if added:
            transaction.add_files(sorted(added), check_duplicate_files=False)
    # A later export removes replaced files after an hour, so older snapshots must not need them.
    table.maintenance.expire_snapshots().older_than(datetime.now(UTC) - timedelta(hours=1)).commit()


def _group_by_slot(paths: Iterable[str]) -> dict[Slot, set[str]]:
    found: dict[Slot, set[str]] = defaultdict(set)
    for path in paths:
        slot = parse_slot("/".join(path.split("/")[-4:]))
        if slot is None:
            raise ValueError(f"the Iceberg table has a file that this job did not write: {path}")
        found[slot].add(path)
    return found


def _match_rows(dataset: Dataset, slots: Iterable[Slot]) -> str:
    """Returns the condition that selects all rows of the slots. The condition selects whole files, so the commit
    rewrites no files."""
    return " or ".join(_build_slot_condition(dataset, slot) for slot in slots)


def _build_slot_condition(dataset: Dataset, slot: Slot) -> str:
    start = datetime(slot.day.year, slot.day.month, slot.day.day, tzinfo=UTC)
    end = start + timedelta(days=1)
    part = "" if dataset.part is None else f" and {dataset.part} = {slot.part}"
    return f"({dataset.time} >= '{start.isoformat()}' and {dataset.time} < '{end.isoformat()}'{part})"


def _load_catalog(name: str) -> Any:
    try:
        from pyiceberg.catalog import load_catalog  # noqa: PLC0415
    except ImportError:
        raise NoCatalogError("--iceberg needs the package pyiceberg: install penstock-queue[iceberg]") from None
    try:
        return load_catalog(name)
    except (ValueError, OSError) as error:  # The catalog is not configured or does not respond.
        variable = f"PYICEBERG_CATALOG__{name.upper()}__URI"
        raise NoCatalogError(f"no Iceberg catalog {name!r}: {error} Set {variable}, or ~/.pyiceberg.yaml.") from None
