"""The image of the service: its interpreter was built with profile-guided optimisation, and the build looks at it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "infra" / "container" / "Dockerfile").read_text()
CHECK = "RUN python3 infra/local/interpreter.py | grep '^optimised '"


def test_every_stage_has_the_base_that_is_looked_at() -> None:
    """Official images of Python are built with --enable-optimizations; a variant of one stays one."""
    assert re.findall(r"^ARG BASE=(\S+)", DOCKERFILE, re.MULTILINE) == ["python:3.12-slim-bookworm"]
    assert {line.split()[1] for line in DOCKERFILE.splitlines() if line.startswith("FROM ")} == {"${BASE}"}


def test_the_build_looks_at_the_interpreter_before_anything_is_installed() -> None:
    copied, looked, installed = (
        DOCKERFILE.index(text)
        for text in ("COPY infra/local/interpreter.py infra/local/", CHECK, "RUN python3 -m venv")
    )
    assert copied < looked < installed
    assert "!infra/local/interpreter.py" in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_page_names_the_image_that_is_used() -> None:
    assert "`python:3.12-slim-bookworm`" in (ROOT / "docs" / "deployment.md").read_text()
