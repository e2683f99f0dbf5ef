"""tautline.open of formats that the tests write byte by byte from random arrays: what is read is what was written."""
import pathlib
from typing import Any

import numpy as np
import pytest
import tautline as tl

FREE = slice(None)


def check_reads(f: tl.File, expected: Any, rng: np.random.Generator) -> None:
    """The whole, pieces in any order and single times; time is the axis that f.samples is the length of."""
    axis = expected.shape.index(f.samples)
    assert f.read().dtype == expected.dtype and np.array_equal(f.read(), expected)
    for _ in range(10):
        start, count = int(rng.integers(0, f.samples + 9)), int(rng.integers(0, f.samples))
        assert np.array_equal(f.read(start, count), expected[(FREE,) * axis + (slice(start, start + count),)])
    assert np.array_equal(f[-1], np.take(expected, -1, axis))
    assert np.array_equal(np.concatenate(list(f.blocks(37)), axis), expected)


def fits_header(cards: dict[str, Any]) -> bytes:
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return ("T" if value else "F").rjust(20)
        return f"'{value:8}'" if isinstance(value, str) else f"{value}".rjust(20)

    lines = "".join(f"{name:8}= {text(value)}".ljust(80) for name, value in cards.items()) + "END".ljust(80)
    return lines.ljust(-(-len(lines) // 2880) * 2880).encode()


def write_psrfits(path: pathlib.Path, x: Any, mhz: Any, row_times: int, scale: Any, offset: Any, weight: Any) -> None:
    """[time, polarisation, channel] of bytes; scale and offset are [polarisation, channel], weight [channel]."""
    times, polarisations, channels = x.shape
    rows = times // row_times
    pairs = polarisations * channels
    row = np.zeros(rows, [("OFFS_SUB", ">f8"), ("DAT_FREQ", ">f8", channels), ("DAT_WTS", ">f4", channels),
                          ("DAT_OFFS", ">f4", pairs), ("DAT_SCL", ">f4", pairs), ("DATA", "u1", row_times * pairs)])  # fmt: skip
    row["OFFS_SUB"] = (np.arange(rows) + 0.5) * row_times * 1e-3
    row["DAT_FREQ"], row["DAT_WTS"], row["DAT_OFFS"], row["DAT_SCL"] = mhz, weight, offset.ravel(), scale.ravel()
    row["DATA"] = x.reshape(rows, -1)
    first = {"SIMPLE": True, "BITPIX": 8, "NAXIS": 0, "EXTEND": True, "FITSTYPE": "PSRFITS", "OBS_MODE": "SEARCH",
             "TELESCOP": "Parkes", "BACKEND": "Medusa", "SRC_NAME": "J0534+2200", "RA": "05:34:31.9", "DEC": "22:00:52.0",
             "STT_IMJD": 58543, "STT_SMJD": 28543, "STT_OFFS": 0.25}  # fmt: skip
    table = {"XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": row.itemsize, "NAXIS2": rows, "PCOUNT": 0,
             "GCOUNT": 1, "TFIELDS": 6, "EXTNAME": "SUBINT"}  # fmt: skip
    forms = ("1D", f"{channels}D", f"{channels}E", f"{pairs}E", f"{pairs}E", f"{row_times * pairs}B")
    for k, (name, form) in enumerate(zip(row.dtype.names or (), forms, strict=True), 1):
        table[f"TTYPE{k}"], table[f"TFORM{k}"] = name, form
    table.update({"NCHAN": channels, "NPOL": polarisations, "NBITS": 8, "NSBLK": row_times, "SIGNINT": 0, "NSUBOFFS": 0,
                  "TBIN": 1e-3, "ZERO_OFF": 0.0, "POL_TYPE": "AABB" if polarisations == 2 else "AA+BB"})  # fmt: skip
    body = row.tobytes()
    path.write_bytes(fits_header(first) + fits_header(table) + body.ljust(-(-len(body) // 2880) * 2880, b"\0"))


@pytest.mark.parametrize("polarisations", [1, 2])
@pytest.mark.parametrize("scaled", [False, True])
def test_psrfits(rng: np.random.Generator, tmp_path: pathlib.Path, polarisations: int, scaled: bool) -> None:
    channels = 12
    x = rng.integers(0, 256, (5 * 64, polarisations, channels)).astype(np.uint8)
    mhz = 1500 - 0.5 * np.arange(channels)
    scale, offset = np.ones((2, polarisations, channels), np.float32) * [[[1]], [[0]]]
    weight: Any = np.ones(channels)
    if scaled:  # powers of two, so that sums are exact in any order
        scale, offset = 2.0 ** rng.integers(-2, 3, scale.shape), rng.integers(-5, 5, offset.shape).astype(float)
        weight = 0.5 ** rng.integers(0, 3, channels)
    try:
        write_psrfits(tmp_path / "x.sf", x, mhz, 64, scale, offset, weight)
        f = tl.open(tmp_path / "x.sf")
    except tl.UnsupportedError as error:
        pytest.skip(str(error))
    assert (f.kind, f.shape) == ("filterbank", (320, channels)) and "PSRFITS" in f.header["format"]
    assert f.frequencies is not None and np.array_equal(f.frequencies, mhz)
    assert f.header["sample_time_s"] == 1e-3 and f.header["source"] == "J0534+2200" and f.header["telescope"] == "Parkes"
    assert f.header["tstart_mjd"] == pytest.approx(58543 + 28543.25 / 86400, abs=1e-12)
    power = ((x * scale + offset) * weight).sum(axis=1)
    if not scaled:
        power = power.astype(np.uint8 if polarisations == 1 else np.uint16)
    check_reads(f, power if not scaled else power.astype(np.float32), rng)
    of_array = tl.dedisperse(f.read(), [0, 8], frequencies=mhz, sample_time_s=1e-3)
    assert np.array_equal(tl.dedisperse(f, [0, 8]), of_array)


@pytest.mark.parametrize("step", [-12.5, 12.5])
def test_guppi(rng: np.random.Generator, tmp_path: pathlib.Path, step: float) -> None:
    # Two antennas, four channels, two polarisations; blocks share their last times, and the third is lost.
    antennas, channels, times, overlap, blocks = 2, 4, 96, 16, 5
    new = times - overlap
    x = rng.integers(-128, 128, (channels, antennas * 2, blocks * new + overlap, 2)).astype(np.int8)
    with (tmp_path / "x.raw").open("wb") as file:
        for block in set(range(blocks)) - {2}:
            part = x[:, :, block * new : block * new + times].reshape(channels, antennas, 2, times, 2)
            payload = part.transpose(1, 0, 3, 2, 4).tobytes()  # [antenna][channel][time][polarisation][re, im]
            cards = {"BACKEND": "'GUPPI   '", "TELESCOP": "'GBT     '", "SRC_NAME": "'B0329+54'", "OBSFREQ": 1378.125,
                     "OBSBW": step, "OBSNCHAN": antennas * channels, "NANTS": antennas, "NPOL": 4, "NBITS": 8,
                     "TBIN": channels / 12.5e6, "OVERLAP": overlap, "PKTFMT": "'1SFA    '",
                     "PKTSIZE": len(payload) // times, "PKTIDX": block * new, "STT_IMJD": 56000, "STT_SMJD": 3600,
                     "STT_OFFS": 0.25, "BLOCSIZE": len(payload)}  # fmt: skip
            lines = "".join(f"{key:8}= {value}".ljust(80) for key, value in cards.items()) + "END".ljust(80)
            file.write(lines.encode() + payload)
    f = tl.open(tmp_path / "x.raw")
    assert (f.kind, f.shape) == ("voltages", (channels, 4, blocks * new))
    assert (f.header["antennas"], f.header["polarisations"], f.header["rate_hz"]) == (2, 2, 12.5e6 / 4)
    assert f.header["source"] == "B0329+54" and f.header["start_utc"].startswith("2012-03-14T01:00:00.25")
    assert f.frequencies is not None and np.array_equal(f.frequencies, 1378.125e6 + step / 4 * 1e6 * (np.arange(4) - 1.5))
    expected = x[:, :, : blocks * new].copy()
    expected[:, :, 2 * new : 3 * new] = 0
    check_reads(f, expected, rng)


@pytest.mark.parametrize("bits", [2, 8])
@pytest.mark.parametrize("complex_samples", [False, True])
def test_vdif(rng: np.random.Generator, tmp_path: pathlib.Path, bits: int, complex_samples: bool) -> None:
    # Two threads, one frame of the second lost; 100 frames a second.
    frames, words, lost = 12, 50, (7, 1)
    parts = 2 if complex_samples else 1
    times = words * 32 // (bits * parts)
    codes = rng.integers(0, 2**bits, (frames, 2, times * parts))
    with (tmp_path / "x.vdif").open("wb") as file:
        for n in range(frames):
            for thread in range(2):
                packed = np.zeros(words, np.uint32)
                per_word = 32 // bits
                for k in range(per_word):
                    packed |= (codes[n, thread, k::per_word] << (k * bits)).astype(np.uint32)
                second, frame = divmod(95 + n, 100)
                head = np.array([1000 + second, 28 << 24 | frame, 1 << 29 | (32 + 4 * words) // 8,
                                 complex_samples << 31 | (bits - 1) << 26 | thread << 16 | 7, 0, 0, 0, 0], "<u4")  # fmt: skip
                if (n, thread) != lost:
                    file.write(head.tobytes() + packed.astype("<u4").tobytes())
    f = tl.open(tmp_path / "x.vdif", rate_hz=100 * times)
    assert (f.kind, f.shape, f.frequencies) == ("voltages", (1, 2, frames * times), None)
    assert f.header["rate_hz"] == 100 * times and f.header["start_utc"].startswith("2014-01-01T00:16:40.95")
    levels = codes * 2 - 3 if bits == 2 else codes - 128  # of the standard's offset binary
    levels[lost] = 0
    expected = levels.transpose(1, 0, 2).reshape(2, frames * times, parts)
    got = f.read()
    if got.dtype.kind in "fc":
        expected = expected.astype(np.float32)
        check_reads(f, expected[..., 0] + np.complex64(1j) * expected[..., 1] if parts == 2 else expected[..., 0], rng)
    else:
        check_reads(f, (expected if parts == 2 else expected[..., 0]).astype(got.dtype), rng)
    read = tl.open(tmp_path / "x.vdif", rate_hz=100 * times).read(0, 5)
    assert np.array_equal(read, f[:5])


@pytest.mark.parametrize("bytes_each", [1, 2])
def test_mwa_receiver(rng: np.random.Generator, tmp_path: pathlib.Path, bytes_each: int) -> None:
    # Counters wrap at 65,536; some records are lost behind the wrap. The file is as long as its counters tell.
    times, half = 3000, 8 if bytes_each == 1 else 16
    x = rng.integers(-half, half, (times, 16, 2)).astype(np.int8)
    records = np.zeros(times, [("counter", "<u2"), ("samples", "u1", 16 * bytes_each)])
    records["counter"] = np.arange(65_000, 65_000 + times) % 65_536
    if bytes_each == 1:
        records["samples"] = (x[..., 0] & 15) | (x[..., 1] & 15) << 4
    else:
        records["samples"] = (x & 31).reshape(times, 32)
    kept = np.ones(times, bool)
    kept[1500:1700] = False
    (tmp_path / "x.mwa32t").write_bytes(records[kept].tobytes())
    f = tl.open(tmp_path / "x.mwa32t", utc_start="2026-03-20-14:00:00")
    assert (f.kind, f.shape) == ("voltages", (1, 16, times))
    assert (f.header["antennas"], f.header["polarisations"], f.header["rate_hz"]) == (8, 2, 1.28e6)
    assert f.header["centre_hz"] == 154.88e6 and f.header["start_utc"].startswith("2026-03-20T14:00:00")
    x[~kept] = 0
    check_reads(f, x.transpose(1, 0, 2), rng)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ["u1", "u2", "f4"])
def test_tiff(rng: np.random.Generator, tmp_path: pathlib.Path, order: str, kind: str) -> None:
    frames, rows, columns = 23, 3, 5
    x = rng.integers(0, 256 if kind == "u1" else 60_000, (frames, rows, columns)).astype(order + kind)
    if kind == "f4":
        x += 0.25
    size = x[0].nbytes + x[0].nbytes % 2
    out = (b"II" if order == "<" else b"MM") + np.array([42], order + "u2").tobytes() + np.array([8 + size], order + "u4").tobytes()
    for k in range(frames):  # the pixels, then the directory
        start = len(out)
        out += x[k].tobytes().ljust(size, b"\0") + np.array([9], order + "u2").tobytes()
        for tag, form, value in ((256, 4, columns), (257, 4, rows), (258, 3, 8 * x.itemsize), (259, 3, 1), (262, 3, 1),
                                 (273, 4, start), (278, 4, rows), (279, 4, x[k].nbytes), (339, 3, 3 if kind == "f4" else 1)):  # fmt: skip
            fields = [(order + "u2", tag), (order + "u2", form), (order + "u4", 1)]
            fields += [(order + "u4", value)] if form == 4 else [(order + "u2", value), (order + "u2", 0)]
            out += b"".join(np.array([number], one).tobytes() for one, number in fields)
        out += np.array([len(out) + 4 + size if k + 1 < frames else 0], order + "u4").tobytes()
    (tmp_path / "x.tif").write_bytes(out)
    f = tl.open(tmp_path / "x.tif")
    assert (f.kind, f.shape) == ("counts", (frames, rows * columns))
    assert (f.header["rows"], f.header["columns"], f.header["sensors"]) == (rows, columns, rows * columns)
    expected = x.reshape(frames, -1).astype(kind)
    check_reads(f, expected, rng)
    of_file, of_array = (tl.autocorrelate(one, bin_s=1e-3, bins=4, levels=2) for one in (f, expected))
    assert np.array_equal(of_file.g, of_array.g, equal_nan=True)
