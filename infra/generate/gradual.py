"""Writes template.yaml with versions, an alias for each function, and CodeDeploy.

    python -m infra.generate.gradual >gradual.yaml

The template is a separate file, because no parameter can omit an alias ("AutoPublishAlias", AWS::Serverless::Function,
AWS SAM Developer Guide). SAM compares texts to decide whether a function needs a new version. A parameter's new value
does not change the template's text, so this module writes the current time into every function.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from .blocks import MarkerError

ALIAS = "live"
# A line of the template, and the text to insert before it.
PARAMETERS = (
    "\nConditions:\n",
    """\
  Shift:
    Type: String
    Default: Canary10Percent5Minutes
    AllowedValues:
      - AllAtOnce
      - Canary10Percent5Minutes
      - Canary10Percent10Minutes
      - Canary10Percent15Minutes
      - Canary10Percent30Minutes
      - Linear10PercentEvery1Minute
      - Linear10PercentEvery2Minutes
      - Linear10PercentEvery3Minutes
      - Linear10PercentEvery10Minutes
    Description: How CodeDeploy shifts requests from the present versions to the new ones
  RollbackAlarm:
    Type: String
    Default: ""
    Description: Name of a CloudWatch alarm that shifts all requests back to the present versions; empty - no alarm
""",
)
CONDITION = ("\nGlobals:\n", '  NoAlarm: !Equals [!Ref RollbackAlarm, ""]\n')
ALIASES = (
    "    CodeUri: functions/\n",
    f"""\
    AutoPublishAlias: {ALIAS}
    DeploymentPreference:
      Type: !Ref Shift
      Alarms: !If [NoAlarm, [!Ref AWS::NoValue], [!Ref RollbackAlarm]]
""",
)
# No code reads the variable PENSTOCK_RELEASE. SAM compares the texts of variables and the location of the code, but not
# the layers.
VARIABLE = ("        QUEUE_REGION: !Ref AWS::Region\n", '        PENSTOCK_RELEASE: "{release}"\n')


def add_gradual_deployment(template: str, release: str) -> str:
    """Returns the template in which an alias moves to new versions gradually. Raises MarkerError.

    `release` is the value of every function's variable PENSTOCK_RELEASE. The value must be new in each deployment.
    """
    for line, added in (PARAMETERS, CONDITION, ALIASES, VARIABLE):
        if template.count(line) != 1:
            raise MarkerError(f"template.yaml has {template.count(line)} lines {line.strip()!r}; it needs one.")
        template = template.replace(line, added.replace("{release}", release) + line)
    return template


if __name__ == "__main__":
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    sys.stdout.write(add_gradual_deployment((Path(__file__).parents[2] / "template.yaml").read_text(), written))
