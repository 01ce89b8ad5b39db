"""Checks the chart in infra/helm against docs/operate/kubernetes.md.

Other sources are "Pod Lifecycle" and "Network Policies" (kubernetes.io), "Chart Hooks" (helm.sh), "ReceiveMessage" (SQS
API Reference: WaitTimeSeconds up to 20), and "AWS SQS Queue" and "ScaledObject specification" (keda.sh).
"""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from penstock import __version__
from penstock.settings import SETTINGS, Setting, SettingError, Settings, Value
from tests.support.helm.chart import CHART, NAMESPACE, ROOT, ChartError, Rendered, container, environment, render
from tests.support.setting_values import ACCEPTED, REFUSED

pytestmark = pytest.mark.tools

LONGEST_POLL_SECONDS = 20
SECRET = re.compile(r"PASSWORD$|SECRET$|KEY$|TOKEN$|CERTIFICATE$|^SNS_SMTP_URL$")


def service_of(objects: Rendered) -> dict[str, Any]:
    return environment(objects.pods["penstock-service"])


# --- who may call -----------------------------------------------------------------------------------------------------
def test_the_chart_requires_signatures_by_default() -> None:
    objects = render()
    assert service_of(objects)["QUEUE_ACCESS"] == "sigv4"
    assert service_of(objects)["QUEUE_ENCRYPTION_KEY"] == ("penstock-keys", "QUEUE_ENCRYPTION_KEY")
    assert objects.of("Ingress") == {}
    assert objects.of("Service")["penstock"]["spec"]["type"] == "ClusterIP"


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"settings": {"QUEUE_ACCESS": "off"}, "ingress": {"enabled": True, "host": "a.example.com"}}, "no ingress"),
        ({"settings": {"QUEUE_ACCESS": "presence"}, "service": {"type": "LoadBalancer"}}, "ClusterIP"),
        ({"ingress": {"enabled": True}}, "ingress.host"),
        ({"database": {"host": ""}}, "database.host"),
        ({"database": {"existingSecret": ""}}, "database.existingSecret"),
        ({"metrics": {"serviceMonitor": {"enabled": True}}}, "secretSettings.QUEUE_METRICS_TOKEN"),
        (
            {"keda": {"consumers": [
                {"deployment": "a", "queue": "a", "messagesPerPod": 1, "minReplicas": 0, "maxReplicas": 1}
            ]}},
            "keda.credentials.existingSecret",
        ),
        ({"settings": {"QUEUE_ACCESS": "open"}}, "/settings/QUEUE_ACCESS"),
        ({"image": {"tag": "latest"}}, "/image/tag"),
        ({"shutdown": {"delaySeconds": LONGEST_POLL_SECONDS}}, "/shutdown/delaySeconds"),
        ({"databse": {}}, "databse"),
    ],
)  # fmt: skip
def test_values_that_are_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ChartError) as refusal:
        render(more=more)
    assert told in str(refusal.value)


def test_signatures_need_a_key() -> None:
    with pytest.raises(ChartError, match=re.escape("secretSettings.QUEUE_ENCRYPTION_KEY: QUEUE_ACCESS sigv4")):
        render("plain", {"settings": {"QUEUE_ACCESS": "sigv4"}})


# --- secrets ----------------------------------------------------------------------------------------------------------
def test_secrets_are_references(rendered: Rendered) -> None:
    assert rendered.of("Secret") == {}
    for pod in rendered.pods.values():
        for name, value in environment(pod).items():
            assert isinstance(value, tuple) == bool(SECRET.search(name)), name
            assert not re.search(r"//[^/@]*:[^/@]*@", str(value)), "a password in an address"


def test_every_variable_is_one_that_somebody_reads(rendered: Rendered) -> None:
    known = {setting.name for setting in SETTINGS} | {"PGPASSWORD"}
    entrypoint = (ROOT / "infra/container/pgbouncer/entrypoint.sh").read_text()
    for name, pod in rendered.pods.items():
        variables = environment(pod)
        if name.endswith("-pgbouncer"):
            assert [each for each in variables if not re.search(rf"\b{each}\b", entrypoint)] == []
        else:
            assert variables.keys() <= known
            texts = {key: value for key, value in variables.items() if isinstance(value, str)}
            Settings.read(texts)


def test_settings_reach_the_service() -> None:
    found = service_of(render("everything"))
    assert (found["QUOTA_QUEUES"], found["LOG_LEVEL"], found["OTLP_ENABLED"]) == ("1000", "debug", "true")


def write_value(setting: Setting[Any], text: str) -> Value:
    """Returns the value in YAML, where numbers and booleans differ from strings."""
    try:
        return setting.parse(text)
    except SettingError:
        return int(text) if text.isdecimal() else text


