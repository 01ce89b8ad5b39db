"""Lists cases of EventBridge Scheduler: expressions, members that exclude each other, existing resources, and the order
of checks.
"""

from typing import Any

from tests.support.cases.case import ABSENT, OK, OURS, RECORDED, Response, Source, guide, problem, reference, report
from tests.support.cases.scheduler.members import BEGINNINGS, MODEL, NULL, QUEUE, SERIALIZATION, TAG, invalid

NAME_TAKEN = Response("ConflictException", "Schedule <schedule> already exists.")
GROUPS = guide("scheduler", "managing-schedule-group", "Managing a schedule group")
TYPES = guide("scheduler", "schedule-types", "Schedule types in EventBridge Scheduler")
FLEXIBLE = guide("scheduler", "managing-schedule-flexible-time-windows", "Configuring flexible time windows")
VALIDATION = Response("ValidationException")
ELSEWHERE = QUEUE.replace("arn:aws:", "arn:aws-cn:")
LONG_AGO = Response(VALIDATION.code, "The StartDate you specify cannot be earlier than 5 minutes ago.")


def _missing(what: str) -> Response:
    return Response("ResourceNotFoundException", f"{what} does not exist.")


EXPRESSIONS = (
    "x",
    "rate()",
    "rate(0 days)",
    "rate(-1 days)",
    "rate(1.5 days)",
    "rate(1 week)",
    "rate(1)",
    "rate(days)",
    "cron()",
    "cron(* * * * *)",
    "cron(* * * * * *)",
    "cron(60 * * * ? *)",
    "cron(0 24 * * ? *)",
    "cron(0 0 32 * ? *)",
    "cron(0 0 ? 13 * *)",
    "cron(0 0 ? * 8 *)",
    "cron(0 0 ? * MON#6 *)",
    "cron(0 0 1 * ? 1969)",
    "cron(0 0 1 * ? 2200)",
    "at()",
    "at(2030-01-01)",
    "at(2030-01-01 00:00:00)",
    "at(2030-01-01T00:00)",
    "at(2030-02-30T00:00:00)",
    "at(2030-01-01T00:00:00Z)",
    "at(2030-01-01T24:00:00)",
    "rate(1 day",
    "(1 day)",
    "rate( 10 minutes )",
    "rate(10  minutes)",
    "rate(10 minutes )",
    "rate(10\tminutes)",
    "cron( 0 1 * * ? *)",
    "cron(0  1 * * ? *)",
    "cron(0 1 * * ? * )",
    "cron(0 1 * *\t? *)",
)
VALID = (
    "rate(1 minute)",
    "rate(5 minutes)",
    "rate(1 hour)",
    "rate(3 hours)",
    "rate(1 day)",
    "at(2036-11-20T13:00:00)",
    "cron(15 10 ? * 6L 2022-2036)",
    "cron(0 10 * * ? *)",
    "cron(0/5 8-17 ? * MON-FRI *)",
    "cron(0 9 ? * 2#1 *)",
    "cron(0 9 L * ? *)",
    "cron(0 9 15W * ? *)",
    "cron(0 0 1 JAN,feb ? *)",
)

