"""Nodes of pipelines in Python, and arrays as the sources of pipelines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from .arguments import Quantity, number, rational, whole
from .arrays import dense_rows
from .correlation import described_voltages
from .errors import refuse
from .photons import Curves, counted
from .pulses import described_filterbank

__all__ = ["ArrayType", "Block", "Node", "Source", "Stream", "counts", "filterbank", "voltages"]


@dataclasses.dataclass(frozen=True)
class ArrayType:
    """One array of every block of a stream."""

    name: str
    dtype: str  #: of numpy: "complex64", "int8"...
    axes: tuple[str, ...]  #: names, slowest first; "re_im", of extent 2, ends those of complex integers
    shape: tuple[int, ...]  #: the largest of any block


@dataclasses.dataclass(frozen=True)
class Stream:
    """What flows along an edge of a pipeline, described once before the run."""

    kind: str  #: raw voltages, spectra, visibilities, filterbank, trials, counts, curves, or a name of your own
    arrays: Sequence[ArrayType] = ()  #: none of kinds that carry something else, and of raw voltages (see Block)
    rate_hz: Fraction = Fraction(1)  #: samples (times) a second
    start_utc: str = ""  #: of the first sample
    total_samples: int = 0  #: to come; 0: not known
    max_samples: int = 0  #: most of a block; 0: not said
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)  #: as frequencies_hz, sample_time_s, dms
    _input: int = -1


class Block(NamedTuple):
    """A piece of a stream: arrays by name, and where it belongs; the arrays are copies, to be changed and kept."""

    kind: str  #: visibilities, spectra, trials, ...
    segment: int  #: the stream's part without gaps, from 0
    first: int  #: sample, from the segment's start
    samples: int
    start_utc: str  #: of the first sample
    rate_hz: float  #: of the samples
    arrays: dict[str, npt.NDArray[Any]]  #: of raw voltages: voltages [channel, input, time]
    valid: npt.NDArray[np.bool_] | None = None  #: [input, sample] of spectra and raw voltages; None: all of them
    curves: Curves | None = None  #: of kind curves: the whole run so far
    input: int = 0  #: of the node that it came to


#: What a node gives: a block (that it was given, or block._replace(...)), its arrays by name, several, or none.
Given = Union[Block, Mapping[str, Any], Iterable[Union[Block, Mapping[str, Any]]], None]


class Node:
    """A node of a pipeline in Python: a class with those of the functions below that it needs.

    A filter has `process`; a sink `process`, and `open` that returns None; a source `open`, which says what it gives,
    and `produce`.  A node with several outputs returns a list of streams from `open`, and from the others tuples with
    what goes to each output.  Functions are called one at a time, from `start` on by one thread of the pipeline's.
    What they raise ends the run and is raised where the run was called.

    An output that hands on the stream of an input (the stream that `open` was given, unchanged) may go to any node of
    the library: each of its blocks answers the block at hand, with its time and shapes, or is left out.  A stream of
    the node's own goes to other Python nodes and to Pipeline.blocks.

    Arrays by name have the time of the block at hand, where the output's rate is the input's; without a block at hand
    (produce, end_segment, finish) they follow what was given last, in begin_segment the segment's beginning.
    """

    #: A source that waits for something (sockets, instruments): a stop ends its stream, and `produce` returns [] now
    #: and then where there is nothing.
    live: bool = False
    #: Of several inputs: `process_together` is given a block of each, all of the same time.
    in_step: bool = False

    def open(self, streams: list[Stream]) -> Stream | Sequence[Stream] | None:
        """What the node gives, for the streams that come to its inputs; called more than once before a run."""
        if len(streams) != 1:
            raise NotImplementedError(f"{type(self).__name__}.open, as it has {len(streams)} inputs")
        return streams[0]

    def start(self) -> None:
        """Before the first block of a run."""

    def produce(self) -> Given:
        """Of sources: the next block or a few; None at the end.  The time of plain arrays follows the block before."""
        raise NotImplementedError(f"{type(self).__name__}.produce")

    def begin_segment(self, input: int) -> Given:  # noqa: A002
        """Before the first block of a part without gaps."""
        return None

    def process(self, block: Block) -> Given:
        """A block has come; of one input they come in order of time."""
        raise NotImplementedError(f"{type(self).__name__}.process")

    def process_together(self, blocks: list[Block]) -> Given:
        raise NotImplementedError(f"{type(self).__name__}.process_together")

    def end_segment(self, input: int) -> Given:  # noqa: A002
        """After the last block of a part without gaps."""
        return None

    def finish(self) -> Given:
        """After the end of every input: what is left to give."""
        return None

    def publish(self) -> None:
        """When every node of the run has finished: the place to give files their names."""

    def counters(self) -> Mapping[str, int]:
        """Of the work so far, for Pipeline.counters."""
        return {}


class Adapter:
    """What the engine calls: a node's results as lists of arrays that are as its streams said."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self.live = bool(node.live)
        self.in_step = bool(node.in_step)
        self._outputs: list[Stream] = []
        self._rates: list[float] = []  # of the outputs; 0: of blocks without times
        self._several = False
        for name in ("start", "publish", "counters"):
            setattr(self, name, getattr(node, name))

    def open(self, inputs: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        streams = []
        for kind, arrays, numerator, denominator, start, total, most, facts, index in inputs:
            types = tuple(ArrayType(name, dtype, tuple(axes), tuple(shape)) for name, dtype, axes, shape in arrays)
            rate = Fraction(numerator, denominator) if numerator else Fraction(0)
            streams.append(Stream(kind, types, rate, start, total, most, facts, index))
        given = self._node.open(streams)
        self._several = not isinstance(given, Stream) and given is not None
        self._outputs = [] if given is None else [given] if isinstance(given, Stream) else list(given)
        described: list[tuple[Any, ...]] = []
        rates: list[float] = []
        for stream in self._outputs:
            if not isinstance(stream, Stream):
                raise refuse("open", f"a {type(stream).__name__}", "a Stream, several, or None")
            if stream.kind == "raw voltages" and stream._input >= 0:
                raise refuse("open", "raw voltages", "None: they are only looked at", "filter spectra instead")
            none = stream._input >= 0 and stream.rate_hz == 0  # of blocks without times
            rate = stream.rate_hz if none else rational(stream.rate_hz, "rate_hz")
            rates.append(float(rate))
            described.append((
                str(stream.kind), [(a.name, np.dtype(a.dtype).name, list(a.axes), list(a.shape)) for a in stream.arrays],
                rate.numerator, rate.denominator, stream.start_utc, whole(stream.total_samples, "total_samples"),
                whole(stream.max_samples, "max_samples"), None, stream._input,
            ))  # fmt: skip
        self._rates = rates
        return described

    def produce(self) -> list[tuple[Any, ...]] | None:
        given = self._node.produce()
        return None if given is None else self._results(given, None)

    def begin_segment(self, index: int) -> list[tuple[Any, ...]]:
        return self._results(self._node.begin_segment(index), None)

    def process(self, block: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        made = block_of(block)
        return self._results(self._node.process(made), made)

    def process_together(self, blocks: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        made = [block_of(block) for block in blocks]
        return self._results(self._node.process_together(made), made[0])

    def end_segment(self, index: int) -> list[tuple[Any, ...]]:
        return self._results(self._node.end_segment(index), None)

    def finish(self) -> list[tuple[Any, ...]]:
        return self._results(self._node.finish(), None)

    def _results(self, given: Any, block: Block | None) -> list[tuple[Any, ...]]:
        if given is None:
            return []
        if not self._several:
            return self._of_output(0, given, block)
        if not isinstance(given, tuple) or len(given) != len(self._outputs) or isinstance(given, Block):
            wanted = f"a tuple of what goes to each of {len(self._outputs)} outputs"
            raise refuse("block", f"a {type(given).__name__}", wanted)
        return [one for port, part in enumerate(given) for one in self._of_output(port, part, block)]

    def _of_output(self, port: int, given: Any, block: Block | None) -> list[tuple[Any, ...]]:
        if given is None:
            return []
        if port >= len(self._outputs):
            raise refuse("block", "given by a sink", "None, as open() returned")
        if isinstance(given, (Block, Mapping)):
            return [self._one(port, given, block)]
        return [self._one(port, one, block) for one in given]

    def _one(self, port: int, given: Any, block: Block | None) -> tuple[Any, ...]:
        stream = self._outputs[port]
        if not isinstance(given, (Block, Mapping)):
            raise refuse("block", f"a {type(given).__name__}", "a Block, or a dictionary of arrays")
        own = given if isinstance(given, Block) else None
        if own is None and block is not None and block.rate_hz and self._rates[port]:
            if abs(self._rates[port] / block.rate_hz - 1) > 1e-12:
                found = f"a dictionary at {self._rates[port]:g} Hz for a block at {block.rate_hz:g} Hz"
                wanted = "a Block, whose time is in samples of the output"
                raise refuse("block", found, wanted, "give block._replace(arrays=..., first=..., samples=...)")
        arrays: Mapping[str, Any] = given.arrays if isinstance(given, Block) else given
        known = {array.name for array in stream.arrays}
        for name in arrays:
            if name not in known and not (name == "valid" and own is None):
                raise refuse("block", f"an array {name}", "one of " + ", ".join(sorted(known)))
        made = [self._array(type_, arrays, block) for type_ in stream.arrays]
        samples = own.samples if own is not None else self._samples(stream, made, block)
        same = own is None or (block is not None and own[1:4] == block[1:4])  # segment, first, samples
        valid = own.valid if own is not None else arrays.get("valid", None if block is None else block.valid)
        if valid is not None:
            valid = np.ascontiguousarray(valid, dtype=bool)
            if valid.ndim != 2 or valid.shape[1] != samples:
                raise refuse("valid", f"shape {valid.shape}", f"[row][{samples} samples]")
        return port, made, own.segment if own else 0, own.first if own else 0, samples, same, valid

    @staticmethod
    def _array(type_: ArrayType, arrays: Mapping[str, Any], block: Block | None) -> npt.NDArray[Any]:
        array = arrays.get(type_.name)
        if array is None and block is not None:
            array = block.arrays.get(type_.name)
        if array is None:
            raise refuse("block", f"no array {type_.name}", "one, as open() said")
        found = np.asarray(array)
        if found.ndim != len(type_.shape) or not np.can_cast(found.dtype, type_.dtype, "same_kind"):
            wanted = f"{np.dtype(type_.dtype).name} {list(type_.axes)}"
            raise refuse(type_.name, f"{found.dtype.name} of {found.ndim} axes", wanted)
        return np.ascontiguousarray(found, dtype=type_.dtype)

    @staticmethod
    def _samples(stream: Stream, arrays: list[npt.NDArray[Any]], block: Block | None) -> int:
        for type_, array in zip(stream.arrays, arrays):
            if "time" in type_.axes:
                return int(array.shape[list(type_.axes).index("time")])
        return 1 if block is None else block.samples


def block_of(given: tuple[Any, ...]) -> Block:
    """What the module hands over."""
    *facts, curves, index = given
    return Block._make([*facts, None if curves is None else Curves(curves, {}, False), index])


@dataclasses.dataclass(frozen=True)
class Source:
    """An array in the place of a pipeline's files: what voltages, filterbank and counts give."""

    type: str
    array: npt.NDArray[Any]
    pairs: bool
    facts: dict[str, Any]


def voltages(
    x: Any,
    *,
    rate_hz: Any,
    centre_hz: Quantity | None = None,
    bandwidth_hz: Quantity | None = None,
    polarisations: int | None = None,
    start: str | None = None,
) -> Source:
    """Voltages as tautline.correlate takes them, in the place of a node voltage_files.  The array must not change."""
    given: dict[str, Any] = {"rate_hz": rate_hz, "centre_hz": centre_hz, "bandwidth_hz": bandwidth_hz}
    given |= {"polarisations": polarisations, "start": start}
    return Source("voltage_files", *described_voltages(x, given))


def filterbank(x: Any, *, frequencies: Any, sample_time_s: Quantity, axes: str = "tf", start: str | None = None) -> Source:
    """An array as tautline.search takes it, in the place of filterbank_files.  The array must not change."""
    samples, facts = described_filterbank(x, frequencies, sample_time_s, axes, start)
    return Source("filterbank_files", samples, False, facts)


def counts(x: Any, *, bin_s: Quantity) -> Source:
    """Counts [time] or [time, sensor], in the place of a node count_file.  The array must not change."""
    samples = counted(x, "x")
    samples = dense_rows(samples.reshape(-1, 1) if samples.ndim == 1 else samples)
    return Source("count_file", samples, False, {"bin_s": number(bin_s, "bin_s")})
