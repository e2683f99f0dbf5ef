"""tautline correlates many signals on many cores: radio telescopes, fast transients, photons.

Every call takes numpy arrays, or anything else in the host's memory that offers DLPack or the buffer protocol.
"""

from . import multipletau, plot, stages
from .correlation import Visibilities, correlate
from .errors import (
    ConfigError,
    DeviceError,
    Error,
    FormatError,
    InputOutputError,
    OutOfMemoryError,
    UnsupportedError,
)
from .arguments import __version__
from .filter_bank import channelize
from .fitting import FitResult, fit
from .opening import File, open
from .photons import Curves, autocorrelate
from .pipelines import Block, Pipeline
from .pulses import DISPERSION_CONSTANT, dedisperse, search

__all__ = [
    "Block",
    "ConfigError",
    "Curves",
    "DISPERSION_CONSTANT",
    "DeviceError",
    "Error",
    "File",
    "FitResult",
    "FormatError",
    "InputOutputError",
    "OutOfMemoryError",
    "Pipeline",
    "UnsupportedError",
    "Visibilities",
    "__version__",
    "autocorrelate",
    "channelize",
    "correlate",
    "dedisperse",
    "fit",
    "multipletau",
    "open",
    "plot",
    "search",
    "stages",
]
