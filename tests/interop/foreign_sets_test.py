"""Measurement Sets that others wrote: made here with casacore alone, table by table, and by pyuvdata.

Every visibility is looked up in what the reader delivers; inspect, plot, report and compare take the sets.
"""
import json
import pathlib
import subprocess

import numpy as np
from interop_support import Checks, arguments, offline, scratch

offline()
from casacore import tables  # noqa: E402
from pyuvdata import UVData  # noqa: E402

CORRELATIONS = {"xx": 9, "xy": 10, "yx": 11, "yy": 12, "rr": 5, "rl": 6, "lr": 7, "ll": 8}


class Set:
    """A Measurement Set of random numbers, with the columns that the standard wants and no keyword of ours."""

    def __init__(self, path, random, products, descending=False, spectrum_weights=False, autos=True):
        self.path, self.products = str(path), products
        self.feeds = sorted({letter for product in products for letter in product}, key="xyrl".index)
        antennas, channels, self.integrations = 4, 5, 3
        self.antennas, self.width_hz = antennas, 2e4 * (-1 if descending else 1)
        self.channel_hz = 1.4e9 + self.width_hz * np.arange(channels)
        self.pairs = [(a, b) for a in range(antennas) for b in range(a if autos else a + 1, antennas)]
        shape = (self.integrations, len(self.pairs), channels, len(products))
        self.data = (random.normal(size=shape) + 1j * random.normal(size=shape)).astype("c8")
        for row, (a, b) in enumerate(self.pairs):
            if a == b:
                self.data[:, row] = self.data[:, row].real
        self.flags = random.random(shape) < 0.2
        self.times = 5.28e9 + 10 * np.arange(self.integrations)
        self.direction = [random.uniform(0, 3), random.uniform(-1, 1)]
        self.write(random, spectrum_weights)

    def write(self, random, spectrum_weights):
        rows = self.integrations * len(self.pairs)
        columns = [tables.makearrcoldesc("DATA", 0j, ndim=2, valuetype="complex")]
        if spectrum_weights:
            columns.append(tables.makearrcoldesc("WEIGHT_SPECTRUM", 0.0, ndim=2, valuetype="float"))
        main = tables.default_ms(self.path, tables.maketabdesc(columns))
        main.addrows(rows)
        cells = (rows,) + self.data.shape[2:]
        main.putcol("DATA", self.data.reshape(cells))
        main.putcol("FLAG", self.flags.reshape(cells))
        main.putcol("FLAG_ROW", self.flags.reshape(cells).all(axis=(1, 2)))
        if spectrum_weights:  # a scale that is no part of a count
            main.putcol("WEIGHT_SPECTRUM", random.uniform(100, 200, cells).astype("f4"))
        main.putcol("WEIGHT", np.full((rows, len(self.products)), 17, "f4"))
        main.putcol("SIGMA", np.ones((rows, len(self.products)), "f4"))
        main.putcol("UVW", random.normal(size=(rows, 3)))
        for name, antenna in (("ANTENNA1", 0), ("ANTENNA2", 1)):
            main.putcol(name, np.tile([pair[antenna] for pair in self.pairs], self.integrations).astype("i4"))
        for name in ("TIME", "TIME_CENTROID"):
            main.putcol(name, np.repeat(self.times, len(self.pairs)))
        for name in ("INTERVAL", "EXPOSURE"):
            main.putcol(name, np.full(rows, 10.0))
        self.sub("ANTENNA", self.antennas, NAME=[f"dish{k}" for k in range(self.antennas)],
                 STATION=[f"pad{k}" for k in range(self.antennas)], MOUNT=["ALT-AZ"] * self.antennas,
                 POSITION=np.array([3826e3, 460e3, 5064e3]) + 100 * random.normal(size=(self.antennas, 3)),
                 DISH_DIAMETER=np.full(self.antennas, 25.0))
        channels = len(self.channel_hz)
        widths = np.full((1, channels), self.width_hz)
        self.sub("SPECTRAL_WINDOW", 1, NUM_CHAN=[channels], CHAN_FREQ=self.channel_hz[np.newaxis], CHAN_WIDTH=widths,
                 EFFECTIVE_BW=abs(widths), RESOLUTION=abs(widths), MEAS_FREQ_REF=[5],
                 REF_FREQUENCY=[self.channel_hz[0]], TOTAL_BANDWIDTH=[abs(self.width_hz) * channels])
        places = [[self.feeds.index(letter) for letter in product] for product in self.products]
        self.sub("POLARIZATION", 1, NUM_CORR=[len(self.products)],
                 CORR_TYPE=np.array([[CORRELATIONS[product] for product in self.products]], "i4"),
                 CORR_PRODUCT=np.array([places], "i4"))
        self.sub("DATA_DESCRIPTION", 1, SPECTRAL_WINDOW_ID=[0], POLARIZATION_ID=[0])
        direction = np.array([[self.direction]])
        self.sub("FIELD", 1, NAME=["J0000"], PHASE_DIR=direction, DELAY_DIR=direction, REFERENCE_DIR=direction)
        self.sub("OBSERVATION", 1, TELESCOPE_NAME=["ELSEWHERE"], OBSERVER=["somebody"],
                 TIME_RANGE=np.array([[self.times[0], self.times[-1]]]))
        main.close()

    def sub(self, name, rows, **columns):
        with tables.table(f"{self.path}::{name}", ack=False, readonly=False) as table:
            table.addrows(rows)
            for column, values in columns.items():
                table.putcol(column, values)


