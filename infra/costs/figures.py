"""The formulas of docs/costs.md. Each result is in US dollars, for what the function's name says."""

from math import ceil

from .inputs import POLL_SECONDS, POLLING, Inputs

# Of a message: it is sent, received and deleted.
REQUESTS = 3
MILLION = 1_000_000
MB_OF_A_GB = 1024
BYTES_OF_A_GB = 1_000_000_000


def month_seconds(inputs: Inputs) -> float:
    """A month, in seconds."""
    return inputs.assumptions["month_hours"] * 3600


def function_seconds(inputs: Inputs, seconds: float, memory_mb: int | None = None) -> float:
    """Of this many seconds in which functions run, at the memory of template.yaml or another one."""
    memory_mb = inputs.memory_mb if memory_mb is None else memory_mb
    return seconds * memory_mb / MB_OF_A_GB * inputs.price("lambda_gb_second")


# --- for a million messages, each sent, received and deleted by requests of its own -----------------------------------
def million_sqs(inputs: Inputs) -> float:
    return REQUESTS * inputs.price("sqs_million")


def million_requests_of_functions(inputs: Inputs) -> float:
    """One million requests, whatever is in front of the functions."""
    seconds = MILLION * inputs.assumptions["request_ms"] / 1000
    return inputs.price("lambda_million") + function_seconds(inputs, seconds)


def million_http_api(inputs: Inputs) -> float:
    return REQUESTS * (inputs.price("http_api_million") + million_requests_of_functions(inputs))


def million_function_balancer(inputs: Inputs) -> float:
    """Behind infra/alb, the balancer's hours apart."""
    units = (
        MILLION * inputs.assumptions["request_bytes"] / BYTES_OF_A_GB / inputs.assumptions["lcu_gb_lambda"]
    )
    return REQUESTS * (units * inputs.price("alb_lcu_hour") + million_requests_of_functions(inputs))


def million_container(inputs: Inputs) -> float:
    """What the balancer in front of containers takes for traffic; tasks are paid for by the hour."""
    units = MILLION * inputs.assumptions["request_bytes"] / BYTES_OF_A_GB / inputs.assumptions["lcu_gb"]
    return REQUESTS * units * inputs.price("alb_lcu_hour")


def million_access_log(inputs: Inputs) -> float:
    return (
        REQUESTS * MILLION * inputs.assumptions["access_log_bytes"] / BYTES_OF_A_GB * inputs.price("log_gb")
    )


def million_invocation_log(inputs: Inputs) -> float:
    size = MILLION * inputs.assumptions["invocation_log_bytes"]
    return REQUESTS * size / BYTES_OF_A_GB * inputs.price("log_gb")


# --- a month ----------------------------------------------------------------------------------------------------------
def month_of(inputs: Inputs, price: str) -> float:
    """What has this price an hour."""
    return inputs.assumptions["month_hours"] * inputs.price(price)


def month_task(inputs: Inputs, vcpu: float, gb: float) -> float:
    hour = vcpu * inputs.price("fargate_vcpu_hour") + gb * inputs.price("fargate_gb_hour")
    return inputs.assumptions["month_hours"] * hour


def month_service_task(inputs: Inputs) -> float:
    return month_task(inputs, inputs.container["vcpu"], inputs.container["gb"])


def month_small_task(inputs: Inputs) -> float:
    return month_task(inputs, inputs.container["small_vcpu"], inputs.container["small_gb"])


def month_poolers(inputs: Inputs) -> float:
    """PgBouncer for functions as infra/terraform makes it, its load balancer apart."""
    return inputs.container["pooler_tasks"] * month_task(
        inputs, inputs.container["pooler_vcpu"], inputs.container["pooler_gb"]
    )


def month_consumer_sqs(inputs: Inputs) -> float:
    """A consumer that polls all the time and gets nothing."""
    return month_seconds(inputs) / POLL_SECONDS / MILLION * inputs.price("sqs_million")


def month_consumer_functions(inputs: Inputs) -> float:
    """The same behind the HTTP API: a function runs, and waits, all the time."""
    requests = month_seconds(inputs) / inputs.gateway_poll_seconds / MILLION
    return function_seconds(inputs, month_seconds(inputs)) + requests * (
        inputs.price("http_api_million") + inputs.price("lambda_million")
    )


