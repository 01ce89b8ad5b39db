"""Checks documents: the files that they cite exist, and their queries, code blocks and recipes work."""

import configparser
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import psycopg
import pytest
import yaml

from infra.site.reference import render_reference
from tests.support.chaos import summary as reliability_page
from tests.support.chaos.faults import QUICK
from tests.support.database import Database
from tests.support.pages.script import PARSED, REASONS, ROOT, RUN, Block, blocks, items_in_paragraphs, pages, unfenced

# --- citations -------------------------------------------------------------------------------------------------------
# The repository contains the pages, links and paths that documents name.
HERE = Path(__file__).relative_to(ROOT).as_posix()
# In an earlier outline of the site, this page was in another place. The brackets prevent the check from finding a
# page's name in this line.
RETIRED = re.compile(r"aws[-]behaviour|native[-]api\b|platform[ ]facts|\.\./[s]hared\b")
BUILT = "build/"  # The repository does not contain the output of `make` in this folder.
# These files name pages of the built site, which `make site` checks.
OF_THE_SITE = ("infra/site/", "tests/unit/infra/test_site.py", "zensical.toml")
NAMED_PAGE = re.compile(r"[\w./-]+\.md\b")
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")
PATH = re.compile(r"`([\w.-]+/[\w.*/-]*)`")
# These pages describe earlier states of the repository with other folders.
HISTORY = ("CHANGELOG.md", "docs/decisions/", "docs/performance/log.md")


@cache
def texts() -> dict[str, str]:
    """Returns every text file that git tracks or would track, except for lock files and pictures."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = {}
    for name in filter(None, listed.split("\0")):
        if not name.endswith((".lock", "package-lock.json", ".svg", ".webp")) and (ROOT / name).is_file():
            found[name] = (ROOT / name).read_text()
    return found


def page_texts() -> dict[str, str]:
    return {name: text for name, text in texts().items() if name.endswith(".md")}


def is_known(page: str, named_in: str) -> bool:
    """Returns whether a page exists in the same folder, in the root folder, in docs/ or docs/reference/, or anywhere
    under the given file name.
    """
    folders = [(ROOT / named_in).parent, ROOT, ROOT / "docs", ROOT / "docs" / "reference"]
    found = [(folder / page).resolve() for folder in folders]
    names = {Path(name).name for name in (*page_texts(), *map(str, generated_pages()))}
    return page in names or any(path.is_file() or path in generated_pages() for path in found)


@cache
def generated_pages() -> dict[Path, str]:
    """Maps the paths that links in docs/ use to the pages that only the built site contains."""
    return {(ROOT / "docs" / place).resolve(): text for place, text in render_reference(ROOT).items()}


def headings(text: str) -> set[str]:
    """Returns the anchors of a page."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(name: str, text: str) -> Iterator[str]:
    for path, anchor in LINK.findall(text):
        target = ((ROOT / name).parent / path if path else ROOT / name).resolve()
        if not target.exists():  # a code host does not show pages that exist only on the built site
            yield path
        elif anchor and target.suffix == ".md" and anchor not in headings(target.read_text()):
            yield f"{path}#{anchor}"


def missing_paths(text: str) -> Iterator[str]:
    """Yields paths in backquotes that begin with the name of one of the repository's folders, but do not exist."""
    folders = {name.partition("/")[0] for name in texts() if "/" in name}
    for path in PATH.findall(text):
        if path.partition("/")[0] in folders and not any(ROOT.glob(path.rstrip("/"))):
            yield path


def test_no_file_cites_a_page_that_is_not_here() -> None:
    unknown = [
        f"{name}: {page}"
        for name, text in texts().items()
        # The examples in this file name no existing pages.
        if name != HERE and not name.startswith(OF_THE_SITE)
        for page in NAMED_PAGE.findall(text)
        if not page.startswith(BUILT) and not is_known(page, name)
    ]
    assert unknown == []


def test_no_file_cites_the_earlier_outline() -> None:
    assert [name for name, text in texts().items() if RETIRED.search(text)] == []


def test_links_lead_somewhere() -> None:
    broken = {name: list(broken_links(name, text)) for name, text in page_texts().items()}
    assert {name: links for name, links in broken.items() if links} == {}


