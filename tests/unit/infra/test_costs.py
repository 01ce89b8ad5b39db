"""docs/costs.md: the formulas, worked out by hand from the prices, and the page as the script prints it.

The formulas are those of AWS's pages that the page names: requests times price, GB-seconds times price, hours times
price; a Lambda target's LCU takes 0.4 GB an hour, an IP target's 1 GB ("Elastic Load Balancing pricing").
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from infra.costs import figures as f
from infra.costs.__main__ import main
from infra.costs.inputs import PRICES, Inputs, read_inputs
from infra.costs.page import page

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/costs.md").read_text()


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    return read_inputs()


def test_the_page_is_what_the_script_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == PAGE


def test_with_other_prices_it_prints_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(
        PRICES.read_text().replace("http_api_million = {dollars = 1.00", "http_api_million = {dollars = 3.00")
    )
    assert main(["--prices", str(own)]) == 0
    assert "| functions behind the HTTP API | $9.66 | 3 x (3.00 + 0.20 + 0.0200) |" in capsys.readouterr().out


# By hand: 3 ms at 512 MB are 0.0015 GB-seconds, 0.0000000200001 dollars.
@pytest.mark.parametrize(
    ("figure", "by_hand"),
    [
        (f.million_http_api, 3 * (1.00 + 0.20 + 0.0200001)),
        (f.million_sqs, 3 * 0.40),
        (f.million_function_balancer, 3 * (5 * 0.008 + 0.20 + 0.0200001)),  # 2 GB, 5 LCU-hours
        (f.million_container, 3 * 2 * 0.008),
        (f.million_access_log, 3 * 0.35 * 0.50),
        (f.million_invocation_log, 3 * 0.30 * 0.50),
        # 30 days are 2,592,000 s: half as many GB-seconds, and 1,296,000 polls of 2 s or 129,600 of 20 s.
        (f.month_consumer_functions, 1_296_000 * 0.0000133334 + 1.296 * 1.20),
        (f.month_consumer_function_balancer, 1_296_000 * 0.0000133334 + 0.1296 * 0.20),
        (f.month_consumer_sqs, 0.1296 * 0.40),
        # Three functions of 256 MB, 65 s each minute.
        (f.month_polling, 3 * (43_200 * 65 / 4 * 0.0000133334 + 0.0432 * 1.20)),
        (f.month_fire, 43_200 * 58 / 4 * 0.0000133334 + 0.0432 * 1.20),
        (f.month_scheduled, 2 * (0.0432 * 1.20 + 43_200 * 0.01 * 0.0000133334)),
        (f.month_service_task, 720 * (0.03238 + 0.00712)),
        (f.month_poolers, 2 * 720 * (0.008095 + 0.00178)),
        (f.containers, 2 * 28.44 + 16.20),
        (f.small_container, 7.11 + 16.20),
    ],
)
def test_figures(inputs: Inputs, figure: object, by_hand: float) -> None:
    assert callable(figure)
    assert figure(inputs) == pytest.approx(by_hand)


def test_what_the_review_worked_out(inputs: Inputs) -> None:
    """Another hand's figures from the same prices."""
    assert round(f.million_http_api(inputs), 2) == 3.66
    assert round(f.million_sqs(inputs), 2) == 1.20
    assert round(f.month_consumer_functions(dataclasses.replace(inputs, gateway_poll_seconds=20)), 2) == 17.44
    assert round(f.month_consumer_sqs(inputs), 2) == 0.05
    assert round(f.month_fire(dataclasses.replace(inputs, worker_memory_mb=512)), 1) == 16.8
    assert round(inputs.alarms * inputs.price("alarm_month"), 2) == 25.5  # three for each of 85 functions


