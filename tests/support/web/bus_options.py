"""The options of the commands of event buses, for the test of all commands."""

BUS_OPTIONS = {
    "buses": ["list", "show", "events", "export", "publish"],
    "buses list": ["--endpoint URL", "--json"],
    "buses show": ["BUS", "--endpoint URL", "--json"],
    "buses events": [
        "BUS",
        "--from TIME",
        "--to TIME",
        "--group ID",
        "--source TEXT",
        "--detail-type TEXT",
        "--pattern JSON",
        "--order ORDER",
        "--max N",
        "--endpoint URL",
        "--json",
    ],
    "buses export": ["BUS", "--output FILE", "--from TIME", "--to TIME", "--endpoint URL", "--json"],
    "buses publish": ["BUS", "JSON", "--source TEXT", "--detail-type TEXT", "--group ID", "--dedup ID", "--json"],
    "subscribers": ["list", "show", "pause", "resume"],
    "subscribers list": ["BUS", "--endpoint URL", "--json"],
    "subscribers show": ["BUS", "SUBSCRIBER", "--endpoint URL", "--json"],
    "subscribers pause": ["BUS", "SUBSCRIBER", "--endpoint URL", "--json"],
    "subscribers resume": ["BUS", "SUBSCRIBER", "--skip", "--endpoint URL", "--json"],
    "webhook-secret": ["SOURCE", "--endpoint URL", "--json"],
    "replay": ["BUS", "SUBSCRIBER", "--from TIME", "--endpoint URL", "--json"],
}
