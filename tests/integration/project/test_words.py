"""Checks the words of the code: no identifier has a retired word, and texts are in plain English
(tests/support/prose.py)."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support import prose

ROOT = Path(__file__).parents[3]
FOLDERS = ("layers", "sql/functions", "sql", "functions", "jobs", "infra")
# Maps each retired word to the word that replaces it.
RETIRED = dict(
    pair.split("=")
    for pair in """
answer=response aloud=reported breath=pause
crowded=limited deed=action drive=run farewell=close glance=check guest=caller
handles_of=list_handles hang_up=disconnect happenings=events hears=is_notified held_snapshot=old_snapshot
joins_a_line=waits letterhead=head letters=messages lines_up=waits party=account pluck=take
refuses_caller=denies sealer=cipher sight=view skimmed=sampled stay=call tenant=group tenants=groups told=reported
unsaid=omitted
unsealable=undecryptable visit=call world=installation
    """.split()  # noqa: SIM905
)
# Maps retired words in names of tests and of the Makefile's targets to the new words.
RETIRED_IN_TESTS = {"door": "deployment", "doors": "deployments", "world": "installation", "story": "scenario"}
# At most three files can break a rule, and each file can contain one such phrase.
EXCEPTIONS: dict[str, tuple[str, ...]] = {
    "nobody": (
        "tests/support/pages/script.py",  # the name of a user in a program
    )
}
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SQL_WORDS = re.compile(r"'(?:[^']|'')*'|--[^\n]*|[a-z_]+")


def retired_in(identifier: str, retired: Mapping[str, str] = RETIRED) -> set[str]:
    """Returns the retired words of an identifier: the whole identifier, or one of its parts."""
    identifier = re.sub(
        "dead_letters", "", identifier, flags=re.IGNORECASE
    )  # The phrase `dead letters` means the messages of a dead-letter queue.
    parts = {word.lower() for word in _WORDS.findall(identifier)}
    return (parts | {identifier.strip("_").lower()}) & retired.keys()


def replacements(identifiers: Iterable[str], retired: Mapping[str, str]) -> dict[str, str]:
    """Maps identifiers with a retired word to the words to write instead."""
    return {
        identifier: ", ".join(f"{retired[word]} for {word}" for word in sorted(words))
        for identifier in identifiers
        if (words := retired_in(identifier, retired))
    }


def python_identifiers(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        for name in node._fields:
            if name in {"name", "id", "attr", "arg", "asname"}:
                value = getattr(node, name)
                if isinstance(value, str):
                    yield value


def sql_identifiers(source: str) -> Iterator[str]:
    return (word for word in _SQL_WORDS.findall(source) if not word.startswith(("'", "--", "drop function")))


def files(*folders: str) -> list[str]:
    command = ["git", "ls-files", *folders]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if name.endswith((".py", ".sql"))]


def test_no_identifier_has_a_retired_word() -> None:
    found = {}
    for name in files(*FOLDERS):
        read = python_identifiers if name.endswith(".py") else sql_identifiers
        words = replacements(set(read((ROOT / name).read_text())), RETIRED)
        if words:
            found[name] = words
    assert found == {}


def test_tests_use_the_words_of_the_field() -> None:
    found = {}
    for name in filter(lambda name: name.endswith(".py"), files("tests", "benchmarks")):
        text = (ROOT / name).read_text()
        if any(word in text.lower() for word in RETIRED_IN_TESTS):
            words = replacements(python_identifiers(text), RETIRED_IN_TESTS)
            if words:
                found[name] = words
    assert found == {}
    assert not re.search(r"\bDOOR\b", (ROOT / "Makefile").read_text())


def test_subjects_of_commits_fit_a_line() -> None:
    """At most 72 characters, after the commit that CONTRIBUTING.md names. The test is skipped in a copy without git's
    history, such as an archive."""
    (base,) = re.findall(r"after commit `(\w+)`", (ROOT / "CONTRIBUTING.md").read_text())
    command = ["git", "log", "--no-merges", "--format=%s", f"{base}..HEAD"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the history is not there")
    assert [subject for subject in done.stdout.splitlines() if len(subject) > 72] == []


def test_names_of_tests_have_a_subject() -> None:
    """A good name has subject, verb and object: `test_a_sender_without_permission_is_refused`."""
    beginning = re.compile(
        r"\btest_(who|whoever|what|whatever|nobody|so|none|nor|it|its|they|their|these|those|this|ours|others)(_|\b)"
    )
    found = {
        (name, word)
        for name in files("tests")
        if name.endswith(".py") and beginning.search(text := (ROOT / name).read_text())
        for word in python_identifiers(text)
        if beginning.match(word)
    }
    assert found == set()


@pytest.mark.parametrize("identifier", ["Letterhead", "_told", "open_world", "hang_up", "topic_letters"])
def test_a_retired_word_is_found(identifier: str) -> None:
    assert retired_in(identifier)


def test_a_retired_word_has_a_replacement() -> None:
    assert replacements(["open_world", "queue"], RETIRED) == {"open_world": "installation for world"}


def test_a_current_word_is_accepted() -> None:
    assert not any(map(retired_in, ("walkway", "redrive", "topic_messages", "RejectedRequest")))


# --- plain English ---------------------------------------------------------------------------------------------------
def test_texts_are_in_plain_english() -> None:
    """`python -m tests.support.prose` lists the phrases of the whole repository."""
    offences = prose.check([])
    excused = {(rule, path) for rule, paths in EXCEPTIONS.items() for path in paths}
    counts = Counter((offence.rule, offence.path) for offence in offences)
    assert [o for o in offences if (o.rule, o.path) not in excused or counts[o.rule, o.path] > 1] == []
    assert excused <= counts.keys(), "an exception that is not needed"
    assert all(len(paths) <= 3 for paths in EXCEPTIONS.values())


@pytest.mark.parametrize(
    ("text", "rule", "line"),
    [
        ("# So long a request\n# may wait.\n", "So long, So many", 1),
        ("a = 1  # So many places.\n", "So long, So many", 1),
        ('"""A text.\n\nIf there\nis none, none.\n"""\n', "is none", 3),
        ("log(\n    'of '\n    f'its own'\n)\n", "of its own", 2),
        ("# Nobody asks.\n", "nobody", 1),
        ("# It waits in\n# vain.\n", "in vain", 1),
        ("# It stands in the file.\n", "stands in", 1),
        ("# It looks again, and is made anew.\n", "looks again, made anew", 1),
        ("# So many pages that it takes long.\n", "so … that it", 1),
        ("# A place. Who waits gets one.\n", "who without a noun", 1),
        ("# The memory of who left.\n", "who without a noun", 1),
        ("# The sum of what comes.\n", "what without a noun", 1),
        ("x = 1\n\n# What is left is sent.\n", "what without a noun", 3),
    ],
)
def test_a_phrase_is_found(text: str, rule: str, line: int) -> None:
    assert (line, rule) in [(found.line, found.rule) for found in prose.find_offences("a.py", text)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "nobody = in_vain\n"),
        ("a.py", '# RFC 9110: "If there is none, who sends"\n'),
        ("a.py", "# A client who waits. Do we know what is left? Tell me what happens.\n"),
        ("a.py", "# Waits so that it is served. `nobody` is a role.\n"),
        ("a.py", "user = 'nobody'\n"),
        ("README.md", "A page.\n\n```sh\nsudo -u nobody true\n```\n"),
        ("a.sql", "select nobody from who;\n"),
        ("a.html", '<p class="nobody">{{ nobody }}</p>'),
    ],
)
def test_other_texts_are_plain(name: str, text: str) -> None:
    assert prose.find_offences(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.sql", "-- A function.\n-- Nobody calls it.\nselect 'there is none';\n", [2, 3]),
        ("a.html", "<p>\nNobody {{ is }} here</p>", [2]),
        ("README.md", "A page.\n\n| a | there is none |\n", [3]),
    ],
)
def test_sql_templates_and_documents_are_read(name: str, text: str, line: list[int]) -> None:
    assert [found.line for found in prose.find_offences(name, text)] == line
