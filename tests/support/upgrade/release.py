"""Creates two releases for the upgrade tests: the previous release and the next release.

The first release will be 0.1.0. Before 0.1.0, the previous release is a copy of this checkout. The next release is a
second copy with changes that a release may contain: another migration, a renamed function, and the old name in
sql/former. After 0.1.0, PREVIOUS is its commit, and the next release is this checkout.

    python -m tests.support.upgrade.release FOLDER [COMMIT]     creates both in FOLDER, from a commit or this checkout
"""

import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# The previous release's commit, or "" before the first release. Each release changes the commit.
PREVIOUS = ""
_PARTS = ("layers", "sql", "infra/pgbouncer")

_MIGRATION = """\
-- What the next release adds to a table.
alter table queue.topic add column note text;
"""
_FORMER = """\
-- queue.change_topic: SetTopicAttributes of the previous release.
create or replace function queue.change_topic(p_arn text, p_attributes jsonb) returns table (error text)
language sql as $$
select * from queue.set_topic(p_arn, p_attributes)
$$;
"""


def unpack(folder: Path, commit: str = PREVIOUS) -> Path:
    """Unpacks the files of a commit, or of this checkout, into `folder`.

    Fails if the history lacks the commit, because the test must not be skipped silently.
    """
    if not commit:
        for part in _PARTS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored, dirs_exist_ok=True)
        return folder
    archive = subprocess.run(
        ["git", "archive", "--format=zip", commit, *_PARTS], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode != 0:
        reason = archive.stderr.decode().strip()
        pytest.fail(f"the release {commit[:7]} is not in the history: git fetch --unshallow ({reason})")
    with zipfile.ZipFile(io.BytesIO(archive.stdout)) as files:
        files.extractall(folder)
    return folder


def unpack_next(folder: Path, previous: Path) -> Path:
    """Returns the next release: this checkout, or before 0.1.0 a new release in `folder`."""
    return ROOT if PREVIOUS else create_next(folder, previous)


def create_next(folder: Path, previous: Path) -> Path:
    """Copies an unpacked release to `folder`, with one more migration and a renamed function."""
    shutil.copytree(previous, folder, dirs_exist_ok=True)
    name_version(folder, f"{version_of(previous)}.post1")
    (folder / "sql/migrations/0002_next.sql").write_text(_MIGRATION)
    statements = folder / "layers/core/penstock/postgres/statements/sns/topics.py"
    for path in (folder / "sql/functions/topics/topics.sql", statements):
        path.write_text(_renamed(path))
    (folder / "sql/former").mkdir(exist_ok=True)
    (folder / "sql/former/queue.change_topic.sql").write_text(_FORMER)
    return folder


def _renamed(path: Path) -> str:
    text = path.read_text()
    assert "queue.change_topic" in text, f"{path} does not have the function that the next release renames"
    return text.replace("queue.change_topic", "queue.set_topic")


def name_version(folder: Path, version: str) -> None:
    (folder / "layers/core/penstock/__init__.py").write_text(f'__version__ = "{version}"\n')


def version_of(folder: Path) -> str:
    return (folder / "layers/core/penstock/__init__.py").read_text().split('"')[-2]


def environment_of(folder: Path) -> dict[str, str]:
    """Returns environment variables that select an unpacked release's code."""
    layers = folder / "layers"
    return {**os.environ, "PYTHONPATH": f"{layers / 'core'}:{layers / 'web'}"}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    unpack_next(place / "next", unpack(place / "previous", *sys.argv[2:3]))
