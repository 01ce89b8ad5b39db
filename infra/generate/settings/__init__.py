"""Generates what repeats the definition of the settings (penstock/settings/definition.py): a page, and deployments."""