def month_consumer_function_balancer(inputs: Inputs) -> float:
    """The same behind infra/alb, where a poll waits for its 20 seconds; traffic apart."""
    requests = month_seconds(inputs) / POLL_SECONDS / MILLION
    return function_seconds(inputs, month_seconds(inputs)) + requests * inputs.price("lambda_million")


def month_runs(inputs: Inputs) -> float:
    """What invokes a function every minute, and its invocations; what it runs apart."""
    runs = month_seconds(inputs) / 60 / MILLION
    return runs * (inputs.price("lambda_million") + inputs.price("scheduler_million"))


def month_polling(inputs: Inputs) -> float:
    """The functions that poll for work, with their invocations."""
    seconds = month_seconds(inputs) / 60 * inputs.worker_seconds
    return len(POLLING) * (function_seconds(inputs, seconds, inputs.worker_memory_mb) + month_runs(inputs))


def month_fire(inputs: Inputs) -> float:
    """FireSchedules alone, if it does not poll and a schedule is due in every minute: it waits for it."""
    seconds = month_seconds(inputs) / 60 * inputs.fire_seconds
    return function_seconds(inputs, seconds, inputs.worker_memory_mb) + month_runs(inputs)


def month_scheduled(inputs: Inputs) -> float:
    """The other scheduled functions when they find nothing to do, with their invocations."""
    number = inputs.scheduled_functions - len(POLLING)
    seconds = month_seconds(inputs) / 60 * inputs.assumptions["idle_run_ms"] / 1000
    return number * (function_seconds(inputs, seconds) + month_runs(inputs))


def month_workers(inputs: Inputs) -> float:
    """All scheduled functions of an installation that nobody calls."""
    return month_scheduled(inputs) + month_polling(inputs)


# --- both ways, whole -------------------------------------------------------------------------------------------------
def functions_with_poolers(inputs: Inputs) -> float:
    """A month of functions that nobody calls, with PgBouncer of infra/terraform."""
    return month_workers(inputs) + month_poolers(inputs) + month_of(inputs, "nlb_hour")


def functions_with_instance(inputs: Inputs) -> float:
    """The same with one PgBouncer on the smallest instance."""
    return month_workers(inputs) + month_of(inputs, "t4g_nano_hour")


def containers(inputs: Inputs) -> float:
    """A month of infra/terraform that nobody calls."""
    return inputs.container["tasks"] * month_service_task(inputs) + month_of(inputs, "alb_hour")


def small_container(inputs: Inputs) -> float:
    """One small task behind a balancer, without another one for when it fails."""
    return month_small_task(inputs) + month_of(inputs, "alb_hour")


def break_even(inputs: Inputs, functions: float, container: float, consumers: int) -> float:
    """Messages a month beyond which the container costs less than functions behind the HTTP API; 0: it always does.

    functions, container: dollars a month without calls; consumers: how many poll all the time.
    """
    saved = container - functions - consumers * month_consumer_functions(inputs)
    return max(0.0, saved / (million_http_api(inputs) - million_container(inputs))) * MILLION


def processors(messages_a_second: float, processing: float) -> float:
    """Processors of the whole server side. processing: processor seconds for 1,000 messages."""
    return messages_a_second / 1000 * processing


def tasks(inputs: Inputs, messages_a_second: float, processing: float) -> int:
    """Tasks of the service, at least those of infra/terraform, each as busy as it is meant to be."""
    busy = inputs.container["vcpu"] * inputs.container["busy"]
    return max(int(inputs.container["tasks"]), ceil(processors(messages_a_second, processing) / busy))


def month_at(inputs: Inputs, messages_a_second: float, processing: float) -> float:
    """Containers at a steady rate, singly: their tasks, the balancer and its traffic."""
    millions = messages_a_second * month_seconds(inputs) / MILLION
    own = tasks(inputs, messages_a_second, processing) * month_service_task(inputs)
    return own + month_of(inputs, "alb_hour") + millions * million_container(inputs)
