"""Files of any format as arrays: header, frequencies, and any range of times."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arguments import file_paths, text, unknown, whole
from .arrays import is_file
from .errors import UnsupportedError, refuse, warn, wrong_kind

_VOLTAGE_OPTIONS = ("format", "rate_hz", "centre_hz", "bandwidth_hz", "antennas", "polarisations", "utc_start", "threads_are")


RESULTS = ("visibilities", "curves", "candidates")  # what tautline.load reads
_PHOTON = np.dtype(
    {"names": ["time", "channel", "microtime"], "formats": ["u8", "u2", "u2"], "offsets": [0, 8, 10], "itemsize": 16}
)


class File:
    """An opened file; its first axis of reading is time.

    Attributes
    ----------
    kind : str
        filterbank, series, voltages, counts or photons.
    paths : list of str
    header : dict
        What the file says, by name with its unit.
    shape : tuple of int
        Of the whole: [time, channel], of series [time, trial], of counts [time, sensor], of voltages [channel, input,
        time], of photons [photon].
    frequencies : float64 [channel] or None
        Centres of a filterbank's channels in MHz, in the file's order; of channelized voltages in Hz.
    dms : float64 [trial] or None
        Of dedispersed series, in pc cm^-3.

    numpy.asarray of it is the whole, as [:] gives it.  Several threads may read one; each call is whole.  After a fork,
    open the file again; one that is pickled is opened anew where it is unpickled.
    """

    def __init__(self, kind: str, paths: list[str], reader: Any, options: dict[str, Any] | None = None) -> None:
        self.kind = kind
        self.paths = paths
        self._reader = reader
        self._options = options or {}
        self._process = os.getpid()
        self.header: dict[str, Any] = reader.header()
        self.shape: tuple[int, ...] = tuple(reader.shape())
        self.frequencies: npt.NDArray[np.float64] | None = None
        self.dms: npt.NDArray[np.float64] | None = None
        if kind == "filterbank":
            self.frequencies = reader.frequencies()
        elif kind == "series":
            self.dms = np.array(self.header["dms"])
        elif kind == "voltages" and self.header["channels"] > 1:
            n = self.header["channels"]
            step = self.header["bandwidth_hz"] / n
            self.frequencies = self.header["centre_hz"] + (np.arange(n) - (n - 1) / 2) * step

    @property
    def samples(self) -> int:
        """Times in the whole."""
        return self.shape[-1] if self.kind == "voltages" else self.shape[0]

    def __len__(self) -> int:
        return self.samples

    def read(self, start: SupportsIndex = 0, count: SupportsIndex | None = None) -> npt.NDArray[Any]:
        """`count` times from `start` on, or all that follow; fewer at the end.

        Voltages are [input, time] (of channelized ones [channel, input, time]): complex64, int8 or int16 with a last
        axis of 2 (re, im), or real numbers; what was lost is zero.  Filterbanks are [time, channel] of uint8, uint16
        or float32, series [time, trial] of float32, counts [time, sensor].  Photons are a structured array: time and microtime in units of the header's
        time_unit_s and microtime_unit_s, and channel, the detector.
        """
        first = whole(start, "start")
        left = max(0, self.samples - first)
        taken = left if count is None else min(whole(count, "count"), left)
        if os.getpid() != self._process:
            error = UnsupportedError(f"{self.paths[0]}: opened before a fork, expected a file of this process; open it again")
            error.field, error.limit = self.paths[0], "a file of this process"
            raise error
        block: npt.NDArray[Any] = self._reader.read(min(first, self.samples), taken)
        if self.kind == "photons":
            return block.view(_PHOTON)
        if self.kind == "voltages" and self.header["channels"] == 1:
            block = block[0]
        return block

    def blocks(self, count: int = 1 << 16) -> Iterator[npt.NDArray[Any]]:
        """The whole, `count` times at once; the last block may be shorter."""
        count = whole(count, "count", 1)
        for start in range(0, self.samples, count):
            yield self.read(start, count)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return self.blocks()

    def __getitem__(self, times: slice | int) -> npt.NDArray[Any]:
        """Times as a slice [a:b] or [a:b:step], or one."""
        axis = 0
        if self.kind == "voltages":
            axis = 0 if self.header["channels"] == 1 else 1
            axis += 1
        if not isinstance(times, slice):
            at = int(times) + (self.samples if times < 0 else 0)
            if not 0 <= at < self.samples:
                raise IndexError(f"time {times} of {self.samples}")
            one: npt.NDArray[Any] = np.take(self.read(at, 1), 0, axis=axis)
            return one
        start, stop, step = times.indices(self.samples)
        if step < 0:
            raise refuse("slice", f"a step of {step}", "a step above 0")
        block = self.read(start, max(0, stop - start))
        return block if step == 1 else block[(slice(None),) * axis + (slice(None, None, step),)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The whole, as [:] gives it."""
        if copy is False:
            raise ValueError("a file cannot become an array without a copy: its samples are read")
        whole_file = self.read()
        return whole_file if dtype is None else whole_file.astype(dtype, copy=False)

    def __reduce__(self) -> Any:  # another process opens the file itself
        return functools.partial(open, self.paths, **self._options), ()

    def __repr__(self) -> str:
        return f"<tautline.File: {self.header['format']} {self.kind}, {self.shape}, {self.paths[0]}>"