@pytest.mark.parametrize("layer", ["layers/core/penstock", "layers/web/penstock_web"])
def test_every_room_is_on_the_map(layer: str) -> None:
    """The map lists the modules and packages at the root of each layer, and each cell fits on one line."""
    page = texts()["ARCHITECTURE.md"]
    packages = {
        f"{path.name}/" if path.is_dir() else path.name
        for path in (ROOT / layer).iterdir()
        if not path.name.startswith("__") and (path.suffix == ".py" or (path / "__init__.py").is_file())
    }
    assert packages
    assert {package for package in packages if f"`{package}" not in page} == set()
    cells = [cell for line in page.splitlines() if line.startswith("| ") for cell in line.split(" | ")]
    assert [cell for cell in cells if len(cell) > 160] == []


def test_documents_name_paths_that_exist() -> None:
    current = {name: text for name, text in page_texts().items() if not name.startswith(HISTORY)}
    missing = {name: list(missing_paths(text)) for name, text in current.items()}
    assert {name: paths for name, paths in missing.items() if paths} == {}


# The names of other programs that decisions compare or reject.
FOREIGN = {
    "MALLOC_ARENA_MAX=1", "MALLOC_MMAP_THRESHOLD_", "Multiprocess", "curl --http2", "mark_process_dead", "set_exemplar",
    "uvicorn-worker",
}  # fmt: skip


@cache
def code() -> str:
    """Returns the paths and texts of all files outside docs/. A name in a decision can be from one of these files."""
    outside = {
        name: text for name, text in texts().items() if not name.startswith(("docs/", "CHANGELOG")) and name != HERE
    }
    return "\n".join((*outside, *outside.values()))


@pytest.mark.parametrize("path", sorted((ROOT / "docs/decisions").glob("*.md")), ids=lambda path: path.stem)
def test_names_of_a_decision_exist(path: Path) -> None:
    named = set(re.findall(r"`([^`\n]+)`", path.read_text()))
    assert {name for name in named - FOREIGN if name not in code()} == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](docs/reference/sql.md) [b](https://example.com) [c](docs/reference/webhooks.md#given-up)", []),
        ("[a](docs/reference/commands.md)", ["docs/reference/commands.md"]),
        (
            "[a](docs/nowhere.md) [b](docs/reference/webhooks.md#nothing)",
            ["docs/nowhere.md", "docs/reference/webhooks.md#nothing"],
        ),
    ],
)
def test_a_broken_link_is_found(text: str, found: list[str]) -> None:
    assert list(broken_links("README.md", text)) == found


def test_a_missing_path_and_page_are_found() -> None:
    assert list(missing_paths("`docs/decisions/` `sql/*.sql` `sql/nothing` `one/two`")) == ["sql/nothing"]
    assert is_known("settings.md", "Makefile")
    assert not is_known("docs/decisions/settings.md", "Makefile")