@pytest.mark.parametrize("consumers", [0, 1, 2])
def test_at_the_break_even_both_ways_cost_the_same(inputs: Inputs, consumers: int) -> None:
    functions, container = f.functions_with_instance(inputs), f.containers(inputs)
    millions = f.break_even(inputs, functions, container, consumers) / f.MILLION
    assert millions > 0
    waiting = consumers * f.month_consumer_functions(inputs)
    assert functions + waiting + millions * f.million_http_api(inputs) == pytest.approx(
        container + millions * f.million_container(inputs)
    )


def test_a_container_that_is_cheaper_anyway_has_no_break_even(inputs: Inputs) -> None:
    assert f.break_even(inputs, f.functions_with_poolers(inputs), f.small_container(inputs), 0) == 0


@pytest.mark.parametrize(("rate", "tasks"), [(1, 2), (5_000, 2), (5_001, 3), (10_000, 4), (10_001, 5)])
def test_as_many_tasks_as_stay_half_busy(inputs: Inputs, rate: float, tasks: int) -> None:
    """0.2 s for 1,000 messages: 2,500 messages a second keep a processor half busy. Two are there in any case."""
    assert f.tasks(inputs, rate, 0.2) == tasks


def test_containers_are_those_of_terraform(inputs: Inputs) -> None:
    variables = (ROOT / "infra/terraform/variables.tf").read_text()
    defaults = {
        name: re.search(rf'variable "{name}" {{.*?default += (.*?)\n', variables, re.DOTALL)
        for name in ("task_cpu", "task_memory", "service_tasks")
    }
    own = inputs.container
    assert {name: found and found[1] for name, found in defaults.items()} == {
        "task_cpu": f"{own['vcpu'] * 1024:g}",
        "task_memory": f"{own['gb'] * 1024:g}",
        "service_tasks": f"{{ least = {own['tasks']:g}, most = 6 }}",
    }
    pooler = (ROOT / "infra/terraform/modules/pooler/main.tf").read_text()
    assert re.search(rf"^  cpu += {own['pooler_vcpu'] * 1024:g} ", pooler, re.MULTILINE)
    assert re.search(rf"^  memory += {own['pooler_gb'] * 1024:g}$", pooler, re.MULTILINE)


def test_processor_time_is_that_of_the_page_of_performance(inputs: Inputs) -> None:
    rows = [line.split(" | ") for line in (ROOT / "docs/performance.md").read_text().splitlines()]
    seconds = {row[0].strip("| "): float(row[5]) for row in rows if len(row) > 6 and row[2] == "penstock"}
    # The page rounds to four digits.
    assert inputs.processing.singly == pytest.approx(
        seconds["send_1"] + seconds["receive_delete_1"], rel=1e-3
    )
    assert inputs.processing.in_tens == pytest.approx(
        seconds["send_10"] + seconds["receive_delete_10"], rel=1e-3
    )


def test_sizes_are_those_of_the_template(inputs: Inputs) -> None:
    template = (ROOT / "template.yaml").read_text()
    assert re.search(rf"^    MemorySize: {inputs.memory_mb}$", template, re.MULTILINE)
    on_request = template.count("            State: !If ")
    assert template.count("Type: ScheduleV2") - on_request == inputs.scheduled_functions


def test_every_price_has_a_page_of_aws_and_a_date(inputs: Inputs) -> None:
    assert f"from memory\nof {inputs.date}" in PAGE or f"from memory of {inputs.date}" in PAGE
    for price in inputs.prices.values():
        assert price.page.address.startswith("https://aws.amazon.com/")
        assert price.dollars > 0
        assert f"[{price.page.title}]({price.page.address})" in PAGE


@pytest.mark.parametrize("name", list(read_inputs().prices))
def test_every_price_counts(inputs: Inputs, name: str) -> None:
    """A price that changed nothing would be one that no formula has."""
    dearer = inputs.prices[name]._replace(dollars=inputs.prices[name].dollars * 1000)
    other = dataclasses.replace(inputs, prices={**inputs.prices, name: dearer})
    before, after = (page(each).partition("## Prices")[0] for each in (inputs, other))
    assert before != after
