"""Lists the existing metrics, and the metrics that a query of Prometheus uses."""

import re

from tests.support.metrics_page import families


def exposed() -> set[str]:
    """Returns every name that a query may use."""
    names = {"up"}
    for family, _ in families():
        endings = ("_bucket", "_sum", "_count") if family.kind == "histogram" else ("",)
        names |= {family.name + ending for ending in endings}
    return names


def named(query: str) -> set[str]:
    """Returns the metrics of a query: names with an underscore that are neither functions nor labels nor ranges of
    time."""
    bare = re.sub(
        r"\{[^}]*\}|\[[^\]]*\]|\b(?:by|on|without|ignoring|group_left|group_right) ?\([^)]*\)", " ", query
    )
    return {name for name in re.findall(r"\b[a-z_]+\b(?! *\()", bare) if "_" in name or name == "up"}


def labels_of(query: str) -> dict[str, set[str]]:
    """Returns the labels by which a query selects series of each metric."""
    return {
        name: set(re.findall(r"(\w+) *(?:=~|!~|!=|=) *\"", matchers))
        for name, matchers in re.findall(r"\b([a-z_]+)\{([^}]*)\}", query)
    }
