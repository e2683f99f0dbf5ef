"""Numbers and names that users give, as the library takes them."""

from __future__ import annotations

import difflib
import inspect
import operator
import os
from fractions import Fraction
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from . import _tautline
from .errors import refuse

__version__: str = _tautline.version()

#: k of delay = k DM / f^2, in s MHz^2 per pc cm^-3.
DISPERSION_CONSTANT = 4148.808

_LARGEST = 2**63 - 1
_LARGEST_MHZ = 1e6
_Function = TypeVar("_Function", bound=Callable[..., Any])


def whole(value: Any, field: str, least: int = 0) -> int:
    """A whole number, of Python or numpy."""
    try:
        number = operator.index(value)
    except TypeError:
        raise refuse(field, repr(value), "a whole number") from None
    if not least <= number <= _LARGEST:
        raise refuse(field, number, f"a whole number from {least} up")
    return number


def number(value: Any, field: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise refuse(field, repr(value), "a number") from None


def numbers(values: Any, field: str) -> list[float]:
    """One number or a one-dimensional sequence of them."""
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise refuse(field, f"a {type(values).__name__}", "numbers") from None
    if array.ndim != 1:
        raise refuse(field, f"{array.ndim} axes", "one axis of numbers")
    return array.tolist()  # type: ignore[no-any-return]


def megahertz(values: Any) -> list[float]:
    """Frequencies of channels; those in Hz would be above any telescope's."""
    frequencies = numbers(values, "frequencies")
    for one in frequencies:
        if one >= _LARGEST_MHZ:
            raise refuse("frequencies", f"{one:g}", f"MHz, below {_LARGEST_MHZ:g}", "divide those in Hz by 1e6")
    return frequencies


def paths(files: Any, field: str = "files") -> list[str]:
    """One path or several."""
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    try:
        return [os.fspath(file) for file in files]
    except TypeError:
        raise refuse(field, f"a {type(files).__name__}", "a path, or several") from None


def file_paths(files: Any) -> list[str]:
    """Of paths, or of what tautline.open gave."""
    own = getattr(files, "paths", None)
    return list(own) if isinstance(own, list) else paths(files)


def rational(value: Any, field: str) -> Fraction:
    """A number above 0 as it is written: 0.1 is a tenth."""
    try:
        exact = Fraction(str(float(value))) if isinstance(value, (float, np.floating)) else Fraction(value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise refuse(field, repr(value), "a number above 0") from None
    if not exact > 0 or max(exact.numerator, exact.denominator) > _LARGEST:
        raise refuse(field, value, "a number above 0, a ratio of numbers of 63 bits")
    return exact


def history(call: str) -> str:
    """What outputs say of where they come from."""
    return f"tautline {__version__}: {call} called from Python"


def text(value: Any) -> str:
    """A value as the fields of the library are written."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return str(value)
    return ",".join(text(one) for one in value)


class Fields:
    """The fields of one kind of run: keyword arguments by their names or, where that is one field's, the last part."""

    def __init__(self, of: str | list[tuple[Any, ...]]) -> None:
        self._all: list[tuple[Any, ...]] = _tautline.fields(of) if isinstance(of, str) else of
        names = [field[0] for field in self._all]
        self._names: dict[str, str] = {}
        for name in names:
            last = name.rsplit(".", 1)[-1]
            if sum(other.rsplit(".", 1)[-1] == last for other in names) == 1:
                self._names[last] = name
        self._names.update({name: name for name in names})

    def texts(self, options: dict[str, Any]) -> dict[str, str]:
        """{field: text} of keyword arguments; None stands for a default."""
        found: dict[str, str] = {}
        for name, value in options.items():
            field = self.full_name(name)
            if value is not None:
                found[field] = text(value)
        return found

    def full_name(self, name: str) -> str:
        """Of a field by its name or the last part of it."""
        field = self._names.get(name) or self._names.get(name.replace("__", "."))
        if field is None:
            known = ", ".join(sorted(one for one in self._names if "." not in one))
            near = difflib.get_close_matches(name, self._names, 1) or [n for n in self._names if n.startswith(name)]
            advice = f"did you mean {near[0]}" if len(near) == 1 else ""
            raise refuse(name, "no argument of this call", f"one of {known}", advice)
        return field

    def document(self, leave_out: tuple[str, ...] = ()) -> str:
        """Of docstrings: every field with its unit, default and range."""
        short = {field: name for name, field in self._names.items() if "." not in name}
        lines = []
        for name, *_, default in self._all:
            argument = short.get(name, name.replace(".", "__"))
            if argument not in leave_out and name not in leave_out:
                lines += self._lines(argument, name, default)
        return "\n".join(lines)

    def document_arguments(self, function: Callable[..., Any]) -> str:
        """The same of the arguments of a function or class that are fields, with the defaults that they have there."""
        lines = []
        for argument, parameter in inspect.signature(function).parameters.items():
            if argument in self._names:
                required = parameter.default is parameter.empty
                lines += self._lines(argument, self._names[argument], None if required else text(parameter.default))
        return "\n".join(lines)

    def _lines(self, argument: str, field: str, default: str | None) -> list[str]:
        _, unit, help_text, allowed, form, _ = next(one for one in self._all if one[0] == field)
        facts = [help_text]
        if form or allowed:
            facts.append(form or allowed)
        if default is not None:
            facts.append(f"default {default}" if default else "default: none")
        return [f"    {argument}" + (f" [{unit}]" if unit else ""), "        " + "; ".join(facts) + "."]


def documented(fields: Fields, leave_out: tuple[str, ...] = ()) -> Callable[[_Function], _Function]:
    """Puts the descriptions of the fields into a docstring, for {fields}."""

    def decorate(function: _Function) -> _Function:
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("{fields}", fields.document(leave_out).strip())
        return function

    return decorate


def documented_arguments(fields: Fields) -> Callable[[_Function], _Function]:
    """The same for a function or class with named arguments."""

    def decorate(function: _Function) -> _Function:
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("{fields}", fields.document_arguments(function).strip())
        return function

    return decorate
