"""`your`, numpy and astropy read filterbanks and time series as we do: headers and samples."""
import numpy as np
from filterbank_support import FilterbankTest, run_test
from interop_support import offline

offline()
import your  # noqa: E402
from your.formats.filwriter import make_sigproc_object  # noqa: E402


class Reader(FilterbankTest):
    def reads(self, path, facts, samples):
        theirs = your.Your(str(path))
        self.headers(facts, theirs.your_header, {"channels": "nchans", "fch1_mhz": "fch1", "foff_mhz": "foff",
                     "tsamp_s": "tsamp", "tstart_mjd": "tstart", "bits": "native_nbits", "samples": "nspectra"})
        self.checks.that(theirs.your_header.source_name == facts["source"], "source_name")
        # It reads whole bytes only: get_data refuses 1, 2 and 4 bits, and unpack() takes slices of floats.
        if facts["bits"] >= 8:
            self.checks.same(np.squeeze(theirs.get_data(0, facts["samples"])), samples.squeeze(), "samples of your")
        self.by_bits(path, facts, samples)

    def by_bits(self, path, facts, samples):
        """Samples of less than a byte, taken apart in numpy: the first one in the low bits."""
        if facts["bits"] >= 8:
            return
        file = path.read_bytes()
        packed = np.frombuffer(file[file.index(b"HEADER_END") + len(b"HEADER_END"):], np.uint8)
        shifts = np.arange(0, 8, facts["bits"], dtype=np.uint8)
        codes = (packed[:, None] >> shifts) & (2 ** facts["bits"] - 1)
        self.checks.same(codes.reshape(-1, facts["channels"]), samples, "samples by their bits")

    def series(self):
        """One series in both forms: they hold the same numbers."""
        written = self.series_we_write(56.75)
        if written is None:
            return
        stem, sums = written
        facts, tim = self.ours(f"{stem}.tim")
        dat = np.fromfile(f"{stem}.dat", np.float32)
        self.checks.same(tim[:, 0], sums, ".tim")
        self.checks.same(dat, sums[: len(sums) // 2 * 2], ".dat")
        self.checks.near(facts["refdm"], 56.75, 0, "refdm")

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

    def read_psrfits(self, path):
        """AA + BB, scaled."""
        read = self.psrfits(path)
        if read is None:
            return
        patched, facts, samples = read
        theirs = your.Your(str(patched))
        self.headers(facts, theirs.your_header, {"channels": "nchans", "fch1_mhz": "fch1", "tsamp_s": "tsamp",
                     "samples": "nspectra"})
        # Microseconds: an MJD in a double.
        self.checks.near(facts["tstart_mjd"], theirs.your_header.tstart, 2e-11, "tstart")
        # Its get_data refuses four polarisations of 4 bits, and its read_subint puts the first sample of every
        # byte before all the second ones: astropy's table gives the samples.
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

    def everything(self):
        self.what_we_write()
        self.series()
        self.what_they_write()
        folder = self.recorded()
        if folder:
            self.read_psrfits(folder / "parkes_4bit.sf")


run_test(Reader, __doc__)
