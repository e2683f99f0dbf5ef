"""What tests of filterbanks share: our reader's facts and samples, and the files that are read."""
import json
import pathlib
import subprocess

import numpy as np
from interop_support import Checks, arguments, scratch


class FilterbankTest:
    """A test says how its package reads a file: `reads(path, facts, samples)` compares that with ours."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.checks = Checks()
        self.random = np.random.default_rng(options.seed)

    def run(self, *command):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: {done.stderr}")
        return done.stdout

    def ours(self, path):
        """What our reader says and delivers: facts, samples [time][channel]."""
        samples = self.folder / "samples"
        facts = json.loads(self.run(self.options.programs / "dump_filterbank", path, samples))
        return facts, np.fromfile(samples, np.float32).reshape(-1, facts["channels"])

    def headers(self, facts, theirs, names):
        for ours, name in names.items():
            self.checks.near(facts[ours], getattr(theirs, name), 0, f"{name}")

    def agree(self, path, where):
        self.checks.where = where
        self.reads(path, *self.ours(path))

    def what_we_write(self):
        if self.options.command is None:
            print("the command is not built: files of simulate are not read")
            return
        for bits in (1, 2, 4, 8, 16, 32):
            for first, step in ((1500.5, -0.25), (1400.125, 0.5)):
                path = self.folder / f"w{bits}{step}.fil"
                self.run(self.options.command, "simulate", "filterbank", "--nchans", 64, "--fch1", first, "--foff", step,
                         "--tsamp", 0.000512, "--nbits", bits, "--duration", 0.3, "--seed", self.options.seed,
                         "--name", "J0534+2200", "--pulse", "dm=20,time=0.1,width=0.004,snr=30", "-o", path)
                self.agree(path, f"{bits} bits, steps of {step} MHz")
        voltages, power, demo = self.folder / "v.dada", self.folder / "v.fil", self.options.source / "examples/demo"
        self.run(self.options.command, "simulate", "voltages", "--array", demo / "array.toml", "--scene",
                 demo / "scene.toml", "--duration", 0.05, "-o", voltages)
        self.run(self.options.command, "channelize", voltages, "--channels", 64, "--integrate", 16, "-o", power)
        self.agree(power, "power of channelize")

    def series_we_write(self, dm):
        """(stem, sums) of one series written as .tim and .dat, or None."""
        self.checks.where = "series"
        source = self.folder / "w8-0.25.fil"
        if not source.exists():
            return None
        stem = self.folder / "series"
        self.run(self.options.programs / "write_series", source, dm, stem)
        return stem, self.ours(source)[1].sum(axis=1)

    def dedispersed(self, dm):
        """(.tim, .dat, sums) of the command's own series, summed here by the definition; or None."""
        self.checks.where = "dedisperse"
        source = self.folder / "w8-0.25.fil"
        if self.options.command is None or not source.exists():
            return None
        paths = [self.folder / f"dedispersed.{ending}" for ending in ("tim", "dat")]
        for path in paths:
            self.run(self.options.command, "--quiet", "dedisperse", source, "--dms", dm, "-o", path)
        facts, samples = self.ours(source)
        mhz = facts["fch1_mhz"] + facts["foff_mhz"] * np.arange(facts["channels"])
        delays = np.rint(4148.808 * dm * (mhz**-2 - mhz.max() ** -2) / facts["tsamp_s"]).astype(int)
        count = facts["samples"] - delays.max()
        sums = sum(samples[delay : delay + count, c] for c, delay in enumerate(delays))
        return *paths, sums

    def recorded(self):
        """The folder of recorded files, after the filterbanks in it were read; or None."""
        folder = self.options.data / "filterbank"
        if not folder.exists():
            print(f"the recorded filterbanks are absent ({folder}): they are not read")
            return None
        for name in ("parkes_8bit_1", "parkes_4bit", "parkes_2bit", "parkes_1bit"):
            self.agree(folder / f"{name}.fil", name)
        return folder

    def psrfits(self, path):
        """(patched copy, facts, samples) of a file with four polarisations, or None."""
        self.checks.where = path.name
        try:
            facts, samples = self.ours(path)
        except RuntimeError as problem:
            if "TAUTLINE_CFITSIO" not in str(problem):
                raise
            print("this build reads no PSRFITS")
            return None
        # Readers compare NCHNOFFS, which the file leaves undefined, with a number.
        patched = self.folder / "patched.sf"
        text = path.read_bytes()
        at = text.index(b"NCHNOFFS=")
        patched.write_bytes(text[:at] + b"NCHNOFFS=                    0" + text[at + 30:])
        return patched, facts, samples

    def scaled(self, theirs, ours, who):
        self.checks.that(theirs.shape == ours.shape, f"shape of {who}: {theirs.shape}, ours {ours.shape}")
        # Single precision, added in another order.
        worst = np.max(np.abs(theirs - ours) / np.maximum(np.abs(ours), 1)) if theirs.shape == ours.shape else np.inf
        self.checks.that(worst < 1e-6, f"samples of {who} differ by {worst} of their value")


def run_test(kind, description):
    options = arguments(description)
    with scratch() as folder:
        test = kind(options, pathlib.Path(folder))
        test.everything()
        test.checks.finish()
