"""baseband writes VDIF and GUPPI RAW files, and our readers must deliver the numbers it wrote.

Levels: baseband reads 1- and 2-bit samples as the optimal quantiser's voltages and scales 4 and 8 bits;
we keep integers. Both are brought back to the codes in the file before they are compared.
"""
import json
import pathlib
import subprocess
import warnings

import numpy as np
from interop_support import Checks, arguments, offline, scratch

offline()
import astropy.units as u  # noqa: E402
from astropy.time import Time  # noqa: E402
from baseband import data as samples_of_baseband  # noqa: E402
from baseband import guppi, vdif  # noqa: E402
from baseband.base.encoding import EIGHT_BIT_1_SIGMA, FOUR_BIT_1_SIGMA, decoder_levels  # noqa: E402

INVALID = -999.0


class Dump:
    """What our reader delivers of a file: samples [time][input][channel], validity [time][input]."""

    def __init__(self, program, folder, path, rate_hz=None):
        values, valid = folder / "samples", folder / "valid"
        command = [program, path, values, valid] + ([str(rate_hz)] if rate_hz else [])
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        self.error = done.stderr
        if done.returncode:
            return
        self.facts = json.loads(done.stdout)
        inputs = self.facts["antennas"] * self.facts["polarisations"]
        shape = (self.facts["channels"], inputs, self.facts["samples"])
        self.samples = np.fromfile(values, np.complex64).reshape(shape).transpose(2, 1, 0)
        self.valid = np.fromfile(valid, np.uint8).reshape(inputs, -1).T.astype(bool)

    def start(self):
        numerator, denominator = self.facts["start_fraction"]
        return Time(self.facts["start_seconds"], numerator / denominator, format="unix", scale="utc")


def vdif_integers(values, bits):
    """Our integers for baseband's voltages."""
    if bits == 1:
        return np.sign(values)
    if bits == 2:
        return np.where(np.abs(values) > 2, 3, 1) * np.sign(values)
    if bits == 4:
        return np.rint(values * FOUR_BIT_1_SIGMA)
    return np.rint(values * EIGHT_BIT_1_SIGMA + 127.5) - 128


def as_integers(values, bits):
    if np.iscomplexobj(values):
        return vdif_integers(values.real, bits) + 1j * vdif_integers(values.imag, bits)
    return vdif_integers(values, bits)


def random_voltages(random, shape, bits, complex_data):
    """Random codes as the voltages that baseband has for them."""
    def part():
        codes = random.integers(0, 2**bits, shape)
        if bits == 8:
            return ((codes - 127.5) / EIGHT_BIT_1_SIGMA).astype(np.float32)
        return decoder_levels[bits][codes]
    return part() + 1j * part() if complex_data else part()


def read_vdif(path, **rate):
    """baseband's samples [time][thread][channel], and which of them it holds valid."""
    with vdif.open(str(path), "rs", squeeze=False, fill_value=INVALID, **rate) as file:
        values = file.read()
        facts = file.start_time, file.sample_rate.to_value(u.Hz), file.header0.bps
    return values, values.real != INVALID, facts


def compare(checks, dump, values, valid, start, rate_hz):
    checks.that(not dump.error, dump.error)
    if dump.error:
        return
    ours = dump.samples if np.iscomplexobj(values) else dump.samples.real
    checks.same(dump.valid, valid[:, :, 0], "validity")
    checks.same(ours[valid], values[valid], "samples")
    checks.that(dump.facts["rate_hz"][0] / dump.facts["rate_hz"][1] == rate_hz, "rate")
    checks.near((dump.start() - start).to_value(u.ns), 0, 1, "start time in ns")
    checks.that(dump.facts["total_samples"] == len(values), "total_samples")


def check_vdif(checks, program, folder, random):
    """Random recordings: bits, complex or real, channels, threads, headers, frames in random order."""
    path = folder / "made.vdif"
    for bits in (1, 2, 4, 8):
        for complex_data in (False, True):
            for channels, threads, edv in ((1, 1, 3), (1, 4, 1), (4, 2, 0), (16, 1, False)):
                checks.where = f"VDIF {bits} bits complex {complex_data} channels {channels} threads {threads}"
                # Version 3 has one size of frame; the rates are whole kHz, as versions 1 and 3 want.
                payload, frames_per_second = (1000, 40) if edv == 3 else (1280, 25)
                per_frame = payload * 8 // (bits * channels * (2 if complex_data else 1))
                rate = frames_per_second * per_frame / 1000 * u.kHz
                header = vdif.VDIFHeader.fromvalues(
                    edv=edv, time=Time("2014-06-16T05:56:07"), nchan=channels, bps=bits, complex_data=complex_data,
                    payload_nbytes=payload, station=65532, thread_id=0,
                    **({"sample_rate": rate} if edv in (1, 3) else {}))
                frames = frames_per_second + 10  # past the end of a second, so that the rate shows
                values = random_voltages(random, (frames * per_frame, threads, channels), bits, complex_data)
                with vdif.open(str(path), "ws", header0=header, sample_rate=rate, nthread=threads,
                               squeeze=False) as file:
                    file.write(values[:per_frame * 3])
                    file.write(values[per_frame * 3:per_frame * 5], valid=False)
                    file.write(values[per_frame * 5:])
                shuffle_threads(path, threads, random)
                got, valid, (start, rate_hz, _) = read_vdif(path, sample_rate=rate)
                kept = valid.all(axis=(1, 2))
                checks.same(got[kept].astype(np.complex64), values[kept].astype(np.complex64), "baseband's own")
                checks.that(np.count_nonzero(~kept) == 2 * per_frame, "two invalid frames")
                integers = np.where(valid, as_integers(got, bits), 0)
                compare(checks, Dump(program, folder, path), integers, valid, start, rate_hz)


