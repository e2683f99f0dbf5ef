"""Numbers and names that users give, as the library takes them."""

from __future__ import annotations

import difflib
import inspect
import operator
import os
from fractions import Fraction
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, Union

import numpy as np

from . import _tautline
from .errors import ConfigError, refuse

__version__: str = _tautline.version()

#: k of delay = k DM / f^2, in s MHz^2 per pc cm^-3.
DISPERSION_CONSTANT = 4148.808

#: A number in the unit of its field's name, or a text that may have a unit of its own: 0.02, "20ms", "1.28MHz".
Quantity = Union[float, str]

_LARGEST = 2**63 - 1
_LARGEST_MHZ = 1e6
_IONOSPHERE_MHZ = 10  # below it nothing comes through
_UNITS = {"_mhz": "MHz", "_hz": "Hz", "_s": "s"}  # of fields, by the ends of their names
_WITH_UNIT = {"MHz": "1.4GHz", "Hz": "1.28MHz", "s": "20ms"}
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


def _unit_of(field: str) -> str:
    return next((unit for end, unit in _UNITS.items() if field.endswith(end)), "")


def _plain(value: Any, unit: str) -> Any:
    """A text without its unit; everything else as it is."""
    return _tautline.without_unit(value, unit) if unit and isinstance(value, str) else value


def _a_number(unit: str) -> str:
    return "a number" + (f", or a text with its unit, as {_WITH_UNIT[unit]}" if unit else "")


def number(value: Any, field: str) -> float:
    """A number, or the text of one with a unit where the field's name ends in one."""
    unit = _unit_of(field)
    try:
        return float(_plain(value, unit))
    except (TypeError, ValueError):
        raise refuse(field, repr(value), _a_number(unit)) from None


def numbers(values: Any, field: str, unit: str = "") -> list[float]:
    """One number or a one-dimensional sequence of them; also texts, with a unit, of a field that has one."""
    if unit and isinstance(values, (str, list, tuple)):
        values = [_plain(one, unit) for one in ([values] if isinstance(values, str) else values)]
    try:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise refuse(field, f"a {type(values).__name__}", "numbers") from None
    if array.ndim != 1:
        raise refuse(field, f"{array.ndim} axes", "one axis of numbers")
    return array.tolist()  # type: ignore[no-any-return]


def megahertz(values: Any) -> list[float]:
    """Frequencies of channels; those in Hz would be above any telescope's, and those in GHz below the ionosphere."""
    frequencies = numbers(values, "frequencies", "MHz")
    highest = max(frequencies, default=_IONOSPHERE_MHZ)
    if highest >= _LARGEST_MHZ:
        raise refuse("frequencies", f"{highest:g}", f"MHz, below {_LARGEST_MHZ:g}", "divide those in Hz by 1e6")
    if 0 < highest < _IONOSPHERE_MHZ and not _has_texts(values):
        limit = f"MHz, the highest {_IONOSPHERE_MHZ} or more"
        raise refuse("frequencies", f"{highest:g}", limit, "multiply those in GHz by 1000, or give texts as 1.4GHz")
    return frequencies


def _has_texts(values: Any) -> bool:
    """Whether somebody said the unit."""
    return isinstance(values, str) or (isinstance(values, (list, tuple)) and any(isinstance(one, str) for one in values))


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
    """A number above 0 as it is written: 0.1 is a tenth.  A text may have a unit where the field's name ends in one."""
    unit = _unit_of(field)
    try:
        exact = Fraction(str(float(value))) if isinstance(value, (float, np.floating)) else Fraction(_plain(value, unit))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise refuse(field, repr(value), _a_number(unit) + ", above 0") from None
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


def unknown(name: str, known: Iterable[str], where: str = "", others: Mapping[str, str] | None = None) -> ConfigError:
    """The error about an argument that is not one of `known`: it says the nearest of these, or all where none is near.

    `where`: what lists them, which the error names beside the nearest.  `others`: {name: the argument that it means}.
    """
    meant = {**(others or {}), **{one: one for one in known}}
    names = ", ".join(sorted(set(meant.values())))
    near = difflib.get_close_matches(name, sorted(meant), 1) or [one for one in meant if one.startswith(name)]
    if len(near) != 1:
        return refuse(name, "no argument of this call", f"one of {names}")
    limit = f"one that {where} lists" if where else f"one of {names}"
    return refuse(name, "no argument of this call", limit, f"did you mean {meant[near[0]]}")


class Fields:
    """The fields of one kind of run: keyword arguments by their names or, where that is one field's, the last part."""

    def __init__(self, of: str | list[tuple[Any, ...]], where: str = "") -> None:
        self._all: list[tuple[Any, ...]] = _tautline.fields(of) if isinstance(of, str) else of
        self._where = where or f"help(tautline.{of})"
        self._beside: list[str] = []  # arguments of the call that are no fields
        self._left_out: tuple[str, ...] = ()  # fields that these set
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
            options = {option.replace("-", "_"): argument for option, argument in self.options().items()}
            raise unknown(name, [*self.arguments(), *self._beside], self._where, options)
        return field

    def arguments(self) -> dict[str, str]:
        """{name of the argument: field}, the shorter name where a field has two."""
        short = {field: name for name, field in self._names.items() if "." not in name}
        all_ = {short.get(field, field.replace(".", "__")): field for field, *_ in self._all}
        return {name: field for name, field in all_.items() if name not in self._left_out}

    def options(self) -> dict[str, str]:
        """{option of the command that sets a field, without the dashes before it: argument}."""
        options = {field: option for field, *_, option, _ in self._all}
        return {one: argument for argument, field in self.arguments().items() for one in options[field].split(",")}

    def of_call(self, function: Callable[..., Any], left_out: tuple[str, ...] = ()) -> None:
        """Says which call has these fields, beside arguments that set some of them (`left_out`)."""
        kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._beside = [one.name for one in inspect.signature(function).parameters.values() if one.kind in kinds]
        self._left_out = left_out

    def document(self) -> str:
        """Of docstrings: every field with its unit, default and range."""
        defaults = {name: default for name, *_, default in self._all}
        return "\n".join(
            line for argument, name in self.arguments().items() for line in self._lines(argument, name, defaults[name])
        )

    def document_arguments(self, function: Callable[..., Any]) -> str:
        """The same of the arguments of a function or class that are fields, with the defaults that they have there."""
        lines = []
        for argument, parameter in inspect.signature(function).parameters.items():
            if argument in self._names:
                required = parameter.default is parameter.empty
                lines += self._lines(argument, self._names[argument], None if required else text(parameter.default))
        return "\n".join(lines)

    def _lines(self, argument: str, field: str, default: str | None) -> list[str]:
        _, unit, help_text, allowed, form, *_ = next(one for one in self._all if one[0] == field)
        facts = [help_text]
        if form or allowed:
            facts.append(form or allowed)
        if default is not None:
            facts.append(f"default {default}" if default else "default: none")
        return [f"    {argument}" + (f" [{unit}]" if unit else ""), "        " + "; ".join(facts) + "."]


def documented(fields: Fields, leave_out: tuple[str, ...] = ()) -> Callable[[_Function], _Function]:
    """Puts the descriptions of the fields into a docstring, for {fields}."""

    def decorate(function: _Function) -> _Function:
        fields.of_call(function, leave_out)
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("{fields}", fields.document().strip())
        return function

    return decorate


def documented_arguments(fields: Fields) -> Callable[[_Function], _Function]:
    """The same for a function or class with named arguments."""

    def decorate(function: _Function) -> _Function:
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("{fields}", fields.document_arguments(function).strip())
        return function

    return decorate
