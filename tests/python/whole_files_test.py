"""Files in the place of arrays: numpy's conversion, and the calls that read one whole."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_dada, write_filterbank
from tautline import devices

RATE_HZ = 1e6


def voltage_file(folder: pathlib.Path, rng: np.random.Generator) -> pathlib.Path:
    write_dada(folder / "x.dada", rng.integers(-100, 100, (4000, 3, 1, 2)).astype(np.int8), RATE_HZ)
    return folder / "x.dada"


def every_kind(folder: pathlib.Path, rng: np.random.Generator) -> list[tl.File]:
    write_filterbank(folder / "x.fil", rng.integers(0, 256, (3000, 16)).astype(np.uint8), 1500 - 2.5 * np.arange(16), 1e-3)
    np.save(folder / "n.npy", rng.poisson(4, (900, 5)).astype(np.uint16))
    np.save(folder / "spectra.npy", (rng.standard_normal((64, 4, 311)) + 1j).astype(np.complex64))
    opened = [tl.open(folder / "x.fil"), tl.open(folder / "n.npy"), tl.open(voltage_file(folder, rng))]
    return [*opened, tl.open(folder / "spectra.npy", rate_hz=1000)]


def test_an_opened_file_becomes_an_array_of_all_that_it_holds(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    for file in every_kind(tmp_path, rng):
        whole = file[:]
        for made in (np.asarray(file), np.array(file), file.__array__(), file.__array__(None)):
            assert made.dtype == whole.dtype and np.array_equal(made, whole)
        wide = np.complex128 if whole.dtype.kind == "c" else np.float64
        assert np.asarray(file, wide).dtype == wide and np.array_equal(np.asarray(file, dtype=wide), whole)
        assert np.array_equal(file.__array__(wide, copy=True), whole)
        assert np.mean(file) == whole.mean()
        with pytest.raises(ValueError, match="copy"):
            file.__array__(copy=False)


def test_what_does_not_fit_in_memory_is_refused(
    tmp_path: pathlib.Path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tl.open(voltage_file(tmp_path, rng))
    monkeypatch.setattr(devices, "_LARGE_BYTES", 1)
    expected = tl.channelize(file, 64)
    assert devices._free_bytes() > file[:].nbytes
    monkeypatch.setattr(devices, "_free_bytes", lambda: file.samples * 3)  # bytes of one part of the voltages
    calls: list[Any] = [lambda: file[:], lambda: np.asarray(file), lambda: tl.channelize(file, 64)]
    for call in calls:
        with pytest.raises(tl.OutOfMemoryError, match="^memory: an array of .* GB, expected at most .*; take it in parts"):
            call()
    monkeypatch.setattr(devices, "_free_bytes", lambda: file.samples * 3 * 2 + 64)  # the voltages, and not the spectra
    with pytest.raises(tl.OutOfMemoryError):
        tl.channelize(file, 64)
    assert expected.nbytes > file[:].nbytes + 64


def test_channelize_takes_files(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    path = voltage_file(tmp_path, rng)
    whole = tl.open(path)[:]
    given: list[dict[str, Any]] = [{}, {"corner_turned": True}, {"output": "ci8", "gains": 0.1}, {"output": "ci4", "gains": 0.01}]
    for options in given:
        expected = tl.channelize(whole, 64, taps=4, **options)
        out = np.empty_like(expected)
        for x in (path, str(path), [path], tl.open(path)):
            made = tl.channelize(x, 64, taps=4, **options)
            assert made.dtype == expected.dtype and np.array_equal(made, expected)
            assert tl.channelize(x, 64, taps=4, out=out, **options) is out and np.array_equal(out, expected)
            out[:] = 0


def test_the_band_of_a_file_may_be_descending(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((2, 3000)) + 1j * rng.standard_normal((2, 3000))).astype(np.complex64)
    np.save(tmp_path / "x.npy", x)
    file = tl.open(tmp_path / "x.npy", rate_hz=RATE_HZ, centre_hz=1e9, bandwidth_hz=-RATE_HZ)
    assert np.array_equal(tl.channelize(file, 32), tl.channelize(x, 32, lower_sideband=True))


def test_channelize_refuses_other_files(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    bank, counts, _, spectra = every_kind(tmp_path, rng)
    texts = ((bank, "a file of filterbank"), (counts, r"rate_hz=\.\.\."), (spectra, "64 channels"))
    for file, text in texts:
        with pytest.raises(tl.ConfigError, match=text) as caught:
            tl.channelize(file, 64)
        assert caught.value.field == "x"
    with pytest.raises(tl.ConfigError, match=r"^x: .*numpy\.load"):  # which says no rate
        np.save(tmp_path / "x.npy", np.ones((2, 3000), np.complex64))
        tl.channelize(tmp_path / "x.npy", 64)
    with pytest.raises(tl.InputOutputError):
        tl.channelize(tmp_path / "absent.dada", 64)


def test_multipletau_takes_files_of_counts(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    bank, counts, *_ = every_kind(tmp_path, rng)
    whole = counts[:].astype(float)
    for x in (counts, tmp_path / "n.npy"):
        with pytest.warns(tl.multipletau.DtypeWarning):
            assert np.array_equal(tl.multipletau.autocorrelate(x, m=8), tl.multipletau.autocorrelate(whole, m=8))
        with pytest.warns(tl.multipletau.InvalidMWarning):
            assert np.array_equal(tl.multipletau.correlate(x, counts, m=8), tl.multipletau.correlate(whole, whole, m=8))
    with pytest.raises(tl.ConfigError, match="a file of filterbank, expected one of counts") as caught:
        tl.multipletau.correlate(counts, bank)
    assert caught.value.field == "v"


def test_files_of_no_use_are_named(tmp_path: pathlib.Path, rng: np.random.Generator) -> None:
    counts = every_kind(tmp_path, rng)[1]
    calls: list[Any] = [
        lambda: tl.autocorrelate(tags=counts, tick_s=1e-9),
        lambda: tl.channelize(np.ones(4096, np.complex64), 64, output="ci8", gains=counts),
        lambda: tl.detect(counts, sample_time_s=1e-3),
    ]
    for call in calls:
        with pytest.raises(tl.ConfigError, match="a file, expected an array"):
            call()
