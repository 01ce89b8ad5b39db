"""Represents the place of the files, which is a folder, or a bucket that pyarrow supports (s3://, gs://, abfs://,
hdfs://).

    PATH/windows/day=2026-03-29/queue=orders/60-0000-0f3a….parquet
         dataset                             part, number, digest of the contents

`_penstock.json` has the last exported run, and the replaced files of Iceberg tables. Spark, pyarrow and other readers
ignore names that begin with `_`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

import pyarrow.fs as pafs

_FILE: Final = re.compile(
    r"(?P<dataset>[a-z]+)/day=(?P<day>\d{4}-\d\d-\d\d)/queue=(?P<queue>[^/]+)/(?P<part>\d+)-\d{4}-[0-9a-f]{32}\.parquet"
)
_NOTE: Final = "_penstock.json"
_RENAMING: Final = frozenset({"local", "hdfs"})  # Other filesystems show an object only when it is complete.


@dataclass(frozen=True, slots=True, order=True)
class Slot:
    """A part and a day of a dataset. An Iceberg table exchanges the files of a slot together."""

    dataset: str
    day: date
    part: int


@dataclass(slots=True)
class Note:
    """The last exported run, or 0, and the replaced files with the times of their replacement (seconds since 1970)."""

    run_id: int = 0
    unused: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """A filesystem and a path `root` within it. File names are relative to `root`."""

    uri: str
    files: Any
    root: str

    @classmethod
    def of(cls, path: str) -> Place:
        """Opens a local path or a URI. Raises ValueError for a URI that pyarrow does not support."""
        uri = path.rstrip("/") if "://" in path else Path(path).absolute().as_uri()
        try:
            files, root = pafs.FileSystem.from_uri(uri)
        except (OSError, ValueError) as error:
            raise ValueError(f"--parquet {path}: {error}") from None
        return cls(uri, files, root)

    def inside(self, name: str) -> str:
        return f"{self.root}/{name}"

    def address(self, name: str) -> str:
        """Returns the URI of a file in Iceberg's format."""
        return f"{self.uri}/{name}"

    def names(self, dataset: str, days: Iterable[date] | None = None) -> Iterator[tuple[Slot, str]]:
        """Yields the slot and the name of each file of a dataset, for all days or for the given days."""
        folders = [dataset] if days is None else [f"{dataset}/day={day.isoformat()}" for day in sorted(set(days))]
        for folder in folders:
            for name in self.folder(folder):
                if slot := parse_slot(name):
                    yield slot, name

    def folder(self, name: str) -> Iterator[str]:
        """Yields all names below a folder, and no names if the folder does not exist."""
        selector = pafs.FileSelector(self.inside(name), allow_not_found=True, recursive=True)
        for info in self.files.get_file_info(selector):
            yield info.path.removeprefix(f"{self.root}/")

    def remove(self, names: Iterable[str]) -> None:
        """Removes files. Removes files, but ignores missing files, which an interrupted export may have removed."""
        for name in names:
            if self.files.get_file_info(self.inside(name)).type == pafs.FileType.File:
                self.files.delete_file(self.inside(name))

    def write(self, name: str, contents: Any) -> None:
        """Writes a file, which readers see only when it is complete."""
        folder, _, last = name.rpartition("/")
        target = self.inside(name)
        renamed = self.files.type_name in _RENAMING
        if renamed:
            self.files.create_dir(self.inside(folder), recursive=True)
        written = self.inside(f"{folder}/_{last}") if renamed else target
        with self.files.open_output_stream(written, compression=None) as stream:
            stream.write(contents)
        if renamed:
            self.files.move(written, target)

    def exists(self, name: str) -> bool:
        return bool(self.files.get_file_info(self.inside(name)).type == pafs.FileType.File)

    def read_note(self) -> Note:
        """Returns the note of the last export, or a new note."""
        if not self.exists(_NOTE):
            return Note()
        with self.files.open_input_stream(self.inside(_NOTE)) as stream:
            found: Mapping[str, Any] = json.loads(stream.read())
        return Note(found["run_id"], found["unused"])

    def write_note(self, note: Note) -> None:
        self.write(_NOTE, json.dumps(asdict(note)).encode())


def build_file_name(dataset: str, day: str, queue: str, part: int, number: int, digest: str) -> str:
    """Returns the name of a file in a place. Queue names contain no characters that are special in paths."""
    return f"{dataset}/day={day}/queue={queue}/{part}-{number:04}-{digest}.parquet"


def parse_slot(name: str) -> Slot | None:
    """Returns the slot of a file, or None for a file of another program."""
    found = _FILE.fullmatch(name)
    return found and Slot(found["dataset"], date.fromisoformat(found["day"]), int(found["part"]))
