"""Figures of dedispersed series."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arguments import Quantity, number, numbers, whole
from ..arrays import host_array, is_array, native, require_axes
from ..errors import refuse
from ..opening import File
from ..opening import open as open_file
from .figures import colour_bar, panels, shades, start
from .filterbanks import deviations, piece_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_VALUES_AT_ONCE = 1 << 23
_MISSING = {"i": 2.0**30, "f": 1e30}  # values from there on stand for none, by the kind of type


class _Series:
    """[trial, time] of a file or an array."""

    def __init__(self, x: Any, dms: Any, sample_time_s: Any) -> None:
        self._file: File | None = None
        if is_array(x):
            array = native(host_array(x, "x"))
            require_axes(array, "x", (1, 2), "[time] or [trial][time]")
            self._array = np.atleast_2d(array)
            if sample_time_s is None:
                raise refuse("sample_time_s", "none", "that of the array in s")
            self.sample_time_s = number(sample_time_s, "sample_time_s")
            trials, self.samples = self._array.shape
            self.dms = np.array(numbers(range(trials) if dms is None else dms, "dms"))
            if self.dms.size != trials:
                raise refuse("dms", f"{self.dms.size} of them", f"{trials}, one for each trial")
            return
        if dms is not None or sample_time_s is not None:
            raise refuse("dms and sample_time_s", "given for a file", "an array: files say it", "leave them out")
        file = x if isinstance(x, File) else open_file(x)
        if file.dms is None:
            raise refuse("x", f"a file of {file.kind}", "dedispersed series")
        self._file, self.dms, self.samples = file, file.dms, file.samples
        self.sample_time_s = float(file.header["sample_time_s"])

    def read(self, first: int, count: int) -> npt.NDArray[np.float64]:
        """Some times of all trials, NaN where nothing is known."""
        part = self._array[:, first : first + count] if self._file is None else self._file.read(first, count).T
        values = part.astype(np.float64)
        values[~(np.abs(values) < _MISSING.get(part.dtype.kind, np.inf))] = np.nan
        return values


def series(
    x: Any,
    dms: Any = None,
    *,
    sample_time_s: Quantity | None = None,
    start_s: Quantity = 0.0,
    duration_s: Quantity | None = None,
    most_times: int = 1000,
    figure: Figure | None = None,
) -> Figure:
    """Dedispersed series against time: all trials, and the one with the largest deviation.

    Parameters
    ----------
    x
        Series: a file or several (.npy with its .json, .dat, .tim) or their folder, what tautline.open gave of them, or
        what tautline.dedisperse gave, [trial, time] or [time].
    dms
        Of an array: the dispersion measure of each trial, pc cm^-3; their numbers by default.
    sample_time_s
        Of an array.
    start_s, duration_s
        The part to draw; all by default.
    most_times
        Cells of the picture; more samples are averaged, and what is left over at the end is not drawn.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of two panels, dispersion measure against time above the level of one trial, its mean and largest sample in each
        cell; of one trial without the upper panel.
    """
    source = _Series(x, dms, sample_time_s)
    first, count = piece_of(source.samples, source.sample_time_s, start_s, duration_s)
    times = -(-count // whole(most_times, "most_times", 1))
    cells = count // times
    mean, high = np.empty((2, source.dms.size, cells))
    at_once = max(1, _VALUES_AT_ONCE // (times * source.dms.size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # cells without a sample
        for cell in range(0, cells, at_once):
            some = min(at_once, cells - cell)
            part = source.read(first + cell * times, some * times).reshape(source.dms.size, some, times)
            mean[:, cell : cell + some], high[:, cell : cell + some] = np.nanmean(part, axis=2), np.nanmax(part, axis=2)
        found = deviations(mean, axis=1)
    peaks = np.where(np.isfinite(found), found, -np.inf).max(axis=1)
    best = int(np.argmax(peaks))

    step = times * source.sample_time_s
    edges = first * source.sample_time_s + np.arange(cells + 1) * step
    figure = start(figure, 8, 5.5 if source.dms.size > 1 else 3.5)
    *upper, level = panels(figure, [1.6, 1] if source.dms.size > 1 else [1])
    if upper:
        order = np.argsort(source.dms)
        shown = upper[0].pcolormesh(
            edges, _edges(source.dms[order]), found[order], rasterized=True, **shades(found, 99.99)
        )
        are_dms = dms is not None or not is_array(x)
        if are_dms and source.dms.min() >= 0:  # half of the row of DM 0 is cut off
            upper[0].set_ylim(bottom=max(0.0, upper[0].get_ylim()[0]))
        upper[0].axhline(source.dms[best], color="white", linewidth=0.6, linestyle="--")
        upper[0].set_ylabel("DM (pc cm$^{-3}$)" if are_dms else "trial")
        colour_bar(figure, shown, upper[0], "deviations from the trial's median")
    middles = edges[:-1] + step / 2
    level.plot(middles, mean[best], linewidth=0.8, label="mean" if times > 1 else None)
    if times > 1:
        level.plot(middles, high[best], linewidth=0.6, label="largest")
        level.legend(fontsize="small")
    level.set(xlabel="time (s)", ylabel="level (units of x)", xlim=(edges[0], edges[-1]))
    level.set_title(f"DM {source.dms[best]:g} pc cm$^{{-3}}$" if dms is not None or not is_array(x) else f"trial {best}", fontsize="medium")
    return figure


def _edges(centres: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of cells around ascending centres, half-way between them."""
    between = (centres[:-1] + centres[1:]) / 2
    return np.concatenate([[2 * centres[0] - between[0]], between, [2 * centres[-1] - between[-1]]])
