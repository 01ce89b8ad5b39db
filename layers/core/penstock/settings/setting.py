"""Defines a setting with its name, default, bounds, unit and text, and reads the setting's value from a text."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, Generic, Never, Self, TypeVar, overload

from msgspec import Struct
from msgspec.structs import force_setattr

from .formats import Format

Value = str | int | float | bool
V = TypeVar("V", bound=Value)

MAX_INTEGER: Final = 2_147_483_647
"""The maximum of a whole number without its own maximum: PostgreSQL's `integer`."""


class SettingError(ValueError):
    """The value of a setting is not allowed. The text names the setting and the allowed values.

    `name` is the setting's name if the error came from reading that setting, and otherwise "".
    """

    def __init__(self, text: str, name: str = "") -> None:
        super().__init__(text)
        self.name = name


class Subject(Struct, frozen=True):
    """The subject of the settings that follow it in the class Settings. The settings page has a heading for each
    subject."""

    title: str


class Setting(Struct, Generic[V], frozen=True, eq=False):
    """A setting, which is an attribute of the class Settings. An instance of Settings has the value under the same
    name.

    The type of the default is the setting's type. `unit` is empty if the setting needs no unit.
    """

    default: V
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    format: Format | None = None
    """The format of the text, in addition to type, bounds and choices."""
    secret: bool = False
    """Whether the value is secret. No output shows a secret value, and a file can contain a secret value."""
    hidden: bool = False
    """Whether every output hides the value, because it can contain a token."""
    attribute: str = ""
    """The name of this setting's attribute in the class Settings, which sets the name."""
    name: str = ""
    """The environment variable's name, which is the attribute's name in capitals."""

    def __post_init__(self) -> None:
        if self.maximum is None and type(self.default) is int:
            force_setattr(self, "maximum", MAX_INTEGER)

    def __set_name__(self, owner: type, name: str) -> None:
        force_setattr(self, "attribute", name)
        force_setattr(self, "name", name.upper())

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> V: ...
    def __get__(self, instance: object, owner: type) -> Self | V:
        return self if instance is None else self.default

    if TYPE_CHECKING:
        # Makes mypy refuse assignments. At run time, the method would slow down each read of a value.
        def __set__(self, instance: object, value: Never) -> None: ...

    @property
    def kind(self) -> str:
        """Returns the type's name in JSON Schema: boolean, integer, number or string."""
        return _KINDS[type(self.default)]

    @property
    def has_own_maximum(self) -> bool:
        """Returns whether the setting has its own maximum. MAX_INTEGER applies to any other whole number."""
        return self.maximum is not None and self.maximum != MAX_INTEGER

    def write(self, value: Value | None = None) -> str:
        """Returns the value, or the default, as the text of an environment variable."""
        given = self.default if value is None else value
        return str(given).lower() if isinstance(given, bool) else str(given)

    def read(self, variables: Mapping[str, str]) -> Value:
        """Returns the value from the given environment variables, or the default. Raises SettingError."""
        return self.parse(self._find_text(variables))

    def parse(self, text: str) -> Value:
        """Converts a text to a value. An empty text means the default. Raises SettingError."""
        text = text.strip()
        if text == "":
            return self.default
        value = self._convert(text)
        if self.minimum is not None and not float(value) >= self.minimum:  # NaN compares as false
            raise self._refuse(f"must be at least {self.minimum}, not {text}")
        if self.maximum is not None and float(value) > self.maximum:
            raise self._refuse(f"must be at most {self.maximum}, not {text}")
        if self.choices and value not in self.choices:
            raise self._refuse(f"must be one of {', '.join(self.choices)}, not {text!r}")
        if self.format and not self.format.matches(text):
            given = f", not {text!r}" if self.format.is_shown else ""
            raise self._refuse(f"must be {self.format.wanted}{given}")
        return value

    def _refuse(self, problem: str) -> SettingError:
        return SettingError(f"{self.name} {problem}", self.name)

    def _find_text(self, variables: Mapping[str, str]) -> str:
        text = variables.get(self.name, "")
        file = variables.get(f"{self.name}_FILE", "")
        if file and not self.secret:
            raise SettingError(
                f"{self.name}_FILE is not a setting: only secrets and database addresses are read from files. "
                f"Set {self.name}",
                self.name,
            )
        if text or not file:
            return text
        try:
            return Path(file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"{self.name}_FILE: {file} cannot be read: {error}", self.name) from None

    def _convert(self, text: str) -> Value:
        kind = type(self.default)
        try:
            if kind is bool:
                return BOOLEANS[text.lower()]
            if kind is str:
                return text.lower() if self.choices else text
            return kind(text)
        except (KeyError, ValueError):
            raise self._refuse(f"must be {_WANTED[kind]}, not {text!r}") from None


BOOLEANS: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
"""The words for true and false, in lower case. Any case is allowed."""

_KINDS: Final[dict[type, str]] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_WANTED: Final[dict[type, str]] = {bool: "true or false", int: "a whole number", float: "a number"}
