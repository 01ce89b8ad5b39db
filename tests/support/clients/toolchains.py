"""Finds the programs of the SDKs for Go, Java and Node.js that `make clients` installs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.support.clients.service_client import ROOT

GO_SOURCES = ROOT / "tests/support/clients/go"
GO_MODULES = ROOT / ".tools/clients/go"
GO_ENVIRONMENT = {
    "GOPATH": str(GO_MODULES),
    "GOMODCACHE": str(GO_MODULES / "pkg/mod"),
    "GOCACHE": str(GO_MODULES / "cache"),
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
    # Go may not change the digests, and `make clean` can remove the downloads.
    "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
}


def build_go_program(generation: str, versions: str, folder: Path) -> Path:
    """Returns the program of a generation of the SDK, in the version that a file of modules names."""
    assert shutil.which("go"), "`make clients` needs Go 1.26 or newer"
    program = folder / generation
    command = ["go", "build", f"-modfile={versions}", "-o", str(program), f"./{generation}"]
    done = subprocess.run(
        command, cwd=GO_SOURCES, env={**os.environ, **GO_ENVIRONMENT}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return program


JAVA_PROGRAMS = ROOT / ".tools/clients/java"


def java_command(program: str, main: str, *arguments: str) -> list[str]:
    """Returns the command that runs a Java program. The JVM skips the last optimisations, because the program ends
    soon.
    """
    folder = JAVA_PROGRAMS / program
    assert folder.is_dir(), f"{folder} is missing: run `make clients`"
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{folder}/lib/*:{folder}/classes", main, *arguments]


NODE_MODULES = ROOT / ".tools/clients/node"
NODE_SCRIPTS = ROOT / "tests/support/clients/node"


def run_node_script(script: str, *arguments: str) -> Any:
    """Returns the output of a script as JSON. The script gets the folder of the packages."""
    assert (NODE_MODULES / "node_modules").is_dir(), f"{NODE_MODULES} is missing: run `make clients`"
    done = subprocess.run(
        ["node", str(NODE_SCRIPTS / script), str(NODE_MODULES), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "AWS_SDK_JS_SUPPRESS_MAINTENANCE_MODE_MESSAGE": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
