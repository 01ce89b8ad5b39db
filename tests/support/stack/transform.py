"""Prints the result of SAM's transform for the template on standard input, as JSON. The program needs the Python in
.tools/sam.

The program uses CloudFormation's code for `Transform: AWS::Serverless-2016-10-31`, with parameters NAME=VALUE.
"""

import json
import sys

import boto3
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

# `sam package` replaces folders with this value.
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
