"""Counts of photons to correlation curves."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arguments import Fields, Quantity, documented, file_paths, history, number
from .arrays import dense_rows, host_array, is_array, native, require_axes, require_type
from .correlation import Progress
from .devices import behind_its_stream, place_of, unread_by_host
from .errors import refuse, warn

_FIELDS = Fields("autocorrelate")
_BY_HOST = ("sensors.bin_sensors",)
_TYPES = ("uint8", "uint16", "uint32", "float32")


class Curves:
    """What `autocorrelate` gives: G = g2 - 1 at quasi-logarithmic lags.

    Attributes
    ----------
    lag_s : float64 [lag]
    g : float64 [curve, lag]
        Without the axis of curves where the counts had none of sensors.  NaN where it is undefined.
    standard_error : float64 [curve, lag]
        Of g, from the scatter of the segments; NaN where a lag is longer than a segment.
    sums : int64 or float64 [curve, lag]
        Of products, before normalisation; NaN of a file without them.
    counts : int64 [lag]
        Products in each sum; empty of such a file.
    rates_hz : float64 [curve]
        Counts a second of the first signal.
    labels : list of (str, str)
        Of both signals of each curve.
    bin_s, duration_s : float
    facts : dict
        Kernels, samples, and everything that was counted; warnings, the texts of all that were given.  Of a file that
        tautline.load read: what it says of itself.
    """

    def __init__(self, kept: Any, facts: dict[str, Any], one: bool) -> None:
        def shaped(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return array[0] if one else array

        self._kept = kept
        self.lag_s: npt.NDArray[np.float64] = kept.lag_s()
        self.lag_samples: npt.NDArray[np.uint64] = kept.lag_samples()
        self.counts: npt.NDArray[np.int64] = kept.counts()
        self.g: npt.NDArray[np.float64] = shaped(kept.g())
        self.standard_error: npt.NDArray[np.float64] = shaped(kept.standard_error())
        self.sums: npt.NDArray[Any] = shaped(kept.sums())
        self.rates_hz: npt.NDArray[np.float64] = kept.rates_hz()
        self.labels: list[tuple[str, str]] = kept.labels()
        self.bin_s: float = kept.bin_s()
        self.duration_s: float = kept.duration_s()
        self.facts = facts

    def write(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes .csv (one curve, as PyCorrFit reads it), .table.csv (with a heading), .zip of CSVs, or .h5."""
        self._kept.write(os.fspath(path), history("autocorrelate"), bool(overwrite))

    def __repr__(self) -> str:
        curves = 1 if self.g.ndim == 1 else len(self.g)
        return f"<tautline.Curves: {curves} of {len(self.lag_s)} lags, {self.duration_s:g} s in bins of {self.bin_s:g} s>"


