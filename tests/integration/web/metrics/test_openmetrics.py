"""Tests /metrics in the OpenMetrics format and with compression.

The sources are OpenMetrics 1.0.0 ("OpenMetrics 1.0", prometheus.io/docs/specs/om/open_metrics_spec), and RFC 9110,
12.5. The parser of prometheus-client reads the responses. The parser refuses text that the specification does not
allow.
"""

import gzip

import httpx
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.support.database import Database
from tests.support.programs.penstock_service import Service, running_service, until_row
from tests.support.tracing.collector import running_collector
from tests.support.web.prometheus_text import scrape

pytestmark = [pytest.mark.shared, pytest.mark.settings(QUEUE_METRICS_INTERVAL_MS="100")]

# Prometheus 2.55 sends this header ("scrape_protocols",
# prometheus.io/docs/prometheus/latest/configuration/configuration).
PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def ask(service: Service, **headers: str) -> httpx.Response:
    """Returns the raw response to a request that lacks the client's default headers."""
    with httpx.Client(headers={"accept-encoding": "identity"}) as http:
        return http.get(service.url + "/metrics", headers={k.replace("_", "-"): v for k, v in headers.items()})


def families(text: str) -> dict[str, Metric]:
    found = list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]
    assert len(found) == len({family.name for family in found})
    return {family.name: family for family in found}


def test_openmetrics_says_the_same_as_the_text(shared_database: Database, service: Service) -> None:
    sqs = service.sqs()
    url = sqs.create_queue(QueueName="quote-and-backslash")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="1")
    sqs.receive_message(QueueUrl=url)
    until_row(shared_database.dsn, "select from queue.measurement where in_flight = 1")
    response = ask(service, accept=PROMETHEUS)
    assert response.headers["content-type"] == OPENMETRICS
    assert response.text.endswith("\n# EOF\n")
    found = families(response.text)
    sent = found["penstock_queue_messages_sent"]
    assert (sent.type, [s.value for s in sent.samples if s.labels["queue"] != "_other"]) == ("counter", [1])
    assert found["penstock_http_request_duration_seconds"].unit == "seconds"
    plain = scrape(service.url)
    names = {name for name, _ in plain.samples}
    assert {sample.name for family in found.values() for sample in family.samples} == names
    assert all(name.startswith("penstock_") for name in names)


@pytest.mark.parametrize(
    ("accept", "openmetrics"),
    [
        (PROMETHEUS, True),
        ("application/openmetrics-text", True),
        ("*/*", False),
        ("text/plain", False),
        ("application/openmetrics-text;version=0.0.1", False),
        ("application/openmetrics-text;version=1.0.0;q=0", False),
        ("application/openmetrics-text;q=0.1,text/plain;q=0.9", False),
        ("application/openmetrics-text;q=much", False),
    ],
)
def test_the_scraper_chooses(service: Service, accept: str, openmetrics: bool) -> None:
    response = ask(service, accept=accept)
    assert response.status_code == 200
    assert (response.headers["content-type"] == OPENMETRICS) is openmetrics
    assert response.headers["vary"] == "Accept, Accept-Encoding"


@pytest.mark.parametrize(
    ("encodings", "compressed"),
    [("gzip", True), ("deflate, gzip;q=0.5", True), ("*", True), ("gzip;q=0, *", False), ("br", False)],
)
def test_metrics_are_compressed_for_clients_that_accept_gzip(
    service: Service, encodings: str, compressed: bool
) -> None:
    with (
        httpx.Client() as http,
        http.stream("GET", service.url + "/metrics", headers={"accept-encoding": encodings}) as response,
    ):
        raw = b"".join(response.iter_raw())
    assert response.headers.get("content-encoding") == ("gzip" if compressed else None)
    assert b"# TYPE penstock_http_requests_total counter" in (gzip.decompress(raw) if compressed else raw)


def test_a_slow_request_names_its_trace(shared_database: Database) -> None:
    with (
        running_collector() as collector,
        running_service(
            shared_database.api_dsn, OTLP_ENABLED="true", OTLP_ENDPOINT=collector.endpoint, OTLP_SAMPLE_RATE="0"
        ) as service,
        service.http() as http,
    ):
        http.get("/v1/queues", headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"})
        http.get("/v1/queues")
        durations = families(ask(service, accept=PROMETHEUS).text)["penstock_http_request_duration_seconds"]
        plain = scrape(service.url).text
    found = [sample.exemplar for sample in durations.samples if sample.exemplar is not None]
    assert [exemplar.labels for exemplar in found] == [{"trace_id": TRACE}]
    assert TRACE not in plain
