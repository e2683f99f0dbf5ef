"""A kept dedispersion of one stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _tautline, devices
from ..arguments import (
    DISPERSION_CONSTANT,
    Fields,
    Quantity,
    documented_arguments,
    megahertz,
    number,
    numbers,
    whole,
)
from .kept import KeptPlan

__all__ = ["Plan"]


@documented_arguments(Fields("stages.dedisperse"))
class Plan(KeptPlan):
    """Sums along the delays of trials, and the times of one stream that later ones need.

    Parameters
    ----------
    frequencies
        In MHz, of each channel, in any order.
    {fields}
    dtype
        Of the samples: u8, i8, u16, i16 or f32.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    """

    _plan: _tautline.DedispersePlan

    def __init__(
        self,
        frequencies: Any,
        sample_time_s: Quantity,
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
            megahertz(frequencies), number(sample_time_s, "sample_time_s"), trials, dtype,
            whole(max_samples, "max_samples"), number(dm_constant, "dm_constant"), bool(zero_dm),
            whole(downsample, "downsample", 1), device,
        )  # fmt: skip
        self._cuda: int = self._plan.cuda()
        self.room: int = self._plan.room()
        self.max_delay: int = self._plan.max_delay()
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if self._plan.floats() else np.int32)

    def execute(self, samples: Any, out: Any = None) -> Any:
        """Takes [time, channel] and gives the times of all trials that are complete: [trial, time].

        `out` has room for `room` times, of type `dtype`, and the result is the part of it that was written.  Arrays of
        the plan's GPU (cupy, torch) stay there, and the work goes to their library's current stream.
        """
        if out is None:
            out = devices.array_beside(samples, (self.trials, self.room), self.dtype.type)
        return out[:, : self._execute(samples, out)]

    def _execute(self, samples: Any, out: Any) -> int:
        """How many times were written."""
        return self._plan.execute(samples, out, devices.stream_for({"samples": samples, "out": out}, self._cuda))
