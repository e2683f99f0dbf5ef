"""A kept dedispersion of one stream."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tautline
from ..arguments import number, numbers, whole
from ..pulses import DISPERSION_CONSTANT

__all__ = ["Plan"]


class Plan:
    """Sums along the delays of trials, and the times of one stream that later ones need.

    Parameters
    ----------
    frequencies, sample_time_s, dms, dm_constant, zero_dm, downsample, device
        As tautline.dedisperse has them.
    dtype
        Of the samples: u8, i8, u16, i16 or f32.
    max_samples
        Most times that one execute is given.
    """

    def __init__(
        self,
        frequencies: Any,
        sample_time_s: float,
        dms: Any,
        *,
        dtype: str = "u8",
        max_samples: int = 1 << 14,
        dm_constant: float = DISPERSION_CONSTANT,
        zero_dm: bool = False,
        downsample: int = 1,
        device: str = "auto",
    ) -> None:
        trials = numbers(dms, "dms")
        self.trials = len(trials)
        self._plan = _tautline.DedispersePlan(
            numbers(frequencies, "frequencies"), number(sample_time_s, "sample_time_s"), trials, dtype,
            whole(max_samples, "max_samples"), number(dm_constant, "dm_constant"), bool(zero_dm),
            whole(downsample, "downsample", 1), device,
        )  # fmt: skip
        self.room: int = self._plan.room()
        self.max_delay: int = self._plan.max_delay()
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if self._plan.floats() else np.int32)

    def execute(self, samples: npt.NDArray[Any], out: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
        """Takes [time, channel] and gives the times of all trials that are complete: [trial, time].

        `out` has room for `room` times, of type `dtype`, and the result is the part of it that was written.
        """
        if out is None:
            out = np.empty((self.trials, self.room), self.dtype)
        written = self._plan.execute(samples, out)
        return out[:, :written]

    def reset(self) -> None:
        """The next time starts a stream."""
        self._plan.reset()

    @property
    def backend(self) -> str:
        """The kernels that run."""
        return self._plan.backend()  # type: ignore[no-any-return]
