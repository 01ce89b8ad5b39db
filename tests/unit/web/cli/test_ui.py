"""Tests how `penstock ui` finds a browser (docs/reference/command_line.md)."""

import pytest

from penstock_web.cli import main
from penstock_web.cli.commands import ui


class Service:
    endpoint = "http://127.0.0.1:9324"

    def __init__(self, has_console: bool) -> None:
        self._has_console = has_console

    def serves(self, path: str) -> bool:
        assert path == "/console"
        return self._has_console


@pytest.mark.parametrize(("variable", "opens"), [("", False), ("DISPLAY", True), ("WAYLAND_DISPLAY", True)])
def test_the_address_is_printed_and_opened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, opens: bool
) -> None:
    """Over ssh, no display is set, so the command only prints the address."""
    opened: list[str] = []
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, ":0" if name == variable else "")
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(ui, "RestClient", lambda _endpoint: Service(has_console=True))
    assert main(["ui"]) == 0
    assert capsys.readouterr().out == "http://127.0.0.1:9324/console\n"
    assert opened == ["http://127.0.0.1:9324/console"] * opens


def test_a_service_without_a_console_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ui, "RestClient", lambda _endpoint: Service(has_console=False))
    assert main(["ui"]) == 1
    assert "http://127.0.0.1:9324 has no console" in capsys.readouterr().err
