"""Stages with plans that are kept: made once, for a stream that comes in pieces, into arrays that are there."""

from . import autocorrelate, channelize, correlate, dedisperse, detect

__all__ = ["autocorrelate", "channelize", "correlate", "dedisperse", "detect"]
