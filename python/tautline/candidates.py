"""Pulses that were found."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class Candidates(np.ndarray[Any, np.dtype[np.void]]):
    """What `search` and `detect` give: a structured array, best first, with what the run says of itself.

    Attributes
    ----------
    facts : dict
        Kernels, samples, trials, and everything that was counted; warnings, the texts of all that were given.  Of pulses that `inject` put in: injected, how many;
        recalled, how many of these a candidate is of; snr_ratio, the mean of the candidates' S/N over the pulses' own;
        clipped, samples at the largest value where pulses were put in.
    """

    facts: dict[str, Any]

    def __array_finalize__(self, made_of: Any) -> None:
        self.facts = getattr(made_of, "facts", {})

    def __reduce__(self) -> Any:
        make, arguments, array = super().__reduce__()  # type: ignore[misc]
        return make, arguments, (array, self.facts)

    def __setstate__(self, state: Any) -> None:
        array, self.facts = state
        super().__setstate__(array)

    def __getitem__(self, key: Any) -> Any:
        part = super().__getitem__(key)
        # A column is numbers alone.
        return part.view(np.ndarray) if isinstance(part, Candidates) and part.dtype.names is None else part


def candidates_of(columns: dict[str, npt.NDArray[Any]], facts: dict[str, Any]) -> Candidates:
    """The array of what the library gives: {name: column}, facts."""
    kinds = [(name, column.dtype) for name, column in columns.items()]
    found = np.empty(len(columns["dm"]), dtype=kinds).view(Candidates)
    for name, column in columns.items():
        found[name] = column
    found.facts = facts
    return found
