"""Sends users' words to the site's search, which runs in Node."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from infra.site.build import build_site
from tests.support.pages.script import ROOT

pytestmark = [pytest.mark.clients, pytest.mark.xdist_group("search")]

# The search is a web worker. Message 0 contains the index, and message 2 a query.
PROGRAM = """
const fs = require("fs");
const [worker, index, queries] = process.argv.slice(2).map((path) => fs.readFileSync(path, "utf8"));
let answer;
globalThis.self = { postMessage: (message) => answer(message) };
(0, eval)(worker);
const ask = (data) => new Promise((resolve) => { answer = resolve; self.onmessage({ data }); });
const all = () => ({ type: "operator", data: { operator: "and", operands: [] } });
const filter = () => ({ input: all(), aggregation: { input: [{ type: "term", data: { field: "tags" } }] } });
(async () => {
  const pages = JSON.parse(index);
  await ask({ type: 0, data: pages });
  const found = {};
  for (const query of JSON.parse(queries)) {
    const { data } = await ask({ type: 2, data: { input: query, filter: filter() } });
    found[query] = data.items.slice(0, 1).map((item) => pages.items[item.id].location);
  }
  console.log(JSON.stringify(found));
})();
"""
FIRST = {
    "large message": "guides/large_messages/",
    "S3 payload": "guides/large_messages/",
    "migrate from sqs": "guides/move_from_sqs/",
    "outbox": "guides/exactly_once/#outbox-send-with-your-change",
    "postgresql down": "operate/unavailable/",
    "database unavailable": "operate/unavailable/",
    "pytest": "guides/testing/",
    "test my code": "guides/testing/",
    "exponential backoff": "guides/retry/",
    "fastapi": "guides/webhook_endpoints/#fastapi",
    "webhook signature": "guides/webhook_endpoints/",
    "secret file": "reference/settings/",
    "rate limit": "guides/tenants/",
    "ordering": "guides/fifo/",
    "poison message": "operate/poison/",
    "monitoring": "operate/alerts/",
    "lambda trigger": "guides/functions/",
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("search")
    with ZipFile(build_site(ROOT)) as site:
        (worker,) = [name for name in site.namelist() if "workers/search." in name]
        paths = [Path(site.extract(name, folder)) for name in (worker, "search.json")]
    (queries := folder / "queries.json").write_text(json.dumps([*FIRST]))
    (program := folder / "search.cjs").write_text(PROGRAM)
    done = subprocess.run(["node", program, *paths, queries], capture_output=True, text=True, check=True)
    answer: dict[str, list[str]] = json.loads(done.stdout)
    return answer


@pytest.mark.parametrize("query", FIRST)
def test_a_query_leads_to_the_page(query: str, found: dict[str, list[str]]) -> None:
    assert found[query] == [FIRST[query]]
