"""Other people's readers of filterbanks and time series agree with ours on headers and samples: `your`
everywhere, sigpyproc where Python is new enough for it."""
import json
import pathlib
import subprocess

import numpy as np
from judge_support import Checks, arguments, offline, scratch

offline()
import your  # noqa: E402
from your.formats.filwriter import make_sigproc_object  # noqa: E402

try:
    from sigpyproc.readers import FilReader, PFITSReader
    from sigpyproc.timeseries import TimeSeries
except ImportError as problem:
    FilReader = PFITSReader = TimeSeries = None
    print(f"sigpyproc does not judge: {problem} (it needs Python 3.12)")


class Judge:
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

    def your_reads(self, path, facts, samples):
        theirs = your.Your(str(path))
        self.headers(facts, theirs.your_header, {"channels": "nchans", "fch1_mhz": "fch1", "foff_mhz": "foff",
                     "tsamp_s": "tsamp", "tstart_mjd": "tstart", "bits": "native_nbits", "samples": "nspectra"})
        self.checks.that(theirs.your_header.source_name == facts["source"], "source_name")
        # It reads whole bytes only.
        if facts["bits"] >= 8:
            self.checks.same(np.squeeze(theirs.get_data(0, facts["samples"])), samples.squeeze(), "samples of your")

    def by_bits(self, path, facts, samples):
        """Samples of less than a byte, taken apart in numpy: the first one in the low bits."""
        if facts["bits"] >= 8:
            return
        file = path.read_bytes()
        packed = np.frombuffer(file[file.index(b"HEADER_END") + len(b"HEADER_END"):], np.uint8)
        shifts = np.arange(0, 8, facts["bits"], dtype=np.uint8)
        codes = (packed[:, None] >> shifts) & (2 ** facts["bits"] - 1)
        self.checks.same(codes.reshape(-1, facts["channels"]), samples, "samples by their bits")

    def sigpyproc_reads(self, path, facts, samples):
        if FilReader is None:
            return
        theirs = FilReader(str(path))
        self.headers(facts, theirs.header, {"channels": "nchans", "fch1_mhz": "fch1", "foff_mhz": "foff",
                     "tsamp_s": "tsamp", "tstart_mjd": "tstart", "bits": "nbits", "samples": "nsamples"})
        self.checks.that(theirs.header.source == facts["source"], "source")
        block = theirs.read_block(0, facts["samples"])
        self.checks.same(np.asarray(block.data).T, samples, "samples of sigpyproc")

    def agree(self, path, where):
        self.checks.where = where
        facts, samples = self.ours(path)
        self.your_reads(path, facts, samples)
        self.by_bits(path, facts, samples)
        self.sigpyproc_reads(path, facts, samples)
        return facts, samples

    def what_we_write(self):
        if self.options.command is None:
            print("the command is not built: files of simulate are not judged")
            return
        for bits in (1, 2, 4, 8, 16, 32):
            for first, step in ((1500.5, -0.25), (1400.125, 0.5)):
                path = self.folder / f"w{bits}{step}.fil"
                self.run(self.options.command, "simulate", "filterbank", "--nchans", 64, "--fch1", first, "--foff", step,
                         "--tsamp", 0.000512, "--nbits", bits, "--duration", 0.3, "--seed", self.options.seed,
                         "--name", "J0534+2200", "--pulse", "dm=20,time=0.1,width=0.004,snr=30", "-o", path)
                self.agree(path, f"{bits} bits, steps of {step} MHz")

    def series_we_write(self):
        """One series in both forms: they hold the same numbers, and others read them so."""
        self.checks.where = "series"
        source = self.folder / "w8-0.25.fil"
        if not source.exists():
            return
        stem = self.folder / "series"
        self.run(self.options.programs / "write_series", source, 56.75, stem)
        sums = self.ours(source)[1].sum(axis=1)
        facts, tim = self.ours(f"{stem}.tim")
        dat = np.fromfile(f"{stem}.dat", np.float32)
        self.checks.same(tim[:, 0], sums, ".tim")
        self.checks.same(dat, sums[: len(sums) // 2 * 2], ".dat")
        self.checks.near(facts["refdm"], 56.75, 0, "refdm")
        if TimeSeries is None:
            return
        for name, read, expected in ((".tim", TimeSeries.from_tim, sums), (".dat", TimeSeries.from_dat, dat)):
            theirs = read(f"{stem}{name}")
            self.checks.same(np.asarray(theirs.data), expected, f"{name} of sigpyproc")
            self.checks.near(theirs.header.dm, 56.75, 1e-9, f"DM of {name}")
            self.checks.near(theirs.header.tsamp, 0.000512, 0, f"tsamp of {name}")
            # PRESTO's epochs have 15 decimals of a day.
            self.checks.near(theirs.header.tstart, facts["tstart_mjd"], 1e-11, f"tstart of {name}")

    def what_they_write(self):
        for bits, kind in ((8, np.uint8), (16, np.uint16), (32, np.float32)):
            self.checks.where = f"written by your, {bits} bits"
            path = self.folder / f"theirs{bits}.fil"
            data = (self.random.normal(size=(500, 16)) if bits == 32
                    else self.random.integers(0, 2**bits, (500, 16))).astype(kind)
            header = make_sigproc_object("raw", "B0329+54", 16, -0.5, 1400.0, 6.4e-5, 58849.25, src_raj=33259.37,
                                         src_dej=543443.6, nbits=bits)
            header.write_header(str(path))
            header.append_spectra(data, str(path))
            facts, samples = self.ours(path)
            self.checks.same(samples, data.astype(np.float32), "samples")
            self.checks.near([facts["fch1_mhz"], facts["foff_mhz"], facts["tsamp_s"], facts["tstart_mjd"]],
                             [1400.0, -0.5, 6.4e-5, 58849.25], 0, "header")
            self.checks.that(facts["source"] == "B0329+54", "source")

    def recorded(self):
        folder = self.options.data / "filterbank"
        if not folder.exists():
            print(f"the recorded filterbanks are absent ({folder}): they are not judged")
            return
        for name in ("parkes_8bit_1", "parkes_4bit", "parkes_2bit", "parkes_1bit"):
            self.agree(folder / f"{name}.fil", name)
        self.psrfits(folder / "parkes_4bit.sf")
        if TimeSeries is None:
            return
        for name, read in ((".tim", TimeSeries.from_tim), (".dat", TimeSeries.from_dat)):
            self.checks.where = f"GBT_J1807-0847{name}"
            facts, samples = self.ours(folder / f"GBT_J1807-0847{name}")
            theirs = read(str(folder / f"GBT_J1807-0847{name}"))
            self.checks.same(np.asarray(theirs.data), samples[:, 0], "samples")
            self.checks.near(theirs.header.tsamp, facts["tsamp_s"], 0, "tsamp")
            self.checks.near(theirs.header.dm, facts["refdm"], 1e-9, "DM")

    def psrfits(self, path):
        """AA + BB, scaled, of a file with four polarisations."""
        self.checks.where = path.name
        try:
            facts, samples = self.ours(path)
        except RuntimeError as problem:
            if "TAUTLINE_CFITSIO" not in str(problem):
                raise
            print("this build reads no PSRFITS")
            return
        # `your` compares NCHNOFFS, which the file leaves undefined, with a number.
        patched = self.folder / "patched.sf"
        text = path.read_bytes()
        at = text.index(b"NCHNOFFS=")
        patched.write_bytes(text[:at] + b"NCHNOFFS=                    0" + text[at + 30:])
        theirs = your.Your(str(patched))
        self.headers(facts, theirs.your_header, {"channels": "nchans", "fch1_mhz": "fch1", "tsamp_s": "tsamp",
                     "samples": "nspectra"})
        # Microseconds: an MJD in a double.
        self.checks.near(facts["tstart_mjd"], theirs.your_header.tstart, 2e-11, "tstart")
        if PFITSReader is not None:
            block = PFITSReader(str(patched)).read_block(0, facts["samples"])
            self.scaled(np.asarray(block.data).T, samples, "sigpyproc")
        self.scaled(self.by_hand(patched), samples, "astropy's table")

    def by_hand(self, path):
        """The table as astropy reads it, unpacked and scaled in numpy."""
        from astropy.io import fits

        with fits.open(path) as file:
            table = file["SUBINT"]
            header, rows = table.header, table.data
            shape = (header["NSBLK"], header["NPOL"], header["NCHAN"])
            blocks = []
            for row in rows:
                packed = np.asarray(row["DATA"]).ravel()
                codes = np.stack([packed >> 4, packed & 15], axis=-1).reshape(shape).astype(np.float64)
                scale = row["DAT_SCL"].reshape(shape[1:]).astype(np.float64)
                offset = row["DAT_OFFS"].reshape(shape[1:]).astype(np.float64)
                values = (codes - header["ZERO_OFF"]) * scale + offset
                blocks.append(values[:, :2].sum(axis=1) * row["DAT_WTS"].astype(np.float64))
        return np.concatenate(blocks)

    def scaled(self, theirs, ours, who):
        self.checks.that(theirs.shape == ours.shape, f"shape of {who}: {theirs.shape}, ours {ours.shape}")
        # Single precision, added in another order.
        worst = np.max(np.abs(theirs - ours) / np.maximum(np.abs(ours), 1)) if theirs.shape == ours.shape else np.inf
        self.checks.that(worst < 1e-6, f"samples of {who} differ by {worst} of their value")


def main():
    options = arguments(__doc__)
    with scratch() as folder:
        judge = Judge(options, pathlib.Path(folder))
        judge.what_we_write()
        judge.series_we_write()
        judge.what_they_write()
        judge.recorded()
        judge.checks.finish()


main()
