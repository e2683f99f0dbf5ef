"""Figures of searches for the fastest kernel configuration."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import refuse
from .figures import panels, start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def tuning(report: Any, problem: int | str = 0, *, figure: Figure | None = None) -> Figure:
    """How the rates of all configurations that `tautline tune` measured are spread, and where the best one and the default lie.

    Parameters
    ----------
    report
        The report of a search, `tuning-STAGE.json` of `tautline tune --report`, or what json.load gave of it.
    problem
        Which of its problems, by number or name.
    figure
        To draw into; a new one by default.

    Returns
    -------
    Figure
        Of one panel: the number of configurations at each rate.
    """
    if isinstance(report, (str, os.PathLike)):
        with open(report, encoding="utf-8") as file:
            try:
                report = json.load(file)
            except ValueError as error:
                raise refuse("report", os.fspath(file.name), "a report of tautline tune", str(error)) from None
    problems = report.get("problems") if isinstance(report, dict) else None
    if not problems:
        raise refuse(
            "report", f"a {type(report).__name__} without problems", "a report of tautline tune (tuning-STAGE.json)"
        )
    names = [one["name"] for one in problems]
    if isinstance(problem, str):
        if problem not in names:
            raise refuse("problem", problem, "one of " + ", ".join(names))
        problem = names.index(problem)
    if not 0 <= problem < len(problems):
        raise refuse("problem", problem, f"0 to {len(problems) - 1}")
    chosen = problems[problem]
    spread = chosen["distribution"]
    if not spread.get("bins"):
        raise refuse("report", f"no measured rate of {names[problem]}", "one or more")
    scale, prefix = next((s for s in _SCALES if spread["most_rate"] >= s[0]), _SCALES[-1])
    figure = start(figure, 7, 4)
    (axes,) = panels(figure, [1])
    width = spread["bin_width"] / scale
    axes.bar(np.arange(len(spread["bins"])) * width, spread["bins"], width, align="edge", color="tab:blue", alpha=0.6)
    axes.axvline(spread["mean_rate"] / scale, color="0.4", linestyle=":", label="mean")
    for key, name, colour in (("default", "default", "tab:orange"), ("best", "best", "tab:green")):
        seconds = (chosen.get(key) or {}).get("seconds")
        if seconds:
            label = name
            if name == "best" and spread["deviation"] > 0:
                label += f", {spread['optimum_sigmas']:.1f} deviations above the mean"
            axes.axvline(chosen["operations"] / seconds / scale, color=colour, label=label)
    unit = chosen.get("unit") or "operations/s"
    axes.set(xlabel=f"rate ({prefix + ' ' if prefix else ''}{unit})", ylabel="configurations")
    axes.set_title(f"{names[problem]}: {chosen['product']}", fontsize="medium")
    axes.legend(fontsize="small")
    return figure
