"""Streams that Python nodes make: sources, several outputs, and the time of what has none."""
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import numbers


def test_a_source_a_filter_of_its_own_stream_and_two_outputs() -> None:
    class Halve(tl.Node):
        """Means of pairs, and what was left over."""

        def open(self, streams: list[tl.Stream]) -> Any:
            (s,) = streams
            mean, total = tl.ArrayType("mean", "float32", ("time",), (50,)), tl.ArrayType("sum", "int64", ("one",), (1,))
            low = tl.Stream("means", [mean], rate_hz=s.rate_hz / 2, start_utc=s.start_utc, max_samples=50)
            return low, tl.Stream("sums", [total], rate_hz=s.rate_hz, max_samples=100)

        def process(self, block: tl.Block) -> Any:
            x = block.arrays["x"]
            pairs = x[: len(x) // 2 * 2].reshape(-1, 2).mean(1)
            mean = block._replace(arrays={"mean": pairs}, first=block.first // 2, samples=len(pairs))
            return mean, {"sum": [int(x.sum())]}

    p = tl.Pipeline()
    p.add("n", numbers(1050))
    p.add("h", Halve(), inputs="n")
    means = list(p.blocks("h", 0))
    assert np.allclose(np.concatenate([b.arrays["mean"] for b in means]), np.arange(525) * 2 + 0.5)
    assert [b.first for b in means] == list(range(0, 525, 50)) and means[0].rate_hz == 500
    assert means[1].start_utc.startswith("2026-01-02T03:04:05.1")
    assert sum(int(b.arrays["sum"][0]) for b in p.blocks("h", 1)) == 1050 * 1049 // 2
    with pytest.raises(tl.ConfigError, match="outputs that no node takes"):
        list(p)


def test_a_dictionary_has_no_time_at_another_rate() -> None:
    class Means(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            mean = tl.ArrayType("mean", "float32", ("time",), (50,))
            return tl.Stream("means", [mean], rate_hz=streams[0].rate_hz / 2, max_samples=50)

        def process(self, block: tl.Block) -> Any:
            return {"mean": block.arrays["x"].reshape(-1, 2).mean(1)}

    p = tl.Pipeline()
    p.add("n", numbers(1000))
    p.add("m", Means(), inputs="n")
    with pytest.raises(tl.ConfigError, match="_replace"):
        list(p)


def test_what_finish_gives_follows_the_last_block() -> None:
    class More(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            return tl.Stream("more", streams[0].arrays, streams[0].rate_hz, streams[0].start_utc, max_samples=100)

        def process(self, block: tl.Block) -> Any:
            return {"x": block.arrays["x"]}

        def end_segment(self, input: int) -> Any:
            return {"x": np.full(7, -1.0)}

        def finish(self) -> Any:
            return {"x": np.full(5, -2.0)}

    p = tl.Pipeline()
    p.add("n", numbers(1050))
    p.add("m", More(), inputs="n")
    blocks = list(p)
    assert [(b.segment, b.first, b.samples) for b in blocks[-3:]] == [(0, 1000, 50), (0, 1050, 7), (0, 1057, 5)]


def segments_of(lengths: Any) -> Any:
    """A source of parts without gaps, of two blocks each; every sample is the number of its part."""

    class Segments(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            return tl.Stream("parts", [tl.ArrayType("x", "float64", ("time",), (100,))], Fraction(1000), max_samples=100)

        def start(self) -> None:
            self.left = [(part, at) for part in range(len(lengths)) for at in (0, lengths[part])]

        def produce(self) -> Any:
            if not self.left:
                return None
            part, first = self.left.pop(0)
            arrays = {"x": np.full(lengths[part], float(part))}
            return tl.Block("parts", part, first, lengths[part], "", 1000.0, arrays)

    return Segments()


@pytest.mark.parametrize("slower", [1, 2])
def test_what_begins_a_segment_is_at_its_beginning(rng: np.random.Generator, slower: int) -> None:
    class Begin(tl.Node):
        """A mark at the beginning of each part, and one behind it."""

        def open(self, streams: list[tl.Stream]) -> Any:
            mark = tl.ArrayType("mark", "int64", ("time",), (10,))
            return tl.Stream("marks", [mark], streams[0].rate_hz / slower, max_samples=10)

        def start(self) -> None:
            self.parts = 0

        def begin_segment(self, input: int) -> Any:
            self.parts += 1
            return {"mark": np.full(3, self.parts)}

        def process(self, block: tl.Block) -> None:
            return None

        def end_segment(self, input: int) -> Any:
            return {"mark": [-self.parts]}

    lengths = rng.integers(1, 100, 4).tolist()
    p = tl.Pipeline()
    p.add("parts", segments_of(lengths))
    p.add("begin", Begin(), inputs="parts")
    found = [(b.segment, b.first, b.samples, int(b.arrays["mark"][0])) for b in p]
    assert found == [one for k in range(4) for one in ((k, 0, 3, k + 1), (k, 3, 1, -k - 1))]


def test_what_follows_a_gap_is_behind_it() -> None:
    class Odd(tl.Node):
        """Leaves out every second block: those behind begin a segment, whose number is the same."""

        def process(self, block: tl.Block) -> Any:
            return block if block.first // 100 % 2 == 0 else None

    class Begin(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            return tl.Stream("marks", streams[0].arrays, streams[0].rate_hz, max_samples=100)

        def begin_segment(self, input: int) -> Any:
            return {"x": [5.0]}

        def process(self, block: tl.Block) -> None:
            return None

    p = tl.Pipeline()
    p.add("n", numbers(1000))
    p.add("odd", Odd(), inputs="n")
    p.add("begin", Begin(), inputs="odd")
    assert [(b.segment, b.first, b.samples) for b in p] == [(0, first, 1) for first in range(0, 1000, 200)]


def test_inputs_in_step() -> None:
    class Difference(tl.Node):
        in_step = True

        def open(self, streams: list[tl.Stream]) -> Any:
            assert len(streams) == 2
            return streams[0]

        def process_together(self, blocks: list[tl.Block]) -> Any:
            return {"x": blocks[0].arrays["x"] - blocks[1].arrays["x"]}

    p = tl.Pipeline()
    p.add("a", numbers(950))
    p.add("b", numbers(950))
    p.add("d", Difference(), inputs=["a", "b"])
    blocks = list(p)
    assert sum(b.samples for b in blocks) == 950 and all((b.arrays["x"] == 0).all() for b in blocks)


def test_live_sources_end_with_a_stop() -> None:
    class Clock(tl.Node):
        live = True

        def open(self, streams: list[tl.Stream]) -> Any:
            self.ended = False
            return tl.Stream("ticks", [tl.ArrayType("t", "int32", ("time",), (1,))], max_samples=1)

        def produce(self) -> Any:
            threading.Event().wait(0.005)
            return {"t": [1]} if np.random.random() < 0.5 else []

        def finish(self) -> None:
            self.ended = True

    clock = Clock()
    p = tl.Pipeline()
    p.add("clock", clock)
    for k, block in enumerate(p):
        if k == 5:
            break
    assert block.first == 5 and clock.ended