def test_every_setting_can_be_set() -> None:
    settings = {s.name: write_value(s, ACCEPTED[s.name]) for s in SETTINGS if not s.secret}
    secrets = {s.name: {"existingSecret": "a", "key": "b"} for s in SETTINGS if s.secret}
    found = service_of(render(more={"settings": settings, "secretSettings": secrets}))
    for setting in SETTINGS:
        given = found[setting.name]
        if setting.secret:
            assert given == ("a", "b")
        else:
            assert setting.parse(given) == settings[setting.name]


def test_every_value_that_the_service_refuses_is_refused() -> None:
    refused = {s.name: write_value(s, REFUSED[s.name]) for s in SETTINGS if s.name in REFUSED}
    with pytest.raises(ChartError) as refusal:
        render(more={"settings": refused})
    told = re.findall(r"at '/settings/(\w+)'", str(refusal.value))
    assert set(told) == REFUSED.keys()


@pytest.mark.parametrize(
    "more",
    [
        {"settings": {"QUEUE_SHARD": 4}},
        {"settings": {"QUEUE_METRICS_TOKEN": "a"}},
        {"settings": {"DATABASE_URL": "postgresql://a:b@c/d"}},
        {"secretSettings": {"QUEUE_SHARDS": {"existingSecret": "a"}}},
        {"secretSettings": {"QUEUE_SHARD": {"existingSecret": "a"}}},
    ],
)
def test_names_that_are_refused(more: dict[str, dict[str, Any]]) -> None:
    """The chart also refuses secrets among the settings, and settings among the secrets."""
    ((key, values),) = more.items()
    with pytest.raises(ChartError, match=f"at '/{key}': additional properties '{next(iter(values))}' not allowed"):
        render(more=more)


def test_the_port_of_the_service_is_a_setting() -> None:
    objects = render(more={"settings": {"QUEUE_ADDRESS": "0.0.0.0:8000"}})
    (port,) = container(objects.pods["penstock-service"])["ports"]
    assert port["containerPort"] == 8000
    (rule,) = policy(objects, "service")["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8000}]


# --- the database and PgBouncer ---------------------------------------------------------------------------------------
def test_the_service_reaches_the_database_both_ways() -> None:
    found = service_of(render())
    host = "db.example.internal:5432/penstock?sslmode=verify-full&sslrootcert=/etc/penstock/rds.pem"
    assert found["DATABASE_DIRECT_URL"] == f"postgresql://penstock@{host}"
    assert found["DATABASE_URL"] == "postgresql://penstock@penstock-pgbouncer:6432/penstock"
    assert found["PGPASSWORD"] == ("penstock-database", "password")


def test_pgbouncer_verifies_the_database() -> None:
    found = environment(render().pods["penstock-pgbouncer"])
    assert (found["SERVER_TLS"], found["SERVER_CA_FILE"]) == ("verify-full", "/etc/penstock/rds.pem")
    assert found["DATABASE_HOST"] == "db.example.internal"


def test_authorities_and_certificates_of_ones_own() -> None:
    objects = render("everything")
    found, pooler = service_of(objects), environment(objects.pods["penstock-pgbouncer"])
    paths = {mount["mountPath"] for mount in container(objects.pods["penstock-service"])["volumeMounts"]}
    for variable in ("DATABASE_URL", "DATABASE_DIRECT_URL"):
        assert "sslmode=verify-full" in found[variable]
        assert found[variable].partition("sslrootcert=")[2].rpartition("/")[0] in paths
    assert pooler["SERVER_CA_FILE"] == found["DATABASE_DIRECT_URL"].partition("sslrootcert=")[2]
    assert pooler["CLIENT_TLS_CERTIFICATE"] == ("pgbouncer-tls", "tls.crt")


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("", "postgresql://penstock@db.example.internal:5432/penstock?sslmode=require"),
        ("pooler.shared:6432", "postgresql://penstock@pooler.shared:6432/penstock"),
    ],
)
def test_without_pgbouncer(address: str, url: str) -> None:
    more = {"pgbouncer": {"enabled": False, "address": address}, "database": {"sslMode": "require"}}
    objects = render(more=more)
    assert service_of(objects)["DATABASE_URL"] == url
    assert not [each for each in objects.objects if each["metadata"]["name"].endswith("pgbouncer")]


def test_the_configuration_of_pgbouncer_stands_in_one_place(rendered: Rendered) -> None:
    """The image renders infra/pgbouncer/pgbouncer.ini.tmpl. The chart does not repeat lines from the template."""
    template = (ROOT / "infra/pgbouncer/pgbouncer.ini.tmpl").read_text()
    names = re.findall(r"^(\w+) =", template, re.MULTILINE)
    assert "query_wait_timeout" in names
    chart = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    assert [name for name in names if "_" in name and re.search(rf"\b{name}\b", chart)] == []
    assert rendered.of("ConfigMap") == {}


