"""Channels that `--iqrm` masks are those that the package iqrm of the method's authors masks, for the same standard
deviations: windows of noise with interference, radius and threshold by chance."""
import json
import subprocess

import interop_support

interop_support.offline()

import numpy as np  # noqa: E402
from iqrm import iqrm_mask  # noqa: E402

WINDOWS, TIMES = 6, 512


def write(path, spectra, tsamp_s):
    """A sigproc filterbank of 8 bits."""
    def word(text):
        return len(text).to_bytes(4, "little") + text.encode()

    header = word("HEADER_START")
    for name, value in (("fch1", 1500.0), ("foff", -0.5), ("tstart", 60000.0), ("tsamp", tsamp_s)):
        header += word(name) + np.float64(value).tobytes()
    for name, value in (("data_type", 1), ("nchans", spectra.shape[1]), ("nbits", 8), ("nifs", 1)):
        header += word(name) + np.int32(value).tobytes()
    with open(path, "wb") as file:
        file.write(header + word("HEADER_END") + spectra.tobytes())


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    rng = np.random.default_rng(options.seed)
    masked = 0
    with interop_support.scratch() as folder:
        for window in range(WINDOWS):
            channels = int(rng.integers(20, 300))
            radius, threshold = int(rng.integers(1, channels // 3)), float(rng.uniform(1.5, 5))
            course = 10 + 3 * np.sin(np.arange(channels) * 0.02)
            spectra = rng.normal(120, course, (TIMES, channels))
            for bad in rng.integers(0, channels, channels // 15):
                spectra[:, bad] = rng.normal(120, rng.uniform(15, 40), TIMES)
            spectra = np.clip(np.round(spectra), 0, 255).astype(np.uint8)
            data, output = f"{folder}/{window}.fil", f"{folder}/{window}.npy"
            write(data, spectra, 1e-3)
            subprocess.run([options.command, "--quiet", "dedisperse", data, "-o", output, "--dms", "0", "--keep-constant",
                            "--iqrm", "--iqrm-radius", str(radius), "--iqrm-threshold", repr(threshold), "--iqrm-every",
                            repr(TIMES * 1e-3)], check=True)
            record = json.load(open(output + ".json"))["iqrm"]
            ours = [one["channel"] for one in record["channels"]]
            theirs = np.flatnonzero(iqrm_mask(spectra.astype(float).std(axis=0), radius=radius, threshold=threshold)[0])
            checks.where = f"{channels} channels, radius {radius}, threshold {threshold:.3f}"
            checks.that(record["windows"] == 1, f"{record['windows']} windows")
            checks.that(ours == theirs.tolist(), f"masked {ours}, iqrm masks {theirs.tolist()}")
            masked += len(ours)
    checks.where = "all windows"
    checks.that(masked > 0, "nothing was masked")
    checks.finish()


main()
