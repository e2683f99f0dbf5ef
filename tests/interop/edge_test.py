"""The edge channel as pyuvdata reads it from UVH5 and Measurement Sets: flagged, its data and weights untouched.

Voltages with a tone just past the upper edge of the band are correlated with and without --keep-edge.
"""
import pathlib
import subprocess
import sys

import interop_support

interop_support.offline()

import numpy as np  # noqa: E402
from reduction_test import read  # noqa: E402

RATE_HZ, CHANNELS, INPUTS, TIMES = 1_000_000, 16, 4, 20_000


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    rng = np.random.default_rng(options.seed)
    checks = interop_support.Checks()
    with interop_support.scratch() as name:
        folder = pathlib.Path(name)
        tone = 3 * np.exp(2j * np.pi * (0.5 + 0.2 / CHANNELS) * np.arange(TIMES))
        noise = rng.normal(size=(INPUTS, TIMES)) + 1j * rng.normal(size=(INPUTS, TIMES))
        np.save(folder / "x.npy", (noise + tone).astype(np.complex64))
        array = folder / "array.toml"
        array.write_text("latitude_deg = -45.8\nlongitude_deg = 170.5\naltitude_m = 63.0\n" + "".join(
            f"[[antenna]]\nenu_m = [{10.0 * a * a}, {3.0 * a}, 0.0]\n" for a in range(INPUTS // 2)))
        for ending in ("uvh5", "ms"):
            checks.where = ending
            files = {}
            for kept in (False, True):
                path = folder / f"kept{kept}.{ending}"
                subprocess.run([options.command, "--quiet", "correlate", folder / "x.npy", "-o", path, "--array", array,
                                "--utc-start", "2026-03-20-14:00:00", "--rate-hz", str(RATE_HZ), "--centre-hz", "1e9",
                                "--polarisations", "2", "--channels", str(CHANNELS), "--integration", "0.005",
                                *(["--keep-edge"] if kept else [])],
                               check=True)
                files[kept] = read(path)
            flagged = np.zeros(files[True].flag_array.shape, bool)
            checks.same(files[True].flag_array, flagged, "flags with --keep-edge")
            flagged[:, 0] = True
            checks.same(files[False].flag_array, flagged, "flags")
            checks.same(files[False].data_array, files[True].data_array, "visibilities")
            checks.same(files[False].nsample_array, files[True].nsample_array, "weights")
            power = np.abs(files[True].data_array).mean(axis=(0, 2))
            checks.same(int(power.argmax()), 0, "the channel of the tone")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
