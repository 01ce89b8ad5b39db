"""Each code block of README.md and docs/ is run by `make test-docs`, parsed here, or has a mark that says why not."""

from __future__ import annotations

import configparser
import json
import subprocess
import tomllib
from collections.abc import Callable

import pytest
import yaml

from tests.support.pages.blocks import PARSED, REASONS, ROOT, RUN, Block, blocks, pages, unfenced

PAGES = pages()
BLOCKS = [block for page in PAGES for block in blocks(page)]


def parse_ini(text: str) -> None:
    """A file of postgresql.conf's kind has no sections."""
    configparser.ConfigParser(interpolation=None).read_string(text if "[" in text else f"[all]\n{text}")


PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "ini": parse_ini,
    "toml": tomllib.loads,
    "python": lambda text: compile(text, "block", "exec"),
}


def problem(block: Block) -> str | None:
    """What is wrong with the language and the mark of a block."""
    match block.kind:
        case "not run" if not REASONS.fullmatch(block.value):
            return f"{block.value!r} is none of the three reasons"
        case "run by" if not (ROOT / block.value).is_file():
            return f"{block.value} is not there"
        case "run by" if block.page.rpartition("/")[2] not in (ROOT / block.value).read_text():
            return f"{block.value} does not name the page"
        case "file" if not block.value:
            return "a file has a name"
        case "" if block.language not in (*RUN, *PARSED, "text"):
            return f"a block of {block.language or 'no language'} needs a mark"
    return None


def test_every_block_is_run_or_says_why_not() -> None:
    assert len(BLOCKS) > 100
    assert [f"{block.place}: {found}" for block in BLOCKS if (found := problem(block))] == []


def test_no_block_is_indented_only() -> None:
    """Its language would not be known."""
    assert [place for page in PAGES for place in unfenced(page)] == []


@pytest.mark.parametrize("language", PARSERS)
def test_what_has_a_syntax_is_parsed(language: str) -> None:
    for block in BLOCKS:
        if block.language == language:
            try:
                PARSERS[language](block.text)
            except (ValueError, SyntaxError, yaml.YAMLError, configparser.Error) as error:
                pytest.fail(f"{block.place}: {error}")


def test_bash_parses_the_commands() -> None:
    text = "\n".join(f"true {block.place}\n{block.text}" for block in BLOCKS if block.language == "sh")
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert done.stderr == ""
