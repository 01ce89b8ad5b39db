"""Implements `penstock doctor`: examines the settings, the database and the pooler of an installation, and suggests
remedies.

    finding.py          what a check may return
    examination.py      the settings and connections that checks use
    checks.py           all checks, in their order, and how they are run
    report.py           findings as text and as JSON
    own_settings.py, database.py, roles.py, grants.py, pooler.py, server_settings.py,
    sessions.py, clock.py, versions.py, stored_rows.py      a subject each

A check only reads, except with --after-restore and --fix. Connecting and every query have a time limit, so every check
ends.
"""
