"""Diffusion fits of correlation curves."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _tautline
from .arguments import Fields, documented, file_paths, history, numbers, text
from .arrays import is_array
from .correlation import Progress
from .errors import refuse, warn
from .photons import Curves

_FIELDS = Fields("fit")
_MAPS = ("fixed", "starts", "bounds")


class FitResult:
    """What `fit` gives.

    Attributes
    ----------
    model : str
    parameters : dict of str to float64 [curve]
        Values by name, as n and tau_d_s; NaN for a curve that was not fitted.
    errors : dict of str to float64 [curve]
        Their standard errors: 0 where a parameter was held, NaN where nothing determines it.
    status : list of str
        Of each curve: ok, "not judged: ..." without a reduced chi-squared, or what is wrong.
    reduced_chi2 : float64 [curve]
        NaN without standard errors of the curve.
    d_um2_per_s, d_error : float64 [curve]
        Diffusion coefficient; NaN without waist_um.
    g0 : float64 [curve]
        G(0) without offset.
    medians : dict
        Over the curves that are ok or not judged.
    lag_s : float64 [lag]
        That were fitted.
    warnings : list of str
        Also that counts stopped, as autocorrelate found it.
    """

    def __init__(self, kept: Any) -> None:
        self._kept = kept
        self.model: str = kept.model()
        names = kept.names()
        self.parameters: dict[str, npt.NDArray[np.float64]] = {n: kept.parameter(k, False) for k, n in enumerate(names)}
        self.errors: dict[str, npt.NDArray[np.float64]] = {n: kept.parameter(k, True) for k, n in enumerate(names)}
        self.status: list[str] = kept.status()
        self.reduced_chi2: npt.NDArray[np.float64] = kept.reduced_chi2()
        self.d_um2_per_s: npt.NDArray[np.float64] = kept.d_um2_per_s()
        self.d_error: npt.NDArray[np.float64] = kept.d_error()
        self.g0: npt.NDArray[np.float64] = kept.g0()
        self.medians: dict[str, float] = kept.medians()
        self.lag_s: npt.NDArray[np.float64] = kept.lag_s()
        self.warnings: list[str] = kept.warnings()

    def g(self, lag_s: Any = None) -> npt.NDArray[np.float64]:
        """[curve, lag]: the model at these lags, or at those that were fitted."""
        lags = self.lag_s.tolist() if lag_s is None else numbers(lag_s, "lag_s")
        return self._kept.curves(lags)  # type: ignore[no-any-return]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the table of `tautline fit` as CSV; an existing file is an error."""
        with open(path, "x", encoding="utf-8") as file:
            file.write(self._kept.csv(history("fit")))

    def __reduce__(self) -> Any:
        raise TypeError("FitResult cannot be pickled: send its arrays (parameters, errors, status), or fit there")

    def __repr__(self) -> str:
        good = sum(status == "ok" for status in self.status)
        return f"<tautline.FitResult: {self.model}, {good} of {len(self.status)} curves ok>"


@documented(_FIELDS, ("model",))
def fit(curves: Any, model: str = "3d", *, progress: Progress | None = None, **fields: Any) -> FitResult:
    """Fits correlation curves; what the command `tautline fit` does.

    Parameters
    ----------
    curves
        What autocorrelate or load gave, or a file of curves or several.
    model
        3d, 3d-flow, 3d-anomalous, 2x3d, 2d-pixel, cumulants1, cumulants2 or cumulants3; +triplet, +afterpulsing.
    progress
        Called now and then with the curves done and those there are.

    Fields of the run, all optional; fixed, starts and bounds may be dictionaries:

    {fields}

    Returns
    -------
    FitResult

    Raises
    ------
    ConfigError
        Unknown models and parameters, and ranges without lags.

    Warns
    -----
    DataWarning
        Each of the result's `warnings`.
    """
    for name in _MAPS:
        if isinstance(fields.get(name), dict):
            fields[name] = ",".join(f"{key}={_range(value)}" for key, value in fields[name].items())
    texts = _FIELDS.texts({"model": model, **fields})
    if isinstance(curves, Curves):
        facts = {
            "counts_stop": str(curves.facts.get("counts_stop", "")),
            "stopped_sensors": str(curves.facts.get("stopped_sensors", "")),
        }
        result = FitResult(_tautline.fit(curves._kept, [], facts, texts, history("fit"), progress))
    else:
        if not isinstance(curves, (list, tuple)) and is_array(curves):
            found = f"a {type(curves).__name__} of numbers"
            raise refuse("curves", found, "what autocorrelate or load gave, or a file or more", "give counts to tautline.autocorrelate first")
        names = file_paths(curves)
        if not names:
            raise refuse("curves", "none", "what autocorrelate gave, or a file or more")
        result = FitResult(_tautline.fit(None, names, {}, texts, history("fit"), progress))
    warn(result.warnings)
    return result


def _range(value: Any) -> str:
    return ":".join(text(one) for one in value) if isinstance(value, (tuple, list)) else text(value)
