"""Generates the files that repeat the definition of the settings."""

from pathlib import Path

from infra.generate.blocks import replace_blocks
from penstock.settings import SETTINGS, SUBJECTS
from penstock.settings.markdown import render_page

from .compose import render_compose
from .helm import render_defaults, render_schema
from .terraform import render_terraform

PAGE, COMPOSE = "docs/reference/settings.md", "infra/container/compose.yaml"
HELM_SCHEMA, HELM_DEFAULTS = "infra/helm/values.schema.json", "infra/helm/templates/_setting_defaults.tpl"
TERRAFORM = "infra/terraform/modules/settings/known_settings.tf"


def render_setting_texts(root: Path) -> dict[str, str]:
    """Maps the path of each file to its text. Raises MarkerError."""
    compose = (root / COMPOSE).read_text()
    return {
        PAGE: render_page(SUBJECTS),
        TERRAFORM: render_terraform(SETTINGS),
        COMPOSE: replace_blocks(compose, COMPOSE, {"settings": render_compose(compose, SETTINGS)}),
        HELM_SCHEMA: render_schema((root / HELM_SCHEMA).read_text(), SETTINGS),
        HELM_DEFAULTS: render_defaults(SETTINGS),
    }
