"""Nodes in Python, and pipelines that are built in Python."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from fractions import Fraction

import numpy as np
import pytest
import tautline as tl
from support import write_filterbank

MHZ = 1500 - 5.0 * np.arange(32)


@pytest.fixture
def x(rng):
    return (rng.standard_normal((3, 40000)) + 1j * rng.standard_normal((3, 40000))).astype(np.complex64)


def correlation(x, *between):
    """voltages, f, the nodes between them, and a correlator."""
    p = tl.Pipeline(device="cpu")
    p.add("voltages", tl.nodes.voltages(x, rate_hz=1e6, centre_hz=150e6), block_samples=5000)
    last = p.add("f", "filter_bank", inputs="voltages", channels=16, requantise="off")
    for k, node in enumerate(between):
        last = p.add(f"python{k}", node, inputs=last)
    p.add("x", "correlator", inputs=last, integration_s=0.01)
    return p


def visibilities(p):
    blocks = list(p)
    return np.stack([b.arrays["visibilities"] for b in blocks]), np.stack([b.arrays["counts"] for b in blocks])


class Pass(tl.Node):
    def __init__(self):
        self.calls = []

    def start(self):
        self.calls = ["start"]

    def begin_segment(self, input):
        self.calls.append("begin")

    def process(self, block):
        self.calls.append("process")
        return block

    def end_segment(self, input):
        self.calls.append("end")

    def finish(self):
        self.calls.append("finish")

    def publish(self):
        self.calls.append("publish")

    def counters(self):
        return {"blocks": self.calls.count("process")}


def test_arrays_are_sources(x):
    data, counts = visibilities(correlation(x))
    vis = tl.correlate(x, rate_hz=1e6, centre_hz=150e6, channels=16, integration_s=0.01, requantise="off", device="cpu")
    assert np.array_equal(data, vis.data) and np.array_equal(counts, vis.counts)


def test_a_filter_hands_on(x):
    node = Pass()
    p = correlation(x, node, Pass())
    data, counts = visibilities(p)
    expected, expected_counts = visibilities(correlation(x))
    assert np.array_equal(data, expected) and np.array_equal(counts, expected_counts)
    assert node.calls[:2] == ["start", "begin"] and node.calls[-3:] == ["end", "finish", "publish"]
    assert p.counters["python0.blocks"] == node.calls.count("process") > 2
    assert np.array_equal(visibilities(p)[0], expected)  # and once more


def test_a_filter_changes_arrays_in_place_and_by_name(x):
    class Double(tl.Node):
        def process(self, block):
            block.arrays["spectra"] *= 2
            return block

    class DoubleByName(tl.Node):
        def process(self, block):
            return {"spectra": 2 * block.arrays["spectra"]}

    expected = 4 * visibilities(correlation(x))[0]
    for node in (Double(), DoubleByName()):
        assert np.allclose(visibilities(correlation(x, node))[0], expected, rtol=1e-6)


def test_a_filter_flags_samples(x, rng):
    bad = rng.random(40000 // 16) < 0.3

    class Flag(tl.Node):
        def open(self, streams):
            self.frequencies = streams[0].facts["frequencies_hz"]
            return streams[0]

        def process(self, block):
            valid = np.ones((3, block.samples), bool)
            valid[1] = ~bad[block.first : block.first + block.samples]
            return {"valid": valid}

    node = Flag()
    counts = visibilities(correlation(x, node))[1]
    spectra = 40000 // 16 - 7
    assert np.allclose(node.frequencies, tl.correlate(x, rate_hz=1e6, centre_hz=150e6, channels=16).frequencies)
    assert counts[:, 0, 0].sum() == spectra and counts[:, 0, 2].sum() == (~bad[:spectra]).sum()


def test_flags_of_each_channel_are_taken(x):
    class Flag(tl.Node):
        def process(self, block):
            valid = np.ones((16, 3, block.samples), bool)
            valid[5, 1] = False
            return {"valid": valid.reshape(48, -1)}

    counts = visibilities(correlation(x, Flag()))[1]
    expected = np.full((16, 3), 40000 // 16 - 7)
    expected[5, 1] = 0
    assert np.array_equal(counts.sum(0)[:, [0, 2, 5]], expected)  # autocorrelations


@pytest.mark.parametrize("rows", [0, 1, 2, 4, 5, 16, 63, 65])
def test_flags_of_other_rows_are_refused(rng, rows):
    x = (rng.standard_normal((4, 40000)) + 1j * rng.standard_normal((4, 40000))).astype(np.complex64)

    class Flag(tl.Node):
        def process(self, block):
            return {"valid": np.ones((rows, block.samples), bool)}

    p = correlation(x, Flag())
    if rows == 4:
        visibilities(p)
        return
    with pytest.raises(tl.ConfigError) as caught:
        visibilities(p)
    assert caught.value.field.endswith("valid") and f"{rows} rows" in str(caught.value)


def test_flags_of_a_filterbank_are_refused(rng):
    sky = rng.integers(0, 200, (5000, 32)).astype(np.uint8)

    class Flag(tl.Node):
        def process(self, block):
            return {"valid": np.ones((32, block.samples), bool)}

    p = tl.Pipeline(device="cpu")
    p.add("sky", tl.nodes.filterbank(sky, frequencies=MHZ, sample_time_s=1e-3))
    p.add("flag", Flag(), inputs="sky")
    p.add("trials", "dedisperse", inputs="flag", dms__range="0:100:10")
    with pytest.raises(tl.ConfigError) as caught:
        list(p.blocks("trials"))
    assert caught.value.field.endswith("valid")


def test_blocks_that_are_left_out_break_the_stream(x):
    class Third(tl.Node):
        def process(self, block):
            return block if block.first == 0 else None

    counts = visibilities(correlation(x, Third()))[1]
    assert 0 < counts[:, 0, 0].sum() < 40000 // 16 - 7


def test_a_search_of_what_a_filter_cleaned(tmp_path, rng):
    sky = rng.normal(100, 10, (20000, 32))
    late = np.round(tl.DISPERSION_CONSTANT * 60 * (MHZ**-2 - MHZ.max() ** -2) / 1e-3).astype(int)
    for channel, delay in enumerate(late):
        sky[9000 + delay : 9008 + delay, channel] += 15
    sky[:, 7] += np.where(rng.random(20000) < 0.02, 150, 0)  # interference
    sky = sky.clip(0, 255).astype(np.uint8)

    class Clean(tl.Node):
        def open(self, streams):
            assert np.allclose(streams[0].facts["frequencies_mhz"], MHZ) and streams[0].facts["sample_time_s"] == 1e-3
            return streams[0]

        def process(self, block):
            block.arrays["samples"][:, 7] = 100
            return block

    write_filterbank(tmp_path / "x.fil", sky, MHZ, 1e-3)
    cleaned = sky.copy()
    cleaned[:, 7] = 100
    array = tl.nodes.filterbank(sky, frequencies=MHZ, sample_time_s=1e-3)
    for name, source in (("array", array), ("file", "filterbank_files")):
        p = tl.Pipeline(device="cpu")
        p.add("sky", source, **({"files": [tmp_path / "x.fil"]} if name == "file" else {}))
        p.add("clean", Clean(), inputs="sky")
        p.add("trials", "dedisperse", inputs="clean", dms__range="0:100:10")
        trials = np.concatenate([b.arrays["trials"] for b in p.blocks("trials")], axis=1)
        expected = tl.dedisperse(cleaned, np.arange(0, 101, 10), frequencies=MHZ, sample_time_s=1e-3)
        assert np.array_equal(trials, expected)
        p = tl.Pipeline(device="cpu")
        p.add("sky", source, **({"files": [tmp_path / "x.fil"]} if name == "file" else {}))
        p.add("clean", Clean(), inputs="sky")
        p.add("pulses", "search", inputs="clean", dms__range="0:100", threshold=8)
        p.add("list", "candidate_file", inputs="pulses", path=tmp_path / f"{name}.csv")
        p.run()
        found = np.genfromtxt(tmp_path / f"{name}.csv", delimiter=",", names=True, comments="#")
        expected = tl.search(cleaned, "0:100", threshold=8, frequencies=MHZ, sample_time_s=1e-3)
        assert np.allclose(np.atleast_1d(found["snr"]), expected["snr"], atol=0.01) and len(expected) >= 1


def test_curves_come_to_a_sink(rng):
    counts = rng.poisson(1.0, (20000, 2)).astype(np.uint8)

    class Keep(tl.Node):
        def open(self, streams):
            self.kinds = [s.kind for s in streams]
            self.last = None

        def process(self, block):
            self.last = block.curves

    sink = Keep()
    p = tl.Pipeline(device="cpu")
    p.add("counts", tl.nodes.counts(counts, bin_s=1e-6))
    p.add("curves", "autocorrelator", inputs="counts", bins=8, levels=3)
    p.add("keep", sink, inputs="curves")
    p.run()
    k = tl.autocorrelate(counts, bin_s=1e-6, bins=8, levels=3)
    assert sink.kinds == ["curves"] and np.array_equal(sink.last.g, k.g) and np.array_equal(sink.last.lag_s, k.lag_s)


def test_raw_voltages_are_looked_at(rng):
    z = rng.integers(-100, 100, (2, 5000, 2)).astype(np.int8)

    class Look(tl.Node):
        def open(self, streams):
            self.facts = streams[0].facts
            self.seen = []

        def process(self, block):
            self.seen.append(block.arrays["voltages"])

    p = tl.Pipeline()
    look = Look()
    p.add("voltages", tl.nodes.voltages(z, rate_hz=1e6, centre_hz=1e8), block_samples=700)
    p.add("look", look, inputs="voltages")
    p.run()
    assert look.facts["inputs"] == 2 and look.facts["format"] == "ci8" and look.facts["rate_hz"] == 1e6
    assert np.array_equal(np.concatenate(look.seen, axis=2)[0], z)  # kept arrays stay what they were


def numbers(total, length=100):
    class Numbers(tl.Node):
        def open(self, streams):
            assert streams == []
            kinds = [tl.ArrayType("x", "float64", ("time",), (length,))]
            start = "2026-01-02-03:04:05"
            return tl.Stream("numbers", kinds, Fraction(1000), start, total_samples=total, max_samples=length)

        def start(self):
            self.at = 0

        def produce(self):
            if self.at >= total:
                return None
            block = np.arange(self.at, min(self.at + length, total), dtype=float)
            self.at += len(block)
            return {"x": block}

    return Numbers()


def test_a_source_a_filter_of_its_own_stream_and_two_outputs():
    class Halve(tl.Node):
        """Means of pairs, and what was left over."""

        def open(self, streams):
            (s,) = streams
            mean, total = tl.ArrayType("mean", "float32", ("time",), (50,)), tl.ArrayType("sum", "int64", ("one",), (1,))
            low = tl.Stream("means", [mean], rate_hz=s.rate_hz / 2, start_utc=s.start_utc, max_samples=50)
            return low, tl.Stream("sums", [total], rate_hz=s.rate_hz, max_samples=100)

        def process(self, block):
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


def test_a_dictionary_has_no_time_at_another_rate():
    class Means(tl.Node):
        def open(self, streams):
            mean = tl.ArrayType("mean", "float32", ("time",), (50,))
            return tl.Stream("means", [mean], rate_hz=streams[0].rate_hz / 2, max_samples=50)

        def process(self, block):
            return {"mean": block.arrays["x"].reshape(-1, 2).mean(1)}

    p = tl.Pipeline()
    p.add("n", numbers(1000))
    p.add("m", Means(), inputs="n")
    with pytest.raises(tl.ConfigError, match="_replace"):
        list(p)


def test_what_finish_gives_follows_the_last_block():
    class More(tl.Node):
        def open(self, streams):
            return tl.Stream("more", streams[0].arrays, streams[0].rate_hz, streams[0].start_utc, max_samples=100)

        def process(self, block):
            return {"x": block.arrays["x"]}

        def end_segment(self, input):
            return {"x": np.full(7, -1.0)}

        def finish(self):
            return {"x": np.full(5, -2.0)}

    p = tl.Pipeline()
    p.add("n", numbers(1050))
    p.add("m", More(), inputs="n")
    blocks = list(p)
    assert [(b.segment, b.first, b.samples) for b in blocks[-3:]] == [(0, 1000, 50), (0, 1050, 7), (0, 1057, 5)]


def test_inputs_in_step():
    class Difference(tl.Node):
        in_step = True

        def open(self, streams):
            assert len(streams) == 2
            return streams[0]

        def process_together(self, blocks):
            return {"x": blocks[0].arrays["x"] - blocks[1].arrays["x"]}

    p = tl.Pipeline()
    p.add("a", numbers(950))
    p.add("b", numbers(950))
    p.add("d", Difference(), inputs=["a", "b"])
    blocks = list(p)
    assert sum(b.samples for b in blocks) == 950 and all((b.arrays["x"] == 0).all() for b in blocks)


def test_python_nodes_beside_those_of_a_file(tmp_path, x):
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "p.toml").write_text(
        f'[voltages]\ntype = "voltage_files"\nfiles = ["{tmp_path}/x.npy"]\nrate_hz = 1e6\ncentre_hz=150e6\n'
        '[f]\ntype = "filter_bank"\ninputs = "voltages"\nchannels = 16\nrequantise = "off"\n'
    )
    p = tl.Pipeline(tmp_path / "p.toml", set={"x.integration_s": 0.01}, device="cpu")
    p.add("pass", Pass(), inputs="f")
    p.add("x", "correlator", inputs="pass")
    assert np.array_equal(visibilities(p)[0], visibilities(correlation(x))[0])
    with pytest.raises(tl.InputOutputError):
        q = tl.Pipeline(tmp_path / "absent.toml")
        q.add("n", numbers(10))
        q.run()


FUNCTIONS = ["open", "start", "produce", "begin_segment", "process", "end_segment", "finish", "publish", "counters"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_exceptions_are_the_runs_error(function):
    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine(f"of {function}")

    source, node = numbers(1000), Pass()
    setattr(source if function == "produce" else node, function, fail)
    p = tl.Pipeline()
    p.add("n", source)
    p.add("bad", node, inputs="n")
    p.add("after", Pass(), inputs="bad")
    with pytest.raises(Mine, match=f"of {function}") as caught:
        p.run()
    if function != "counters":
        assert ("n" if function == "produce" else "bad") in "".join(caught.value.__notes__)
        assert "fail" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_what_cannot_be_given_is_refused():
    def give(result):
        class Bad(tl.Node):
            def process(self, block):
                return result(block) if callable(result) else result

        p = tl.Pipeline()
        p.add("n", numbers(300))
        p.add("bad", Bad(), inputs="n")
        return p

    for result in (
        5,
        "x",
        {"y": np.zeros(100)},
        {"x": np.zeros(99)},
        {"x": np.zeros(101)},
        {"x": np.zeros((100, 1))},
        {"x": np.zeros(100, complex)},
        {"x": None, "valid": np.ones(100)},
        {"x": "text"},
        [{"x": np.zeros(100)}, 7],
        lambda block: block._replace(first=block.first + 1),
        lambda block: block._replace(samples=block.samples + 1),
    ):
        with pytest.raises((tl.ConfigError, TypeError, ValueError)):
            give(result).run()
    sink = type("Sink", (tl.Node,), {"open": lambda self, streams: None, "process": lambda self, block: block})()
    p = tl.Pipeline()
    p.add("n", numbers(300))
    p.add("s", sink, inputs="n")
    with pytest.raises(tl.ConfigError):
        p.run()


def test_what_cannot_be_added_is_refused():
    p = tl.Pipeline()
    node = p.add("n", numbers(10))
    assert node == "n" and "n" in repr(p)
    same = Pass()
    p.add("p", same, inputs=node)
    for arguments, options in (
        (("n", numbers(10)), {}),
        (("a.b", numbers(10)), {}),
        (("", numbers(10)), {}),
        (("q", "no_such_type"), {}),
        (("q", 5), {}),
        (("q", same), {"inputs": "n"}),
        (("q", Pass()), {"speed": 3}),
        (("q", "filter_bank"), {"speed": 3}),
        (("q", Pass()), {"depth": 0}),
    ):
        with pytest.raises(tl.ConfigError) as caught:
            p.add(*arguments, **options)
        assert caught.value.field
    for inputs in ("absent", "n.7", "p.x"):
        q = tl.Pipeline()
        q.add("n", numbers(10))
        q.add("p", Pass(), inputs=inputs)
        with pytest.raises(tl.ConfigError):
            q.run()
    with pytest.raises(tl.ConfigError):
        tl.Pipeline().run()
    q = tl.Pipeline()
    q.add("n", numbers(10))
    q.add("f", "filter_bank", inputs="n", channels=16)
    with pytest.raises(tl.ConfigError):
        list(q)  # no voltages


def test_a_loop_that_is_left_and_nodes_that_are_dropped():
    def threads():
        return len(os.listdir("/proc/self/task"))

    blocks = before = None
    for k in range(20):
        if k == 5:  # what the library keeps is there
            before = threads()
        p = tl.Pipeline()
        p.add("n", numbers(10**6))
        p.add("p", Pass(), inputs="n")
        blocks = iter(p)
        next(blocks)
        del p
    del blocks
    gc.collect()
    until = time.monotonic() + 10
    while threads() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert threads() <= before


def test_live_sources_end_with_a_stop():
    class Clock(tl.Node):
        live = True

        def open(self, streams):
            self.ended = False
            return tl.Stream("ticks", [tl.ArrayType("t", "int32", ("time",), (1,))], max_samples=1)

        def produce(self):
            threading.Event().wait(0.005)
            return {"t": [1]} if np.random.random() < 0.5 else []

        def finish(self):
            self.ended = True

    clock = Clock()
    p = tl.Pipeline()
    p.add("clock", clock)
    for k, block in enumerate(p):
        if k == 5:
            break
    assert block.first == 5 and clock.ended


def test_ctrl_c_ends_a_run_of_python_nodes():
    code = (
        "import numpy as np, tautline as tl, sys\n"
        "class S(tl.Node):\n"
        "    def open(self, streams): return tl.Stream('n', [tl.ArrayType('x', 'float32', ('time',), (10,))], max_samples=10)\n"
        "    def produce(self):\n"
        "        print('.', flush=True)\n"
        "        return {'x': np.zeros(10)}\n"
        "p = tl.Pipeline(); p.add('s', S())\n"
        "try: p.run()\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_an_interpreter_that_ends_while_a_run_goes_on():
    code = (
        "import numpy as np, tautline as tl\n"
        "class S(tl.Node):\n"
        "    def open(self, streams): return tl.Stream('n', [tl.ArrayType('x', 'float32', ('time',), (10,))], max_samples=10)\n"
        "    def produce(self): return {'x': np.zeros(10)}\n"
        "p = tl.Pipeline(); p.add('s', S())\n"
        "blocks = iter(p); next(blocks)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


def test_node_types_say_their_fields():
    types = tl.node_types()
    assert {"voltage_files", "filter_bank", "correlator", "search", "autocorrelator"} <= set(types)
    assert "channels" in types["filter_bank"] and "1 input" in types["filter_bank"]
