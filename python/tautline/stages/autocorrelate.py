"""A kept autocorrelator of one stream of counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _tautline, devices
from ..arguments import Fields, documented_arguments, whole
from .kept import KeptPlan

__all__ = ["Plan", "Sums"]


class Sums(NamedTuple):
    """What a stream has come to so far."""

    lag_samples: npt.NDArray[np.uint64]  #: [lag]
    counts: npt.NDArray[np.int64]  #: [lag]: products in each sum whose windows both lie in the stream
    sums: npt.NDArray[Any]  #: [pair, lag] of products: int64, exact, or float64 of floats
    g: npt.NDArray[np.float64]  #: [pair, lag]: g2 - 1; NaN where it is undefined


@documented_arguments(Fields("stages.autocorrelate"))
class Plan(KeptPlan):
    """Correlation of counts over quasi-logarithmic lags, and the history and sums of one stream.

    Parameters
    ----------
    {fields}
    dtype
        Of the counts: u8, u16, u32, f32 or, on the host, f64.
    pairs
        (earlier, later) sensors; none: every sensor with itself.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    """

    _plan: _tautline.AutocorrelatePlan

    def __init__(
        self,
        sensors: int = 1,
        *,
        dtype: str = "u8",
        lag_scheme: str = "chain",
        bins: int = 32,
        levels: int = 10,
        coarsening: str = "sum",
        pairs: list[tuple[int, int]] | None = None,
        max_samples: int = 1 << 16,
        device: str = "auto",
    ) -> None:
        self._plan = _tautline.AutocorrelatePlan(
            whole(sensors, "sensors"), dtype, lag_scheme, whole(bins, "bins"), whole(levels, "levels"), coarsening,
            [(whole(a, "pairs"), whole(b, "pairs")) for a, b in pairs or []], whole(max_samples, "max_samples"), device,
        )  # fmt: skip
        self._cuda: int = self._plan.cuda()

    def execute(self, samples: Any) -> None:
        """Adds counts [time, sensor], of the host's memory or the plan's GPU's (cupy, torch), to the stream."""
        self._plan.execute(samples, devices.stream_for({"samples": samples}, self._cuda))

    def read(self, normalization: str = "symmetric") -> Sums:
        """The sums over all samples so far; the stream may go on. normalization: none, global or symmetric."""
        return Sums(*self._plan.read(normalization))

    @property
    def samples(self) -> int:
        """Times of the stream so far."""
        return self._plan.samples()
