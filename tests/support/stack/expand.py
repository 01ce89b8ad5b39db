"""Prints the template on standard input with its loops expanded, as JSON. The program needs the Python in .tools/sam.

cfn-lint implements `Transform: AWS::LanguageExtensions`.
"""

import json
import sys

from cfnlint.decode.cfn_yaml import loads
from cfnlint.template import Template
from cfnlint.template.transforms._language_extensions import language_extension


def main() -> None:
    errors, found = language_extension(Template("template", loads(sys.stdin.read()), ["us-east-1"]))
    if errors:
        sys.exit(str(errors))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
