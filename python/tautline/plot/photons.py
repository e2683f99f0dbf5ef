"""Figures of correlation curves."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..arguments import whole
from ..errors import refuse
from ..fitting import FitResult
from ..photons import Curves
from .figures import loaded, panels, start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_CURVES = 8


def curves(
    k: Any, fit: FitResult | None = None, *, which: Any = None, errors: bool = True, figure: Figure | None = None
) -> Figure:
    """Correlation curves with their standard errors, the fitted models, and residuals.

    Parameters
    ----------
    k
        What tautline.autocorrelate or tautline.load gave, or a file of curves (.h5, .csv, .zip, .SIN, .ASC).
    fit
        What tautline.fit gave of these curves.
    which
        Indices of the curves to draw; the first eight by default.
    errors
        Whether bars show the standard errors of the curves.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of one panel, and with a fit of a second one with the residuals: over the standard errors where there are any.
    """
    lag_s, g, error, labels = _curves(k)
    chosen = (
        range(min(len(g), _MOST_CURVES)) if which is None else [whole(one, "which") for one in np.atleast_1d(which)]
    )
    for one in chosen:
        if one >= len(g):
            raise refuse("which", one, f"0 to {len(g) - 1}")
    model, fitted = None, np.zeros(lag_s.size, bool)
    if fit is not None:
        model = fit.g()
        fitted = np.isin(lag_s, fit.lag_s)
        if len(model) != len(g) or fitted.sum() != fit.lag_s.size:
            raise refuse(
                "fit",
                f"of {len(model)} curves, {fit.lag_s.size} lags",
                f"one of these {len(g)} curves, {lag_s.size} lags",
            )
    figure = start(figure, 7, 4 if fit is None else 5.5)
    upper, *lower = panels(figure, [1] if fit is None else [2.4, 1])
    for one in chosen:
        shown = (lag_s > 0) & np.isfinite(g[one])
        bars = (
            np.where(np.isfinite(error[one]), error[one], 0)[shown]
            if errors and np.isfinite(error[one]).any()
            else None
        )
        drawn = upper.errorbar(
            lag_s[shown], g[one, shown], bars, fmt=".", markersize=4, elinewidth=0.6, label=labels[one], zorder=2
        )
        colour = drawn.lines[0].get_color()
        if model is None or fit is None:
            continue
        upper.plot(fit.lag_s, model[one], color=colour if len(chosen) > 1 else "black", linewidth=1.2, zorder=3)
        left = g[one, fitted] - model[one]
        weighted = np.isfinite(error[one, fitted]).any()
        with np.errstate(invalid="ignore", divide="ignore"):
            left = left / error[one, fitted] if weighted else left
        lower[0].plot(fit.lag_s, left, ".-", markersize=3, linewidth=0.6, color=colour)
        lower[0].set_ylabel("residual / error" if weighted else "residual")
    upper.set(xscale="log", ylabel="G")
    upper.axhline(0, color="0.6", linewidth=0.6, zorder=0)
    if len(chosen) > 1 or labels[0]:
        upper.legend(fontsize="small")
    for axes in lower:
        axes.axhline(0, color="0.6", linewidth=0.6)
    (lower or [upper])[-1].set_xlabel("lag (s)")
    return figure


def _curves(k: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], list[str]]:
    """Lags, and [curve, lag] of g and its errors."""
    name = os.path.basename(os.fspath(k)) if isinstance(k, (str, os.PathLike)) else ""
    k = loaded(k, "k", Curves)
    if not isinstance(k, Curves):
        raise refuse("k", f"a {type(k).__name__}", "what autocorrelate gave, or a file of curves")
    labels = [first if second in ("", first) else f"{first} x {second}" for first, second in k.labels]
    return k.lag_s, np.atleast_2d(k.g), np.atleast_2d(k.standard_error), [label or name for label in labels]
