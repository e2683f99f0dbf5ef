"""Figures of what the calls of this package give, and of files, with matplotlib.

Every function returns a matplotlib Figure, whose `axes` may be changed.  It is made apart from pyplot, so that nothing
is kept behind the caller's back, and shows itself in notebooks; `figure.savefig("x.pdf")` writes it.  `figure=` takes
a Figure or a SubFigure to draw into instead.  matplotlib is needed by these functions alone.
"""

from .photons import curves
from .pulses import candidates, dm_time, spectra, waterfall
from .series import series
from .tuning import tuning
from .voltages import fringes

__all__ = ["candidates", "curves", "dm_time", "fringes", "series", "spectra", "tuning", "waterfall"]