# --- migrations -------------------------------------------------------------------------------------------------------
def test_migrations_come_first_and_need_nothing_of_the_chart() -> None:
    objects = render("everything")
    job = objects.of("Job")["penstock-migrate"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    # The completed job is not deleted, because its log contains the first key.
    assert job["metadata"]["annotations"]["helm.sh/hook-delete-policy"] == "before-hook-creation"
    pod = objects.pods["penstock-migrate"]
    assert container(pod)["args"] == ["migrate", "--tune-role", "penstock", "--first-key"]
    text = yaml.safe_dump(container(pod)["env"])
    assert [name for name in objects.of("Service") if f"@{name}:" in text] == []
    assert "serviceAccountName" not in pod["spec"]


def test_the_service_does_not_migrate(rendered: Rendered) -> None:
    assert "--no-migrate" in container(rendered.pods["penstock-service"])["args"]


# --- how a pod goes ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("more", "drain"), [({}, 4), ({"shutdown": {"delaySeconds": 21}, "settings": {"QUEUE_DRAIN_SECONDS": 60}}, 60)]
)
def test_a_pod_goes_after_its_long_polls(more: dict[str, Any], drain: int) -> None:
    """The grace period begins before preStop. After the grace period, Kubernetes sends SIGKILL."""
    pod = render(more=more).pods["penstock-service"]
    program, seconds = container(pod)["lifecycle"]["preStop"]["exec"]["command"]
    assert program == "sleep"
    assert int(seconds) > LONGEST_POLL_SECONDS
    assert int(environment(pod).get("QUEUE_DRAIN_SECONDS", Settings.queue_drain_seconds.default)) == drain
    assert pod["spec"]["terminationGracePeriodSeconds"] > int(seconds) + drain


def test_no_pod_goes_before_another_is_ready(rendered: Rendered) -> None:
    for deployment in rendered.of("Deployment").values():
        assert deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def test_a_database_that_is_away_restarts_nothing_and_takes_no_pod_out(rendered: Rendered) -> None:
    """A pod receives its first request after its database has responded once."""
    probes = container(rendered.pods["penstock-service"])
    assert probes["livenessProbe"]["httpGet"]["path"] == probes["readinessProbe"]["httpGet"]["path"] == "/livez"
    assert probes["startupProbe"]["httpGet"]["path"] == "/readyz"
    assert probes["startupProbe"]["timeoutSeconds"] > 2  # /readyz responds within 2 s.
    assert probes["startupProbe"]["failureThreshold"] * probes["startupProbe"]["periodSeconds"] >= 300


# --- workers ----------------------------------------------------------------------------------------------------------
def test_workers_take_webhooks_and_schedules_over() -> None:
    alone, both = render(), render("everything")
    names = {"QUEUE_HTTP_DELIVERY_ENABLED", "QUEUE_SCHEDULE_ENABLED"}
    assert "penstock-workers" not in alone.pods
    assert not names & service_of(alone).keys()
    assert {service_of(both)[name] for name in names} == {"false"}
    assert not names & environment(both.pods["penstock-workers"]).keys()


# --- the network ------------------------------------------------------------------------------------------------------
def policy(objects: Rendered, component: str) -> dict[str, Any]:
    return dict(objects.of("NetworkPolicy")[f"penstock-{component}"]["spec"])


def test_every_pod_has_a_policy_for_both_directions() -> None:
    objects = render("everything")
    policies = objects.of("NetworkPolicy").values()
    covered = set().union(*(objects.selected(each["spec"]["podSelector"]["matchLabels"]) for each in policies))
    assert covered == objects.pods.keys()
    assert all(each["spec"]["policyTypes"] == ["Ingress", "Egress"] for each in policies)


def test_pgbouncer_is_reached_by_the_service_alone() -> None:
    (rule,) = policy(render(more={"workers": {"replicas": 1}}), "pgbouncer")["ingress"]
    objects = render(more={"workers": {"replicas": 1}})
    reached = [objects.selected(peer["podSelector"]["matchLabels"]) for peer in rule["from"]]
    assert reached == [{"penstock-service"}, {"penstock-workers"}]
    assert rule["ports"] == [{"protocol": "TCP", "port": 6432}]


def test_only_pods_of_the_namespace_reach_the_service() -> None:
    (rule,) = policy(render(), "service")["ingress"]
    assert rule["from"] == [{"podSelector": {}}]
    assert policy(render(), "migrate")["ingress"] == []


