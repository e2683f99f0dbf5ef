"""Files of results as what the calls give."""

from __future__ import annotations

import os
from typing import Any

from . import _tautline
from .arguments import paths
from .candidates import candidates_of
from .correlation import Visibilities
from .errors import refuse, wrong_kind
from .opening import RESULTS
from .photons import Curves


def load(path: str | os.PathLike[str]) -> Any:
    """Reads results from a file that the command or a call wrote, told by its first bytes and its name.

    Parameters
    ----------
    path
        Visibilities (.uvh5, .ms), correlation curves (.h5, .csv, .zip, .SIN, .ASC), or a list of candidates (.csv, .cand,
        .singlepulse, lines of JSON).

    Returns
    -------
    Visibilities, Curves or Candidates, as correlate, autocorrelate and search give them, whole in memory.  Inputs are in
    the order of the file's antennas, x before y; curves always have their axis; what a list lacks is 0, `filled` nan.
    `facts` is what the file says of itself.

    Raises
    ------
    FormatError, InputOutputError
        The file has other contents: tautline.open reads a filterbank, series, voltages, counts and photons.
    """
    names = paths(path, "path")
    if len(names) != 1:
        raise refuse("path", f"{len(names)} paths", "one")
    name = names[0]
    kind = _tautline.kind_of(name, False)
    if kind == "visibilities":
        return Visibilities(*_tautline.read_visibilities(name))
    if kind == "curves":
        kept, facts = _tautline.read_curves(name)
        return Curves(kept, facts, False)
    if kind == "candidates":
        return candidates_of(_tautline.read_candidates(name), {})
    raise wrong_kind(name, kind, "results: " + ", ".join(RESULTS), "tautline.open reads it")
