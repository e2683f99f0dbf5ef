"""tautline correlates many signals on many cores: radio telescopes, fast transients, photons.

Every call takes numpy arrays, or anything else in the host's memory that offers DLPack or the buffer protocol.
"""

from . import multipletau, nodes, plot, stages
from .correlation import Visibilities, correlate
from .errors import (
    ConfigError,
    DataWarning,
    DeviceError,
    Error,
    FormatError,
    InputOutputError,
    OutOfMemoryError,
    UnsupportedError,
)
from .arguments import DISPERSION_CONSTANT, __version__
from .filter_bank import channelize
from .fitting import FitResult, fit
from .loading import load
from .opening import File, open
from .photons import Curves, autocorrelate
from .nodes import ArrayType, Block, Node, Stream
from .pipelines import Pipeline, node_types
from .candidates import Candidates
from .pulses import dedisperse, detect, search

__all__ = [
    "ArrayType",
    "Block",
    "Candidates",
    "ConfigError",
    "Curves",
    "DISPERSION_CONSTANT",
    "DataWarning",
    "DeviceError",
    "Error",
    "File",
    "FitResult",
    "FormatError",
    "InputOutputError",
    "OutOfMemoryError",
    "Node",
    "Pipeline",
    "Stream",
    "UnsupportedError",
    "Visibilities",
    "__version__",
    "autocorrelate",
    "channelize",
    "correlate",
    "dedisperse",
    "detect",
    "fit",
    "load",
    "multipletau",
    "node_types",
    "nodes",
    "open",
    "plot",
    "search",
    "stages",
]