def shuffle_threads(path, threads, random):
    frames = np.fromfile(path, np.uint8)
    length = int.from_bytes(frames[8:11].tobytes(), "little") * 8
    frames = frames.reshape(-1, threads, length)
    order = np.argsort(random.random(frames.shape[:2]), axis=1)
    np.take_along_axis(frames, order[:, :, None], axis=1).tofile(path)


def check_real_vdif(checks, program, folder):
    """Recordings of real telescopes that come with baseband."""
    for name, rate in (("SAMPLE_VDIF", None), ("SAMPLE_MWA_VDIF", 1.28 * u.MHz),
                       ("SAMPLE_AROCHIME_VDIF", 800 / 2048 * u.MHz), ("SAMPLE_BPS1_VDIF", 8 * u.MHz)):
        checks.where = name
        path = getattr(samples_of_baseband, name)
        values, valid, (start, rate_hz, bits) = read_vdif(path, **({"sample_rate": rate} if rate is not None else {}))
        integers = np.where(valid, as_integers(values, bits), 0)
        compare(checks, Dump(program, folder, path, int(rate_hz) if rate is not None else None), integers, valid, start, rate_hz)


def check_guppi(checks, program, folder, random):
    path = folder / "made.raw"
    for channels in (2, 5, 64):
        for overlap in (0, 32):
            for sideband in (1, -1):
                checks.where = f"GUPPI channels {channels} overlap {overlap} sideband {sideband}"
                times = 128
                rate = sideband * 100 / 32 * u.MHz
                header = guppi.GUPPIHeader.fromvalues(
                    time=Time("2018-01-14T14:11:33"), sample_rate=rate, overlap=overlap, npol=2, nchan=channels,
                    bps=8, samples_per_frame=times, pktsize=4 * channels * 8, obsfreq=1400.5,
                    src_name="J1810+1744", telescop="ARECIBO")
                blocks = 4
                total = blocks * (times - overlap)
                values = random.integers(-128, 128, (total, 2, channels)) + \
                    1j * random.integers(-128, 128, (total, 2, channels))
                values = values.astype(np.complex64)
                write_guppi(path, header, values, times, overlap, blocks)
                got, start, _ = read_guppi(path, overlap)
                checks.same(got, values, "baseband's own")
                dump = Dump(program, folder, path)
                compare(checks, dump, values, np.ones(values.shape, bool), start, abs(rate.to_value(u.Hz)))
                if not dump.error:
                    checks.that(dump.facts["centre_hz"] == 1400.5e6, "centre")
                    checks.near(dump.facts["bandwidth_hz"], rate.to_value(u.Hz) * channels, 1e-3, "bandwidth")


def read_guppi(path, overlap):
    """baseband keeps the overlap of the last block; we do not, as the next file repeats it."""
    with guppi.open(str(path), "rs", squeeze=False) as file:
        values = file.read()
        return values[:len(values) - overlap], file.start_time, file.sample_rate.to_value(u.Hz)


def write_guppi(path, header, values, times, overlap, blocks):
    """baseband's stream writer wants no overlap, so frames are written one by one."""
    step = times - overlap
    padded = np.concatenate([values, np.zeros((overlap,) + values.shape[1:], values.dtype)])
    with open(path, "wb") as file:
        for block in range(blocks):
            frame_header = header.copy()
            frame_header["PKTIDX"] = block * step // 8
            piece = padded[block * step:block * step + times]
            guppi.GUPPIFrame.fromdata(piece, frame_header).tofile(file)


def check_real_guppi(checks, program, folder):
    checks.where = "SAMPLE_PUPPI"
    values, start, rate_hz = read_guppi(samples_of_baseband.SAMPLE_PUPPI, overlap=64)
    dump = Dump(program, folder, samples_of_baseband.SAMPLE_PUPPI)
    # Its blocks of 1,024 times were cut short, so that the 64 that two blocks share are not the same:
    # baseband takes those of the block that ends, we those of the block that begins.
    shared = np.arange(len(values)) % 960 < 64
    shared[:64] = False
    if not dump.error:
        dump.samples[shared] = values[shared]
    compare(checks, dump, values, np.ones(values.shape, bool), start, rate_hz)
    # Headers alone, with DIRECTIO padding: refused for the data that they lack, not for anything else.
    for name in ("SAMPLE_BLC", "SAMPLE_VEGAS"):
        checks.where = name
        refused = Dump(program, folder, getattr(samples_of_baseband, name)).error
        checks.that("BLOCSIZE" in refused, refused)


def main():
    options = arguments(__doc__)
    random = np.random.default_rng(options.seed)
    checks = Checks()
    program = options.programs / "dump_voltages"
    warnings.simplefilter("ignore")
    with scratch() as name:
        folder = pathlib.Path(name)
        check_vdif(checks, program, folder, random)
        check_real_vdif(checks, program, folder)
        check_guppi(checks, program, folder, random)
        check_real_guppi(checks, program, folder)
    checks.finish()


main()
