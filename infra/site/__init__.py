"""Builds the documentation site: `make site` runs `python -m infra.site`.

    docs/*.md, CHANGELOG.md, …  ─┐
    reference pages from code   ─┴─► build/site-…/pages ──zensical──► build/site-…/html ──► build/site.zip

A build has a folder that it removes at its end, so several builds may run at once. names.py links commands and
functions of SQL to their entries in the reference.

`make dist` puts the archive into the wheel, and the service serves it at /docs
(penstock_web/console/documentation.py). zensical.toml has the sections and their order.
"""
