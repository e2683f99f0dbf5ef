"""Real fringes: eight snapshots of a five-antenna array, as pyuvdata reads what `correlate` writes.

Summed over the channels between 2.84 and 5.34 MHz of the sampled band and normalised by the autocorrelations, the
visibilities have the amplitudes and phases below (for x_i conj(x_j)), which were computed from the files in double
precision by other means, within 0.02 and 10 degrees where the amplitude is over 0.05. Positions, times and frequencies
are those that the files and array.toml state.
"""
import subprocess
import sys
from fractions import Fraction

import interop_support

interop_support.offline()

import numpy as np  # noqa: E402
from astropy.time import Time  # noqa: E402
from pyuvdata import UVData  # noqa: E402

PAIRS = [(1, 0), (3, 2), (4, 1)]
# Start (UTC), then amplitude and phase in degrees of each pair.
EXPECTED = [
    ("2013-10-20T01:59:03", (0.037, -18), (0.091, -49), (0.078, -23)),
    ("2013-10-20T02:00:03", (0.038, -26), (0.086, -77), (0.073, -4)),
    ("2013-10-20T02:01:03", (0.043, -34), (0.092, -57), (0.087, 4)),
    ("2013-10-20T02:02:03", (0.038, -60), (0.101, -72), (0.082, 5)),
    ("2013-10-20T02:03:03", (0.048, -65), (0.093, -73), (0.097, 16)),
    ("2013-10-20T02:04:03", (0.044, -31), (0.054, -70), (0.084, 8)),
    ("2013-10-20T02:05:03", (0.027, 12), (0.069, -64), (0.095, 19)),
    ("2013-10-20T02:06:03", (0.029, 11), (0.053, -84), (0.107, 28)),
]
CHANNELS, TAPS = 256, 8
RATE_HZ = 16_368_000
CENTRE_HZ, BANDWIDTH_HZ = 1_575_420_000, 8_184_000


def baseband(uv):
    return uv.freq_array.ravel() - (CENTRE_HZ - BANDWIDTH_HZ / 2)


def coefficient(uv, time, i, j, channels):
    """<x_i conj(x_j)> over the powers; the file keeps mean conj(x_ant1) x_ant2, ant1 <= ant2."""

    def total(first, second):
        rows = (uv.ant_1_array == first) & (uv.ant_2_array == second) & (uv.time_array == time)
        assert rows.sum() == 1, (first, second, rows.sum())
        return uv.data_array[rows][0, channels, 0].sum()

    return total(j, i) / np.sqrt(total(i, i).real * total(j, j).real)


def start_of(path):
    """The leading edge of a file's first sample as its header states it, an exact Julian date."""
    text = path.read_bytes()[:4096].decode("ascii", "replace")
    keys = dict(line.split(None, 1) for line in text.split("\n") if len(line.split(None, 1)) == 2)
    date, clock = keys["UTC_START"].strip().rsplit("-", 1)
    begin = Time(f"{date}T{clock}", scale="utc", format="isot")
    return Fraction(begin.jd1) + Fraction(round(Fraction(begin.jd2) * 86400), 86400) + Fraction(
        int(keys["PICOSECONDS"]), 10**12 * 86400)


def check_facts(uv, checks, array_text, files):
    checks.where = "facts"
    checks.same(uv.Nants_data, 5, "antennas")
    expected = [float(Fraction(CENTRE_HZ) - Fraction(BANDWIDTH_HZ, 2) + k * Fraction(BANDWIDTH_HZ, CHANNELS))
                for k in range(CHANNELS)]
    checks.same(uv.freq_array.ravel(), expected, "frequencies")
    spectra = 65535 // (2 * CHANNELS) - (TAPS - 1)
    span = ((spectra - 1) + TAPS) * 2 * CHANNELS
    for time, path in zip(np.unique(uv.time_array), files):
        checks.same(time, float(start_of(path) + Fraction(span, 2 * RATE_HZ) / 86400), f"time of {path.name}")
    checks.near(uv.integration_time, spectra * 2 * CHANNELS / RATE_HZ, 1e-12, "integration time")
    enu = uv.telescope.get_enu_antpos()
    stated = [[float(v) for v in line.split("[")[1].rstrip("] \n").split(",")]
              for line in array_text.splitlines() if line.startswith("enu_m")]
    checks.near(enu, stated, 1e-3, "antenna positions")


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    files = sorted((options.data / "tart").glob("tart_*.dada"))
    if len(files) != len(EXPECTED):
        interop_support.skip(f"the snapshots are not in {options.data / 'tart'}")
    array = options.data / "tart" / "array.toml"
    checks = interop_support.Checks()
    with interop_support.scratch() as folder:
        output = f"{folder}/tart.uvh5"
        # In any order: they are put in order of time.
        subprocess.run([options.command, "correlate", *reversed(files), "--array", array, "--channels", str(CHANNELS),
                        "--taps", str(TAPS), "-o", output], check=True)
        uv = UVData()
        uv.read(output)
        check_facts(uv, checks, array.read_text(), files)
        channels = (baseband(uv) >= 2.84e6) & (baseband(uv) <= 5.34e6)
        times = np.unique(uv.time_array)
        checks.same(len(times), len(EXPECTED), "integrations")
        for time, (start, *pairs) in zip(times, EXPECTED):
            for (i, j), (amplitude, phase) in zip(PAIRS, pairs):
                checks.where = f"{start} ({i},{j})"
                found = coefficient(uv, time, i, j, channels)
                off = (np.degrees(np.angle(found)) - phase + 180) % 360 - 180
                print(f"{checks.where}: {abs(found):.3f} < {np.degrees(np.angle(found)):.0f}, "
                      f"stated {amplitude:.3f} < {phase}")
                checks.near(abs(found), amplitude, 0.02, "amplitude")
                if amplitude > 0.05:
                    checks.near(off, 0, 10, "phase")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
