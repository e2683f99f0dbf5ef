"""Making figures, apart from pyplot and its list of them."""

from __future__ import annotations

import functools
import importlib
import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import UnsupportedError, refuse
from ..loading import load

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def _png(figure: Any) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    return file.getvalue()


@functools.cache
def _shown_figure() -> Any:
    """matplotlib's Figure that notebooks show, though pyplot does not know it."""
    try:
        base = importlib.import_module("matplotlib.figure").Figure
    except ImportError as error:
        missing = UnsupportedError("matplotlib is not installed, which plots need; pip install matplotlib")
        missing.field, missing.advice = "matplotlib", "pip install matplotlib"
        raise missing from error
    return type("Figure", (base,), {"_repr_png_": _png})


def start(figure: Figure | None, width: float, height: float) -> Figure:
    """The figure to draw into: the caller's, or a new one of so many inches."""
    made: Figure = _shown_figure()(figsize=(width, height), layout="constrained") if figure is None else figure
    return made


def loaded(given: Any, field: str, kind: type[Any]) -> Any:
    """What a file holds, where a path is given; anything else as it is."""
    if not isinstance(given, (str, os.PathLike)):
        return given
    found = load(given)
    if not isinstance(found, kind):
        raise refuse(field, f"a file of {type(found).__name__}", kind.__name__)
    return found


def panels(figure: Figure, heights: list[float]) -> list[Axes]:
    """Axes one below the other that share theirs of x, which the last one labels."""
    made = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})[:, 0]
    for axes in made[:-1]:
        axes.tick_params(labelbottom=False)
    return list(made)


def shades(values: npt.NDArray[Any], percentile: float) -> dict[str, Any]:
    """Colours of an image: from its first percentile to a high one, whatever is beyond."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (1, percentile)) if finite.size else (0, 1)
    return {"vmin": low, "vmax": max(high, low + 1e-9), "cmap": "viridis"}


def colour_bar(figure: Figure, image: Any, axes: Any, label: str) -> None:
    figure.colorbar(image, ax=axes, label=label)
