"""A kept polyphase filter bank."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _tautline, devices
from ..arguments import Fields, documented_arguments, number, whole
from .kept import KeptPlan

__all__ = ["Plan"]


@documented_arguments(Fields("stages.channelize"))
class Plan(KeptPlan):
    """A filter bank and the history of one stream. Several threads may call it, one after the other.

    Parameters
    ----------
    {fields}
    dtype
        Of the samples: cf32, f32, ci8, ci16 (int8 and int16 with a last axis of 2), i8 or i16.
    corner_turned, device
        As tautline.channelize has them.
    """

    _plan: _tautline.ChannelizePlan

    def __init__(
        self,
        channels: int,
        inputs: int = 1,
        *,
        dtype: str = "cf32",
        max_samples: int = 1 << 20,
        taps: int = 8,
        window: str = "hann",
        cutoff: float = 1.0,
        corner_turned: bool = False,
        lower_sideband: bool = False,
        device: str = "auto",
    ) -> None:
        self.channels, self.inputs, self.corner_turned = whole(channels, "channels"), whole(inputs, "inputs"), bool(corner_turned)
        self._plan = _tautline.ChannelizePlan(
            self.inputs, self.channels, dtype, whole(max_samples, "max_samples"), whole(taps, "taps"), window,
            number(cutoff, "cutoff"), self.corner_turned, bool(lower_sideband), device,
        )  # fmt: skip
        self._cuda: int = self._plan.cuda()
        self._turn = threading.Lock()

    def spectra(self, count: int) -> int:
        """Spectra that the next execute of so many samples gives."""
        return self._plan.spectra(whole(count, "count"))

    def execute(self, samples: Any, out: Any = None) -> Any:
        """Takes [input, time] and gives the spectra that are complete: [input, spectrum, channel].

        `out` is complex64 with room for them or more, and the result is the part of it that was written; with
        corner_turned its axes are [channel, input, spectrum]. Its last axis, and that of the samples, is dense.
        Arrays of the plan's GPU (cupy, torch) stay there, and the work goes to their library's current stream.
        """
        made, written = self._execute(samples, out)
        return made[..., :written] if self.corner_turned else made[:, :written]

    def _execute(self, samples: Any, out: Any) -> tuple[Any, int]:
        """`out`, or a new array that is filled, and how many spectra it has."""
        with self._turn:  # no other thread's samples between the size of the result and its spectra
            if out is None:
                count = self._plan.spectra(samples.shape[1] if getattr(samples, "ndim", 0) > 1 else 0)
                out = devices.array_beside(samples, self._shape(count), np.complex64)
            stream = devices.stream_for({"samples": samples, "out": out}, self._cuda)
            return out, self._plan.execute(samples, out, stream)

    def _shape(self, spectra: int) -> tuple[int, int, int]:
        return (self.channels, self.inputs, spectra) if self.corner_turned else (self.inputs, spectra, self.channels)
