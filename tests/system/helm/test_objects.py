"""Checks that Kubernetes accepts the rendered objects of infra/helm, and that they refer to each other.

Sources: Kubernetes' schemas, "Pod Security Standards" (kubernetes.io), profile Restricted, and "Labels and Selectors"
(kubernetes.io). docs/operate/kubernetes.md lists the expected values.
"""

from __future__ import annotations

import base64
import copy
import os
import re
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from penstock_web.local.postgres import DATABASE, ROLE, Postgres, free_port, running_postgres
from penstock_web.local.state import ephemeral_state
from penstock_web.local.system_account import SystemAccount
from tests.support.database import memory_directory
from tests.support.helm.chart import VALUES, Object, Rendered, complaints, container, environment, lint, render
from tests.support.programs.container_pooler import running_pooler
from tests.support.wait import wait_until

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("values", VALUES)
def test_helm_finds_nothing_to_warn_of(values: str) -> None:
    assert "0 chart(s) failed" in lint(values)


def test_objects_fit_the_schemas_of_kubernetes(rendered: Rendered, tmp_path: Path) -> None:
    assert complaints(rendered.objects, tmp_path) == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "replica"), 2),  # No such field exists.
        (("spec", "replicas"), "2"),  # The field has another type.
        (("spec", "selector"), None),  # A required field is missing.
        (("spec", "template", "spec", "containers", 0, "readinessProbe", "httpGet", "port"), None),
        (("kind",), "Deploymet"),
    ],
)
def test_objects_that_do_not_fit_are_found(tmp_path: Path, path: tuple[str | int, ...], value: Any) -> None:
    wrong = copy.deepcopy(dict(render().of("Deployment")["penstock-service"]))
    place: Any = wrong
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    assert complaints([wrong], tmp_path) != ""


