"""The text of docs/costs.md, but for what itemised.py writes."""

from collections.abc import Iterator

from . import figures as f
from .inputs import Inputs
from .itemised import million, month
from .markdown import dollars, paragraph, rate, table

MEMORY_MB = (256, 512, 1024, 1769)
RATES = (1, 10, 100, 1_000, 5_000)
CONSUMERS = (0, 1, 2)


def page(inputs: Inputs) -> str:
    """The whole page."""
    sections = (_head, _advice, million, month, _break_even, _loads, _memory, _prices)
    return "".join(f"{line}\n" for section in sections for line in (*section(inputs), "")) + OWN_FIGURES


OWN_FIGURES = """\
## With your own figures

```sh
cp infra/costs/prices.toml mine.toml                   # and change prices, sizes and assumptions
.venv/bin/python -m infra.costs --prices mine.toml
```
"""


def _head(inputs: Inputs) -> Iterator[str]:
    yield "# What it costs"
    yield ""
    yield from paragraph(
        "Written by `python -m infra.costs`: computed, not billed. The list prices are those of AWS in "
        f"{inputs.region}, **from memory of {inputs.date}**: no page of AWS could be read when they were written "
        "down, so put yours in their place ([below](#with-your-own-figures)). Processor time is that of "
        f"[performance.md](performance.md), measured {inputs.processing.measured} on no machine of AWS. Free "
        "tiers, traffic between zones and out of AWS, and the database are left out, unless a line says "
        "otherwise."
    )


def _advice(inputs: Inputs) -> Iterator[str]:
    yield "## Which way"
    yield ""
    yield from table(("you have", "way"), _ways(inputs))


def _ways(inputs: Inputs) -> Iterator[tuple[str, str]]:
    terraform, instance = f.functions_with_poolers(inputs), f.functions_with_instance(inputs)
    two, small = f.containers(inputs), f.small_container(inputs)
    balancer = f.month_of(inputs, "alb_hour")
    saved = f.million_http_api(inputs) - f.million_function_balancer(inputs)
    yield (
        "callers now and then, none that polls all day",
        (
            f"functions behind the HTTP API: {dollars(f.million_http_api(inputs))} a million messages, and"
            f" {dollars(instance)} to {dollars(terraform)} a month for PgBouncer and the scheduled functions,"
            f" {dollars(f.month_polling(inputs))} of it so that webhooks, schedules and move tasks are never late"
            " by more than seconds (`QUEUE_LAMBDA_WORKER_SECONDS`)"
        ),
    )
    yield (
        f"{rate(inputs, balancer / saved * f.MILLION)} messages a second of such callers, or more",
        (
            f"functions behind `infra/alb`: {dollars(f.million_function_balancer(inputs))} a million messages, and"
            f" {dollars(balancer)} a month more. Requests and answers of over 1 MB do not pass"
        ),
    )
    yield (
        "consumers that poll all day",
        f"the container: on functions each of them costs {dollars(f.month_consumer_functions(inputs))} a month",
    )
    yield (
        f"more than {rate(inputs, f.break_even(inputs, instance, two, 0))} messages a second, all day",
        f"the container: {dollars(small)} a month for one small task, {dollars(two)} for those of `infra/terraform`",
    )
    yield (
        "no PostgreSQL, and no wish for what Penstock adds",
        (
            f"Amazon SQS: {dollars(f.million_sqs(inputs))} a million messages and nothing beside. With a database for"
            f" the queues alone (db.m7g.large, Multi-AZ: {dollars(f.month_of(inputs, 'database_hour'))} a month) the"
            " tasks of `infra/terraform` cost less than SQS from"
            f" {rate(inputs, _beyond_sqs(inputs))} messages a second on"
        ),
    )


def _beyond_sqs(inputs: Inputs) -> float:
    """Messages a month beyond which containers and a database of their own cost less than SQS."""
    fixed = f.containers(inputs) + f.month_of(inputs, "database_hour")
    return fixed / (f.million_sqs(inputs) - f.million_container(inputs)) * f.MILLION


