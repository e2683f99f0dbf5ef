"""Pipelines, of TOML files or built in Python, run from Python."""

from __future__ import annotations

import atexit
import copy
import difflib
import json
import os
import signal
import sys
import weakref
from collections.abc import Generator, Iterator, Mapping
from typing import Any, Union

from . import _tautline
from .arguments import Fields, history, text, whole
from .correlation import Progress
from .errors import refuse, warn
from .nodes import Adapter, Block, Node, Source, block_of

__all__ = ["Pipeline", "node_types"]

# Fields of sources that say what files do not say themselves.
_OF_FILES = {"files"} | {name[7:] for name, *_ in _tautline.fields("correlate") if name.startswith("reader.")}
_TYPES: dict[str, tuple[str, int, Fields]] = {
    name: (help_text, inputs, Fields(fields, "tautline.node_types()")) for name, help_text, inputs, fields in _tautline.node_types()
}
_runs: weakref.WeakSet[Any] = weakref.WeakSet()


_over: list[bool] = []  # not empty: the interpreter ends


@atexit.register
def _end() -> None:
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Nobody would hear of a KeyboardInterrupt: who presses Ctrl-C now does not want to wait.
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except (AttributeError, OSError, ValueError):  # a stream that is no more; not the main thread
        pass
    _over.append(True)
    for run in list(_runs):  # their threads may want to call Python
        run.stop()
    _tautline.end_calls()


def node_types() -> dict[str, str]:
    """The types of nodes that Pipeline.add knows, each with what it does, its inputs and its fields."""
    described = {}
    for name, (help_text, inputs, fields) in _TYPES.items():
        takes = "a source" if inputs == 0 else "any number of inputs" if inputs < 0 else f"{inputs} input"
        described[name] = f"{help_text}; {takes}\n\n{fields.document()}"
    return described


