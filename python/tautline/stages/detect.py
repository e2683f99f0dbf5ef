"""A kept search of dedispersed series for pulses."""

from __future__ import annotations

from typing import Any

from .. import _tautline, devices
from ..arguments import Fields, Quantity, documented_arguments, number, numbers, whole
from ..candidates import Candidates, candidates_of
from ..errors import refuse
from .kept import KeptPlan

__all__ = ["Plan"]

_FIELDS = Fields("stages.detect")


@documented_arguments(_FIELDS)
class Plan(KeptPlan):
    """Running mean, noise, boxcars, threshold, groups; and the samples and open groups of one stream.

    Parameters
    ----------
    dms
        Of the trials, in pc cm^-3, for the column `dm`; without them that is NaN.  Trials are in ascending order of DM.
    {fields}
    dtype
        Of the series: i32 or f32.
    device
        auto, cpu, reference, cuda:N or opencl:N.
    """

    _plan: _tautline.DetectPlan

    def __init__(
        self,
        trials: int,
        dms: Any = None,
        *,
        sample_time_s: Quantity,
        threshold: float = 6,
        max_width_s: Quantity = 0.1,
        baseline_s: Quantity = 0,
        noise: str = "trial",
        noise_s: Quantity = 0,
        time_samples: int = 3,
        dm_trials: int = 8,
        width_octaves: int = 3,
        dtype: str = "i32",
        max_samples: int = 1 << 16,
        device: str = "auto",
    ) -> None:
        count = whole(trials, "trials")
        of_trials = [float("nan")] * count if dms is None else numbers(dms, "dms")
        if len(of_trials) != count:
            raise refuse("dms", f"{len(of_trials)} of them", f"{count}, one for each trial")
        if dtype not in ("i32", "f32"):
            raise refuse("dtype", dtype, "i32 or f32")
        options = _FIELDS.texts({
            "trials": count,
            "type": dtype,
            "sample_time_s": number(sample_time_s, "sample_time_s"),
            "threshold": number(threshold, "threshold"),
            "max_width_s": number(max_width_s, "max_width_s"),
            "baseline_s": number(baseline_s, "baseline_s"),
            "noise": noise,
            "noise_s": number(noise_s, "noise_s"),
            "time_samples": whole(time_samples, "time_samples"),
            "dm_trials": whole(dm_trials, "dm_trials"),
            "width_octaves": whole(width_octaves, "width_octaves"),
            "max_samples": whole(max_samples, "max_samples"),
        })  # fmt: skip
        self._plan = _tautline.DetectPlan(options, of_trials, device)
        self._cuda: int = self._plan.cuda()
        self.latency_samples: int = self._plan.latency_samples()

    def execute(self, series: Any) -> None:
        """Searches the next times of [trial, time].

        A series of the plan's GPU (cupy, torch) is read there, on its library's current stream; the call waits for the
        step of the search before.
        """
        self._plan.execute(series, devices.stream_for({"series": series}, self._cuda))

    def finish(self) -> None:
        """Ends the stream: searches it to its last sample and completes every group. A new one needs reset()."""
        self._plan.finish()

    def take(self) -> Candidates:
        """Pulses that are complete and were not taken yet, best first, with the columns and facts of tautline.detect.

        A pulse is complete when `latency_samples` samples have followed it, or later where something is over the threshold all
        the time; after finish() all are.  The reference searches at finish().
        """
        return candidates_of(*self._plan.take())
