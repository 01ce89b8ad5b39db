"""The two sections of docs/costs.md that show each price with its formula."""

from collections.abc import Iterator

from . import figures as f
from .inputs import METRICS_OF_A_QUEUE, POLL_SECONDS, POLLING, Inputs
from .markdown import dollars, paragraph, table

Row = tuple[str, str, str]


def million(inputs: Inputs) -> Iterator[str]:
    """A million messages."""
    price, assumed = inputs.price, inputs.assumptions
    least, most = inputs.warm_ms
    seconds = f.MILLION * assumed["request_ms"] / 1000
    running = f.function_seconds(inputs, seconds)
    slow = f.million_http_api(inputs) + f.REQUESTS * running * (10 / assumed["request_ms"] - 1)
    yield "## A million messages"
    yield ""
    yield "Each sent, received and deleted by requests of its own: three million requests."
    yield ""
    yield from table(("way", "dollars", "formula"), _million_rows(inputs, running))
    yield ""
    yield from paragraph(
        f"{running:.4f} is a million times {assumed['request_ms']:g} ms at {inputs.memory_mb} MB: {seconds:,.0f} s x "
        f"{_memory(inputs)}. The {assumed['request_ms']:g} ms are an assumption: {least:g} to {most:g} ms are "
        "measured on a whole processor ([functions_latency.md](functions_latency.md)), of which such a function has "
        f"{inputs.memory_mb / assumed['full_vcpu_mb']:.2f}. It hardly matters: with 10 ms a million messages behind "
        f"the HTTP API cost {dollars(slow)}. Batches of ten divide all four by up to ten. Not in the table:"
    )
    yield ""
    yield from paragraph(
        f"- the HTTP API's access log (`AccessLog`), {dollars(f.million_access_log(inputs))} for these three "
        f"million requests: {assumed['access_log_bytes']:g} bytes each x {price('log_gb'):.2f} a GB"
    )
    yield from paragraph(
        "- with `SystemLogLevel=INFO`, what Lambda logs of each invocation, "
        f"{dollars(f.million_invocation_log(inputs))}: "
        f"{assumed['invocation_log_bytes']:g} bytes each"
    )


def _million_rows(inputs: Inputs, running: float) -> Iterator[Row]:
    price, assumed = inputs.price, inputs.assumptions
    size = f"{f.MILLION * assumed['request_bytes'] / f.BYTES_OF_A_GB:g} GB"
    function = f"{price('lambda_million'):.2f} + {running:.4f}"
    unit = f"{price('alb_lcu_hour'):g}"
    yield (
        "functions behind the HTTP API",
        dollars(f.million_http_api(inputs)),
        f"3 x ({price('http_api_million'):.2f} + {function})",
    )
    yield (
        "functions behind `infra/alb`",
        dollars(f.million_function_balancer(inputs)),
        f"3 x ({size} / {assumed['lcu_gb_lambda']:g} x {unit} + {function})",
    )
    yield (
        "container behind a load balancer",
        dollars(f.million_container(inputs)),
        f"3 x {size} / {assumed['lcu_gb']:g} x {unit}; tasks [by the hour](#a-month)",
    )
    yield "Amazon SQS", dollars(f.million_sqs(inputs)), f"3 x {price('sqs_million'):.2f}"


def month(inputs: Inputs) -> Iterator[str]:
    """A month."""
    yield "## A month"
    yield ""
    yield f"{inputs.assumptions['month_hours']:g} hours, whether or not anybody calls."
    yield ""
    rows = (*_waiting_rows(inputs), *_watching_rows(inputs), *_standing_rows(inputs))
    yield from table(("what", "dollars", "formula"), rows)
    yield ""
    yield from paragraph(
        "A NAT gateway, or endpoints of the VPC in its place, is for tasks in private subnets, which fetch "
        "images and secrets and write logs, those of PgBouncer too. Functions need one for webhooks alone. In a "
        "container of `infra/terraform` PgBouncer is a part of the task."
    )


def _memory(inputs: Inputs, memory_mb: int | None = None) -> str:
    return f"{memory_mb or inputs.memory_mb} / {f.MB_OF_A_GB} GB x {inputs.price('lambda_gb_second'):.10f}"


