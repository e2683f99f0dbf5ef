"""What goes wrong: one class for each kind of error, which is also the built-in one that callers expect."""

from __future__ import annotations

from typing import TypeVar

__all__ = [
    "Error",
    "ConfigError",
    "FormatError",
    "InputOutputError",
    "UnsupportedError",
    "OutOfMemoryError",
    "DeviceError",
]


class Error(Exception):
    """Every error of tautline: the field (argument, file), the value found, the limit, and what to do about it."""

    field: str = ""
    value: str = ""
    limit: str = ""
    advice: str = ""


class ConfigError(Error, ValueError):
    """An argument, or an array's shape or type, is not what is allowed."""


class FormatError(Error, ValueError):
    """A file's bytes contradict its format."""


class InputOutputError(Error, OSError):
    """The operating system refused to open, read, write or rename."""


class UnsupportedError(Error, NotImplementedError):
    """The request is legal, but this build or machine cannot do it."""


class OutOfMemoryError(Error, MemoryError):
    """A limit of memory would be exceeded."""


class DeviceError(Error, RuntimeError):
    """A device failed."""


_Kind = TypeVar("_Kind", bound=Error)

_CLASSES: dict[str, type[Error]] = {
    "config": ConfigError,
    "format": FormatError,
    "io": InputOutputError,
    "unsupported": UnsupportedError,
    "memory": OutOfMemoryError,
    "device": DeviceError,
}


def make(kind: str, text: str, field: str, value: str, limit: str, advice: str) -> Error:
    """The exception of an error of the library."""
    error = _CLASSES[kind](text)
    error.field, error.value, error.limit, error.advice = field, value, limit, advice
    return error


def refuse(field: str, value: object, limit: str, advice: str = "") -> ConfigError:
    """A ConfigError as the library words them."""
    return _worded(ConfigError, field, value, limit, advice)


def unsupported(field: str, value: object, limit: str, advice: str = "") -> UnsupportedError:
    """An UnsupportedError as the library words them."""
    return _worded(UnsupportedError, field, value, limit, advice)


def _worded(kind: type[_Kind], field: str, value: object, limit: str, advice: str) -> _Kind:
    error = kind(f"{field}: {value}, expected {limit}" + (f"; {advice}" if advice else ""))
    error.field, error.value, error.limit, error.advice = field, str(value), limit, advice
    return error
