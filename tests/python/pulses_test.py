"""dedisperse and search: against numpy, and arrays against files."""
import copy
import pathlib
import pickle
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import assert_progress_may_raise, write_filterbank

K = tl.DISPERSION_CONSTANT


def delays(dm: Any, mhz: Any, sample_time_s: Any) -> Any:
    return np.round(K * dm * (mhz**-2.0 - mhz.max() ** -2) / sample_time_s).astype(int)


def summed(x: Any, dms: Any, mhz: Any, sample_time_s: Any) -> Any:
    """[time, channel] to [trial, time]."""
    longest = max(delays(max(dms), mhz, sample_time_s))
    times = len(x) - longest
    out = np.zeros((len(dms), times), x.dtype if x.dtype.kind == "f" else np.int64)
    for i, dm in enumerate(dms):
        for c, late in enumerate(delays(dm, mhz, sample_time_s)):
            out[i] += x[late : late + times, c]
    return out


def sky(rng: np.random.Generator, times: Any = 4000, channels: Any=64) -> Any:
    return rng.integers(0, 256, (times, channels)).astype(np.uint8), np.linspace(1500, 1200, channels), 256e-6


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_integers_are_summed_exactly(rng: np.random.Generator, dtype: str) -> None:
    _, mhz, tsamp = sky(rng)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    x = rng.integers(low, high, (3000, mhz.size), endpoint=True).astype(dtype)
    dms = [0, 3.5, 100, 55]
    expected = summed(x.astype(np.int64), dms, mhz, tsamp)
    got = tl.dedisperse(x, dms, frequencies=mhz, sample_time_s=tsamp)
    assert got.dtype == np.int32 and np.array_equal(got, expected)
    turned = np.ascontiguousarray(x.T)
    assert np.array_equal(tl.dedisperse(turned, dms, frequencies=mhz, sample_time_s=tsamp, axes="ft"), expected)
    assert np.array_equal(tl.dedisperse(x.T, dms, frequencies=mhz, sample_time_s=tsamp, axes="ft"), expected)
    assert np.array_equal(tl.dedisperse(x[:, ::-1], dms, frequencies=mhz[::-1], sample_time_s=tsamp), expected)


def test_floats(rng: np.random.Generator) -> None:
    x, mhz, tsamp = sky(rng)
    x = rng.standard_normal(x.shape)
    got = tl.dedisperse(x, np.arange(0, 50, 7.3), frequencies=mhz, sample_time_s=tsamp)
    expected = summed(x.astype(np.float32), np.arange(0, 50, 7.3), mhz, tsamp)
    assert got.dtype == np.float32 and got.shape == expected.shape
    assert np.abs(got - expected).max() < 1e-4


def test_longer_than_a_block(rng: np.random.Generator) -> None:
    x, mhz, tsamp = sky(rng, 70000, 5)
    assert np.array_equal(
        tl.dedisperse(x, [0, 40], frequencies=mhz, sample_time_s=tsamp), summed(x.astype(int), [0, 40], mhz, tsamp)
    )


def test_shorter_than_the_delays_gives_nothing(rng: np.random.Generator) -> None:
    x, mhz, tsamp = sky(rng, 50)
    got = tl.dedisperse(x, [0, 500], frequencies=mhz, sample_time_s=tsamp)
    assert got.shape == (2, 0)


def test_files_give_what_arrays_give(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x, mhz, tsamp = sky(rng)
    mhz = 1500 - 4.75 * np.arange(mhz.size)
    write_filterbank(tmp_path / "x.fil", x, mhz, tsamp)
    dms = np.arange(0, 100, 12.5)
    of_file = tl.dedisperse(tmp_path / "x.fil", dms)
    assert np.array_equal(of_file, tl.dedisperse(x, dms, frequencies=mhz, sample_time_s=tsamp))
    assert np.array_equal(tl.dedisperse(str(tmp_path / "x.fil"), "0:87.5:12.5"), of_file)
    assert [p.name for p in tmp_path.iterdir()] == ["x.fil"]


def with_pulse(rng: np.random.Generator) -> Any:
    x, mhz, tsamp = sky(rng, 20000, 64)
    x = rng.normal(100, 10, x.shape)
    for c, late in enumerate(delays(80, mhz, tsamp)):
        x[7000 + late : 7008 + late, c] += 12
    return x.round().clip(0, 255).astype(np.uint8), mhz, tsamp


def test_candidates_that_are_pickled_keep_what_the_run_said(rng: np.random.Generator) -> None:
    x, mhz, tsamp = with_pulse(rng)
    found = tl.search(x, "0:150", threshold=8, frequencies=mhz, sample_time_s=tsamp)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(found, protocol))
        assert isinstance(again, tl.Candidates) and again.dtype == found.dtype and np.array_equal(again, found)
        assert again.facts == found.facts and again.facts["trials"] > 1
    assert copy.deepcopy(found).facts == copy.copy(found).facts == found.facts


