"""Each line of settings on a page of docs/recipes/ is one of the program that `make clients` runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.pages.blocks import ROOT, blocks

RECIPES = ROOT / "docs/recipes"
CLIENTS = ROOT / "tests/support/clients"
ADDRESS = '"http://127.0.0.1:9324"'
NOT_RUN = {"laravel", "masstransit", "shoryuken"}
# By page: the program, and what the page has in the place of the program's arguments and variables.
PROGRAMS: dict[str, tuple[Path, dict[str, str]]] = {
    "celery": (
        CLIENTS / "celery_tasks.py",
        {
            '"sqs://x:x@127.0.0.1:9324"': 'os.environ["BROKER_URL"]',
            ": 600": ': int(os.environ["VISIBILITY_SECONDS"])',
        },
    ),
    "dramatiq": (
        CLIENTS / "dramatiq_actors.py",
        {
            '"orders"': 'os.environ["NAMESPACE"]',
            "=600": '=int(os.environ["VISIBILITY_SECONDS"])',
            ADDRESS: 'os.environ["ADDRESS"]',
        },
    ),
    "go": (CLIENTS / "go/v2/main.go", {ADDRESS: "os.Args[1]"}),
    "jms": (CLIENTS / "java/jms/Jms.java", {ADDRESS: "arguments[0]"}),
    "keda": (CLIENTS / "keda/main.go", {}),
    "nestjs": (CLIENTS / "node/nest.cjs", {f"endpoint: {ADDRESS}": "endpoint"}),
    "rust": (
        CLIENTS / "rust/src/main.rs",
        {ADDRESS: "address", '"x", "x", None': 'variable("PENSTOCK_KEY"), variable("PENSTOCK_SECRET"), None'},
    ),
    "spring": (
        ROOT / "tests/system/clients/test_jvm.py",
        {"spring.cloud.aws": "{aws}", "http://127.0.0.1:9324": "{up.address}"},
    ),
    "symfony": (
        CLIENTS / "php/messenger.php",
        {"MESSENGER_TRANSPORT_DSN=": "", "sqs://x:x@127.0.0.1:9324": "", "/messenger?": "/$queue?"},
    ),
    "terraform": (
        CLIENTS / "terraform/provider.tf",
        {ADDRESS: "var.endpoint", '"000000000000"': "var.account"},
    ),
}
MORE = {"spring": CLIENTS / "java/spring/Spring.java", "rust": CLIENTS / "rust/Cargo.toml"}


def compact(text: str) -> str:
    """Without what only formats it."""
    return re.sub(r"\s", "", text)


def test_every_recipe_is_run_or_says_that_it_is_not() -> None:
    pages = {path.stem for path in RECIPES.glob("*.md")} - {"README"}
    assert pages == set(PROGRAMS) | NOT_RUN
    listed = (RECIPES / "README.md").read_text()
    assert [page for page in pages if f"({page}.md)" not in listed] == []
    for page in NOT_RUN:
        assert {block.kind for block in blocks(f"docs/recipes/{page}.md")} == {"not run"}
        assert "not run" in (RECIPES / f"{page}.md").read_text().split("\n\n")[1].replace("\n", " ")


@pytest.mark.parametrize("page", sorted(set(PROGRAMS) - {"keda"}))
def test_settings_are_those_of_the_program(page: str) -> None:
    path, replacements = PROGRAMS[page]
    program = compact(path.read_text() + (MORE[page].read_text() if page in MORE else ""))
    text = "".join(block.text for block in blocks(f"docs/recipes/{page}.md"))
    assert text
    for old, new in replacements.items():
        assert old in text
        text = text.replace(old, new)
    assert [line for line in text.splitlines() if compact(line) not in program] == []


def test_what_keda_is_told_is_what_its_scaler_was_told() -> None:
    program = PROGRAMS["keda"][0].read_text()
    ((block,)) = blocks("docs/recipes/keda.md")
    scaled, authentication = yaml.safe_load_all(block.text)
    (trigger,) = scaled["spec"]["triggers"]
    told = re.search(r"metadata := map\[string\]string\{(.*)\}", program)
    assert told
    assert set(trigger["metadata"]) == set(re.findall(r'"(\w+)":', told[1]))
    assert f'"queueLength": "{trigger["metadata"]["queueLength"]}"' in program
    parameters = [one["parameter"] for one in authentication["spec"]["secretTargetRef"]]
    assert [name for name in parameters if f'"{name}"' not in program] == []
