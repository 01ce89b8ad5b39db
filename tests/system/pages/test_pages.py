"""Runs every code block of README.md and docs/ in the order of its page, on a fresh installation: `make test-docs`.

Blocks that cannot run here are skipped one by one, so that pytest's summary has each reason with their number.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.database import TestServer
from tests.support.pages.installation import installation, run
from tests.support.pages.script import Block, blocks, missing_lines, pages, printed

ALL = {page: blocks(page) for page in pages()}
RUN = [page for page, found in ALL.items() if any(block.is_run for block in found)]
NOT_RUN = [block for found in ALL.values() for block in found if block.kind == "not run"]
# Such blocks take minutes with Spark, so `make test-slow` runs them.
SLOW = ("docs/operate/metrics_job.md", "docs/guides/export.md")


def parameter(page: str) -> object:
    return pytest.param(page, marks=pytest.mark.slow if page in SLOW else pytest.mark.docs, id=page)


@pytest.mark.parametrize("page", [parameter(page) for page in RUN])
def test_the_blocks_of_a_page_run(page: str, postgres: TestServer, tmp_path: Path) -> None:
    found = ALL[page]
    with installation(found, postgres) as where:
        failure = run(found, where, tmp_path)
    assert failure is None, failure
    for before, excerpt in pairwise(found):
        if excerpt.kind == "output":
            output = printed(before, tmp_path / "blocks")
            assert missing_lines(excerpt, output) == [], f"{excerpt.place}: it printed\n{output}"


@pytest.mark.docs
@pytest.mark.parametrize("block", NOT_RUN, ids=lambda block: block.place)
def test_a_block_that_cannot_run_here(block: Block) -> None:
    pytest.skip(f"it {block.value}")
