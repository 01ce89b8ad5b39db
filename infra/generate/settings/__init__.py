"""Generates the page and the deployment files that repeat penstock/settings/definition.py."""
