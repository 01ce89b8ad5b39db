"""Reads, checks and writes the file's YAML. An error contains the line, and suggests a correction for a misspelled
word.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Final, cast

import msgspec
import yaml

from penstock.management.schedules.types import NewSchedule
from penstock_web.local_error import LocalError

from .check import check, check_name_alone, check_throughput, convert_schedule, list_named_queues
from .model import SECTIONS, Document, Manifest, build_schema

MAX_MISTAKES: Final = 20
MAX_VALUES: Final = 200_000
MAX_LEVELS: Final = 50
TOO_DEEP: Final = f"values are nested more than {MAX_LEVELS} levels deep, or contain themselves"

Steps = tuple[str, ...]
"""The path to a part of an entry: keys and list indexes."""
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


class _Loader(yaml.SafeLoader):
    """Reads YAML's simple types. Does not convert times, but reads them as text."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@dataclass(frozen=True, slots=True)
class Source:
    """A file, and all mistakes that Penstock can find without a service. `manifest` contains only the parts whose types
    are right.
    """

    name: str
    manifest: Manifest = field(default_factory=Manifest)
    mistakes: Sequence[LocalError] = ()
    queues: frozenset[str] = frozenset()
    place: _Place | None = None

    def refuse(self, missing: Sequence[LocalError] = ()) -> None:
        """Raises LocalError if there are mistakes. The error has one line for each mistake."""
        mistakes = [*self.mistakes, *missing]
        shown = [str(mistake) for mistake in mistakes[:MAX_MISTAKES]]
        if len(mistakes) > MAX_MISTAKES:
            shown.append(f"{self.name}: {len(mistakes) - MAX_MISTAKES} more mistakes")
        if shown:
            raise LocalError("\n".join(shown))

    def list_outside_queues(self) -> set[str]:
        """Returns the names of queues that the file uses but does not contain."""
        named = {name for _, name in list_named_queues(self.manifest) if not name.startswith("arn:")}
        return named - self.queues

    def find_missing(self, missing: Container[str]) -> list[LocalError]:
        """Returns an error for each use of a missing queue."""
        if self.place is None:
            return []
        return [
            self.place.error(self.place.restore(path), f"neither the file nor the service has the queue {name!r}")
            for path, name in list_named_queues(self.manifest)
            if name in missing
        ]

    def find_conflicts(self, found: Manifest) -> list[LocalError]:
        """Returns an error for each value that conflicts with the service's current values in `found`."""
        return [] if self.place is None else check_throughput(self.manifest, found, self.place.refused)


def read_file(path: Path) -> Source:
    """Reads a file, and checks its values without a service. Raises LocalError if the file is missing or is not
    YAML.
    """
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise LocalError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return read_text(text, str(path))


def read_text(text: str, name: str) -> Source:
    """Reads and checks a text. Raises LocalError for a text that is not YAML. `name` is the file's name in errors."""
    root, data = _load(text, name)
    if root is None:
        return Source(name)
    if not isinstance(data, dict):
        raise LocalError(f"{name}:1: the file must begin with one of {', '.join(f'{each}:' for each in SECTIONS)}")
    place = _Place(name, root)
    mistakes: list[LocalError] = []
    manifest = msgspec.convert(_convert_sections(place, data, mistakes), Manifest)
    mistakes += check(manifest, _list_entries(data, "schedules"), place.refused)
    queues = frozenset(map(str, _list_entries(data, "queues")))
    return Source(name, manifest, mistakes, queues, place)


def _list_entries(data: Document, section: str) -> Document:
    entries = data.get(section)
    return {str(key): value for key, value in entries.items()} if isinstance(entries, dict) else {}


