"""A kept correlator: sums of products over an integration."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tautline, devices
from ..arguments import Fields, documented_arguments, whole
from .kept import KeptPlan

__all__ = ["Plan"]


@documented_arguments(Fields("stages.correlate"))
class Plan(KeptPlan):
    """Sums of x_i conj(x_j) over time, i >= j, baseline i (i + 1) / 2 + j.

    Parameters
    ----------
    {fields}
    dtype
        Of the samples: ci8 (int8 with a last axis of 2) or ci4 (uint8, re in the low half), whose sums are exact, ci16
        or cf32.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    """

    _plan: _tautline.CorrelatePlan

    def __init__(
        self, channels: int, inputs: int, *, dtype: str = "ci8", max_samples: int = 1 << 16, device: str = "auto"
    ) -> None:
        self.channels, self.inputs = whole(channels, "channels"), whole(inputs, "inputs")
        self.baselines = self.inputs * (self.inputs + 1) // 2
        self._plan = _tautline.CorrelatePlan(self.channels, self.inputs, dtype, whole(max_samples, "max_samples"), device)
        self._cuda: int = self._plan.cuda()
        self._unread: tuple[int | None, Any] | None = None

    def sums(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Zeros for execute: visibilities and counts."""
        exact = self._plan.exact()
        shape = (self.channels, self.baselines)
        data: npt.NDArray[Any] = np.zeros((*shape, 2), np.int64) if exact else np.zeros(shape, np.complex128)
        return data, np.zeros(shape, np.int64)

    def execute(self, samples: Any, out: Any, counts: Any = None) -> None:
        """Adds the products of [channel, input, time] to `out`, [channel, baseline], and times to `counts`; after begin(), overwrites.

        `out` is int64 with a last axis of 2 (re, im) for ci8 and ci4, else complex128; `counts` is int64, and may be left
        out.  Arrays of the plan's GPU (cupy, torch; zeros made there) stay there, and the work goes to their library's
        current stream.
        """
        if counts is None:
            counts = self._unread_counts(samples)
        stream = devices.stream_for({"samples": samples, "out": out, "counts": counts}, self._cuda)
        self._plan.execute(samples, out, counts, stream)

    def _unread_counts(self, samples: Any) -> Any:
        """An array that the stage adds to where the caller has none."""
        place, kept = devices.cuda_of(samples, "samples"), self._unread
        if kept is None or kept[0] != place:
            kept = place, devices.array_beside(samples, (self.channels, self.baselines), np.int64, "zeros")
            self._unread = kept
        return kept[1]

    def begin(self) -> None:
        """Begins an integration: the next execute overwrites `out` and `counts` instead of adding to them, and need not read
        them first.
        """
        self._plan.begin()
