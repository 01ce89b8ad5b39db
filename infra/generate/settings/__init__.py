"""Generates the page and the parts of deployments that repeat penstock/settings/definition.py."""
