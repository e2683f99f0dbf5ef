"""sigpyproc reads filterbanks and time series as we do: headers and samples."""
import pathlib
import sys

import numpy as np
from filterbank_support import FilterbankTest, run_test
from interop_support import offline, skip

offline()
if sys.version_info < (3, 12):
    why = pathlib.Path(sys.prefix) / "why-no-sigpyproc"
    skip("sigpyproc: " + (why.read_text().strip() if why.exists() else "it needs Python 3.12; run scripts/interop"))
from sigpyproc.readers import FilReader, PFITSReader  # noqa: E402
from sigpyproc.timeseries import TimeSeries  # noqa: E402


class Reader(FilterbankTest):
    def reads(self, path, facts, samples):
        theirs = FilReader(str(path))
        self.headers(facts, theirs.header, {"channels": "nchans", "fch1_mhz": "fch1", "foff_mhz": "foff",
                     "tsamp_s": "tsamp", "tstart_mjd": "tstart", "bits": "nbits", "samples": "nsamples"})
        self.checks.that(theirs.header.source == facts["source"], "source")
        block = theirs.read_block(0, facts["samples"])
        self.checks.same(np.asarray(block.data).T, samples, "samples")

    def series(self):
        written = self.series_we_write(56.75)
        if written is None:
            return
        stem, sums = written
        facts, _ = self.ours(f"{stem}.tim")
        for name, read in ((".tim", TimeSeries.from_tim), (".dat", TimeSeries.from_dat)):
            theirs = read(f"{stem}{name}")
            expected = sums if name == ".tim" else sums[: len(sums) // 2 * 2]
            self.checks.same(np.asarray(theirs.data), expected, f"{name}")
            self.checks.near(theirs.header.dm, 56.75, 1e-9, f"DM of {name}")
            self.checks.near(theirs.header.tsamp, 0.000512, 0, f"tsamp of {name}")
            # PRESTO's epochs have 15 decimals of a day.
            self.checks.near(theirs.header.tstart, facts["tstart_mjd"], 1e-11, f"tstart of {name}")

    def command_series(self):
        """A DM of the .inf is the one whose delays PRESTO's constant gives."""
        made = self.dedispersed(56.75)
        if made is None:
            return
        tim, dat, sums = made
        for path, read, dm, expected in ((tim, TimeSeries.from_tim, 56.75, sums),
                                         (dat, TimeSeries.from_dat, 56.75 * 4148.808 * 2.41e-4,
                                          sums[: len(sums) // 2 * 2])):
            theirs = read(str(path))
            self.checks.same(np.asarray(theirs.data), expected, path.name)
            self.checks.near(theirs.header.dm, dm, 1e-9, f"DM of {path.name}")

    def recorded_series(self, folder):
        for name, read in ((".tim", TimeSeries.from_tim), (".dat", TimeSeries.from_dat)):
            self.checks.where = f"GBT_J1807-0847{name}"
            facts, samples = self.ours(folder / f"GBT_J1807-0847{name}")
            theirs = read(str(folder / f"GBT_J1807-0847{name}"))
            self.checks.same(np.asarray(theirs.data), samples[:, 0], "samples")
            self.checks.near(theirs.header.tsamp, facts["tsamp_s"], 0, "tsamp")
            self.checks.near(theirs.header.dm, facts["refdm"], 1e-9, "DM")

    def read_psrfits(self, path):
        read = self.psrfits(path)
        if read is None:
            return
        patched, facts, samples = read
        block = PFITSReader(str(patched)).read_block(0, facts["samples"])
        self.scaled(np.asarray(block.data).T, samples, "sigpyproc")

    def everything(self):
        self.what_we_write()
        self.series()
        self.command_series()
        folder = self.recorded()
        if folder:
            self.recorded_series(folder)
            self.read_psrfits(folder / "parkes_4bit.sf")


run_test(Reader, __doc__)
