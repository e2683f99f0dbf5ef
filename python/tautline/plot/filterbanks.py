"""Filterbanks as they are drawn: any piece of a file or an array, dedispersed and averaged while it is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import Quantity, megahertz, number
from ..arrays import host_array, is_array, native, require_axes
from ..errors import refuse
from ..opening import File
from ..opening import open as open_file
from ..arguments import DISPERSION_CONSTANT

_VALUES_AT_ONCE = 1 << 23


class Filterbank:
    """[time, channel] of a file or an array."""

    def __init__(self, x: Any, frequencies: Any, sample_time_s: Any) -> None:
        if is_array(x):
            if frequencies is None or sample_time_s is None:
                raise refuse("frequencies and sample_time_s", "not both given", "those of the array, in MHz and s")
            self._array: npt.NDArray[Any] | None = native(host_array(x, "x"))
            require_axes(self._array, "x", (2,), "[time][channel]")
            self.mhz = np.array(megahertz(frequencies))
            self.sample_time_s = number(sample_time_s, "sample_time_s")
            self.samples, channels = self._array.shape
            if channels != self.mhz.size:
                raise refuse("frequencies", f"{self.mhz.size}", f"one for each of the {channels} channels of x")
            return
        self._file = x if isinstance(x, File) else open_file(x)
        if self._file.kind != "filterbank" or self._file.frequencies is None:
            advice = "give it to tautline.plot.series" if self._file.kind == "series" else ""
            raise refuse("x", f"a file of {self._file.kind}", "a filterbank", advice)
        self._array = None
        self.mhz = self._file.frequencies
        self.sample_time_s = float(self._file.header["sample_time_s"])
        self.samples = self._file.samples

    def read(self, first: int, count: int) -> npt.NDArray[Any]:
        first, end = max(0, first), max(0, min(self.samples, first + count))
        if self._array is not None:
            return self._array[first:end]
        return self._file.read(first, max(0, end - first))

    def delays(self, dm: float) -> npt.NDArray[np.int64]:
        """Of each channel against the highest one, in samples."""
        late = DISPERSION_CONSTANT * dm * (self.mhz**-2.0 - self.mhz.max() ** -2.0) / self.sample_time_s
        rounded: npt.NDArray[np.int64] = np.round(late).astype(np.int64)
        return rounded

    def piece(self, start_s: Quantity, duration_s: Quantity | None) -> tuple[int, int]:
        """First sample and number of samples."""
        return piece_of(self.samples, self.sample_time_s, start_s, duration_s)

    def averaged(self, first: int, count: int, dm: float, times: int, channels: int) -> npt.NDArray[np.float64]:
        """Means over `times` samples and `channels` channels, [time, channel]; NaN where a dispersed channel is beyond the end."""
        late = self.delays(dm)
        rows = max(1, count // times)
        at_once = max(1, _VALUES_AT_ONCE // (times * self.mhz.size))
        kept = self.mhz.size // channels
        out = np.empty((rows, kept))
        for row in range(0, rows, at_once):
            some = min(at_once, rows - row)
            length = min(some * times, count)
            here = np.full((length, self.mhz.size), np.nan)
            samples = self.read(first + row * times, length + int(late.max()))
            for channel, delay in enumerate(late):
                part = samples[delay : delay + length, channel]
                here[: len(part), channel] = part
            here = here[: some * times, : kept * channels]
            out[row : row + some] = here.reshape(some, -1, kept, channels).mean(axis=(1, 3))
        return out

    def edges_mhz(self, channels: int) -> tuple[float, float]:
        """The outer edges of the first and the last of so many averaged channels."""
        kept = self.mhz.size // channels * channels
        step = (self.mhz[-1] - self.mhz[0]) / (self.mhz.size - 1) if self.mhz.size > 1 else 1.0
        return float(self.mhz[0] - step / 2), float(self.mhz[kept - 1] + step / 2)


def piece_of(samples: int, sample_time_s: float, start_s: Quantity, duration_s: Quantity | None) -> tuple[int, int]:
    """First sample and number of samples of a part."""
    first = round(number(start_s, "start_s") / sample_time_s)
    if not 0 <= first < samples:
        raise refuse("start_s", start_s, f"a time from 0 to below {samples * sample_time_s:g} s")
    left = samples - first
    if duration_s is None:
        return first, left
    return first, min(left, max(1, round(number(duration_s, "duration_s") / sample_time_s)))


def deviations(x: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
    """x less its median along an axis, over 1.4826 times its median absolute deviation."""
    with np.errstate(invalid="ignore", divide="ignore"):
        x = x - np.nanmedian(x, axis=axis, keepdims=True)
        spread = 1.4826 * np.nanmedian(np.abs(x), axis=axis, keepdims=True)
        return np.where(spread > 0, x / spread, 0.0 * x)