def _load(text: str, name: str) -> tuple[yaml.Node | None, object]:
    """Parses YAML. Returns the nodes, which contain line numbers, and the values. Raises LocalError."""
    try:
        root = yaml.compose(text, _Loader)
        _check_size(root, name)
        _check_keys(root, name, set())
        return root, yaml.load(text, _Loader)  # noqa: S506 - a SafeLoader
    except RecursionError:
        raise LocalError(f"{name}: {TOO_DEEP}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise LocalError(f"{name}{line}: {getattr(error, 'problem', None) or error}") from None


def _convert_sections(place: _Place, data: Document, mistakes: list[LocalError]) -> Document:
    """Returns the valid parts of all sections. Adds the mistakes of all other parts to `mistakes`."""
    sections: Document = {}
    for section, entries in data.items():
        if section not in SECTIONS:
            text = f"the section {section!r} does not exist"
            mistakes.append(place.error([str(section)], text, str(section), list(SECTIONS)))
        elif entries is not None and not isinstance(entries, dict):
            mistakes.append(place.error([section], f"{section} must contain names with desired states"))
        else:
            sections[section] = _convert_entries(place, section, entries or {}, mistakes)
    return sections


def _convert_entries(place: _Place, section: str, entries: Document, mistakes: list[LocalError]) -> Document:
    """Returns the entries without their invalid parts. Adds the mistakes of the invalid parts to `mistakes`."""
    valid: Document = {}
    for key, value in entries.items():
        rest = _convert_entry(place, section, str(key), {} if value is None else value, mistakes)
        if rest is not None:
            valid[str(key)] = rest
        else:
            mistakes += check_name_alone(section, str(key), place.refused)
    return valid


def _convert_entry(place: _Place, section: str, key: str, value: object, mistakes: list[LocalError]) -> object:
    """Returns an entry without its invalid parts, or None if the rest is also invalid. msgspec reports only one mistake
    at a time. After each mistake, the function therefore removes the invalid part and converts the rest again.
    """
    kind = NewSchedule if section == "schedules" else SECTIONS[section]
    convert = convert_schedule if section == "schedules" else partial(msgspec.convert, type=kind)
    rest = deepcopy(value)
    removed: set[Steps] = set()
    while True:
        try:
            convert(rest)
        except msgspec.ValidationError as error:
            problem, _, where = str(error).partition(" - at `")
            steps = tuple(step or index for step, index in _STEP.findall(where.rstrip("`")))
            if unknown := re.search(r"unknown field `(.*?)`", problem):
                wrong: Steps = (*steps, unknown[1])
                path = place.restore((section, key, *wrong))
                text = f"{unknown[1]!r} is not allowed here"
                mistakes.append(place.error(path, text, unknown[1], _list_members(kind, steps)))
            else:
                wrong = steps[:2] if len(steps) > 1 and steps[1].isdigit() else steps[:1]
                wrong = steps if section == "schedules" else wrong  # A schedule remains valid without any part.
                if steps not in removed:  # The removal of an invalid part can cause another mistake.
                    path = place.restore((section, key, *steps))
                    mistakes.append(place.error(path, problem[:1].lower() + problem[1:]))
            if not _remove(rest, wrong):
                return None
            if wrong[-1].isdigit():
                place.note_removal((section, key, *wrong))
            removed = {steps for steps in removed if steps[: len(wrong)] != wrong} | {wrong[:-1]}
        else:
            return rest


def _remove(entry: object, path: Steps) -> bool:
    """Removes the part at `path` from an entry. Returns False if the part is missing."""
    if not path:
        return False
    for step in path[:-1]:
        entry = entry[int(step)] if isinstance(entry, list) else entry[step] if isinstance(entry, dict) else None
    if isinstance(entry, list):
        del entry[int(path[-1])]
        return True
    if not isinstance(entry, dict) or path[-1] not in entry:
        return False
    del entry[path[-1]]
    return True


def _list_members(kind: object, steps: Steps) -> list[str]:
    """Returns the member names that are allowed at `steps` in an entry of this kind."""
    schema = build_schema(kind)
    definitions = cast("dict[str, Document]", schema.get("$defs", {}))

    def expand(part: Document) -> Iterator[Document]:
        """Yields a part of the schema, and all parts that `$ref` and `anyOf` add."""
        yield part
        if isinstance(reference := part.get("$ref"), str):
            yield from expand(definitions[reference.rpartition("/")[2]])
        for choice in cast("list[Document]", part.get("anyOf", [])):
            yield from expand(choice)

    parts = list(expand(schema))
    for step in steps:
        inner = [_get_members(part).get(step, part.get("items")) for part in parts]
        parts = [each for part in inner if isinstance(part, dict) for each in expand(part)]
    return sorted({name for part in parts for name in _get_members(part)})


def _get_members(schema: Document) -> Document:
    return cast("Document", schema.get("properties", {}))


class _Place:
    """Finds the line of a value in the file. A value's list index can differ between the file and the manifest, because
    the manifest omits invalid list elements.
    """

    def __init__(self, name: str, root: yaml.Node) -> None:
        self._name = name
        self._root = root
        self._removed: dict[Steps, list[int]] = {}  # the indexes that the manifest omits, by list

    def note_removal(self, path: Steps) -> None:
        """Records that the manifest omits the list element at `path`."""
        *above, number = self.restore(path)
        self._removed.setdefault(tuple(above), []).append(int(number))

    def restore(self, path: Sequence[str]) -> Steps:
        """Converts a path in the manifest to a path in the file."""
        restored: Steps = ()
        for step in path:
            number = step
            for removed in sorted(self._removed.get(restored, ())):
                if int(number) >= removed:
                    number = str(int(number) + 1)
            restored = (*restored, number)
        return restored

    def error(self, path: Sequence[str], text: str, word: str | None = None, known: Sequence[str] = ()) -> LocalError:
        """Returns an error with the line of `path`. `path` contains the keys and list indexes from the top of the file.
        The error suggests words from `known`.
        """
        close = get_close_matches(word, known, 1) if word else []
        hint = f". Did you mean {close[0]!r}?" if close else f". Allowed: {', '.join(known)}" if known else ""
        where = f" ({'.'.join(map(str, path))})" if len(path) > 1 else ""
        return LocalError(f"{self._name}:{self._line(path)}: {text}{hint}{where}")

    def refused(self, path: Sequence[str], text: str) -> LocalError:
        """Returns an error for the manifest's value at `path`, or for the value's member that `text` names."""
        path = self.restore(path)
        node = self._find(path)[0]
        keys = [str(key.value) for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
        named = [key for key in keys if re.search(rf"\b{re.escape(key)}\b", text)]
        return self.error([*path, *named[:1]], text)

    def _line(self, path: Sequence[str]) -> int:
        return self._find(path)[1]

    def _find(self, path: Sequence[str]) -> tuple[yaml.Node, int]:
        """Returns the node at `path` and its line. If the node is missing, returns the nearest ancestor."""
        node, line = self._root, self._root.start_mark.line
        for step in path:
            if isinstance(node, yaml.MappingNode):
                found = next(((k, v) for k, v in node.value if k.value == str(step)), None)
                if found is None:
                    break
                line, node = found[0].start_mark.line, found[1]
            elif isinstance(node, yaml.SequenceNode) and str(step).isdigit() and int(step) < len(node.value):
                node = node.value[int(step)]
                line = node.start_mark.line
            else:
                break
        return node, int(line) + 1


def _check_size(root: yaml.Node | None, name: str) -> None:
    """Raises LocalError if the file has too many values. Counts the values of an anchor again for each alias. Also
    raises LocalError for values that are nested too deeply or contain themselves.
    """
    sizes: dict[int, int] = {}

    def measure(node: yaml.Node, depth: int) -> int:
        if depth > MAX_LEVELS:
            raise LocalError(f"{name}:{node.start_mark.line + 1}: {TOO_DEEP}")
        if (known := sizes.get(id(node))) is not None:
            return known
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        children = [one for part in parts for one in (part if isinstance(part, tuple) else (part,))]
        size = sizes[id(node)] = 1 + sum(measure(child, depth + 1) for child in children)
        if size > MAX_VALUES:
            text = f"the file has more than {MAX_VALUES:,} values, including aliases"
            raise LocalError(f"{name}:{node.start_mark.line + 1}: {text}")
        return size

    if root is not None:
        measure(root, 0)


def _check_keys(node: yaml.Node | None, name: str, checked: set[int]) -> None:
    """Raises LocalError if a name appears twice. The YAML library would silently use the last value."""
    if id(node) in checked:
        return
    checked.add(id(node))
    if isinstance(node, yaml.MappingNode):
        seen: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.value in seen:
                raise LocalError(f"{name}:{line}: {key.value!r} is also in line {seen[key.value]}")
            seen[str(key.value)] = line
            _check_keys(value, name, checked)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _check_keys(value, name, checked)


def write_manifest(manifest: Manifest) -> str:
    """Writes a manifest as YAML."""
    return yaml.safe_dump(msgspec.to_builtins(manifest), sort_keys=False, allow_unicode=True, width=100)
