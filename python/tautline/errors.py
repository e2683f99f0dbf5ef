"""What goes wrong: a class for each kind of error, which is also the built-in one that callers expect, and a warning."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from typing import TypeVar

__all__ = [
    "DataWarning",
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


class DataWarning(UserWarning):
    """Something is wrong with the data of a call, which gives its result all the same: damage, inputs or channels without
    data, samples that are not finite.  The texts are the command's, and are in `facts["warnings"]`, too.
    """


def warn(texts: Iterable[str]) -> None:
    """Warns of each text once, at the line that called the package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    for text in dict.fromkeys(texts):
        warnings.warn(text, DataWarning, stacklevel=level)


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


def wrong_kind(path: str, found: str, expected: str, advice: str) -> FormatError:
    """A FormatError of a file that holds something else, as the library words it."""
    return _worded(FormatError, f"{path}: kind of file", found, expected, advice)


def unsupported(field: str, value: object, limit: str, advice: str = "") -> UnsupportedError:
    """An UnsupportedError as the library words them."""
    return _worded(UnsupportedError, field, value, limit, advice)


def out_of_memory(field: str, value: object, limit: str, advice: str = "") -> OutOfMemoryError:
    """An OutOfMemoryError as the library words them."""
    return _worded(OutOfMemoryError, field, value, limit, advice)


def _worded(kind: type[_Kind], field: str, value: object, limit: str, advice: str) -> _Kind:
    error = kind(f"{field}: {value}, expected {limit}" + (f"; {advice}" if advice else ""))
    error.field, error.value, error.limit, error.advice = field, str(value), limit, advice
    return error