def check_reader(checks, options, folder, made):
    done = subprocess.run([options.programs / "dump_visibilities", made.path, folder / "dump"], capture_output=True,
                          text=True)
    checks.that(done.returncode == 0, f"reading: {done.stderr}")
    if done.returncode != 0:
        return
    facts = json.loads(done.stdout)
    inputs = [tuple(one) for one in facts["inputs"]]
    checks.that(inputs == [(f"dish{a}", f) for a in range(made.antennas) for f in made.feeds], f"inputs {inputs}")
    checks.near(facts["channel_width_hz"], abs(made.width_hz), 0, "channel width")
    checks.that(facts["tracked"] and facts["centre"] == "J0000", "phase centre")
    checks.near(np.deg2rad([facts["ra_deg"] % 360, facts["dec_deg"]]), made.direction, 1e-12, "direction")
    order = [list(made.channel_hz).index(hz) for hz in facts["channel_hz"]]
    checks.that(sorted(order) == list(range(len(made.channel_hz))), "channels")
    baselines = len(inputs) * (len(inputs) + 1) // 2
    values = len(order) * baselines
    raw = np.fromfile(folder / "dump", "u1").reshape(made.integrations, values * 16)
    shape = (made.integrations, len(order), baselines)
    visibilities = raw[:, :values * 8].copy().view("c8").reshape(shape)
    counts = raw[:, values * 8:].copy().view("i8").reshape(shape)
    found = np.zeros(shape, bool)
    for row, (a, b) in enumerate(made.pairs):
        for k, product in enumerate(made.products):
            if a == b and product[0] != product[1]:
                continue  # two products of one place
            # DATA = <x_a conj(x_b)>; the triangle has V(i, j) = <x_i conj(x_j)>, i >= j.
            i, j = (antenna * len(made.feeds) + made.feeds.index(feed) for antenna, feed in zip((a, b), product))
            expected = made.data[:, row, order, k]
            if i < j:
                i, j, expected = j, i, expected.conj()
            at = i * (i + 1) // 2 + j
            good = ~made.flags[:, row, order, k]
            checks.same(visibilities[:, :, at][good], expected[good], f"({a}, {b}) {product}")
            checks.same(counts[:, :, at] > 0, good, f"flags of ({a}, {b}) {product}")
            found[:, :, at] |= good
    checks.that(not (counts > 0)[~found & ~autos_of(inputs)].any(), "nothing else is valid")


