"""Stages with plans that are kept: made once, for a stream that comes in pieces, into arrays that are there."""

from . import channelize, correlate, dedisperse

__all__ = ["channelize", "correlate", "dedisperse"]
