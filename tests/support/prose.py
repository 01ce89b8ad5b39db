"""Checks for plain English in comments, docstrings, string literals, templates and documents: `python -m
tests.support.prose [PATH…]`.

Prints each refused phrase as `file:line: phrase (rule)`, and the number of phrases by folder. The program ignores text
between double quotes or backticks, because that text is a quotation or code, and literals without a space, because such
a literal is a value. The exit status is 1 if the program found a phrase.
"""

import re
import subprocess
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SUFFIXES = (".py", ".sql", ".html", ".md")
NOT_PROSE = ("tests/support/prose.py", "tests/integration/project/test_words.py")

BEGIN = r"(?:\A|(?<=[.!?:;(])\s)\s*"
BEFORE_RELATIVE = BEGIN + (
    r"|\b(?:of|to|for|by|with|from|in|on|at|than|as|and|or|but|nor|that|if|unless|when|while|where|until|because|before"
    r"|after|only|also|even|not)\s"
)
VERB = (
    r"(?:is|was|are|were|has|had|may|can|cannot|could|must|would|will|should|does|did|had|comes|came|goes|went|waits|waited"
    r"|fails|failed|works|worked|needs|needed|takes|took|stays|stayed|belongs|makes|made|arrives|arrived|follows|followed"
    r"|remains|remained|holds|held|gets|got|begins|began|ends|ended|changes|changed|asks|asked|leads|led|lies|lay|runs|ran"
    r"|says|said|becomes|became|wants|wanted|has|looks|looked|leaves|left|reads|sends|sent|calls|called|knows|knew)"
)
SPACE = re.compile(r" (?![?*+])")


def rule(pattern: str, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Returns a pattern in which a space matches any white space, because a line break may split a phrase."""
    return re.compile(SPACE.sub(r"\\s+", pattern), flags)


RULES = {
    "So long, So many": rule(BEGIN + r"(So (?:long|many|much|few|often)\b)", re.NOFLAG),
    "is none": rule(r"(\b(?:[Tt]here (?:is|was|are|were)|[Ii]s|was) none\b)", re.NOFLAG),
    "nobody": rule(r"(\bnobody\b)"),
    "in vain": rule(r"(\bin vain\b)"),
    "stands in": rule(r"(\bst(?:ands?|ood) (?:in|below|above)\b)"),
    "looks again, made anew": rule(r"(\b(?:look(?:s|ed|ing)? again|ma(?:de|kes?|king) anew)\b)"),
    "of its own": rule(r"(\bof (?:its|their|his|our|your) own\b)"),
    "so … that it": rule(r"(\bso (?!(?:that|an?|the|on|most|each|all)\b)\w+(?: \w+){0,5},? that it\b)"),
    "who without a noun": rule(rf"(?:{BEFORE_RELATIVE})(who \w+\b)(?![^.!]*\?)"),
    "what without a noun": rule(rf"(?:{BEFORE_RELATIVE}|, )(what {VERB}\b)(?![^.!]*\?)"),
}

QUOTED = re.compile(r'"[^"\n]{1,300}"|“[^”]{1,300}”|``[^`]+``|`[^`]+`')
PYTHON = re.compile(
    r"(?P<comment>(?m:^[ \t]*#[^\n]*(?:\n[ \t]*#[^\n]*)*)|#[^\n]*)"
    r"|(?P<quote>\"\"\"|'''|\"|')(?P<text>(?:\\.|(?!(?P=quote)).)*)(?P=quote)",
    re.DOTALL,
)
SQL = re.compile(r"(?P<comment>(?m:^[ \t]*--[^\n]*(?:\n[ \t]*--[^\n]*)*)|--[^\n]*)|'(?P<text>(?:''|[^'])*)'", re.DOTALL)
FENCE = re.compile(r"^([ \t]*)(`{3,}).*?^\1\2[ \t]*$", re.DOTALL | re.MULTILINE)
TAG = re.compile(r"\{[{%#].*?[}%#]\}|</?\w[^>]*>|<!--|-->", re.DOTALL)
ADJACENT = re.compile(r"\s*[rbfuRBFU]{0,2}")
WORDS = re.compile(r"\b(?:so|none|nobody|vain|st(?:ands?|ood)|again|anew|own|who|what)\b", re.IGNORECASE)
MARGIN = re.compile(r"(?m)^[ \t]*(?:#|--)+")


class Offence(NamedTuple):
    """`phrase` begins in line `line` of `path`. `rule` is a key of RULES."""

    path: str
    line: int
    phrase: str
    rule: str


def blank(match: re.Match[str]) -> str:
    """Returns white space of the same length with the same line breaks."""
    return re.sub(r"[^\n]", " ", match[0])


def read_texts(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yields a file's pieces of prose with their offsets. Adjacent string literals form one piece."""
    if path.endswith((".html", ".md")):
        yield 0, TAG.sub(blank, FENCE.sub(blank, source))
        return
    begin, pieces, end, text_end = 0, "", 0, 0
    for match in (SQL if path.endswith(".sql") else PYTHON).finditer(source):
        if match["comment"] is not None:
            yield match.start(), MARGIN.sub(blank, match["comment"])
            continue
        start = match.start("text")
        if pieces and ADJACENT.fullmatch(source, end, match.start()):
            pieces += re.sub(r"[^\n]", " ", source[text_end:start])
        else:
            yield begin, pieces
            begin, pieces = start, ""
        pieces += match["text"]
        end, text_end = match.end(), match.end("text")
    yield begin, pieces


def find_offences(path: str, source: str) -> list[Offence]:
    """Returns the offences in a file by line."""
    found = []
    lines = [match.end() for match in re.finditer("\n", source)]
    for begin, text in read_texts(path, source):
        if not WORDS.search(text) or not re.search(r"\s", text):
            continue
        prose = QUOTED.sub(blank, text)
        for name, pattern in RULES.items():
            for match in pattern.finditer(prose):
                line = bisect_right(lines, begin + match.start(1)) + 1
                found.append(Offence(path, line, " ".join(match[1].split()), name))
    return sorted(found, key=lambda offence: offence.line)


def list_files(paths: Iterable[str]) -> list[str]:
    """Returns the files with prose below the given paths, or in the whole repository if no path is given."""
    listed = subprocess.run(["git", "ls-files", "--", *paths], cwd=ROOT, check=True, capture_output=True, text=True)
    names = listed.stdout.splitlines()
    return [
        name for name in names
        if name.endswith(SUFFIXES) and name not in NOT_PROSE and (ROOT / name).is_file()
    ]  # fmt: skip


def check(paths: Iterable[str]) -> list[Offence]:
    return [offence for name in list_files(paths) for offence in find_offences(name, (ROOT / name).read_text())]


def folder_of(path: str) -> str:
    """Returns the first three folders of a path."""
    return "/".join(path.split("/")[:-1][:3])


def main(paths: list[str]) -> int:
    offences = check(paths)
    for offence in offences:
        print(f"{offence.path}:{offence.line}: {offence.phrase} ({offence.rule})")  # noqa: T201
    for counts in (Counter(folder_of(o.path) for o in offences), Counter(o.rule for o in offences)):
        for name, count in sorted(counts.items()):
            print(f"{count:6} {name}")  # noqa: T201
    print(f"{len(offences):6} in all")  # noqa: T201
    return int(bool(offences))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
