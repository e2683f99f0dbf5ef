"""Figures of visibilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arguments import whole
from ..correlation import Visibilities
from ..errors import refuse
from .figures import loaded, panels, start

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Own:
    """What correlate gave."""

    def __init__(self, vis: Visibilities) -> None:
        self._vis = vis
        self.mhz = vis.frequencies / 1e6
        self.time_s = (vis.times - vis.times[0]) * 86400
        self.antennas = list(range(vis.inputs))
        self.bad = list(vis.flagged_channels)

    def product(self, i: int, j: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        low, high = min(i, j), max(i, j)
        return self._vis.baseline(i, j), self._vis.counts[:, :, high * (high + 1) // 2 + low]

    def name(self, i: int, j: int) -> str:
        return f"inputs {i}, {j}"


class _Others:
    """A pyuvdata.UVData, of the first of its polarisations."""

    def __init__(self, uv: Any) -> None:
        self._uv = uv
        self._samples = int(uv.extra_keywords.get("nominal_count", 0)) or round(
            float(np.median(uv.integration_time)) * float(np.median(uv.channel_width))
        )
        self.mhz = np.ravel(uv.freq_array) / 1e6
        times = np.unique(uv.time_array)
        self.time_s = (times - times[0]) * 86400
        self.antennas = [int(one) for one in np.unique(uv.ant_1_array)]
        self.bad: list[int] = []

    def product(self, i: int, j: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        # pyuvdata's product of antennas 1 and 2 is conj(x_1) x_2.
        pol = self._uv.get_pols()[0]
        counts = self._uv.get_nsamples(j, i, pol) * ~self._uv.get_flags(j, i, pol)
        return self._uv.get_data(j, i, pol), counts * self._samples

    def name(self, i: int, j: int) -> str:
        return f"antennas {i}, {j}"


def _source(vis: Any) -> _Own | _Others:
    vis = loaded(vis, "vis", Visibilities)
    if isinstance(vis, Visibilities):
        return _Own(vis)
    if not hasattr(vis, "get_data"):
        raise refuse("vis", f"a {type(vis).__name__}", "what correlate gave, a pyuvdata.UVData, or a .uvh5 or .ms")
    return _Others(vis)


def fringes(
    vis: Any,
    baselines: Any = None,
    *,
    against: str = "time",
    channels: Any = None,
    times: Any = None,
    figure: Figure | None = None,
) -> Figure:
    """Amplitude and phase of correlation coefficients against time or frequency.

    The coefficient of a baseline is its visibility over the root of both inputs' powers; bars are its standard errors
    in noise, 1 / sqrt(2 n) of each part with n independent samples behind it.

    Parameters
    ----------
    vis
        What tautline.correlate or tautline.load gave, a file .uvh5 or .ms, or a pyuvdata.UVData (first polarisation).
    baselines
        Pairs (i, j) of inputs, of a UVData of antenna numbers: x_i conj(x_j).  The three strongest by default.
    against
        time: means over the channels; frequency: means over the times.  A fringe that turns by much within either
        averages away: choose fewer channels or times.
    channels, times
        A slice, or what else numpy takes as an index.  All by default, less the channels that were flagged.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of two panels, amplitude above phase, with a line for each baseline.
    """
    if against not in ("time", "frequency"):
        raise refuse("against", against, "time or frequency")
    source = _source(vis)
    kept = np.ones(source.mhz.size, bool)
    kept[source.bad] = False
    chosen = np.flatnonzero(kept) if channels is None else np.arange(source.mhz.size)[channels]
    when = np.arange(source.time_s.size)[slice(None) if times is None else times]
    if chosen.size == 0 or when.size == 0:
        raise refuse("channels and times", "none", "one of each at least")
    axis = 1 if against == "time" else 0
    x = source.time_s[when] if against == "time" else source.mhz[chosen]

    powers: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def mean(i: int, j: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        data, counts = source.product(i, j)
        data, counts = data[np.ix_(when, chosen)], counts[np.ix_(when, chosen)]
        samples = counts.sum(axis=axis)
        with np.errstate(invalid="ignore", divide="ignore"):
            return (data * counts).sum(axis=axis) / samples, samples

    def coefficient(i: int, j: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        for one in (i, j):
            if one not in powers:
                powers[one] = mean(one, one)
        value, samples = mean(i, j)
        with np.errstate(invalid="ignore", divide="ignore"):
            return value / np.sqrt(powers[i][0].real * powers[j][0].real), 1 / np.sqrt(2 * samples)

    pairs = _pairs(baselines, source.antennas, coefficient)
    figure = start(figure, 8, 5.5)
    amplitude, phase = panels(figure, [1, 1])
    for i, j in pairs:
        r, error = coefficient(i, j)
        line = amplitude.errorbar(x, np.abs(r), error, fmt=".-", linewidth=0.8, elinewidth=0.6, label=source.name(i, j))
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = np.degrees(np.minimum(np.pi, error / np.abs(r)))
        phase.errorbar(x, np.degrees(np.angle(r)), spread, fmt=".", elinewidth=0.6, color=line.lines[0].get_color())
    amplitude.set(ylabel="correlation coefficient", ylim=(0, None))
    amplitude.legend(fontsize="small", ncols=3)
    phase.set(ylabel="phase (degrees)", ylim=(-190, 190), yticks=range(-180, 181, 90))
    phase.set_xlabel("time after the first integration's middle (s)" if against == "time" else "frequency (MHz)")
    phase.ticklabel_format(axis="x", useOffset=False)
    return figure


def _pairs(baselines: Any, antennas: list[int], coefficient: Any) -> list[tuple[int, int]]:
    if baselines is not None:
        try:
            given = [(whole(i, "baselines"), whole(j, "baselines")) for i, j in np.reshape(baselines, (-1, 2))]
        except (TypeError, ValueError):
            raise refuse("baselines", repr(baselines), "pairs as [(1, 0), (2, 0)]") from None
        for pair in given:
            if not set(pair) <= set(antennas):
                raise refuse("baselines", pair, "two of " + ", ".join(str(one) for one in antennas))
        return given
    every = [(i, j) for at, i in enumerate(antennas) for j in antennas[:at]]
    if not every:
        raise refuse("vis", "one input", "two or more")
    strength = [np.nanmean(np.abs(coefficient(i, j)[0])) for i, j in every]
    return [every[at] for at in sorted(np.argsort(strength)[::-1][:3])]