# --- docs/operate ----------------------------------------------------------------------------------------------------
# Every query of the pages for operators runs on the schema of this release.
QUERIES = [
    query
    for page in sorted((ROOT / "docs/operate").glob("*.md"))
    for query in re.findall(r"^```sql\n(select .*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
]


def test_there_are_queries() -> None:
    assert len(QUERIES) >= 15


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_runs(shared_database: Database, query: str) -> None:
    """The query runs in a read-only transaction, as both roles that the pages name: the owner, and a member of
    penstock_reader and pg_monitor.
    """
    with psycopg.connect(shared_database.api_dsn) as connection:
        connection.execute("select queue.create('a'), queue.create_fifo('b.fifo'), queue.send('a', '1')")
        connection.commit()
        connection.read_only = True
        assert connection.execute(query.encode()).description
    with psycopg.connect(shared_database.dsn) as connection:
        connection.execute("create role dashboards in role penstock_reader, pg_monitor")
        connection.execute("set role dashboards")
        connection.execute("set transaction read only")
        assert connection.execute(query.encode()).description
        connection.rollback()


def test_a_poison_message_is_found(database: Database) -> None:
    (query,) = [q for q in QUERIES if "receive_count > 3" in q]
    with psycopg.connect(database.api_dsn, autocommit=True) as connection:
        connection.execute("select queue.create('q'), queue.send('q', '1')")
        for _ in range(5):
            connection.execute("select * from queue.receive('q', 0, 1)")
        assert [row[0] for row in connection.execute(query.encode())] == ["q"]


def test_a_listener_is_found(database: Database) -> None:
    (query,) = [q for q in QUERIES if "listen penstock" in q]
    with (
        psycopg.connect(database.api_dsn, autocommit=True) as connection,
        psycopg.connect(database.api_dsn, autocommit=True) as listener,
    ):
        listener.execute("listen penstock")
        assert [row[0] for row in connection.execute(query.encode())] == [listener.info.backend_pid]


def test_an_old_snapshot_is_found(database: Database, empty_database: Database) -> None:
    """The snapshot belongs to this database, because vacuum ignores snapshots of other databases."""
    query = next(q for q in QUERIES if "backend_xmin" in q)
    with (
        psycopg.connect(database.dsn, autocommit=True) as connection,
        psycopg.connect(database.dsn) as application,
        psycopg.connect(database.dsn) as sender,
        psycopg.connect(empty_database.dsn) as stranger,
    ):
        for holder in (stranger, application):
            holder.execute("set transaction isolation level repeatable read")
            holder.execute("select 1")
        # This transaction has a transaction id, but no snapshot between its statements.
        sender.execute("select queue.create('a'), queue.send('a', '1')")
        found = [row[0] for row in connection.execute(query.encode())]
        assert {application.info.backend_pid, sender.info.backend_pid} <= set(found)
        assert stranger.info.backend_pid not in found


# --- README.md --------------------------------------------------------------------------------------------------------
def test_the_readme_stays_short() -> None:
    """README.md has at most 100 lines and ten links to pages, and two pictures."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 100
    assert len(re.findall(r"(?<!!)\[[^\]]+\]\([^)]+\)", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text))) <= 10
    assert len(re.findall(r"!\[[^\]]*\]\([^)]*\)", text)) == 2


# --- code blocks -----------------------------------------------------------------------------------------------------
# `make test-docs` runs each code block of README.md and docs/, or this test parses the block, or a mark on the block
# gives the reason why not.
PAGES = pages()
BLOCKS = [block for page in PAGES for block in blocks(page)]


def parse_ini(text: str) -> None:
    """Parses a file without sections, such as postgresql.conf."""
    configparser.ConfigParser(interpolation=None, strict=False).read_string(text if "[" in text else f"[all]\n{text}")


PARSERS: dict[str, Callable[[str], object]] = {
    "json": json.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
    "ini": parse_ini,
    "toml": tomllib.loads,
    "python": lambda text: compile(text, "block", "exec"),
}


def problem(block: Block) -> str | None:
    """Returns the error in the language or the mark of a code block."""
    match block.kind:
        case "not run" if not REASONS.fullmatch(block.value):
            return f"{block.value!r} is not one of the three reasons"
        case "run by" if not (ROOT / block.value).is_file():
            return f"{block.value} is not there"
        case "run by" if block.page.rpartition("/")[2] not in (ROOT / block.value).read_text():
            return f"{block.value} does not name the page"
        case "before" if block.language != "sh":
            return "a command before a block needs a block of commands"
        case "file" if not block.value:
            return "a file has a name"
        case "" | "before" if block.language not in (*RUN, *PARSED, "text"):
            return f"a block of {block.language or 'no language'} needs a mark"
    return None


def test_every_block_is_run_or_says_why_not() -> None:
    assert len(BLOCKS) > 100
    assert [f"{block.place}: {found}" for block in BLOCKS if (found := problem(block))] == []


def test_no_block_is_indented_only() -> None:
    """A code block that is only indented would have no language."""
    assert [place for page in PAGES for place in unfenced(page)] == []


def test_no_item_of_a_list_is_in_a_paragraph() -> None:
    assert [place for page in PAGES for place in items_in_paragraphs(page)] == []


@pytest.mark.parametrize("language", PARSERS)
def test_code_blocks_with_a_syntax_are_parsed(language: str) -> None:
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


def test_names_in_programs_are_defined(tmp_path: Path) -> None:
    """An excerpt of a program can use names that the rest of the program defines, so the check excludes excerpts."""
    for block in BLOCKS:
        if block.language == "python" and block.kind in ("", "file"):
            (tmp_path / f"{block.page.replace('/', '-')}-{block.line}.py").write_text(block.text)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


# --- docs/guides/recipes.md -------------------------------------------------------------------------------------------
# Each line of settings in a section of docs/guides/recipes.md is also in the program that `make clients` runs.
RECIPES = "docs/guides/recipes.md"
CLIENTS = ROOT / "tests/support/clients"
ADDRESS = '"http://127.0.0.1:9324"'
NOT_RUN = {"laravel", "masstransit", "shoryuken"}
# Maps each section to its program, and to the text that the page shows for the program's arguments and variables.
PROGRAMS: dict[str, tuple[Path, dict[str, str]]] = {
    "celery": (
        CLIENTS / "celery_tasks.py",
        {'"sqs://x:x@127.0.0.1:9324"': 'os.environ["BROKER_URL"]', ": 600": ': int(os.environ["VISIBILITY_SECONDS"])'},
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
        ROOT / "tests/system/clients/test_languages.py",
        {"spring.cloud.aws": "{aws}", "http://127.0.0.1:9324": "{up.address}"},
    ),
    "symfony": (
        CLIENTS / "php/messenger.php",
        {"MESSENGER_TRANSPORT_DSN=": "", "sqs://x:x@127.0.0.1:9324": "", "/messenger?": "/$queue?"},
    ),
    "terraform": (CLIENTS / "terraform/provider.tf", {ADDRESS: "var.endpoint", '"000000000000"': "var.account"}),
}
MORE = {"spring": CLIENTS / "java/spring/Spring.java", "rust": CLIENTS / "rust/Cargo.toml"}


def compact(text: str) -> str:
    """Returns the text without formatting."""
    return re.sub(r"\s", "", text)


def test_every_recipe_is_run_or_says_that_it_is_not() -> None:
    introduction, *sections = (ROOT / RECIPES).read_text().split("\n## ")
    recipes = {section.partition("\n")[0].lower(): section for section in sections}
    assert set(recipes) == set(PROGRAMS) | NOT_RUN
    assert [name for name in recipes if f"(#{name})" not in introduction] == []
    for name in NOT_RUN:
        assert {block.kind for block in recipe_blocks(name)} == {"not run"}
        assert "not run" in recipes[name].split("\n\n")[1].replace("\n", " ")


def test_a_page_lists_what_was_not_tested() -> None:
    """A reader finds each page with a command that no test runs."""
    page = ROOT / "docs/explain/not_tested.md"
    named = {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#]+)", page.read_text())}
    not_run = {(ROOT / block.page).resolve() for block in BLOCKS if block.kind == "not run"}
    assert not_run, "no block says that it is not run"
    assert sorted(map(str, not_run - named)) == []


def recipe_blocks(name: str) -> list[Block]:
    """Returns the code blocks below the heading of a recipe."""
    lines = (ROOT / RECIPES).read_text().splitlines()
    heads = [number for number, line in enumerate(lines, 1) if line.startswith("## ")]
    (start,) = [number for number in heads if lines[number - 1].lower() == f"## {name}"]
    end = min((number for number in heads if number > start), default=len(lines))
    return [block for block in blocks(RECIPES) if start < block.line < end]


@pytest.mark.parametrize("recipe", sorted(set(PROGRAMS) - {"keda"}))
def test_settings_are_those_of_the_program(recipe: str) -> None:
    path, replacements = PROGRAMS[recipe]
    program = compact(path.read_text() + (MORE[recipe].read_text() if recipe in MORE else ""))
    text = "".join(block.text for block in recipe_blocks(recipe))
    assert text
    for old, new in replacements.items():
        assert old in text
        text = text.replace(old, new)
    assert [line for line in text.splitlines() if compact(line) not in program] == []


def test_keda_gets_the_documented_settings() -> None:
    program = PROGRAMS["keda"][0].read_text()
    ((block,)) = recipe_blocks("keda")
    scaled, authentication = yaml.safe_load_all(block.text)
    (trigger,) = scaled["spec"]["triggers"]
    told = re.search(r"metadata := map\[string\]string\{(.*)\}", program)
    assert told
    assert set(trigger["metadata"]) == set(re.findall(r'"(\w+)":', told[1]))
    assert f'"queueLength": "{trigger["metadata"]["queueLength"]}"' in program
    parameters = [reference["parameter"] for reference in authentication["spec"]["secretTargetRef"]]
    assert [name for name in parameters if f'"{name}"' not in program] == []


# --- docs/explain/reliability.md --------------------------------------------------------------------------------------
def test_the_tables_are_those_of_the_summary() -> None:
    assert reliability_page.PAGE.read_text() == reliability_page.page()


def test_names_of_faults_are_unique() -> None:
    names = [fault.name for fault in QUICK]
    assert len(names) == len(set(names))


# --- the first paragraph ---------------------------------------------------------------------------------------------
SECTIONS = ("start", "guides", "operate", "reference", "explain", "decisions", "performance")
AUDIENCE = re.compile(r"For (?:everybody|developers|operators|developers and operators): \S")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_page_names_its_audience_and_task_first(section: str) -> None:
    """`make site` writes these paragraphs into llms.txt."""
    found = sorted((ROOT / "docs" / section).glob("*.md"))
    assert found != []
    without = [page.name for page in found if not AUDIENCE.match(page.read_text().partition("\n\n")[2])]
    assert without == []