def test_pods_are_restricted(rendered: Rendered) -> None:
    assert rendered.pods
    for pod in rendered.pods.values():
        assert pod["spec"]["automountServiceAccountToken"] is False
        security = pod["spec"]["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] > 0  # Kubernetes cannot tell from a name that a user is not root.
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    for each in rendered.containers:
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert each["resources"]["requests"].keys() == {"cpu", "memory"}
        assert "memory" in each["resources"]["limits"]


def test_pods_have_the_labels_that_select_them(rendered: Rendered) -> None:
    for name, deployment in rendered.of("Deployment").items():
        assert rendered.selected(deployment["spec"]["selector"]["matchLabels"]) == {name}
    others = [
        *(service["spec"]["selector"] for service in rendered.of("Service").values()),
        *(budget["spec"]["selector"]["matchLabels"] for budget in rendered.of("PodDisruptionBudget").values()),
        *(policy["spec"]["podSelector"]["matchLabels"] for policy in rendered.of("NetworkPolicy").values()),
    ]
    for selector in others:
        assert len(rendered.selected(selector)) == 1


def test_selectors_outlive_a_release(rendered: Rendered) -> None:
    """A Deployment's selector is immutable ("Deployments", kubernetes.io), so a version in the selector would prevent
    upgrades."""
    for deployment in rendered.of("Deployment").values():
        assert set(deployment["spec"]["selector"]["matchLabels"]) == {
            "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component",
        }  # fmt: skip


def test_services_lead_to_ports_that_there_are(rendered: Rendered) -> None:
    for service in rendered.of("Service").values():
        (name,) = rendered.selected(service["spec"]["selector"])
        named = {port["name"] for port in container(rendered.pods[name])["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= named


def test_mounted_volumes_are_there(rendered: Rendered) -> None:
    for pod in rendered.pods.values():
        mounted = {mount["name"] for mount in container(pod).get("volumeMounts", ())}
        assert mounted == {volume["name"] for volume in pod["spec"].get("volumes", ())}


def test_an_ingress_leads_to_the_service() -> None:
    objects = render("everything")
    (ingress,) = objects.of("Ingress").values()
    (rule,) = ingress["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    ports = objects.of("Service")[backend["name"]]["spec"]["ports"]
    assert backend["port"]["name"] in {port["name"] for port in ports}
    assert ingress["spec"]["tls"] == [{"hosts": [rule["host"]], "secretName": "queues-tls"}]


@pytest.mark.parametrize(("release", "name"), [("penstock", "penstock"), ("queues", "queues-penstock")])
def test_names_begin_with_the_release(release: str, name: str) -> None:
    assert name in render(release=release).of("Service")


def test_long_names_are_names_of_dns() -> None:
    """A name has at most 63 characters ("Object Names and IDs", kubernetes.io). Helm's limit for a release's name is 53
    characters.
    """
    objects = render("everything", {"keda": {"consumers": []}}, release="r" * 53)
    names = [each["metadata"]["name"] for each in objects.objects]
    assert max(map(len, names)) == 63
    assert len({(each["kind"], each["metadata"]["name"]) for each in objects.objects}) == len(names)


# --- running ---------------------------------------------------------------------------------------------------------
# Runs the chart's containers as processes, with their commands and variables, on PostgreSQL behind the image's
# PgBouncer.
#
# Helm renders the chart with values for the hosts and ports. The module then starts the rendered containers without a
# cluster.


KEY = base64.b64encode(secrets.token_bytes(32)).decode()


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with ephemeral_state(memory_directory()) as state, running_postgres(state, SystemAccount.choose()) as server:
        yield server


def rendered_for(server: Postgres, pooler_port: int) -> Rendered:
    return render(
        more={
            "database": {
                "host": "127.0.0.1", "port": server.port, "name": DATABASE, "user": ROLE, "sslMode": "disable",
            },
            "pgbouncer": {"enabled": False, "address": f"127.0.0.1:{pooler_port}"},
        }
    )  # fmt: skip


def start(pod: Object, secret: dict[str, str], **more: str) -> subprocess.Popen[str]:
    """Starts the pod's container as a process. The process receives the secrets' keys that the container names."""
    variables = {
        name: value if isinstance(value, str) else secret[value[1]] for name, value in environment(pod).items()
    }
    return subprocess.Popen(
        [sys.executable, "-m", "penstock_web.cli", *container(pod)["args"]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", **variables, **more},
    )  # fmt: skip


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as response:
            return bool(response.status == 200)
    except OSError:
        return False


def test_the_migration_makes_a_key_with_which_the_service_lets_in(server: Postgres) -> None:
    secret = {"password": server.password, "QUEUE_ENCRYPTION_KEY": KEY}
    # PgBouncer runs in a separate image. test_promises.py compares its variables.
    with running_pooler(server) as pooler_port:
        objects = rendered_for(server, pooler_port)
        migration = start(objects.pods["penstock-migrate"], secret)
        log, _ = migration.communicate(timeout=300)
        assert migration.returncode == 0, log
        (access_key,) = re.findall(r"^AWS_ACCESS_KEY_ID=(\S+)$", log, re.MULTILINE)
        (secret_key,) = re.findall(r"^AWS_SECRET_ACCESS_KEY=(\S+)$", log, re.MULTILINE)
        port = free_port()
        service = start(objects.pods["penstock-service"], secret, QUEUE_ADDRESS=f"0.0.0.0:{port}", LOG_LEVEL="warning")
        try:
            wait_until(lambda: service.poll() is not None or is_ready(port))
            assert service.poll() is None, service.stdout and service.stdout.read()
            sqs = boto3.client(
                "sqs", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
                aws_access_key_id=access_key, aws_secret_access_key=secret_key,
            )  # fmt: skip
            url = sqs.create_queue(QueueName="orders")["QueueUrl"]
            sqs.send_message(QueueUrl=url, MessageBody="hello")
            (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
            assert message["Body"] == "hello"
        finally:
            service.terminate()
            service.communicate(timeout=60)
        assert service.returncode == 0