def open(files: Any, **options: Any) -> File:  # noqa: A001
    """Opens a file of a filterbank, series, voltages, counts or photon time tags, told by its first bytes and its name.

    Files of results (visibilities, curves, candidates) are read by tautline.load.

    Parameters
    ----------
    files
        A path; of filterbanks also several, which are ordered by their start; of series also one file for each trial, or
        their folder.
    options
        What files of voltages do not say themselves: rate_hz, centre_hz, bandwidth_hz, antennas, polarisations, format,
        utc_start, threads_are.  An array (.npy) is of voltages where rate_hz is given or the .json of `channelize` lies
        beside it, and where it has complex numbers or four axes; else it is of counts.

    Returns
    -------
    File

    Raises
    ------
    FormatError, InputOutputError

    Warns
    -----
    DataWarning
        The file is damaged; header["damage"] has the texts, too.
    """
    names = file_paths(files)
    if not names:
        raise refuse("files", "none", "one file or more")
    for name in options:
        if name not in _VOLTAGE_OPTIONS:
            raise unknown(name, _VOLTAGE_OPTIONS)
    kind = _tautline.kind_of(names[0], options.get("rate_hz") is not None)
    if kind != "voltages" and options:
        raise refuse(next(iter(options)), f"given for {names[0]}", "only for files of voltages", "leave it out")
    file = _opened(kind, names, {name: text(value) for name, value in options.items() if value is not None})
    warn(file.header["damage"])
    return file


def opened_as(x: Any, field: str, kind: str) -> File:
    """A file of `kind`, by its path or opened."""
    file = x if isinstance(x, File) else open(x)
    if file.kind != kind:
        advice = "tautline.open(path, rate_hz=...) opens voltages" if kind == "voltages" and file.kind == "counts" else ""
        raise refuse(field, f"{file.paths[0]}, a file of {file.kind}", f"one of {kind}, or an array", advice)
    return file


def contents(x: Any, field: str, kind: str) -> Any:
    """What a file of `kind` holds; anything else as it is."""
    return opened_as(x, field, kind).read() if is_file(x) else x


def _opened(kind: str, names: list[str], options: dict[str, str]) -> File:
    if kind == "filterbank":
        bank = _tautline.FilterbankFile(names)
        return File("series" if bank.header()["dms"] else kind, names, bank)
    if kind in RESULTS:
        found = f"{kind}, which are results"
        raise wrong_kind(names[0], found, "a filterbank, series, voltages, counts or photons", "tautline.load reads them")
    if len(names) != 1:
        raise refuse("files", f"{len(names)} of {kind}", "one", "open them one by one, or give them to correlate")
    if kind == "photons":
        return File(kind, names, _tautline.PhotonFile(names[0]))
    if kind == "counts":
        return File(kind, names, _tautline.CountFile(names[0]))
    return File(kind, names, _tautline.VoltageFile(names[0], options), options)