Row = tuple[str, str, str, dict[str, Any], Response, Source]
ROWS: list[Row] = [
    # --- expressions -------------------------------------------------------------------------------------------------
    *(
        ("CreateSchedule", "ScheduleExpression", text, {"ScheduleExpression": text}, VALIDATION, TYPES)
        for text in EXPRESSIONS
    ),
    *(("CreateSchedule", "ScheduleExpression", text, {"ScheduleExpression": text}, OK, TYPES) for text in VALID),
    ("CreateSchedule", "ScheduleExpression", "RATE(1 day)", {"ScheduleExpression": "RATE(1 day)"}, VALIDATION, OURS),
    (
        "CreateSchedule",
        "ScheduleExpressionTimezone",
        "unknown",
        {"ScheduleExpressionTimezone": "Mars/Base"},
        VALIDATION,
        TYPES,
    ),
    (
        "CreateSchedule",
        "ScheduleExpressionTimezone",
        "in lower case",
        {"ScheduleExpressionTimezone": "europe/berlin"},
        VALIDATION,
        OURS,
    ),
    # --- members that exclude or need each other ---------------------------------------------------------------------
    (
        "CreateSchedule",
        "FlexibleTimeWindow.MaximumWindowInMinutes",
        "with Mode OFF",
        {"FlexibleTimeWindow": {"Mode": "OFF", "MaximumWindowInMinutes": 5}},
        VALIDATION,
        OURS,
    ),
    (
        "CreateSchedule",
        "FlexibleTimeWindow.MaximumWindowInMinutes",
        "absent with Mode FLEXIBLE",
        {"FlexibleTimeWindow": {"Mode": "FLEXIBLE"}},
        VALIDATION,
        FLEXIBLE,
    ),
    *(
        (
            "CreateSchedule",
            "FlexibleTimeWindow.MaximumWindowInMinutes",
            str(minutes),
            {"FlexibleTimeWindow": {"Mode": "FLEXIBLE", "MaximumWindowInMinutes": minutes}},
            OK,
            MODEL,
        )
        for minutes in (1, 1440)
    ),
    (
        "CreateSchedule",
        "EndDate",
        "before StartDate",
        {"StartDate": 2_000_000_000, "EndDate": 1_999_999_999},
        VALIDATION,
        OURS,
    ),
    (
        "CreateSchedule",
        "EndDate",
        "equal to StartDate",
        {"StartDate": 2_000_000_000, "EndDate": 2_000_000_000},
        VALIDATION,
        OURS,
    ),
    (
        "CreateSchedule",
        "StartDate",
        "for a one-time schedule: ignored",
        {"StartDate": 2_000_000_000, "ScheduleExpression": "at(2036-11-20T13:00:00)"},
        OK,
        reference("scheduler", "CreateSchedule"),
    ),
    ("CreateSchedule", "StartDate", "years ago", {"StartDate": 1_700_000_000}, LONG_AGO, RECORDED),
    (
        "CreateSchedule",
        "StartDate",
        "years ago, cron",
        {"StartDate": 1_700_000_000, "ScheduleExpression": "cron(0 10 * * ? *)"},
        LONG_AGO,
        RECORDED,
    ),
    (
        "CreateSchedule",
        "StartDate",
        "years ago, of one moment",
        {"StartDate": 1_700_000_000, "ScheduleExpression": "at(2036-11-20T13:00:00)"},
        OK,
        TYPES,
    ),
    ("UpdateSchedule", "StartDate", "years ago", {"StartDate": 1_700_000_000}, OK, OURS),
    ("CreateSchedule", "StartDate", "negative", {"StartDate": -1}, VALIDATION, OURS),
    (
        "CreateSchedule",
        "Target.SqsParameters",
        "absent for a FIFO queue",
        {"Target/Arn": f"{QUEUE}.fifo"},
        VALIDATION,
        OURS,
    ),
    ("CreateSchedule", "Target.Arn", "of no service", {"Target/Arn": "x"}, VALIDATION, OURS),
    *(
        ("CreateSchedule", member, "of another partition", given, VALIDATION, OURS)
        for member, given in (
            ("Target.Arn", {"Target/Arn": ELSEWHERE}),
            ("Target.DeadLetterConfig.Arn", {"Target/DeadLetterConfig": {"Arn": ELSEWHERE}}),
        )
    ),
    (
        "CreateSchedule",
        "Target.Arn",
        "of a function",
        {"Target/Arn": "arn:aws:lambda:us-east-1:710000000001:function:f"},
        VALIDATION,
        OURS,
    ),
    ("CreateSchedule", "Target.DeadLetterConfig.Arn", "absent", {"Target/DeadLetterConfig": {}}, OK, MODEL),
    (
        "CreateSchedule",
        "Target.EcsParameters",
        "with a queue",
        {"Target/EcsParameters": {"TaskDefinitionArn": "x"}},
        VALIDATION,
        OURS,
    ),
    (
        "CreateSchedule",
        "ClientToken",
        "twice the same",
        {"ClientToken": "t"},
        OK,
        reference("scheduler", "CreateSchedule"),
    ),
    # --- existence ---------------------------------------------------------------------------------------------------
    ("CreateSchedule", "Name", "taken", {"Name": "<schedule>"}, NAME_TAKEN, reference("scheduler", "CreateSchedule")),
    (
        "CreateSchedule",
        "GroupName",
        "of no group",
        {"GroupName": "none"},
        _missing("Schedule group none"),
        reference("scheduler", "CreateSchedule"),
    ),
    (
        "UpdateSchedule",
        "GroupName",
        "of no group",
        {"GroupName": "none"},
        Response("ResourceNotFoundException"),
        reference("scheduler", "UpdateSchedule"),
    ),
    (
        "UpdateSchedule",
        "Name",
        "of no schedule",
        {"Name": "none"},
        _missing("Schedule none"),
        reference("scheduler", "UpdateSchedule"),
    ),
    ("UpdateSchedule", "Name", "in another letter case", {"Name": "CASE-1"}, _missing("Schedule CASE-1"), MODEL),
    (
        "GetSchedule",
        "Name",
        "of no schedule",
        {"Name": "none"},
        _missing("Schedule none"),
        reference("scheduler", "GetSchedule"),
    ),
    (
        "GetSchedule",
        "GroupName",
        "of no group",
        {"GroupName": "none"},
        Response("ResourceNotFoundException"),
        reference("scheduler", "GetSchedule"),
    ),
    (
        "DeleteSchedule",
        "Name",
        "of no schedule",
        {"Name": "none"},
        _missing("Schedule none"),
        reference("scheduler", "DeleteSchedule"),
    ),
    (
        "DeleteSchedule",
        "GroupName",
        "of no group",
        {"GroupName": "none"},
        Response("ResourceNotFoundException"),
        reference("scheduler", "DeleteSchedule"),
    ),
    (
        "ListSchedules",
        "GroupName",
        "of no group",
        {"GroupName": "none"},
        _missing("Schedule group none"),
        reference("scheduler", "ListSchedules"),
    ),
    ("ListSchedules", "NextToken", "not ours", {"NextToken": "x"}, VALIDATION, OURS),
    ("ListSchedules", "MaxResults", "twice, the second one bad", {"MaxResults": [1, 0]}, OK, OURS),
    ("ListSchedules", "State", "twice, the second one bad", {"State": ["ENABLED", "x"]}, OK, OURS),
    ("ListScheduleGroups", "NextToken", "not ours", {"NextToken": "x"}, VALIDATION, OURS),
    ("ListScheduleGroups", "MaxResults", "twice, the second one bad", {"MaxResults": [1, 0]}, OK, OURS),
    (
        "ListScheduleGroups",
        "NamePrefix",
        "of no group",
        {"NamePrefix": "none"},
        OK,
        reference("scheduler", "ListScheduleGroups"),
    ),
    (
        "CreateScheduleGroup",
        "Name",
        "taken",
        {"Name": "<group>"},
        Response("ConflictException", "Schedule group <group> already exists."),
        reference("scheduler", "CreateScheduleGroup"),
    ),
    ("CreateScheduleGroup", "Name", "default", {"Name": "default"}, Response("ConflictException"), GROUPS),
    ("CreateScheduleGroup", "Tags", "a key twice", {"Tags": [TAG, TAG]}, VALIDATION, OURS),
    ("CreateScheduleGroup", "Tags", "a key of AWS", {"Tags": [{"Key": "aws:a", "Value": "b"}]}, VALIDATION, OURS),
    (
        "GetScheduleGroup",
        "Name",
        "of no group",
        {"Name": "none"},
        _missing("Schedule group none"),
        reference("scheduler", "GetScheduleGroup"),
    ),
    (
        "DeleteScheduleGroup",
        "Name",
        "of no group",
        {"Name": "none"},
        _missing("Schedule group none"),
        reference("scheduler", "DeleteScheduleGroup"),
    ),
    ("DeleteScheduleGroup", "Name", "default", {"Name": "default"}, VALIDATION, GROUPS),
    *(
        (
            action,
            "ResourceArn",
            "of no group",
            {"ResourceArn": f"{BEGINNINGS['TagResourceArn']}none"},
            Response("ResourceNotFoundException"),
            reference("scheduler", action),
        )
        for action in ("TagResource", "UntagResource", "ListTagsForResource")
    ),
    *(
        (
            action,
            "ResourceArn",
            "of another account",
            {"ResourceArn": "arn:aws:scheduler:us-east-1:111122223333:schedule-group/g"},
            Response("ResourceNotFoundException"),
            OURS,
        )
        for action in ("TagResource", "UntagResource", "ListTagsForResource")
    ),
    *(
        (
            action,
            "ResourceArn",
            "of a schedule",
            {"ResourceArn": "arn:aws:scheduler:us-east-1:710000000001:schedule/default/a"},
            VALIDATION,
            MODEL,
        )
        for action in ("TagResource", "UntagResource", "ListTagsForResource")
    ),
    ("TagResource", "Tags", "a key twice", {"Tags": [TAG, TAG]}, VALIDATION, OURS),
    ("UntagResource", "TagKeys", "no such tag", {"TagKeys": ["none"]}, OK, OURS),
    # --- deleted -----------------------------------------------------------------------------------------------------
    *(
        (
            action,
            "Name",
            "of a deleted schedule",
            {"Name": "<deleted-schedule>"},
            _missing("Schedule <deleted-schedule>"),
            reference("scheduler", action),
        )
        for action in ("GetSchedule", "UpdateSchedule", "DeleteSchedule")
    ),
    *(
        (
            action,
            "Name",
            "of a deleted group",
            {"Name": "<deleted-group>"},
            _missing("Schedule group <deleted-group>"),
            reference("scheduler", action),
        )
        for action in ("GetScheduleGroup", "DeleteScheduleGroup")
    ),
    (
        "CreateSchedule",
        "GroupName",
        "of a deleted group",
        {"GroupName": "<deleted-group>"},
        _missing("Schedule group <deleted-group>"),
        reference("scheduler", "CreateSchedule"),
    ),
    (
        "CreateSchedule",
        "Name",
        "of a deleted schedule",
        {"Name": "<new-deleted-schedule>"},
        OK,
        reference("scheduler", "CreateSchedule"),
    ),
    # --- order of checks ---------------------------------------------------------------------------------------------
    (
        "CreateSchedule",
        "ScheduleExpression",
        "bad, in no group",
        {"ScheduleExpression": "x", "GroupName": "none"},
        VALIDATION,
        OURS,
    ),
    (
        "CreateSchedule",
        "ScheduleExpression",
        "bad, name taken",
        {"ScheduleExpression": "x", "Name": "<schedule>"},
        VALIDATION,
        OURS,
    ),
    ("CreateSchedule", "Name", "bad, with a wrong type", {"Name": "a b", "State": 1}, SERIALIZATION, OURS),
    (
        "UpdateSchedule",
        "ScheduleExpression",
        "bad, of no schedule",
        {"ScheduleExpression": "x", "Name": "none"},
        VALIDATION,
        OURS,
    ),
    (
        "CreateSchedule",
        "",
        "three violations at once",
        {"Name": "a b", "State": "x", "Target/Arn": ABSENT},
        invalid(
            problem("'a b'", "name", "satisfy regular expression pattern: [0-9a-zA-Z-_.]+"),
            problem("'x'", "state", "satisfy enum value set: [ENABLED, DISABLED]"),
            problem("null", "target.arn", NULL),
        ),
        report("webiny/webiny-js", 5445),
    ),
]