def test_only_who_delivers_webhooks_may_go_anywhere() -> None:
    assert {} in policy(render(), "service")["egress"]
    objects = render("everything")
    assert {} in policy(objects, "workers")["egress"]
    for component in ("service", "pgbouncer", "migrate"):
        rules = policy(objects, component)["egress"]
        assert {} not in rules
        ports = {port["port"] for rule in rules for port in rule["ports"]}
        assert ports <= {53, 5432, 6432, 4317}
        (database,) = (rule for rule in rules if rule["ports"] == [{"protocol": "TCP", "port": 5432}])
        assert database["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]


# --- metrics and scaling ----------------------------------------------------------------------------------------------
def test_prometheus_sends_the_token_that_the_service_asks_for() -> None:
    objects = render("everything")
    (monitor,) = objects.of("ServiceMonitor").values()
    (endpoint,) = monitor["spec"]["endpoints"]
    credentials = endpoint["authorization"]["credentials"]
    assert service_of(objects)["QUEUE_METRICS_TOKEN"] == (credentials["name"], credentials["key"])
    labels = monitor["spec"]["selector"]["matchLabels"].items()
    scraped = {name for name, each in objects.of("Service").items() if labels <= each["metadata"]["labels"].items()}
    assert scraped == {"penstock", "penstock-workers"}
    for name in scraped:
        ports = objects.of("Service")[name]["spec"]["ports"]
        assert endpoint["port"] in {port["name"] for port in ports}


def test_keda_is_off_unless_asked_for() -> None:
    assert render().of("ScaledObject") == {}
    assert render().workloads["penstock-service"]["spec"]["replicas"] == 2


def test_a_deployment_that_keda_scales_has_no_replicas() -> None:
    objects = render("everything")
    scaled = objects.of("ScaledObject")["penstock-service"]["spec"]
    deployment = objects.of("Deployment")[scaled["scaleTargetRef"]["name"]]
    assert "replicas" not in deployment["spec"]
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (2, 6)
    assert {trigger["type"] for trigger in scaled["triggers"]} == {"cpu"}


def test_keda_asks_penstock_for_the_length_of_a_queue() -> None:
    objects = render("everything")
    scaled = objects.of("ScaledObject")["orders-worker"]["spec"]
    (trigger,) = scaled["triggers"]
    port = objects.of("Service")["penstock"]["spec"]["ports"][0]["port"]
    endpoint = f"http://penstock.{NAMESPACE}.svc:{port}"
    assert trigger["type"] == "aws-sqs-queue"
    assert trigger["metadata"] == {
        "queueURL": f"{endpoint}/000000000000/orders",
        "queueLength": "20",  # Metadata values are strings.
        "awsRegion": "us-east-1",
        "awsEndpoint": endpoint,
    }
    authentication = objects.of("TriggerAuthentication")[trigger["authenticationRef"]["name"]]["spec"]
    assert {each["parameter"]: (each["name"], each["key"]) for each in authentication["secretTargetRef"]} == {
        "awsAccessKeyID": ("penstock-keda", "AWS_ACCESS_KEY_ID"),
        "awsSecretAccessKey": ("penstock-keda", "AWS_SECRET_ACCESS_KEY"),
    }


# --- the metrics job --------------------------------------------------------------------------------------------------
def test_there_is_no_metrics_job_unless_somebody_wants_one() -> None:
    """A run takes minutes of processor time and gigabytes of memory."""
    assert render().of("CronJob") == {}


def test_the_metrics_job_passes_the_pooler_and_runs_alone() -> None:
    """A run's connections share a snapshot (docs/operate/metrics_job.md). The chart reads the job's password from a
    secret."""
    objects = render("everything")
    spec = objects.of("CronJob")["penstock-metrics"]["spec"]
    assert (spec["concurrencyPolicy"], spec["jobTemplate"]["spec"]["backoffLimit"]) == ("Forbid", 0)
    pod = objects.pods["penstock-metrics"]
    variables = environment(pod)
    assert variables["DATABASE_URL"] == service_of(objects)["DATABASE_DIRECT_URL"]
    assert variables["PGPASSWORD"][0] == "penstock-database"
    assert variables["QUEUE_METRICS_TIMEZONE"] == "Europe/Berlin"
    assert container(pod)["args"] == ["--quiet"]


# --- versions ---------------------------------------------------------------------------------------------------------
def test_a_chart_installs_its_own_release() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    images = {each["image"] for each in render().containers}
    assert images == {f"penstock:{__version__}", f"penstock-pgbouncer:{__version__}"}


def test_an_image_by_digest() -> None:
    image = container(render("everything").pods["penstock-service"])["image"]
    assert re.fullmatch(r"registry\.example\.com/penstock@sha256:0{64}", image)
