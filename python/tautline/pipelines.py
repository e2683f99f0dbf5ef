"""Pipelines of TOML files, run from Python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from . import _tautline
from .arguments import history, text, whole
from .correlation import Progress

__all__ = ["Block", "Pipeline"]


class Block(NamedTuple):
    """A piece of a stream: arrays by name, and where it belongs."""

    kind: str  #: visibilities, spectra, trials, ...
    segment: int  #: the stream's part without gaps, from 0
    first: int  #: sample, from the segment's start
    samples: int
    start_utc: str  #: of the first sample
    rate_hz: float  #: of the samples
    arrays: dict[str, npt.NDArray[Any]]


class Pipeline:
    """A graph of sources, stages and sinks as a TOML file has it (docs/guide/run.md).

    Parameters
    ----------
    path
        The file.
    set
        {"NODE.FIELD": value} instead of what the file says.
    device
        That the stages work on: auto, cpu, reference, cuda:N or opencl:N.
    memory_bytes
        Most memory of the host; half of the machine's by default.
    overwrite
        Replace existing outputs.

    Iterating gives the Blocks of the one output that no node of the file takes; `blocks` those of any node. Every iteration,
    and `run`, runs the whole pipeline: its files appear when it has come to its end. A loop that is left before that ends the
    run, and nothing is written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        set: Mapping[str, Any] | None = None,  # noqa: A002
        device: str = "auto",
        memory_bytes: int = 0,
        overwrite: bool = False,
    ) -> None:
        self.path = os.fspath(path)
        self._assignments = [f"{name}={text(value)}" for name, value in (set or {}).items()]
        self._options = (device, whole(memory_bytes, "memory_bytes"), bool(overwrite), history("Pipeline"))
        self.counters: dict[str, int] = {}  #: of the last run that ended: "node.counter"

    def _run(self, hands_over: bool, node: str, port: int) -> Any:
        run = _tautline.PipelineRun(self.path, self._assignments, hands_over, node, port, *self._options)
        run.start()
        return run

    def run(self, progress: Progress | None = None) -> dict[str, int]:
        """Runs to the end and gives the counters of all nodes."""
        run = self._run(False, "", 0)
        try:
            run.finish(progress)
            self.counters = run.counters()
        finally:
            run.stop()
        return self.counters

    def blocks(self, node: str = "", port: int = 0) -> Iterator[Block]:
        """The blocks that `node` gives at one of its outputs, while the whole pipeline runs."""
        run = self._run(True, node, whole(port, "port"))
        try:
            while (piece := run.next()) is not None:
                yield Block(*piece)
            self.counters = run.counters()
        finally:
            run.stop()

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()

    def __repr__(self) -> str:
        return f"<tautline.Pipeline: {self.path}>"
