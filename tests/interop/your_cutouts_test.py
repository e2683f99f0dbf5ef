"""The cut-outs of `search --cutouts`: for every candidate `your` makes its own of the same file, as your_candmaker.py does,
and both have the same arrays and attributes."""
import contextlib
import json
import pathlib
import subprocess
import unittest.mock

import interop_support

interop_support.offline()

import h5py  # noqa: E402
import numpy as np  # noqa: E402
import pandas  # noqa: E402
from your.candidate import Candidate, crop  # noqa: E402
from your.utils.math import normalise  # noqa: E402

SIDE, TOLERANCE = 256, 1e-4
FEW = {"compared": 2, "most": 2}  # of files that resemble one of which four are compared
# What `your` cannot save where the file has no position, and what it writes as it read it.
OF_POSITION = {"gl", "gb", "ra_deg", "dec_deg"}


@contextlib.contextmanager
def sums_in_doubles():
    """`your` sums channels into arrays of zeros in single precision, which it keeps to the end."""
    zeros = np.zeros
    with unittest.mock.patch.object(np, "zeros", lambda shape, dtype=float: zeros(shape, np.float64 if dtype is np.float32 else dtype)):
        yield


def cut_out(row, kill_mask, folder, in_doubles=False):
    """your_candmaker.py's cpu_dedisp_dmt and cand2h5, and the file's path; and whether `your`'s own chunk was the one.
    `in_doubles`: with sums and means in doubles."""
    width = 2 ** int(row["width"])
    candidate = Candidate([row["file"]], snr=row["snr"], width=width, dm=row["dm"], label=row["label"],
                          tcand=row["stime"], device=-1)
    if kill_mask is not None:
        candidate.kill_mask = kill_mask
    # Where the chunk is lengthened, `your` 0.6.7 begins it as though it were not, and the pulse is at its start. Ours
    # has the pulse in its middle; `your` is told that chunk.
    tsamp, reach = candidate.native_tsamp, candidate.dispersion_delay() + width * candidate.native_tsamp
    first, samples = int((row["stime"] - reach) / tsamp), int(((row["stime"] + reach) - (row["stime"] - reach)) / tsamp)
    wanted = samples
    if width > 2 and samples // (width // 2) < SIDE:
        wanted = SIDE * width // 2
    if wanted > samples and width > 2:
        start = first - (wanted - samples) // 2
        # In the middle of samples, so that no rounding enters; whole numbers are cut towards zero.
        start = start + 0.5 if start >= 0 else start - 0.5
        candidate.get_chunk(tstart=start * tsamp, tstop=(start + wanted + 0.25) * tsamp)
    else:
        candidate.get_chunk()
    factor = max(1, width // 2)
    with sums_in_doubles() if in_doubles else contextlib.nullcontext():
        candidate.dmtime()
        candidate.dedisperse()
    candidate.decimate(key="ft", axis=0, pad=True, decimate_factor=factor, mode="median")
    candidate.dedispersed = crop(candidate.dedispersed, candidate.dedispersed.shape[0] // 2 - SIDE // 2, SIDE, 0)
    candidate.decimate(key="dmt", axis=1, pad=True, decimate_factor=factor, mode="median")
    candidate.dmt = crop(candidate.dmt, candidate.dmt.shape[1] // 2 - SIDE // 2, SIDE, 1)
    candidate.resize(key="ft", size=SIDE, axis=1, anti_aliasing=True, mode="constant")
    candidate.dmt, candidate.dedispersed = normalise(candidate.dmt), normalise(candidate.dedispersed)
    header = vars(candidate.your_header)
    position = header["gl"] is not None
    header.update({name: np.nan for name in OF_POSITION if header[name] is None})
    return candidate.save_h5(out_dir=str(folder)), position, wanted > samples and width > 2


def compare_attributes(checks, ours, theirs, position):
    checks.that(set(ours) == set(theirs), f"attributes {sorted(set(ours) ^ set(theirs))} are in one file alone")
    for name in set(ours) & set(theirs):
        mine, other = ours[name], theirs[name]
        if name in OF_POSITION and not position:
            continue
        if name == "tstart_utc":
            off = abs(np.datetime64(mine) - np.datetime64(other)) / np.timedelta64(1, "ms")
            checks.that(off <= 1, f"{name}: {mine}, not {other}")
        elif isinstance(other, str):
            checks.that(mine == other, f"{name}: {mine!r}, not {other!r}")
        elif np.asarray(other).dtype.kind == "f":
            # Galactic places by two libraries differ by 20 mas.
            checks.near(mine, other, 1e-5 if name in OF_POSITION else 1e-9 * abs(float(other)), name)
        else:
            checks.that(np.array_equal(mine, other), f"{name}: {mine}, not {other}")
            # A list whose DMs are all whole has whole numbers for pandas.
            checks.that(np.asarray(mine).dtype.kind == np.asarray(other).dtype.kind or name in ("native_nspectra", "dm"),
                        f"{name}: of another type")


class CutoutTest:
    def __init__(self, options, checks, folder):
        self.options, self.checks, self.folder = options, checks, pathlib.Path(folder)
        self.rng = np.random.default_rng(options.seed)
        self.lengthened = self.whole = 0
        self.worst = self.rounding = 0.0

    def tautline(self, *words):
        return subprocess.run([self.options.command, "--quiet", *map(str, words)], check=True, capture_output=True, text=True)

    def in_doubles(self, row, kill, folder, single):
        """`your`'s arrays of a file of floats with sums in doubles. In single precision their rounding can be large beside the
        scatter of wide means, over which the arrays are taken."""
        folder.mkdir(exist_ok=True)
        with h5py.File(cut_out(row, kill, folder, in_doubles=True)[0]) as double:
            made = {array: double[array][:] for array in double}
        self.rounding = max(self.rounding, *(float(np.max(np.abs(made[array] - single[array][:]))) for array in single))
        return made

    def search(self, name, data, *options, kill=None, floats=False, compared=4, most=4):
        """Searches a file, and compares the best candidates' cut-outs. Returns our arrays, best candidate first."""
        table, cutouts, theirs = self.folder / f"{name}.your.csv", self.folder / name, self.folder / f"{name}-your"
        theirs.mkdir()
        self.tautline("search", data, "-o", table, "--cutouts", cutouts, "--max-cutouts", most, *options)
        rows = pandas.read_csv(table)
        self.checks.where = name
        self.checks.that(len(list(cutouts.iterdir())) == min(len(rows), most), f"{len(rows)} candidates, "
                         f"{len(list(cutouts.iterdir()))} cut-outs")
        self.checks.that(len(rows) > 0, "no candidate")
        arrays = []
        for _, row in rows.head(compared).iterrows():
            self.checks.where = f"{name}, S/N {row['snr']:.1f} at {row['stime']:.4f} s, DM {row['dm']:.2f}, 2^{row['width']}"
            path, position, lengthened = cut_out(row, kill, theirs)
            self.lengthened += lengthened
            self.whole += not lengthened
            mine = cutouts / pathlib.Path(path).name
            self.checks.that(mine.exists(), f"no file {mine.name}")
            if not mine.exists():
                continue
            with h5py.File(mine) as a, h5py.File(path) as b:
                exact = self.in_doubles(row, kill, theirs / "doubles", b) if floats else b
                self.checks.that(set(a) == set(b), f"datasets {set(a) ^ set(b)}")
                # Of floats no nearer than `your`'s own arrays in single and double precision are to each other.
                tolerance = max(TOLERANCE, self.rounding)
                for array in b:
                    self.checks.that(a[array].dtype == b[array].dtype and a[array].shape == b[array].shape == (SIDE, SIDE),
                                     f"{array}: type or shape")
                    self.checks.that([x.label for x in a[array].dims] == [x.label for x in b[array].dims], f"{array}: labels")
                    self.checks.near(a[array][:], exact[array][:], tolerance, array)
                    self.worst = max(self.worst, float(np.max(np.abs(a[array][:] - exact[array][:]))))
                compare_attributes(self.checks, dict(a.attrs), dict(b.attrs), position)
                both = [json.loads(self.tautline("--json", "inspect", one).stdout) for one in (mine, path)]
                self.checks.that(all(both[0][key] == both[1][key] for key in both[0] if key != "file"),
                                 f"inspect reads {both[0]} and {both[1]}")
                arrays.append((a["data_freq_time"][:], a["data_dm_time"][:]))
        return rows, arrays

    def simulate(self, name, pulses, *options):
        path = self.folder / f"{name}.fil"
        words = [word for p in pulses for word in ("--pulse", p)]
        self.tautline("simulate", "filterbank", "--tsamp", 0.0005, "--seed", self.options.seed, *words, *options, "-o", path)
        return path

    def simulated(self):
        rng = self.rng

        def pulse(time, dm, width):
            return f"dm={dm},time={time},width={width},snr={rng.uniform(30, 60)}"

        band = ["--nchans", 320, "--fch1", 800, "--foff", -1, "--duration", 8]
        # Narrow and wide, of long and short sweeps, and both so near the ends that samples are missing.
        middle = [pulse(2 + rng.uniform(0, 0.2), rng.uniform(60, 100), rng.uniform(0.001, 0.003)),
                  pulse(4 + rng.uniform(0, 0.2), rng.uniform(10, 20), rng.uniform(0.02, 0.05)),
                  pulse(0.05 + rng.uniform(0, 0.02), rng.uniform(40, 60), 0.002),
                  pulse(7.5, rng.uniform(20, 30), 0.004)]
        rows, arrays = self.search("falling", self.simulate("falling", middle, *band), "--dms", "0:120", most=100)
        # Of a wide pulse of a low DM many rows are as bright.
        for k in [k for k, dm in enumerate(rows["dm"].head(4)) if 50 < dm < 110][:1]:
            frequency, dms = arrays[k]
            self.checks.where = f"falling, candidate {k}"
            profile = np.convolve(frequency.sum(axis=1), np.ones(3), mode="same")
            self.checks.that(abs(int(np.argmax(profile)) - SIDE // 2) <= 3, f"the pulse is at {np.argmax(profile)}")
            row = int(np.argmax(dms.max(axis=1)))
            self.checks.that(abs(row - SIDE / 2) < 12, f"the pulse's DM is row {row}")
        left_out = [3, 4, 5, 250]
        kill = np.zeros(320, dtype=bool)
        kill[left_out] = True
        self.search("killed", self.folder / "falling.fil", "--dms", "0:120", "--ignorechan", "3:5,250", kill=kill)
        # Fewer channels than the array has, upwards in frequency, 16 bits and floats.
        for name, bits in (("rising16", 16), ("rising32", 32)):
            data = self.simulate(name, middle[:2], "--nchans", 64, "--fch1", 480, "--foff", 5, "--duration", 8, "--nbits", bits)
            self.search(name, data, "--dms", "0:120", floats=bits == 32, **(FEW if bits == 32 else {}))
        square = self.simulate("square", middle[:1], "--nchans", 256, "--fch1", 800, "--foff", -1, "--duration", 5)
        self.search("square", square, "--dms", "50:110:1", "--dm-constant", "presto", **FEW)
        self.checks.where = "chunks"
        self.checks.that(self.lengthened > 0 and self.whole > 0, f"{self.lengthened} lengthened, {self.whole} not")

    def recorded(self):
        data = self.options.data / "filterbank" / "parkes_8bit_1.fil"
        if not data.exists():
            print(f"the recorded filterbanks are absent ({data}): they are not cut out")
            return
        self.search("recorded", data, "--dms", "20:100:1", "--threshold", 5, **FEW)


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    with interop_support.scratch() as folder:
        test = CutoutTest(options, checks, folder)
        test.simulated()
        test.recorded()
        print(f"ours and your's differ by {test.worst:.2g}; your's of floats in single and in double precision by {test.rounding:.2g}")
    checks.finish()


main()
