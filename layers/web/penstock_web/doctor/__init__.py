"""Implements `penstock doctor`: examines the settings, the database and the pooler of an installation, and suggests
remedies.

    examination.py      the settings and connections that checks use, and the findings that they return
    checks.py           all checks, in their order, and how they are run
    report.py           findings as text and as JSON
    own_settings.py, service.py, database.py, roles.py, pooler.py, server_settings.py, sessions.py, versions.py,
    stored_rows.py      a subject each

Checks only read, except with --after-restore and --fix. Every check ends, because connecting and every query have a
time limit.
"""