@documented(_FIELDS, ("dtype", "header_bytes", "save_state", "resume", "every_s", "window_s"))
def autocorrelate(
    counts: Any = None,
    *,
    tags: Any = None,
    tick_s: Quantity | None = None,
    bin_s: Quantity | None = None,
    device: str = "auto",
    progress: Progress | None = None,
    **fields: Any,
) -> Curves:
    """Counts to correlation curves with standard errors; what the command `tautline autocorrelate` does.

    Parameters
    ----------
    counts
        A file of counts or time tags, what tautline.open gave of it, or an array [time] or [time, sensor]: uint8,
        uint16, uint32 or float32.  Other integers, and float64, are converted where no count is changed by that beyond
        float32's precision.  An array must not change while this runs.  An array of a GPU (cupy, torch, jax), of the
        first types, stays there; stops are data (`keep_constant`), and floats are not looked at.
    tags
        Instead of counts, photons: an array of arrival times, or one for each detector, whole numbers of `tick_s`,
        ascending, 0 or more.  A clock that had run for 24 times the rest by the first photon (of 100 or more) began
        before the measurement, which is then taken from that photon on, with a warning.  Of two arrays (t1, t2) the
        curve is that of both, a positive lag where t2 comes later, unless `pairs` asks for others.  Rare photons are
        taken one by one (`tag_method`), with the same sums.
    tick_s
        Seconds of a tick of `tags`, or a text as "1ns".
    bin_s
        Seconds of a bin, or a text as "1us"; needed for arrays of counts.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    progress
        Called now and then with the times done and those there are.

    Fields of the run, all optional:

    {fields}

    Returns
    -------
    Curves

    Raises
    ------
    ConfigError
        Counts below zero, not finite, or larger than 32 bits; a field that is not allowed.

    Warns
    -----
    DataWarning
        Something is wrong with the data.
    """
    samples: Any = None
    name, one, ticks, stream = "", False, list[npt.NDArray[np.uint64]](), 0
    doubts: list[str] = []
    if tags is not None:
        if counts is not None:
            raise refuse("counts", "given beside tags", "one of them", "leave one out")
        if tick_s is None:
            raise refuse("tick_s", "none", "the unit of the tags in seconds")
        ticks = _ticks(tags)
        one = len(ticks) == 1 or (len(ticks) == 2 and fields.get("pairs") is None)
        if len(ticks) == 2 and one:
            fields = {**fields, "pairs": "0,1"}
    elif tick_s is not None:
        raise refuse("tick_s", "given without tags", "tags", "leave it out")
    elif counts is None:
        raise refuse("counts", "none", "a file, an array, or tags")
    elif is_array(counts):
        here = place_of(counts, "counts", device)
        samples = counted(counts, "counts") if here is None else _on_device(counts)
        if bin_s is None:
            raise refuse("bin_s", "none", "the length of a bin in seconds, which an array does not say")
        if 0 in samples.shape:
            raise refuse("counts", f"shape {tuple(samples.shape)}", "at least one count")
        if samples.ndim == 2 and samples.shape[1] > samples.shape[0]:
            times, sensors = samples.shape
            taken = f"taken for [time][sensor], {times} x {sensors}"
            doubts = [f"`counts`: {taken}; an array of [sensor][time] has to be transposed, x.T"]
        one = samples.ndim == 1
        samples = samples[:, None] if one else samples
        if here is None:
            samples = dense_rows(samples)
        else:
            device, fields = here, unread_by_host(here, _FIELDS, fields, _BY_HOST)
            samples, stream = behind_its_stream(samples, "counts", here)
    else:
        names = file_paths(counts)
        if len(names) != 1:
            raise refuse("counts", f"{len(names)} files", "one")
        name = names[0]
    kept, said = _tautline.autocorrelate(
        name,
        samples,
        ticks,
        0.0 if tick_s is None else _length(tick_s, "tick_s"),
        _FIELDS.texts({"bin_s": bin_s, **fields}),
        history("autocorrelate"),
        device,
        stream,
        progress,
    )
    said["warnings"] = doubts + said["warnings"]
    warn(said["warnings"])
    return Curves(kept, said, one)


def _length(value: Any, field: str) -> float:
    seconds = number(value, field)
    if not 0 < seconds < np.inf:
        raise refuse(field, value, "seconds, above 0")
    return seconds


def _ticks(tags: Any) -> list[npt.NDArray[np.uint64]]:
    """One array or several, each of ascending whole numbers."""
    several = isinstance(tags, (list, tuple)) and not all(np.ndim(one) == 0 for one in tags)
    arrays = [native(host_array(one, "tags")) for one in (tags if several else [tags])]
    if len(arrays) > 63:
        raise refuse("tags", f"{len(arrays)} detectors", "63 or fewer")
    found = []
    for array in arrays:
        require_axes(array, "tags", (1,), "one axis, of photons")
        if array.dtype.kind not in "iu" and array.size:
            raise refuse("tags", array.dtype.name, "whole numbers of tick_s", "round times / tick_s, use astype")
        if array.size and int(array[0]) < 0:
            raise refuse("tags", int(array[0]), "times from the start on, 0 or more")
        if array.dtype == np.int64:  # without a copy; times below 0 become the largest
            times = np.ascontiguousarray(array).view(np.uint64)
        else:
            times = np.ascontiguousarray(array, dtype=np.uint64)
        if (array.size and int(array[-1]) < 0) or not _tautline.ascending(times):
            raise refuse("tags", "times that go back", "ascending ones", "sort them")
        found.append(times)
    return found


def _on_device(counts: Any) -> Any:
    """An array of a GPU that has counts."""
    require_axes(counts, "counts", (1, 2), "[time] or [time][sensor]")
    require_type(counts, "counts", _TYPES)
    return counts


def counted(x: Any, field: str) -> npt.NDArray[Any]:
    """[time] or [time, sensor] of uint8, uint16, uint32 or float32."""
    counts = native(host_array(x, field, "autocorrelate"))
    require_axes(counts, field, (1, 2), "[time] or [time][sensor]")
    if counts.dtype.name in _TYPES:
        return counts
    if counts.dtype.kind == "f":
        return counts.astype(np.float32)
    if counts.dtype.kind not in "iub":
        raise refuse(field, counts.dtype.name, "counts: integers or floats")
    if counts.size == 0:
        return counts.astype(np.uint8)
    low, high = int(counts.min()), int(counts.max())
    if low < 0:
        raise refuse(field, low, "counts, 0 or more")
    for small in (np.uint8, np.uint16, np.uint32):
        if high <= np.iinfo(small).max:
            return counts.astype(small)
    raise refuse(field, high, "counts of at most 32 bits")
