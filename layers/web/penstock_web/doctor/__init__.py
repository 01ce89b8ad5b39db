"""Implements `penstock doctor`: examines the settings, the database and the pooler of an installation, and suggests
remedies.

    examination.py      the checks' settings, connections and findings
    checks.py           the list of all checks, and the runner
    report.py           findings as text and as JSON
    own_settings.py, service.py, database.py, roles.py, pooler.py, server_settings.py, sessions.py, versions.py,
    stored_rows.py      one subject each

The checks change the database only with --after-restore or --fix. Every connection attempt and every query has a time
limit.
"""
