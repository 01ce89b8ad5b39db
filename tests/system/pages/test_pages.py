"""Runs every page's code blocks in order, on a fresh installation: README.md and docs/ (`make test-docs`). The guides
also run one after the other on one installation.

Each block that cannot run in the test's environment is one skipped test, so pytest's summary counts the blocks by
reason.
"""

from __future__ import annotations

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from infra.site.build import list_pages
from tests.support.database import TestServer
from tests.support.pages.installation import OWN_CLUSTER, PageInstallation, installation, run, trial
from tests.support.pages.script import ROOT, Block, blocks, missing_lines, pages, printed, starts_a_service

ALL = {page: blocks(page) for page in pages()}
RUN = [page for page, found in ALL.items() if any(block.is_run for block in found)]
NOT_RUN = [block for found in ALL.values() for block in found if block.kind == "not run"]
# Pages whose blocks take minutes with Spark, so that only `make test-slow` runs the blocks.
SLOW = ("docs/operate/metrics_job.md", "docs/guides/export.md")
# The pages for users in the site's order. The pages in OTHERS need another installation: Spark takes minutes,
# OWN_CLUSTER begins on a PostgreSQL without Penstock's roles, and only a new service process exports to a collector.
NAVIGATION = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
OTHERS = {*SLOW, *OWN_CLUSTER, "docs/guides/tracing.md"}
GUIDES = [f"docs/{page}" for page, _ in list_pages(NAVIGATION[:2]) if f"docs/{page}" not in OTHERS]


def parameter(page: str) -> object:
    return pytest.param(page, marks=pytest.mark.slow if page in SLOW else pytest.mark.docs, id=page)


def find_faults(found: list[Block], where: PageInstallation, folder: Path) -> list[str]:
    """Runs a page's blocks. Returns the block that failed, or the outputs that differ from the page."""
    if failure := run(found, where, folder):
        return [failure]
    outputs = ((excerpt, printed(before, folder / "blocks")) for before, excerpt in pairwise(found))
    return [
        f"{excerpt.place}: it printed\n{output}"
        for excerpt, output in outputs
        if excerpt.kind == "output" and missing_lines(excerpt, output)
    ]


@pytest.mark.parametrize("page", [parameter(page) for page in RUN])
def test_the_blocks_of_a_page_run(page: str, postgres: TestServer, tmp_path: Path) -> None:
    found = ALL[page]
    with installation(found, postgres) as where:
        assert find_faults(found, where, tmp_path) == []


@pytest.mark.docs
def test_a_reader_follows_all_guides_on_one_installation(tmp_path: Path) -> None:
    """Runs README.md and the guides one after the other. A page must not break a later page."""
    faults = []
    with trial() as where:
        for page in filter(RUN.__contains__, ["README.md", *GUIDES]):
            (folder := tmp_path / Path(page).stem).mkdir()
            steps = [block for block in ALL[page] if not starts_a_service(block)]
            faults += find_faults(steps, where, folder)
    assert faults == []


@pytest.mark.docs
@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_a_block_that_cannot_run_here(block: Block) -> None:
    pytest.skip(f"it {block.value}")