def test_search_finds_a_pulse(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x, mhz, tsamp = with_pulse(rng)
    found = tl.search(x, "0:150", threshold=8, frequencies=mhz, sample_time_s=tsamp)
    best = found[0]
    assert abs(best["dm"] - 80) < 3 and abs(best["sample"] - 7004) <= 2 and 4 <= best["width_samples"] <= 16
    assert abs(best["time_s"] - 7004 * tsamp) < 3 * tsamp
    assert 15 < best["snr"] < 40 and (np.diff(found["snr"]) <= 0).all()
    mhz = 1500 - (300 / 63) * np.arange(64)
    write_filterbank(tmp_path / "x.fil", x, mhz, tsamp)
    of_file = tl.search(tmp_path / "x.fil", "0:150", threshold=8)
    assert np.array_equal(of_file[["dm", "sample", "snr"]], found[["dm", "sample", "snr"]])
    assert [p.name for p in tmp_path.iterdir()] == ["x.fil"]


def test_candidates_say_what_was_filled(rng: np.random.Generator) -> None:
    x, mhz, tsamp = with_pulse(rng)
    known: Any = {"threshold": 8, "frequencies": mhz, "sample_time_s": tsamp}
    assert (tl.search(x, "0:150", **known)["filled"] == 0).all()
    stopped = x.copy()
    channel = int(rng.integers(1, 63))
    stopped[4000:11000, channel] = 7
    best = tl.search(stopped, "0:150", **known)[0]
    assert abs(best["dm"] - 80) < 3 and best["filled"] == 1 / 64
    x = np.empty((2, 5000), np.int32)
    x[:] = rng.normal(0, 100, x.shape)
    assert "filled" not in (tl.detect(x, [0, 1], sample_time_s=1e-3).dtype.names or ())


def test_search_takes_what_dedisperse_takes(rng: np.random.Generator) -> None:
    x, mhz, tsamp = with_pulse(rng)
    known: dict[str, Any] = {"dms": "0:150", "threshold": 8, "frequencies": mhz, "sample_time_s": tsamp}
    expected = tl.search(x, **known)
    assert len(expected) and abs(expected["dm"][0] - 80) < 3
    alike: list[tuple[Any, str]] = [
        ((x.astype(int) - 128).astype(np.int8), "tf"),
        ((x.astype(int) - 128).astype(np.int16), "tf"),
        (x.astype(np.uint16), "tf"),
        (x.T, "ft"),  # [channel, time], channels dense
        (np.ascontiguousarray(x.T), "ft"),
        (np.ascontiguousarray((x.astype(int) - 128).astype(np.int16).T), "ft"),
    ]
    for samples, axes in alike:
        found = tl.search(samples, axes=axes, **known)
        assert np.array_equal(found, expected), (samples.dtype, axes)
    found = tl.search(np.ascontiguousarray(x.T).astype(np.float32), axes="ft", **known)
    # Sums of floats are rounded in another order.
    assert abs(found["sample"][0] - expected["sample"][0]) <= 4 and abs(found["dm"][0] - 80) < 3
    # zero_dm and the run's cleaning know what stands for 0.
    unsigned, signed = tl.search(x, zero_dm=True, **known), tl.search(alike[0][0], zero_dm=True, **known)
    assert np.array_equal(signed, unsigned)


def test_series_are_searched(rng: np.random.Generator) -> None:
    x, mhz, tsamp = with_pulse(rng)
    dms = np.arange(0, 150, 2.0)
    series = tl.dedisperse(x, dms, frequencies=mhz, sample_time_s=tsamp)
    known: dict[str, Any] = {"sample_time_s": tsamp, "threshold": 8}
    found = tl.detect(series, dms, **known)
    best = found[0]
    assert best["dm"] == dms[best["dm_index"]] and abs(best["dm"] - 80) < 3
    assert abs(best["sample"] - 7004) <= 2 and best["time_s"] == best["sample"] * tsamp
    assert 4 <= best["width_samples"] <= 16 and 15 < best["snr"] < 40 and (np.diff(found["snr"]) <= 0).all()
    assert best["first_sample"] <= best["sample"] <= best["last_sample"] and best["members"] > 1
    facts = found.facts
    assert facts["samples"] == series.shape[1] and facts["missing"] == 0 and facts["detections"] >= best["members"]
    assert facts["widths"][0] == 1 and facts["widths"][-1] == int(0.1 / tsamp)
    # Every backend, floats, strides, and one trial by itself.
    assert np.array_equal(tl.detect(series, dms, device="reference", **known), tl.detect(series, dms, device="cpu", **known))
    assert np.array_equal(tl.detect(np.asfortranarray(series), dms, **known), found)
    assert tl.detect(series.astype(float), dms, **known)[0]["sample"] == best["sample"]
    alone = tl.detect(series[best["dm_index"]], **known)[0]
    assert np.isnan(alone["dm"]) and alone["sample"] == best["sample"] and alone["snr"] == best["snr"]
    # As a search of the same trials finds it, which follows low trials further.
    whole = tl.search(x, dms, threshold=8, frequencies=mhz, sample_time_s=tsamp)
    assert (*(found.dtype.names or ()), "filled") == whole.dtype.names
    assert best["dm"] == whole["dm"][0] and best["sample"] == whole["sample"][0]
    assert abs(best["snr"] / whole["snr"][0] - 1) < 0.01


def test_missing_samples_are_left_out(rng: np.random.Generator) -> None:
    series = rng.standard_normal((3, 30000)).astype(np.float32)
    series[1, 20000:20010] += 8
    series[:, 5000:5100] = np.nan
    found = tl.detect(series, [1, 2, 3], sample_time_s=1e-3)
    assert found["dm"][0] == 2 and abs(found["sample"][0] - 20005) <= 2 and found.facts["missing"] == 300
    assert len(tl.detect(series[:, :0], sample_time_s=1e-3)) == 0


def test_arrays_in_pieces_tell_how_far_they_are(rng: np.random.Generator) -> None:
    # Longer than the pieces; how often it is told depends on the machine, but the end is told.
    told: list[tuple[int, int]] = []
    x, mhz, tsamp = sky(rng, 40000, 16)
    progress = lambda done, total: told.append((done, total))  # noqa: E731
    plain = tl.dedisperse(x, [0, 40], frequencies=mhz, sample_time_s=tsamp)
    for axes, samples in (("tf", x), ("ft", np.ascontiguousarray(x.T))):
        told.clear()
        got = tl.dedisperse(samples, [0, 40], frequencies=mhz, sample_time_s=tsamp, axes=axes, progress=progress)
        assert np.array_equal(got, plain) and told[-1] == (40000, 40000) and told == sorted(told)
    told.clear()
    tl.detect(rng.standard_normal((2, 150_000)), sample_time_s=tsamp, progress=progress)
    assert told[-1] == (150_000, 150_000)


def test_search_tells_how_far_it_is(rng: np.random.Generator) -> None:
    seen: list[tuple[int, int]] = []
    x, mhz, tsamp = with_pulse(rng)
    tl.search(x, "0:150", frequencies=mhz, sample_time_s=tsamp, progress=lambda done, total: seen.append((done, total)))
    assert seen and seen == sorted(seen) and seen[-1] == (len(x), len(x))
    assert_progress_may_raise(lambda progress: tl.search(x, "0:150", frequencies=mhz, sample_time_s=tsamp, progress=progress))


def test_what_progress_raises_stops_a_stage(rng: np.random.Generator) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Enough(done, total)

    x, mhz, tsamp = sky(rng, 150_000, 64)
    with pytest.raises(Enough) as caught:
        tl.dedisperse(x, np.arange(0, 100, 0.5), frequencies=mhz, sample_time_s=tsamp, device="reference", progress=stop)
    assert caught.value.args[0] < caught.value.args[1] == 150_000


def test_search_writes_a_list_where_one_is_asked_for(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x, mhz, tsamp = with_pulse(rng)
    found = tl.search(x, [80.0], frequencies=mhz, sample_time_s=tsamp, output=str(tmp_path / "c.csv"))
    lines = (tmp_path / "c.csv").read_text().splitlines()
    assert len(lines) == 1 + len(found) and found["dm"][0] == 80
    with pytest.raises(tl.InputOutputError):
        tl.search(x, [80.0], frequencies=mhz, sample_time_s=tsamp, output=str(tmp_path / "c.csv"))


def test_steps_of_level_are_told(rng: np.random.Generator) -> None:
    x, mhz, tsamp = sky(rng, 20000, 64)
    x = rng.normal(100, 10, x.shape)
    known: Any = {"frequencies": mhz, "sample_time_s": tsamp, "threshold": 9}
    assert tl.search(x.round().astype(np.uint8), "0:150", **known).facts["level_steps"] == 0
    step = int(rng.integers(5000, 15000))
    x[step:] += 20
    with pytest.warns(tl.DataWarning, match=r"steps at sample \d+\. Nothing is levelled: pulses whose sweep crosses"):
        assert tl.search(x.round().astype(np.uint8), "0:150", **known).facts["level_steps"] == 1


def test_pulses_that_were_put_in_are_marked(rng: np.random.Generator) -> None:
    x, mhz, tsamp = with_pulse(rng)
    x = np.concatenate([rng.normal(100, 10, (20000, 64)).round().clip(0, 255).astype(np.uint8), x])
    known = {"frequencies": mhz, "sample_time_s": tsamp, "threshold": 9}
    assert not tl.search(x, "0:150", **known)["injected"].any()
    found = tl.search(x, "0:150", inject="every=6,dm=20:60,width=0.003:0.005,snr=30:31,seed=1", **known)
    assert set(found["injected"]) == {0, 1}  # the pulse of DM 80, and others
    assert type(found["injected"]) is np.ndarray and len(found[found["injected"] == 1]) == found["injected"].sum()
    facts = found.facts
    # 40,000 times of 256 us: one pulse each 6 s, two begun, one or both of them whole.
    assert 1 <= facts["recalled"] <= facts["injected"] <= 2 and found["injected"].sum() >= facts["recalled"]
    assert 0.5 < facts["snr_ratio"] < 1.5 and facts["clipped"] >= 0
    assert found[:1].facts is facts and found[["dm", "snr"]].facts is facts


def test_nothing_found_is_an_empty_array(rng: np.random.Generator) -> None:
    x, mhz, tsamp = sky(rng, 5000)
    found = tl.search(x, [10.0], threshold=50, frequencies=mhz, sample_time_s=tsamp)
    assert found.shape == (0,) and "snr" in (found.dtype.names or ())


@pytest.mark.parametrize(
    "call, field",
    [
        (lambda x, mhz: tl.dedisperse(x, [0], frequencies=mhz), "frequencies and sample_time_s"),
        (lambda x, mhz: tl.dedisperse(x, [0], frequencies=mhz[1:], sample_time_s=1e-3), "samples"),
        (lambda x, mhz: tl.dedisperse(x, [-1], frequencies=mhz, sample_time_s=1e-3), "dedisperse dms"),
        (lambda x, mhz: tl.dedisperse(x, [], frequencies=mhz, sample_time_s=1e-3), "dedisperse dms"),
        (lambda x, mhz: tl.dedisperse(x, [np.nan], frequencies=mhz, sample_time_s=1e-3), "dedisperse dms"),
        (lambda x, mhz: tl.dedisperse(x[0], [0], frequencies=mhz, sample_time_s=1e-3), "x"),
        (lambda x, mhz: tl.dedisperse(x.astype(complex), [0], frequencies=mhz, sample_time_s=1e-3), "x"),
        (lambda x, mhz: tl.dedisperse(x, [0], frequencies=mhz, sample_time_s=1e-3, axes="ft"), "samples"),
        (lambda x, mhz: tl.dedisperse(x, [0], frequencies=mhz, sample_time_s=1e-3, bits=4), "bits"),
        (lambda x, mhz: tl.detect(x, sample_time_s=1e-3), "series"),
        (lambda x, mhz: tl.detect(x.astype(np.int32), [1], sample_time_s=1e-3), "dms"),
        (lambda x, mhz: tl.detect(x.astype(np.int32), sample_time_s=0), "sample_time_s"),
        (lambda x, mhz: tl.detect(x.astype(np.int32), sample_time_s=1e-3, max_width_s=1e-4), "max_width_s"),
        (lambda x, mhz: tl.detect(x.astype(np.int32), sample_time_s=1e-3, noise="loud"), "noise"),
        (lambda x, mhz: tl.detect(x.astype(np.int32), sample_time_s=1e-3, dm_trials=-1), "dm_trials"),
        (lambda x, mhz: tl.search(x, [], frequencies=mhz, sample_time_s=1e-3), "dms"),
        (lambda x, mhz: tl.search(x, "0:1:2:3", frequencies=mhz, sample_time_s=1e-3), "dms.range"),
        (lambda x, mhz: tl.search(x, [1], frequencies=mhz, sample_time_s=0), "sample_time_s"),
        (lambda x, mhz: tl.search(x, [1], frequencies=mhz, sample_time_s=1e-3, axes="time"), "axes"),
        (lambda x, mhz: tl.search("absent.fil", [1], axes="ft"), "frequencies, sample_time_s and axes"),
        (lambda x, mhz: tl.search("absent.fil", [1], frequencies=mhz), "frequencies, sample_time_s and axes"),
    ],
)
def test_bad_arguments_name_the_field(rng: np.random.Generator, call: Any, field: Any) -> None:
    x, mhz, _ = sky(rng, 300)
    with pytest.raises(tl.ConfigError) as caught:
        call(x, mhz)
    assert caught.value.field == field
