"""Renders the chart in infra/helm with Helm, and checks the objects against Kubernetes' OpenAPI schemas without a
cluster.

The schemas come from an API server's document ("The Kubernetes API", kubernetes.io), which a module of Helm contains.
The document lacks custom resources (ServiceMonitor, ScaledObject, TriggerAuthentication).
"""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
CHART, HELM = ROOT / "infra/helm", ROOT / ".tools/helm/bin/helm"
VALUES = {path.stem: path for path in sorted((CHART / "ci").glob("*.yaml"))}
# The oldest version of Kubernetes that the chart supports.
KUBERNETES = "1.27.0"
NAMESPACE = "queues"

Object = Mapping[str, Any]


class ChartError(Exception):
    """Helm failed. The exception's text is Helm's error output."""


@dataclass(frozen=True)
class Rendered:
    objects: tuple[Object, ...]

    def of(self, kind: str) -> dict[str, Object]:
        return {each["metadata"]["name"]: each for each in self.objects if each["kind"] == kind}

    @cached_property
    def workloads(self) -> dict[str, Object]:
        scheduled = {name: each["spec"]["jobTemplate"] for name, each in self.of("CronJob").items()}
        return {**self.of("Deployment"), **self.of("Job"), **scheduled}

    @cached_property
    def pods(self) -> dict[str, Object]:
        """Returns the pods' templates by workload name."""
        return {name: each["spec"]["template"] for name, each in self.workloads.items()}

    @property
    def containers(self) -> Iterator[Object]:
        for pod in self.pods.values():
            yield from pod["spec"]["containers"]

    def selected(self, selector: Mapping[str, str]) -> set[str]:
        """Returns the names of the workloads whose pods have the given labels."""
        return {name for name, pod in self.pods.items() if selector.items() <= pod["metadata"]["labels"].items()}


def container(pod: Object) -> Object:
    (only,) = pod["spec"]["containers"]
    return dict(only)


def environment(pod: Object) -> dict[str, Any]:
    """Returns the variables of a pod's only container. A value is a string, or a tuple (secret, key)
    for a reference to a secret.
    """
    found: dict[str, Any] = {}
    for variable in container(pod)["env"]:
        assert variable["name"] not in found, "Kubernetes uses the last variable, and warns"
        if "value" in variable:
            found[variable["name"]] = variable["value"]
        else:
            reference = variable["valueFrom"]["secretKeyRef"]
            found[variable["name"]] = (reference["name"], reference["key"])
    return found


def render(values: str = "minimal", more: Mapping[str, Any] | None = None, release: str = "penstock") -> Rendered:
    """Renders a file of infra/helm/ci. `more` overrides the file's values. Raises ChartError."""
    return _render(values, json.dumps(more or {}), release)


@cache
def _render(values: str, more: str, release: str) -> Rendered:
    command: list[str | Path] = [
        HELM, "template", release, CHART, "--namespace", NAMESPACE, "--kube-version", KUBERNETES,
        "--values", VALUES[values], "--values", "-",
    ]  # fmt: skip
    done = subprocess.run(command, input=more, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChartError(done.stderr)
    # Like Kubernetes, SafeLoader distinguishes numbers from text. BaseLoader would hide that `port: "80"` is not a
    # number.
    return Rendered(tuple(each for each in yaml.safe_load_all(done.stdout) if each))


def lint(values: str) -> str:
    """Returns the output of `helm lint --strict`. Raises ChartError for warnings too."""
    command: list[str | Path] = [
        HELM,
        "lint",
        "--strict",
        CHART,
        "--kube-version",
        KUBERNETES,
        "--values",
        VALUES[values],
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ChartError(done.stdout + done.stderr)
    return done.stdout


SCHEMAS = ROOT / ".tools/helm/kubernetes.json"
CHECKER = ROOT / ".tools/python/bin/check-jsonschema"
CUSTOM = {"ServiceMonitor", "ScaledObject", "TriggerAuthentication"}
# Each of these types accepts two JSON types, but Kubernetes' document names only one JSON type.
EITHER = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["integer", "string"],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ["number", "string"],
}


def _strict(definition: dict[str, Any]) -> dict[str, Any]:
    """Returns a definition that rejects unknown fields, because an API server drops them silently."""
    open_ended = definition.get("x-kubernetes-preserve-unknown-fields") or "properties" not in definition
    return definition if open_ended else {**definition, "additionalProperties": False}


@cache
def _schema() -> tuple[str, frozenset[str]]:
    """Returns a schema that accepts objects of any known kind, and the set of kinds ("apps/v1 Deployment")."""
    document = json.loads(SCHEMAS.read_text())
    definitions = {name: _strict(definition) for name, definition in document["definitions"].items()}
    for name, types in EITHER.items():
        definitions[name] = {"type": types}
    cases, kinds = [], set()
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            version = "/".join(filter(None, (kind["group"], kind["version"])))
            kinds.add(f"{version} {kind['kind']}")
            same = {"properties": {"apiVersion": {"const": version}, "kind": {"const": kind["kind"]}}}
            cases.append({"if": same, "then": {"$ref": f"#/definitions/{name}"}})
    return json.dumps({"definitions": definitions, "allOf": cases}), frozenset(kinds)


def complaints(objects: Iterable[Object], folder: Path) -> str:
    """Returns the schema violations of all objects except custom resources. `folder` is for temporary files."""
    text, kinds = _schema()
    (folder / "schema.json").write_text(text)
    files = []
    for number, each in enumerate(objects):
        if each["kind"] in CUSTOM:
            continue
        if f"{each['apiVersion']} {each['kind']}" not in kinds:
            return f"Kubernetes has no {each['apiVersion']} {each['kind']}"
        files.append(folder / f"{number}.json")
        files[-1].write_text(json.dumps(each))
    done = subprocess.run(
        [CHECKER, "--schemafile", folder / "schema.json", *files], capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
