"""The rendered objects of infra/helm are what Kubernetes takes, and lead to each other.

Sources: Kubernetes' own schemas; "Pod Security Standards" (kubernetes.io), profile Restricted; "Labels and Selectors"
(kubernetes.io). The expectations of values are those of docs/deployment.md.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.support.helm.chart import VALUES, Rendered, container, lint, render
from tests.support.helm.schemas import complaints

pytestmark = pytest.mark.tools


@pytest.mark.parametrize("values", VALUES)
def test_helm_finds_nothing_to_warn_of(values: str) -> None:
    assert "0 chart(s) failed" in lint(values)


def test_objects_fit_the_schemas_of_kubernetes(rendered: Rendered, tmp_path: Path) -> None:
    assert complaints(rendered.objects, tmp_path) == ""


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "replica"), 2),  # a field that there is not
        (("spec", "replicas"), "2"),  # of another type
        (("spec", "selector"), None),  # which is needed
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
        assert security["runAsUser"] > 0  # a name, as PgBouncer's image has one, proves nothing to Kubernetes
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
        *(
            budget["spec"]["selector"]["matchLabels"]
            for budget in rendered.of("PodDisruptionBudget").values()
        ),
        *(policy["spec"]["podSelector"]["matchLabels"] for policy in rendered.of("NetworkPolicy").values()),
    ]
    for selector in others:
        assert len(rendered.selected(selector)) == 1


def test_selectors_outlive_a_release(rendered: Rendered) -> None:
    """A Deployment's selector cannot change ("Deployments", kubernetes.io): a version in it would end upgrades."""
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
    """At most 63 characters: "Object Names and IDs" (kubernetes.io). Helm's own limit for a release is 53."""
    objects = render("everything", {"keda": {"consumers": []}}, release="r" * 53)
    names = [each["metadata"]["name"] for each in objects.objects]
    assert max(map(len, names)) == 63  # the limit is reached
    assert len({(each["kind"], each["metadata"]["name"]) for each in objects.objects}) == len(names)