def _break_even(inputs: Inputs) -> Iterator[str]:
    functions = {
        "PgBouncer of `infra/terraform`": f.functions_with_poolers(inputs),
        "PgBouncer on one t4g.nano": f.functions_with_instance(inputs),
    }
    containers = {
        f"{inputs.container['tasks']:g} tasks of `infra/terraform`": f.containers(inputs),
        "one small task": f.small_container(inputs),
    }
    yield "## Where the container begins to pay"
    yield ""
    yield "Messages a second, all month, beyond which the container costs less than functions behind the HTTP API:"
    yield ""
    yield "```text"
    yield "(container a month - functions a month - consumers x a consumer) / (HTTP API - container, a message)"
    yield "```"
    yield ""
    polling = [f"{number} polling" if number else "nobody polls" for number in CONSUMERS]
    yield from table(
        ("functions with", "a month", "container", "a month", *polling),
        (
            (
                with_, dollars(functions[with_]), as_, dollars(containers[as_]),
                *(_cell(inputs, functions[with_], containers[as_], number) for number in CONSUMERS),
            )
            for with_ in functions
            for as_ in containers
        ),
    )  # fmt: skip
    yield ""
    yield from paragraph(
        "“always”: it costs less without a single message. One instance, and one small task, have no second one "
        "for when they fail or are replaced."
    )


def _cell(inputs: Inputs, functions: float, container: float, consumers: int) -> str:
    messages = f.break_even(inputs, functions, container, consumers)
    return f"{rate(inputs, messages)}/s" if messages else "always"


def _loads(inputs: Inputs) -> Iterator[str]:
    ours, own = inputs.processing, inputs.container
    yield "## At a steady rate"
    yield ""
    yield from paragraph(
        f"A month of messages that are sent, received and deleted singly: {ours.singly:.3f} processor seconds for "
        "1,000 of them, all of the server side ([performance.md](performance.md)); in batches of ten "
        f"{ours.in_tens:.3f}. As many tasks of {own['vcpu']:g} vCPU as keep each {own['busy']:.0%} busy, as if "
        "they did PostgreSQL's share, too. A vCPU of Fargate may be slower than the processor that was measured."
    )
    yield ""
    yield from table(
        (
            "messages a second",
            "processors",
            "tasks",
            "container",
            "functions, HTTP API",
            "functions, `infra/alb`",
            "SQS",
        ),
        (_load(inputs, messages) for messages in RATES),
    )
    yield ""
    yield "Functions with PgBouncer of `infra/terraform`, and without consumers that wait."


def _load(inputs: Inputs, messages: float) -> list[str]:
    millions = messages * f.month_seconds(inputs) / f.MILLION
    fixed, singly = f.functions_with_poolers(inputs), inputs.processing.singly
    balancer = f.month_of(inputs, "alb_hour")
    return [
        f"{messages:,}",
        f"{f.processors(messages, singly):.2f}",
        str(f.tasks(inputs, messages, singly)),
        dollars(f.month_at(inputs, messages, singly)),
        dollars(fixed + millions * f.million_http_api(inputs)),
        dollars(fixed + balancer + millions * f.million_function_balancer(inputs)),
        dollars(millions * f.million_sqs(inputs)),
    ]


def _memory(inputs: Inputs) -> Iterator[str]:
    full = inputs.assumptions["full_vcpu_mb"]
    yield "## Memory of functions"
    yield ""
    yield from paragraph(
        f"Lambda gives processor time by memory, a whole processor at {full:,g} MB. How long a request takes at "
        "each size was not measured on AWS, and `make lambda` lets every size have a whole processor."
    )
    yield ""
    yield from table(
        ("MB", "of a processor", "a million requests, each ms", "costs as the default when it takes", "it takes"),
        (
            (
                f"{size:,}{', the default' if size == inputs.memory_mb else ''}",
                f"{size / full:.2f}",
                f"${f.MILLION / 1000 * size / f.MB_OF_A_GB * inputs.price('lambda_gb_second'):.4f}",
                f"{inputs.assumptions['request_ms'] * inputs.memory_mb / size:.1f} ms",
                "not measured",
            )
            for size in MEMORY_MB
        ),
    )  # fmt: skip


def _prices(inputs: Inputs) -> Iterator[str]:
    yield "## Prices"
    yield ""
    yield f"{inputs.region}, from memory of {inputs.date}; they are in `infra/costs/prices.toml`."
    yield ""
    yield from table(
        ("dollars", "for", "page of AWS"),
        (
            (_exactly(price.dollars), price.unit, f"[{price.page.title}]({price.page.address})")
            for price in inputs.prices.values()
        ),
    )


def _exactly(price: float) -> str:
    """All its digits, and cents at least."""
    digits = f"{price:.10f}".rstrip("0")
    return digits if len(digits.partition(".")[2]) > 2 else f"{price:.2f}"
