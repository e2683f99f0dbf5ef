"""tautline.open: what is read is what was written, in any order."""
import json
import os
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import write_dada, write_filterbank


@pytest.fixture(params=["uint8", "uint16", "float32"])
def filterbank(request: pytest.FixtureRequest, rng: np.random.Generator, tmp_path: pathlib.Path) -> Any:
    x = rng.integers(0, 256, (1000, 16)).astype(request.param)
    write_filterbank(tmp_path / "x.fil", x, 1500 - 2.5 * np.arange(16), 1e-3)
    return tmp_path / "x.fil", x


def test_filterbank(filterbank: Any) -> None:
    path, x = filterbank
    f = tl.open(path)
    assert f.kind == "filterbank" and f.shape == x.shape and len(f) == 1000
    assert f.frequencies is not None and np.array_equal(f.frequencies, 1500 - 2.5 * np.arange(16))
    assert f.header["sample_time_s"] == 1e-3 and f.header["tstart_mjd"] == 59000 and f.header["bits"] == 8 * x.itemsize
    assert f.read().dtype == x.dtype and np.array_equal(f.read(), x)
    assert "sigproc" in repr(f)


def test_any_order_of_reads(filterbank: Any, rng: np.random.Generator) -> None:
    path, x = filterbank
    f = tl.open(path)
    for _ in range(20):
        start, count = rng.integers(0, 1200), rng.integers(0, 500)
        assert np.array_equal(f.read(start, count), x[start : start + count])
    assert np.array_equal(f[10:20], x[10:20]) and np.array_equal(f[-7:], x[-7:]) and np.array_equal(f[5:900:7], x[5:900:7])
    assert np.array_equal(f[3], x[3]) and np.array_equal(f[-1], x[-1]) and f[20:10].shape == (0, 16)
    with pytest.raises(IndexError):
        f[1000]
    with pytest.raises(tl.ConfigError):
        f[::-1]
    with pytest.raises(tl.ConfigError):
        f.read(-1)


def test_blocks_are_the_whole(filterbank: Any) -> None:
    path, x = filterbank
    f = tl.open(path)
    blocks = list(f.blocks(300))
    assert [len(b) for b in blocks] == [300, 300, 300, 100] and np.array_equal(np.concatenate(blocks), x)
    assert np.array_equal(np.concatenate(list(f)), x)


def test_opened_files_are_taken_by_runs(filterbank: Any) -> None:
    path, x = filterbank
    f = tl.open(path)
    assert np.array_equal(tl.dedisperse(f, [0, 5]), tl.dedisperse(path, [0, 5]))
    assert np.array_equal(tl.dedisperse(f, [0, 5]), tl.dedisperse(x, [0, 5], frequencies=f.frequencies, sample_time_s=1e-3))
    tl.search(f, [1.0])


def test_voltages(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = rng.integers(-128, 128, (3000, 3, 2, 2)).astype(np.int8)
    write_dada(tmp_path / "x.dada", x, 1e6)
    f = tl.open(tmp_path / "x.dada")
    expected = x.transpose(1, 2, 0, 3).reshape(6, 3000, 2)
    assert f.kind == "voltages" and f.shape == (1, 6, 3000) and f.frequencies is None
    assert f.header["antennas"] == 3 and f.header["rate_hz"] == 1e6 and f.header["start_utc"].startswith("2026-01-02T03:04:05")
    assert np.array_equal(f.read(), expected)
    for _ in range(10):
        start, count = rng.integers(0, 3200), rng.integers(0, 2000)
        assert np.array_equal(f.read(start, count), expected[:, start : start + count])
    assert np.array_equal(f[100:2000:9], expected[:, 100:2000:9]) and np.array_equal(f[-1], expected[:, -1])
    of_file = tl.correlate(f, channels=16, integration_s=1e-3)
    of_array = tl.correlate(np.ascontiguousarray(expected), rate_hz=1e6, centre_hz=1.5e8, polarisations=2, channels=16,
                            integration_s=1e-3)
    assert np.array_equal(of_file.data, of_array.data)


def test_channelized_voltages(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = (rng.standard_normal((4, 3, 500)) + 1j).astype(np.complex64)
    np.save(tmp_path / "x.npy", x)
    f = tl.open(tmp_path / "x.npy", rate_hz=1000, centre_hz=1e6)
    assert f.shape == (4, 3, 500) and np.array_equal(f[50:60], x[:, :, 50:60]) and np.array_equal(f[7], x[:, :, 7])
    assert f.frequencies is not None and np.allclose(f.frequencies, 1e6 + np.array([-1500, -500, 500, 1500]))
    record = {"schema": "tautline.channelize.record", "format": "cf32", "rate_hz": [1000, 1], "centre_hz": 1e6,
              "bandwidth_hz": 4000, "antennas": 3, "polarisations": 1, "start_utc": "2026-03-20T14:00:00",
              "start_fraction_s": [0, 1]}
    (tmp_path / "x.npy.json").write_text(json.dumps(record))
    of_record = tl.open(tmp_path / "x.npy")
    assert of_record.kind == "voltages" and of_record.header["rate_hz"] == 1000 and np.array_equal(of_record.read(), f.read())


def test_counts(rng: np.random.Generator, tmp_path: pathlib.Path) -> None:
    x = rng.poisson(4, (900, 5)).astype(np.uint16)
    np.save(tmp_path / "n.npy", x)
    f = tl.open(tmp_path / "n.npy")
    assert f.kind == "counts" and f.shape == (900, 5)
    assert np.array_equal(f[200:300], x[200:300]) and np.array_equal(f[:10], x[:10]) and np.array_equal(f.read(895, 50), x[895:])
    assert np.array_equal(tl.autocorrelate(f, bin_s=1e-6).g, tl.autocorrelate(x, bin_s=1e-6).g, equal_nan=True)


def test_threads_share_a_file(filterbank: Any) -> None:
    path, x = filterbank
    f = tl.open(path)
    wrong = []

    def read(seed: Any) -> None:
        order = np.random.default_rng(seed)
        for _ in range(50):
            start = int(order.integers(0, 900))
            if not np.array_equal(f.read(start, 60), x[start : start + 60]):
                wrong.append(start)

    threads = [threading.Thread(target=read, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(
    "content, error",
    [(b"", tl.FormatError), (b"HEADER_START", tl.FormatError), (b"hello, world\n" * 100, tl.FormatError), (None, tl.InputOutputError)],
)
def test_what_is_no_file_of_ours(tmp_path: pathlib.Path, content: Any, error: Any) -> None:
    path = tmp_path / "x.bin"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(error) as caught:
        tl.open(path)
    assert os.fspath(path) in str(caught.value)


def test_bad_arguments(filterbank: Any) -> None:
    path, _ = filterbank
    for arguments in ({"rate_hz": 5}, {"speed": 3}):
        with pytest.raises(tl.ConfigError):
            tl.open(path, **arguments)
    for paths in ([], 5, [5]):
        with pytest.raises(tl.ConfigError):
            tl.open(paths)


def test_files_cut_short_are_refused_or_shorter(filterbank: Any) -> None:
    path, x = filterbank
    f = tl.open(path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)
    try:
        assert f.read().shape == x.shape
    except tl.Error:
        pass
    assert tl.open(path).samples < 1000