class Pipeline:
    """A graph of sources, stages and sinks: what a TOML file has (docs/guide/run.md), what `add` adds, or both.

    Parameters
    ----------
    path
        The file; none: an empty graph.
    set
        {"NODE.FIELD": value} instead of what the file or `add` says.
    device
        That the stages work on: auto, cpu, reference, cuda:N or opencl:N.
    memory_bytes
        Most memory of the host; half of the machine's by default.
    overwrite
        Replace existing outputs.

    Iterating gives the Blocks of the one output that no node takes; `blocks` those of any node. Every iteration,
    and `run`, runs the whole pipeline: its files appear when it has come to its end. A loop that is left before that
    ends the run, and nothing is written; where all sources are live, what had come is written.

    A file with tables [[observation]] is a run for each of them, one behind the other: iterating gives the blocks of
    all, and `observations` a Pipeline for each.
    """

    _number = 0  # of the observation that it is, from 1; 0: of the whole file

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        set: Mapping[str, Any] | None = None,  # noqa: A002
        device: str = "auto",
        memory_bytes: int = 0,
        overwrite: bool = False,
    ) -> None:
        self.path = "" if path is None else os.fspath(path)
        self._assignments = [f"{name}={text(value)}" for name, value in (set or {}).items()]
        self._options = (device, whole(memory_bytes, "memory_bytes"), bool(overwrite), history("Pipeline"))
        self._text = ""  # TOML of what was added
        self._names: list[str] = []
        self._nodes: list[tuple[str, int, Adapter]] = []
        self._objects: list[Node] = []
        self._arrays: list[tuple[str, str, Any, bool, dict[str, Any]]] = []
        self.counters: dict[str, int] = {}  #: of the last run that ended: "node.counter"; of several observations the sums

    def add(
        self,
        name: str,
        what: Union[str, Node, Source],
        /,
        *,
        inputs: str | list[str] | tuple[str, ...] = (),
        lane: str | None = None,
        depth: int | None = None,
        policy: str | None = None,
        **fields: Any,
    ) -> str:
        """Adds a node and returns its name.

        Parameters
        ----------
        name
            Of the node, without a dot.
        what
            A type of node (node_types()), a Node in Python, or an array as nodes.voltages, nodes.filterbank or
            nodes.counts give it.
        inputs
            The nodes that blocks come from: "NODE" for all outputs of one, "NODE.K" for output K.
        lane, depth, policy
            The node's thread, and the rings before it, as in a file.
        fields
            Of the type, by their names ("dms.range" is dms__range) or the last part of them.
        """
        if not isinstance(name, str) or not name or "." in name or name in self._names:
            raise refuse("name", repr(name), "a text without a dot that no other node has")
        come = [inputs] if isinstance(inputs, str) else [str(one) for one in inputs]
        lines = [f"[{_quoted(name)}]"]
        if isinstance(what, Node):
            if fields:
                raise refuse(next(iter(fields)), "given for a node in Python", "no fields", "give them to its constructor")
            if any(what is one for one in self._objects):
                raise refuse("what", f"a {type(what).__name__} that is there", "another object for each node")
            lines.append(f"type = {_quoted('python:' + name)}")
        elif isinstance(what, Source):
            for field in set(fields) & _OF_FILES:
                raise refuse(field, "given for an array", "fields of what is read of it", "leave it out, or give it to the array")
            lines.append(f"type = {_quoted('array:' + name)}")
            lines += _field_lines(what.type, fields)
        elif isinstance(what, str) and what in _TYPES:
            lines.append(f"type = {_quoted(what)}")
            lines += _field_lines(what, fields)
        else:
            shown = what if isinstance(what, str) else f"a {type(what).__name__}"
            near = difflib.get_close_matches(shown, _TYPES, 1)
            advice = f"did you mean {near[0]}" if near else ""
            raise refuse("what", shown, "a Node, an array of tautline.nodes, or one of " + ", ".join(_TYPES), advice)
        if come:
            lines.append(f"inputs = {_value(come)}")
        for key, value in (("lane", lane), ("policy", policy)):
            if value is not None:
                lines.append(f"{key} = {_quoted(str(value))}")
        if depth is not None:
            lines.append(f"depth = {whole(depth, 'depth', 1)}")
        self._text += "\n".join(lines) + "\n"
        self._names.append(name)
        if isinstance(what, Node):
            self._nodes.append((name, len(come), Adapter(what)))
            self._objects.append(what)
        elif isinstance(what, Source):
            self._arrays.append((name, what.type, what.array, what.pairs, what.facts))
        return name

    def observations(self) -> list[Pipeline]:
        """A Pipeline for each table [[observation]] of the file, in their order; of a file without one itself alone.

        Each is one run, with its own blocks and counters, waits for its `start`, ends with its `stop` or
        `duration_s`, and numbers the outputs that it does not name (night-0001.uvh5), as with `tautline run`. All of
        them are checked first. What one raises does not keep the next ones from being run.
        """
        total = _tautline.observations(self.path) if self.path and self._number == 0 else 0
        if total == 0:
            return [self]
        all_ = []
        for number in range(1, total + 1):
            one = copy.copy(self)
            one._number, one.counters = number, {}
            one._names, one._nodes, one._objects, one._arrays = self._names[:], self._nodes[:], self._objects[:], self._arrays[:]
            one._planned(True, False, "", 0).stop()
            all_.append(one)
        return all_

    def _planned(self, only: bool, hands_over: bool, node: str, port: int) -> Any:
        parts = (self.path, self._text, self._nodes, self._arrays, self._assignments)
        return _tautline.PipelineRun(*parts, self._number, only, hands_over, node, port, *self._options)

    def _run(self, hands_over: bool, node: str, port: int) -> Any:
        """None: an observation that is over already."""
        if self._number:
            begins, warnings = _tautline.wait_for_observation(self.path, self._number)
            warn(warnings)
            if not begins:
                return None
        run = self._planned(False, hands_over, node, port)
        _runs.add(run)
        if _over:
            run.stop()
        run.start()
        return run

    def run(self, progress: Progress | None = None) -> dict[str, int]:
        """Runs to the end and gives the counters of all nodes."""
        several = self.observations()
        if several[0] is not self:
            self.counters = _sums([one.run(progress) for one in several])
            return self.counters
        run = self._run(False, "", 0)
        if run is None:
            self.counters = {}
            return self.counters
        try:
            run.finish(progress)
            self.counters = run.counters()
        finally:
            run.stop()
        warn(run.warnings())
        return self.counters

    def blocks(self, node: str = "", port: int = 0) -> Generator[Block, None, None]:
        """The blocks that `node` gives at one of its outputs, while the whole pipeline runs."""
        several = self.observations()
        if several[0] is not self:
            for one in several:
                yield from one.blocks(node, port)
            self.counters = _sums([one.counters for one in several])
            return
        run = self._run(True, node, whole(port, "port"))
        if run is None:
            self.counters = {}
            return
        try:
            while (block := run.next()) is not None:
                yield block_of(block)
            self.counters = run.counters()
        finally:
            run.stop()
        warn(run.warnings())

    def __iter__(self) -> Iterator[Block]:
        return self.blocks()

    def __repr__(self) -> str:
        parts = [self.path] * bool(self.path) + [f"observation {self._number}"] * bool(self._number) + self._names
        return f"<tautline.Pipeline: {', '.join(parts) or 'empty'}>"


def _sums(all_: list[dict[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for counters in all_:
        for name, count in counters.items():
            sums[name] = sums.get(name, 0) + count
    return sums


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: Any) -> str:
    if not isinstance(value, (str, os.PathLike)) and hasattr(value, "__iter__"):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return _quoted(text(value))


def _field_lines(type_: str, fields: dict[str, Any]) -> list[str]:
    known = _TYPES[type_][2]
    lines = []
    for name, value in fields.items():
        if value is not None:
            lines.append(f"{known.full_name(name)} = {_value(value)}")
    return lines
