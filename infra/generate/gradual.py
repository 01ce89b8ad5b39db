"""python -m infra.generate.gradual >gradual.yaml: template.yaml with versions, an alias a function, and CodeDeploy.

A separate template: SAM takes an alias's name from a parameter, but no parameter omits the alias
("AutoPublishAlias", AWS::Serverless::Function, AWS SAM Developer Guide). SAM also decides from the template's text
whether a function needs a new version: a parameter's new value does not show there, and the alias would keep the
version with the old value. So each template that this module writes gives every function another text, the time of
writing.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from .blocks import MarkerError

ALIAS = "live"
# Maps a line of the template to the text before the line.
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
    Description: Name of an alarm of CloudWatch that shifts all requests back to the present versions; empty - none
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
# No code reads it. SAM compares the texts of variables and the location of the code, but not its layers.
VARIABLE = ("        QUEUE_REGION: !Ref AWS::Region\n", '        PENSTOCK_RELEASE: "{release}"\n')


def add_gradual_deployment(template: str, release: str) -> str:
    """Returns the template in which an alias moves to new versions gradually.

    Raises MarkerError if a line is missing or repeated.

    `release` is a text that differs in each deployment, and becomes every function's variable PENSTOCK_RELEASE.
    """
    for line, added in (PARAMETERS, CONDITION, ALIASES, VARIABLE):
        if template.count(line) != 1:
            raise MarkerError(f"template.yaml has {template.count(line)} lines {line.strip()!r}; it needs one.")
        template = template.replace(line, added.replace("{release}", release) + line)
    return template


if __name__ == "__main__":
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    sys.stdout.write(add_gradual_deployment((Path(__file__).parents[2] / "template.yaml").read_text(), written))
