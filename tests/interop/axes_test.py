"""Frequencies and time stamps to the last digit, an hour into a stream at 16.368 MHz.

Real, complex, already channelized and lower-sideband voltages, written here as DADA files whose OBS_OFFSET puts their
first sample an hour and some samples after UTC_START, are correlated; what pyuvdata reads is compared with exact
rational arithmetic rounded once. A mask of lost samples is not involved: nsamples and flags are checked to be full.
Then two files with losses: MWA receivers of which one has a gap, and GUPPI RAW without one of its blocks; nsamples and
flags are compared with the mask.
"""
import pathlib
import subprocess
import sys
import warnings
from fractions import Fraction

import interop_support

interop_support.offline()

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
    subprocess.run([options.command, "--quiet", "correlate", voltages, "-o", output, "--array", array, "--keep-edge", *filter_options,
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


def read_checked(path, checks):
    """What pyuvdata reads, with all its checks on; any warning it has about the file is a failure."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        uv = UVData()
        uv.read(str(path))
    named = [str(w.message) for w in caught if w.category is UserWarning]
    checks.same(named, [], f"warnings {named}")
    return uv


def correlate_damaged(options, inputs, output, *more):
    done = subprocess.run([options.command, "--quiet", "correlate", *inputs, "-o", output, *more], capture_output=True,
                          text=True)
    assert done.returncode == 3, f"status {done.returncode}\n{done.stderr}"


def check_mask(checks, uv, valid, antennas_of, hop, span, per_integration):
    """nsamples and flags against `valid` [part][sample]; antennas_of maps an antenna's index to its part."""
    spectra = (valid.shape[1] - span) // hop + 1
    lost = np.concatenate([np.zeros((len(valid), 1), int), np.cumsum(~valid, axis=1)], axis=1)
    first = np.arange(spectra) * hop
    whole = lost[:, first + span] == lost[:, first]
    times = np.unique(uv.time_array)
    checks.same(len(times), -(-spectra // per_integration), "integrations")
    numbers = list(uv.telescope.antenna_numbers)
    reduced = 0
    for row in range(uv.Nblts):
        integration = np.searchsorted(times, uv.time_array[row])
        parts = [antennas_of(numbers.index(a[row])) for a in (uv.ant_1_array, uv.ant_2_array)]
        here = slice(integration * per_integration, (integration + 1) * per_integration)
        count = int((whole[parts[0], here] & whole[parts[1], here]).sum())
        reduced += count < per_integration
        got = uv.nsample_array[row] * per_integration
        checks.near(got, count, 1e-3, f"nsamples of row {row}")
        checks.same(uv.flag_array[row], np.full(got.shape, count == 0), f"flags of row {row}")
    checks.that(reduced > 0, "the mask took nothing away")
    checks.that(uv.flag_array.any() and not uv.flag_array.all(), "some rows are flagged, some are not")


def check_damaged_mwa(options, folder, checks):
    """Four receivers, one of which loses more than an integration around a wrap of its counter."""
    checks.where = "damaged MWA receivers"
    rate, samples, gap = 1_280_000, 128_000, (50_000, 90_000)
    scene = folder / "scene.toml"
    scene.write_text(f"""start = "2026-03-20-14:00:00"
centre_hz = 154.88e6
bandwidth_hz = 1.28e6
[[missing]]
start_s = {gap[0] / rate!r}
duration_s = {(gap[1] - gap[0]) / rate!r}
inputs = {list(range(16, 32))}
""")
    array = options.source / "examples/demo/array.toml"
    subprocess.run([options.command, "--quiet", "simulate", "voltages", "--array", array, "--scene", scene, "--duration",
                    str(samples / rate), "--format", "mwa32t", "-o", folder / "mwa"], check=True)
    output = folder / "mwa.uvh5"
    correlate_damaged(options, [folder / f"mwa.{r}" for r in range(4)], output, "--receivers", "--utc-start",
                      "2026-03-20-14:00:00", "--array", array, "--channels", "16", "--taps", "4", "--integration", "0.01", "--keep-edge")
    valid = np.ones((4, samples), bool)
    valid[1, gap[0]:gap[1]] = False
    check_mask(checks, read_checked(output, checks), valid, lambda antenna: antenna // 8, 16, 64, 800)


def check_guppi(options, folder, checks, rng):
    """Three antennas of two polarisations in eight descending channels, one block of six lost."""
    checks.where = "GUPPI RAW"
    antennas, channels, block_times, blocks, lost = 3, 8, 4096, 6, 2
    width_hz = 1_562_500
    path = folder / "x.raw"
    with open(path, "wb") as file:
        for block in set(range(blocks)) - {lost}:
            size = antennas * channels * block_times * 4
            cards = {"BACKEND": "'GUPPI   '", "TELESCOP": "'TEST    '", "OBSFREQ": 1378.125, "OBSBW": -12.5,
                     "OBSNCHAN": antennas * channels, "NANTS": antennas, "NPOL": 4, "NBITS": 8, "TBIN": 6.4e-07,
                     "OVERLAP": 0, "PKTFMT": "'1SFA    '", "PKTSIZE": size // 8, "PKTIDX": 8 * block,
                     "STT_IMJD": 61000, "STT_SMJD": 3600, "STT_OFFS": 0.25, "BLOCSIZE": size}
            header = "".join(f"{key:8}= {value}".ljust(80) for key, value in cards.items()) + "END".ljust(80)
            file.write(header.encode() + rng.integers(-100, 100, size, dtype=np.int8).tobytes())
    array = folder / "guppi.toml"
    array.write_text("latitude_deg = 38.4\nlongitude_deg = -79.8\naltitude_m = 800.0\n" + "".join(
        f"[[antenna]]\nenu_m = [{10.0 * a * a}, {3.0 * a}, 0.0]\n" for a in range(antennas)))
    output = folder / "guppi.uvh5"
    per_integration = block_times // 2
    correlate_damaged(options, [path], output, "--array", array, "--integration", repr(per_integration / width_hz))
    uv = read_checked(output, checks)
    checks.same(uv.freq_array.ravel(), [1378.125e6 - (k - 3.5) * width_hz for k in range(channels)], "frequencies")
    start = Fraction(61000) + Fraction(4_800_001, 2) + Fraction(14401, 4 * 86400)
    middles = [start + Fraction((2 * n + 1) * per_integration, 2 * width_hz) / 86400 for n in range(2 * blocks)]
    checks.same(np.unique(uv.time_array), [float(t) for t in middles], "time stamps")
    valid = np.ones((1, blocks * block_times), bool)
    valid[0, lost * block_times:(lost + 1) * block_times] = False
    check_mask(checks, uv, valid, lambda antenna: 0, 1, 1, per_integration)


def main():
    options = interop_support.arguments(__doc__)
    rng = np.random.default_rng(options.seed)
    checks = interop_support.Checks()
    with interop_support.scratch() as folder:
        folder = pathlib.Path(folder)
        for name, real, channelized, lower in [
                ("real", True, False, False), ("complex", False, False, False),
                ("channelized", False, True, False), ("real-lower", True, False, True),
                ("complex-lower", False, False, True), ("channelized-descending", False, True, True)]:
            check(options, folder, checks, rng, name, real, channelized, lower)
        check_damaged_mwa(options, folder, checks)
        check_guppi(options, folder, checks, rng)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
