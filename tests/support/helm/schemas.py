"""Checks objects against the OpenAPI schemas of Kubernetes 1.27, without a cluster.

The source is the document of an API server of 1.27 ("The Kubernetes API", kubernetes.io), which a module of Helm
contains. The document has no custom resources (ServiceMonitor, ScaledObject, TriggerAuthentication).
"""

import json
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from tests.support.helm.chart import ROOT, Object

SCHEMAS = ROOT / ".tools/helm/kubernetes.json"
CHECKER = ROOT / ".tools/python/bin/check-jsonschema"
CUSTOM = {"ServiceMonitor", "ScaledObject", "TriggerAuthentication"}
# JSON writes these types in two ways, but the document names only one way.
EITHER = {
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ["integer", "string"],
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ["number", "string"],
}


def _strict(definition: dict[str, Any]) -> dict[str, Any]:
    """Returns a definition that refuses unnamed fields, because an API server drops such fields silently."""
    open_ended = definition.get("x-kubernetes-preserve-unknown-fields") or "properties" not in definition
    return definition if open_ended else {**definition, "additionalProperties": False}


@cache
def _schema() -> tuple[str, frozenset[str]]:
    """Returns a schema that accepts any object of a known kind, and the kinds as apiVersion and kind."""
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
    """Returns the faults of the objects that are not custom resources. `folder` is for files."""
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
