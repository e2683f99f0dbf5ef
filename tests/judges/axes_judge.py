"""Frequencies and time stamps to the last digit, an hour into a stream at 16.368 MHz.

Real, complex, already channelized and lower-sideband voltages, written here as DADA files whose OBS_OFFSET puts their
first sample an hour and some samples after UTC_START, are correlated; what pyuvdata reads is compared with exact rational
arithmetic rounded once. A mask of lost samples is not involved: nsamples and flags are checked to be full.
"""
import pathlib
import subprocess
import sys
from fractions import Fraction

import judge_support

judge_support.offline()

import numpy as np  # noqa: E402
from pyuvdata import UVData  # noqa: E402

RATE_HZ = 16_368_000
CENTRE_HZ = 1_575_420_000
ANTENNAS = 3
CHANNELS, TAPS = 64, 4
JD_UNIX_EPOCH = Fraction(4881175, 2)
UTC_START, UNIX_START = "2013-10-20-01:59:03", 1382234343
PICOSECONDS = 59_450_000_000


def write_dada(path, rng, real, channels, bandwidth_hz, samples, offset_samples):
    """Returns the rate of each channel's samples."""
    rate = Fraction(RATE_HZ, channels)
    sample_bytes = ANTENNAS * channels * (1 if real else 2)
    header = "\n".join([
        "HDR_VERSION 1.0", "HDR_SIZE 4096", "TELESCOPE test", "INSTRUMENT test", "SOURCE noise",
        f"UTC_START {UTC_START}", f"PICOSECONDS {PICOSECONDS}", f"OBS_OFFSET {offset_samples * sample_bytes}",
        f"FREQ {CENTRE_HZ / 1e6!r}", f"BW {bandwidth_hz / 1e6!r}", f"TSAMP {float(10**6 / rate):.15g}", "NBIT 8",
        f"NDIM {1 if real else 2}", "NPOL 1", f"NANT {ANTENNAS}", f"NCHAN {channels}", "ORDER TFAP", ""])
    data = rng.integers(-100, 100, samples * sample_bytes, dtype=np.int8)
    path.write_bytes(header.encode().ljust(4096, b"\0") + data.tobytes())
    return rate


def expected_frequencies(real, channelized, bandwidth_hz):
    width = Fraction(abs(bandwidth_hz))
    if channelized:
        return [float(CENTRE_HZ + (k - Fraction(CHANNELS - 1, 2)) * Fraction(bandwidth_hz) / CHANNELS)
                for k in range(CHANNELS)]
    if real:
        return [float(CENTRE_HZ - width / 2 + k * width / CHANNELS) for k in range(CHANNELS)]
    return [float(CENTRE_HZ + (k - CHANNELS // 2) * width / CHANNELS) for k in range(CHANNELS)]


def expected_times(rate, hop, span, samples, offset_samples, per_integration):
    spectra = (samples - span) // hop + 1
    start = Fraction(UNIX_START) + Fraction(PICOSECONDS, 10**12) + Fraction(offset_samples) / rate
    times, lengths = [], []
    for first in range(0, spectra, per_integration):
        count = min(per_integration, spectra - first)
        middle = start + Fraction(2 * first * hop + (count - 1) * hop + span, 2) / rate
        times.append(float(JD_UNIX_EPOCH + middle / 86400))
        lengths.append(float(count * hop / rate))
    return times, lengths


def check(options, folder, checks, rng, name, real, channelized, lower):
    checks.where = name
    bandwidth_hz = RATE_HZ // (2 if real else 1) * (-1 if lower else 1)
    file_channels = CHANNELS if channelized else 1
    offset_samples = 3600 * RATE_HZ // file_channels + int(rng.integers(1, 100_000))
    samples = int(rng.integers(60_000, 70_000)) // file_channels
    voltages = folder / f"{name}.dada"
    rate = write_dada(voltages, rng, real, file_channels, bandwidth_hz, samples, offset_samples)
    hop = 1 if channelized else CHANNELS * (2 if real else 1)
    span = 1 if channelized else hop * TAPS
    per_integration = 97
    output = folder / f"{name}.uvh5"
    array = folder / "array.toml"
    array.write_text("latitude_deg = -45.8\nlongitude_deg = 170.5\naltitude_m = 63.0\n" + "".join(
        f"[[antenna]]\nfeeds = ['x']\nenu_m = [{10.0 * a * a}, {3.0 * a}, 0.0]\n" for a in range(ANTENNAS)))
    filter_options = [] if channelized else ["--channels", str(CHANNELS), "--taps", str(TAPS)]
    subprocess.run([options.command, "--quiet", "correlate", voltages, "-o", output, "--array", array, *filter_options,
                    "--integration", repr(float(per_integration * hop / rate))], check=True)
    uv = UVData()
    uv.read(str(output))
    checks.same(uv.freq_array.ravel(), expected_frequencies(real, channelized, bandwidth_hz), "frequencies")
    times, lengths = expected_times(rate, hop, span, samples, offset_samples, per_integration)
    found, index = np.unique(uv.time_array, return_index=True)
    checks.same(found, times, "time stamps")
    checks.same(uv.integration_time[index], lengths, "integration times")
    full = np.array(lengths)[np.searchsorted(times, uv.time_array)] / float(per_integration * hop / rate)
    checks.near(uv.nsample_array, np.broadcast_to(full[:, None, None], uv.nsample_array.shape), 1e-6, "nsamples")
    checks.same(uv.flag_array.any(), False, "flags")


def main():
    options = judge_support.arguments(__doc__)
    rng = np.random.default_rng(options.seed)
    checks = judge_support.Checks()
    with judge_support.scratch() as folder:
        folder = pathlib.Path(folder)
        for name, real, channelized, lower in [
                ("real", True, False, False), ("complex", False, False, False),
                ("channelized", False, True, False), ("real-lower", True, False, True),
                ("complex-lower", False, False, True), ("channelized-descending", False, True, True)]:
            check(options, folder, checks, rng, name, real, channelized, lower)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
