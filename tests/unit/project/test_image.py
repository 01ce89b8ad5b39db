"""The images: the service's interpreter was built with profiles, and every base image can be named by digest."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "infra" / "container" / "Dockerfile").read_text()
CHECK = "RUN python3 infra/local/interpreter.py | grep '^optimised '"


def bases(text: str) -> set[str]:
    """What the stages begin with, other stages excepted."""
    lines = [line.split() for line in text.splitlines() if line.startswith("FROM ")]
    return {words[1] for words in lines} - {words[3] for words in lines if words[2:3] == ["AS"]}


def test_every_stage_has_the_base_that_is_looked_at() -> None:
    """Official images of Python are built with --enable-optimizations; a variant of one stays one."""
    assert re.findall(r"^ARG BASE=(\S+)", DOCKERFILE, re.MULTILINE) == ["python:3.12-slim-bookworm"]
    assert bases(DOCKERFILE) == {"${BASE}"}


def test_the_build_looks_at_the_interpreter_before_anything_is_installed() -> None:
    copied, looked, installed = (
        DOCKERFILE.index(text)
        for text in ("COPY infra/local/interpreter.py infra/local/", CHECK, "RUN python3 -m venv")
    )
    assert copied < looked < installed
    assert "!infra/local/interpreter.py" in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_page_names_the_image_that_is_used() -> None:
    assert "`python:3.12-slim-bookworm`" in (ROOT / "docs" / "deployment.md").read_text()


# --- base images ------------------------------------------------------------------------------------------------------
COMPOSE = (ROOT / "infra/container/compose.yaml").read_text()
RELEASE = (ROOT / ".github/workflows/release.yml").read_text()
DOCKERFILES = sorted((ROOT / "infra/container").rglob("Dockerfile"))


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.parent.name)
def test_every_stage_is_on_one_build_argument(path: Path) -> None:
    """So a release can name it by digest, and compose by a variable."""
    text = path.read_text()
    (base,) = re.findall(r"^ARG BASE=(\S+)", text, re.MULTILINE)
    assert bases(text) == {"${BASE}"}
    assert f':-{base}}}"' in COMPOSE
    assert f"dockerfile: {path.relative_to(ROOT)}\n" in RELEASE


def test_images_of_others_are_variables() -> None:
    services = yaml.safe_load(COMPOSE)["services"].values()
    others = [service["image"] for service in services if "build" not in service]
    assert len(others) == 3
    for image in others:
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/]+:[\w.-]+\}", image)


def test_the_release_resolves_digests_itself() -> None:
    """No digest stands in the repository: one that nobody has fetched would be made up."""
    assert "{{.Manifest.Digest}}" in RELEASE
    for text in (RELEASE, COMPOSE, *(path.read_text() for path in DOCKERFILES)):
        assert re.findall(r"sha256:[0-9a-f]", text) == []