def _waiting_rows(inputs: Inputs) -> Iterator[Row]:
    price, seconds = inputs.price, f.month_seconds(inputs)
    polls = f"{seconds / POLL_SECONDS:,.0f} polls"
    short_polls = f"{seconds / inputs.gateway_poll_seconds:,.0f} polls of {inputs.gateway_poll_seconds} s"
    request = price("http_api_million") + price("lambda_million")
    yield (
        "a consumer that polls all the time, functions behind the HTTP API",
        dollars(f.month_consumer_functions(inputs)),
        f"{seconds:,.0f} s x {_memory(inputs)} + {short_polls} x {request:.2f} / 1 M",
    )
    yield (
        "the same, functions behind `infra/alb`, traffic apart",
        dollars(f.month_consumer_function_balancer(inputs)),
        f"{seconds:,.0f} s x {_memory(inputs)} + {polls} x {price('lambda_million'):.2f} / 1 M",
    )
    yield (
        "the same, SQS",
        dollars(f.month_consumer_sqs(inputs)),
        f"{polls} x {price('sqs_million'):.2f} / 1 M",
    )
    yield "the same, container", "$0.00", "it waits without a database connection; what is paid for is there"


def _watching_rows(inputs: Inputs) -> Iterator[Row]:
    price, number = inputs.price, inputs.scheduled_functions - len(POLLING)
    run, minutes = price("lambda_million") + price("scheduler_million"), f.month_seconds(inputs) / 60
    memory = _memory(inputs, inputs.worker_memory_mb)
    yield (
        f"{', '.join(f'`{name}`' for name in POLLING)}, which poll",
        dollars(f.month_polling(inputs)),
        f"{len(POLLING)} x {minutes:,.0f} x ({inputs.worker_seconds} s x {memory} + {run:.2f} / 1 M)",
    )
    yield (
        "with `QUEUE_LAMBDA_WORKER_SECONDS=0` instead: `FireSchedules`, a schedule due in every minute",
        dollars(f.month_fire(inputs)),
        f"{minutes:,.0f} x ({inputs.fire_seconds:g} s x {memory} + {run:.2f} / 1 M)",
    )
    yield (
        f"the {number} other scheduled functions without work",
        dollars(f.month_scheduled(inputs)),
        f"{number} a minute, each {run:.2f} / 1 M and {inputs.assumptions['idle_run_ms']:g} ms",
    )
    yield (
        f"the {inputs.alarms} alarms of `infra/alarms`",
        dollars(inputs.alarms * price("alarm_month")),
        f"{inputs.alarms} x {price('alarm_month'):.2f}",
    )
    yield (
        "metrics of `Collect`, each queue",
        dollars(METRICS_OF_A_QUEUE * price("metric_month")),
        f"{METRICS_OF_A_QUEUE} x {price('metric_month'):.2f}",
    )


def _standing_rows(inputs: Inputs) -> Iterator[Row]:
    own, hours = inputs.container, f"{inputs.assumptions['month_hours']:g} h"

    def task(name: str, number: str = "") -> str:
        vcpu, gb = inputs.price("fargate_vcpu_hour"), inputs.price("fargate_gb_hour")
        return f"{number}{hours} x ({own[f'{name}vcpu']:g} x {vcpu} + {own[f'{name}gb']:g} x {gb})"

    def hourly(what: str, price: str, more: str = "") -> Row:
        return what, dollars(f.month_of(inputs, price)), f"{hours} x {inputs.price(price)}{more}"

    poolers = f"{own['pooler_tasks']:g}"
    yield (
        f"PgBouncer for functions, {poolers} tasks of Fargate",
        dollars(f.month_poolers(inputs)),
        task("pooler_", f"{poolers} x "),
    )
    yield hourly("its Network Load Balancer, traffic apart", "nlb_hour")
    yield hourly("or PgBouncer on one t4g.nano", "t4g_nano_hour")
    yield "a task of the service", dollars(f.month_service_task(inputs)), task("")
    yield "a small one", dollars(f.month_small_task(inputs)), task("small_")
    yield hourly("its Application Load Balancer, traffic apart", "alb_hour")
    yield hourly("a NAT gateway", "nat_hour", f"; and {inputs.price('nat_gb')} a GB")