def autos_of(inputs):
    """Baselines of two feeds of one antenna, which several products may fill."""
    return np.array([inputs[i][0] == inputs[j][0] for i in range(len(inputs)) for j in range(i + 1)])


def tautline(options, *words):
    done = subprocess.run([options.command, "--json", *map(str, words)], capture_output=True, text=True)
    return done, json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}


def check_commands(checks, options, folder, made):
    done, said = tautline(options, "inspect", made.path)
    checks.that(done.returncode == 0, f"inspect: {done.stderr}")
    checks.that(said.get("telescope") == "ELSEWHERE" and said.get("fields") == ["J0000"], f"inspect: {said}")
    checks.that(said["polarisations"] == [product.upper() for product in made.products], "products of inspect")
    checks.that((said["rows"], said["integrations"]) == (made.integrations * len(made.pairs), made.integrations), "rows")
    checks.near(np.deg2rad(said["field_positions_deg"][0]), made.direction, 1e-12, "direction of inspect")
    checks.near(said["first_mjd"] * 86400, made.times[0], 1e-4, "first time")
    for words in (("plot", made.path, "-o", folder / "page.html", "--overwrite"),
                  ("report", made.path, "-o", folder / "report.html", "--overwrite")):
        done, _ = tautline(options, *words)
        checks.that(done.returncode == 0, f"{words[0]}: {done.stderr}")


def check_of_pyuvdata(checks, options, folder):
    """What compare says of a simulated sky, of our UVH5 and of pyuvdata's set of it."""
    demo = options.source / "examples" / "demo"
    subprocess.run([options.command, "--quiet", "simulate", "voltages", "--array", demo / "array.toml", "--scene",
                    demo / "scene.toml", "--duration", "0.3", "--seed", str(options.seed), "-o", folder / "sky.dada"], check=True)
    source = json.loads((folder / "sky.truth.json").read_text())["sources"][0]
    # pyuvdata writes sets that are phased alone.
    subprocess.run([options.command, "--quiet", "correlate", folder / "sky.dada", "--array", demo / "array.toml",
                    "--channels", "64", "--integration", "0.1", "--keep-edge", "-o", folder / "sky.uvh5", "--phase-center",
                    f"SKY={source['ra_deg']!r},{source['dec_deg']!r}"], check=True)
    _, ours = tautline(options, "compare", folder / "sky.uvh5", folder / "sky.truth.json")
    sky = UVData.from_file(folder / "sky.uvh5")
    sky.write_ms(str(folder / "sky.ms"), clobber=True)
    done, theirs = tautline(options, "compare", folder / "sky.ms", folder / "sky.truth.json")
    checks.that(ours.get("agrees") is True, f"our own: {ours}")
    checks.that(done.returncode == 0 and theirs.get("agrees") is True, f"pyuvdata's: {theirs} {done.stderr}")
    for key in ("visibilities", "closures", "strong", "outside"):
        checks.that(ours.get(key) == theirs.get(key), f"{key}: {ours.get(key)} and {theirs.get(key)}")


def main():
    options = arguments(__doc__, needs_command=True)
    random = np.random.default_rng(options.seed)
    checks = Checks()
    shapes = {"linear": {"products": ["xx", "xy", "yx", "yy"]},
              "circular, descending": {"products": ["rr", "rl", "lr", "ll"], "descending": True},
              "parallel hands, weights": {"products": ["rr", "ll"], "spectrum_weights": True},
              "one feed, no autocorrelations": {"products": ["yy"], "autos": False}}
    for name, shape in shapes.items():
        with scratch() as folder:
            folder = pathlib.Path(folder)
            checks.where = name
            made = Set(folder / "x.ms", random, **shape)
            check_reader(checks, options, folder, made)
            check_commands(checks, options, folder, made)
    with scratch() as folder:
        checks.where = "pyuvdata"
        check_of_pyuvdata(checks, options, pathlib.Path(folder))
    checks.finish()


if __name__ == "__main__":
    main()
