"""Nodes in Python between those of the library."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import Pass, numbers, write_filterbank

MHZ = 1500 - 5.0 * np.arange(32)


@pytest.fixture
def x(rng: np.random.Generator) -> Any:
    return (rng.standard_normal((3, 40000)) + 1j * rng.standard_normal((3, 40000))).astype(np.complex64)


def correlation(x: Any, *between: Any) -> Any:
    """voltages, f, the nodes between them, and a correlator."""
    p = tl.Pipeline(device="cpu")
    p.add("voltages", tl.nodes.voltages(x, rate_hz=1e6, centre_hz=150e6), block_samples=5000)
    last = p.add("f", "filter_bank", inputs="voltages", channels=16, requantise="off")
    for k, node in enumerate(between):
        last = p.add(f"python{k}", node, inputs=last)
    p.add("x", "correlator", inputs=last, integration_s=0.01)
    return p


def visibilities(p: Any) -> Any:
    blocks = list(p)
    return np.stack([b.arrays["visibilities"] for b in blocks]), np.stack([b.arrays["counts"] for b in blocks])


def test_arrays_are_sources(x: Any) -> None:
    data, counts = visibilities(correlation(x))
    vis = tl.correlate(x, rate_hz=1e6, centre_hz=150e6, channels=16, integration_s=0.01, requantise="off", device="cpu")
    assert np.array_equal(data, vis.data) and np.array_equal(counts, vis.counts)


def test_a_filter_hands_on(x: Any) -> None:
    node = Pass()
    p = correlation(x, node, Pass())
    data, counts = visibilities(p)
    expected, expected_counts = visibilities(correlation(x))
    assert np.array_equal(data, expected) and np.array_equal(counts, expected_counts)
    assert node.calls[:2] == ["start", "begin"] and node.calls[-3:] == ["end", "finish", "publish"]
    assert p.counters["python0.blocks"] == node.calls.count("process") > 2
    assert np.array_equal(visibilities(p)[0], expected)  # and once more


def test_a_filter_changes_arrays_in_place_and_by_name(x: Any) -> None:
    class Double(tl.Node):
        def process(self, block: tl.Block) -> Any:
            block.arrays["spectra"] *= 2
            return block

    class DoubleByName(tl.Node):
        def process(self, block: tl.Block) -> Any:
            return {"spectra": 2 * block.arrays["spectra"]}

    expected = 4 * visibilities(correlation(x))[0]
    for node in (Double(), DoubleByName()):
        assert np.allclose(visibilities(correlation(x, node))[0], expected, rtol=1e-6)


def test_a_filter_flags_samples(x: Any, rng: np.random.Generator) -> None:
    bad = rng.random(40000 // 16) < 0.3

    class Flag(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            self.frequencies = streams[0].facts["frequencies_hz"]
            return streams[0]

        def process(self, block: tl.Block) -> Any:
            valid = np.ones((3, block.samples), bool)
            valid[1] = ~bad[block.first : block.first + block.samples]
            return {"valid": valid}

    node = Flag()
    counts = visibilities(correlation(x, node))[1]
    spectra = 40000 // 16 - 7
    assert np.allclose(node.frequencies, tl.correlate(x, rate_hz=1e6, centre_hz=150e6, channels=16).frequencies)
    assert counts[:, 0, 0].sum() == spectra and counts[:, 0, 2].sum() == (~bad[:spectra]).sum()


def test_flags_of_each_channel_are_taken(x: Any) -> None:
    class Flag(tl.Node):
        def process(self, block: tl.Block) -> Any:
            valid = np.ones((16, 3, block.samples), bool)
            valid[5, 1] = False
            return {"valid": valid.reshape(48, -1)}

    counts = visibilities(correlation(x, Flag()))[1]
    expected = np.full((16, 3), 40000 // 16 - 7)
    expected[5, 1] = 0
    assert np.array_equal(counts.sum(0)[:, [0, 2, 5]], expected)  # autocorrelations


@pytest.mark.parametrize("rows", [0, 1, 2, 4, 5, 16, 63, 65])
def test_flags_of_other_rows_are_refused(rng: np.random.Generator, rows: int) -> None:
    x = (rng.standard_normal((4, 40000)) + 1j * rng.standard_normal((4, 40000))).astype(np.complex64)

    class Flag(tl.Node):
        def process(self, block: tl.Block) -> Any:
            return {"valid": np.ones((rows, block.samples), bool)}

    p = correlation(x, Flag())
    if rows == 4:
        visibilities(p)
        return
    with pytest.raises(tl.ConfigError) as caught:
        visibilities(p)
    assert caught.value.field.endswith("valid") and f"{rows} rows" in str(caught.value)


def test_flags_of_a_filterbank_are_refused(rng: np.random.Generator) -> None:
    sky = rng.integers(0, 200, (5000, 32)).astype(np.uint8)

    class Flag(tl.Node):
        def process(self, block: tl.Block) -> Any:
            return {"valid": np.ones((32, block.samples), bool)}

    p = tl.Pipeline(device="cpu")
    p.add("sky", tl.nodes.filterbank(sky, frequencies=MHZ, sample_time_s=1e-3))
    p.add("flag", Flag(), inputs="sky")
    p.add("trials", "dedisperse", inputs="flag", dms__range="0:100:10")
    with pytest.raises(tl.ConfigError) as caught:
        list(p.blocks("trials"))
    assert caught.value.field.endswith("valid")


def test_blocks_that_are_left_out_break_the_stream(x: Any) -> None:
    class Third(tl.Node):
        def process(self, block: tl.Block) -> Any:
            return block if block.first == 0 else None

    counts = visibilities(correlation(x, Third()))[1]
    assert 0 < counts[:, 0, 0].sum() < 40000 // 16 - 7


def test_a_search_of_what_a_filter_cleaned(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    sky = rng.normal(100, 10, (20000, 32))
    late = np.round(tl.DISPERSION_CONSTANT * 60 * (MHZ**-2 - MHZ.max() ** -2) / 1e-3).astype(int)
    for channel, delay in enumerate(late):
        sky[9000 + delay : 9008 + delay, channel] += 15
    sky[:, 7] += np.where(rng.random(20000) < 0.02, 150, 0)  # interference
    sky = sky.clip(0, 255).astype(np.uint8)

    class Clean(tl.Node):
        def open(self, streams: list[tl.Stream]) -> Any:
            assert np.allclose(streams[0].facts["frequencies_mhz"], MHZ) and streams[0].facts["sample_time_s"] == 1e-3
            return streams[0]

        def process(self, block: tl.Block) -> Any:
            block.arrays["samples"][:, 7] = 100
            return block

    write_filterbank(tmp_path / "x.fil", sky, MHZ, 1e-3)
    cleaned = sky.copy()
    cleaned[:, 7] = 100
    array = tl.nodes.filterbank(sky, frequencies=MHZ, sample_time_s=1e-3)
    sources: list[tuple[str, Any, Any]] = [("array", array, {}), ("file", "filterbank_files", {"files": [tmp_path / "x.fil"]})]
    for name, source, files in sources:
        p = tl.Pipeline(device="cpu")
        p.add("sky", source, **files)
        p.add("clean", Clean(), inputs="sky")
        p.add("trials", "dedisperse", inputs="clean", dms__range="0:100:10")
        trials = np.concatenate([b.arrays["trials"] for b in p.blocks("trials")], axis=1)
        expected = tl.dedisperse(cleaned, np.arange(0, 101, 10), frequencies=MHZ, sample_time_s=1e-3)
        assert np.array_equal(trials, expected)
        p = tl.Pipeline(device="cpu")
        p.add("sky", source, **files)
        p.add("clean", Clean(), inputs="sky")
        p.add("pulses", "search", inputs="clean", dms__range="0:100", threshold=8)
        p.add("list", "candidate_file", inputs="pulses", path=tmp_path / f"{name}.csv")
        p.run()
        found = np.genfromtxt(tmp_path / f"{name}.csv", delimiter=",", names=True, comments="#")
        expected = tl.search(cleaned, "0:100", threshold=8, frequencies=MHZ, sample_time_s=1e-3)
        assert np.allclose(np.atleast_1d(found["snr"]), expected["snr"], atol=0.01) and len(expected) >= 1


def test_curves_come_to_a_sink(rng: np.random.Generator) -> None:
    counts = rng.poisson(1.0, (20000, 2)).astype(np.uint8)

    class Keep(tl.Node):
        def open(self, streams: list[tl.Stream]) -> None:
            self.kinds = [s.kind for s in streams]
            self.last: tl.Curves | None = None

        def process(self, block: tl.Block) -> None:
            self.last = block.curves

    sink = Keep()
    p = tl.Pipeline(device="cpu")
    p.add("counts", tl.nodes.counts(counts, bin_s=1e-6))
    p.add("curves", "autocorrelator", inputs="counts", bins=8, levels=3)
    p.add("keep", sink, inputs="curves")
    p.run()
    k = tl.autocorrelate(counts, bin_s=1e-6, bins=8, levels=3)
    assert sink.kinds == ["curves"] and sink.last is not None
    assert np.array_equal(sink.last.g, k.g) and np.array_equal(sink.last.lag_s, k.lag_s)


def test_raw_voltages_are_looked_at(rng: np.random.Generator) -> None:
    z = rng.integers(-100, 100, (2, 5000, 2)).astype(np.int8)

    class Look(tl.Node):
        def open(self, streams: list[tl.Stream]) -> None:
            self.facts = streams[0].facts
            self.seen: list[Any] = []

        def process(self, block: tl.Block) -> None:
            self.seen.append(block.arrays["voltages"])

    p = tl.Pipeline()
    look = Look()
    p.add("voltages", tl.nodes.voltages(z, rate_hz=1e6, centre_hz=1e8), block_samples=700)
    p.add("look", look, inputs="voltages")
    p.run()
    assert look.facts["inputs"] == 2 and look.facts["format"] == "ci8" and look.facts["rate_hz"] == 1e6
    assert np.array_equal(np.concatenate(look.seen, axis=2)[0], z)  # kept arrays stay what they were


def test_python_nodes_beside_those_of_a_file(tmp_path: pathlib.Path, x: Any) -> None:
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


def test_node_types_say_their_fields() -> None:
    types = tl.node_types()
    assert {"voltage_files", "filter_bank", "correlator", "search", "autocorrelator"} <= set(types)
    assert "channels" in types["filter_bank"] and "1 input" in types["filter_bank"]
