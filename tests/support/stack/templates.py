"""Templates as CloudFormation gets them, after their transforms.

A program for the Python of .tools/sam: what SAM's transform makes of the template on standard input, as JSON.

It is the code that CloudFormation runs for `Transform: AWS::Serverless-2016-10-31`, with parameters NAME=VALUE.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

from tests.support.functions.server import ROOT

Resources = dict[str, dict[str, Any]]


@cache
def transformed(text: str, *parameters: str) -> dict[str, Any]:
    """By SAM's transform, with parameters NAME=VALUE."""
    return _run("transform", text, *parameters)


@cache
def expanded(text: str) -> dict[str, Any]:
    """With the loops of CloudFormation's language extensions written out."""
    return _run("expand", text)


def _run(program: str, text: str, *arguments: str) -> dict[str, Any]:
    command: list[str | Path] = [
        ROOT / ".tools/python/bin/python",
        ROOT / f"tests/support/stack/{program}.py",
        *arguments,
    ]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def of_type(template: dict[str, Any], *kinds: str) -> Resources:
    """The resources of these types, by their logical names."""
    return {name: r for name, r in template["Resources"].items() if r["Type"] in kinds}


# What `sam package` puts in the place of folders.
PACKED = {"AWS::Serverless::LayerVersion": "ContentUri", "AWS::Serverless::Function": "CodeUri"}


def main() -> None:
    template = yaml_parse(sys.stdin.read())
    template.get("Globals", {}).get("Function", {}).pop("CodeUri", None)
    for resource in template["Resources"].values():
        if resource["Type"] in PACKED:
            resource["Properties"][PACKED[resource["Type"]]] = "s3://bucket/key"
    parameters = dict(argument.split("=", 1) for argument in sys.argv[1:])
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name="us-east-1"))
    json.dump(translator.translate(template, parameters), sys.stdout)


if __name__ == "__main__":
    main()
