"""pyuvdata and casacore read what the visibility writers write, and find every number in its place.

Three parts: random visibilities of many shapes against their source, to the bit; point sources made
here from antenna positions, which pyuvdata must bring to zero phase; and the TART array's positions.
"""
import json
import pathlib
import subprocess
import tomllib
import warnings
from fractions import Fraction

import numpy as np
from interop_support import Checks, arguments, offline, scratch

offline()
import astropy.units as u  # noqa: E402
from astropy.coordinates import AltAz, EarthLocation, SkyCoord  # noqa: E402
from astropy.time import Time  # noqa: E402
from astropy.utils import iers  # noqa: E402
from casacore import tables  # noqa: E402
from pyuvdata import UVData  # noqa: E402

LIGHT_M_PER_S = 299792458.0
AIPS = {("x", "x"): -5, ("y", "y"): -6, ("x", "y"): -7, ("y", "x"): -8}
CASA = {("x", "x"): 9, ("x", "y"): 10, ("y", "x"): 11, ("y", "y"): 12}


def unix_seconds(integration):
    """The middle of an integration as an exact fraction of seconds since 1970, UTC."""
    start = Time(integration["start"][:10] + " " + integration["start"][11:], scale="utc")
    whole = round((start.jd1 - 2440587.5 + start.jd2) * 86400)
    rate = Fraction(*integration["rate"])
    return whole + Fraction(integration["picoseconds"], 10**12) + Fraction(integration["samples"], 2) / rate


def julian_date(seconds):
    return float(Fraction(4881175, 2) + seconds / 86400)  # 2440587.5 is 1970-01-01


def mjd_seconds(seconds):
    return float(40587 * 86400 + seconds)


class Case:
    """An array, its axes and its visibilities: made here, written by the library."""

    def __init__(self, folder, name, random, antennas, feeds="xy", channels=7, integrations=3, order="antenna",
                 numbers="dense", tracked=None, spread_m=150.0, height_m=3.0):
        self.folder, self.name, self.random = folder, name, random
        self.feeds = feeds
        self.numbers = list(range(antennas)) if numbers == "dense" else \
            [int(n) for n in random.permutation(1000)[:antennas] * 7 + 3]
        self.latitude, self.longitude = random.uniform(-70, 70), random.uniform(-180, 180)
        self.altitude = random.uniform(0, 3000)
        self.enu = np.column_stack([random.uniform(-spread_m, spread_m, antennas),
                                    random.uniform(-spread_m, spread_m, antennas),
                                    random.uniform(-height_m, height_m, antennas)])
        labels = [(a, f) for a in range(antennas) for f in feeds]
        if order == "feed":
            labels = [(a, f) for f in feeds for a in range(antennas)]
        elif order == "shuffled":
            labels = [labels[i] for i in random.permutation(len(labels))]
        self.inputs = labels
        self.data_order = list(dict.fromkeys(a for a, _ in labels))
        first = 120e6 + float(random.integers(0, 1000000)) / 3
        self.width = 40e3 / 3
        self.freqs = [first + k * self.width for k in range(channels)]
        self.nominal = 9600
        self.tracked = tracked
        self.seconds = [0, 0]
        # Apart, so that no two have the same Julian date as a double.
        while any(b - a < 1 for a, b in zip(self.seconds, self.seconds[1:])):
            self.integrations = []
            for k in range(integrations):
                self.integrations.append({
                    "start": "2019-11-20-22:%02d:13" % (k % 50), "picoseconds": int(random.integers(0, 10**12)),
                    "samples": int(random.integers(10**9, 10**11)), "rate": [16368000, 1] if k % 2 else [128000000, 3],
                    "integration_s": 0.25 if k == integrations - 1 else 0.5})
            self.integrations.sort(key=unix_seconds)
            self.seconds = [unix_seconds(i) for i in self.integrations]
        self.location = EarthLocation.from_geodetic(self.longitude * u.deg, self.latitude * u.deg,
                                                    self.altitude * u.m)

    @property
    def shape(self):
        n = len(self.inputs)
        return len(self.integrations), len(self.freqs), n * (n + 1) // 2

    def times(self):
        return Time([julian_date(s) for s in self.seconds], format="jd", scale="utc", location=self.location)

    def earth(self):
        """UT1-UTC and the pole at the first integration, from astropy's own tables."""
        table, time = iers.earth_orientation_table.get(), self.times()[0]
        x, y = table.pm_xy(time)
        return {"ut1_minus_utc_s": float(time.delta_ut1_utc), "pole_x_rad": float(x.to_value("rad")),
                "pole_y_rad": float(y.to_value("rad"))}

    def random_data(self):
        values = (self.random.normal(size=self.shape) + 1j * self.random.normal(size=self.shape)).astype("c8")
        n = len(self.inputs)
        autos = [i * (i + 1) // 2 + i for i in range(n)]
        values[:, :, autos] = values[:, :, autos].real
        counts = self.random.integers(0, self.nominal + 1, size=self.shape)
        kind = self.random.integers(0, 4, size=self.shape)
        counts[kind == 0] = 0
        counts[kind == 1] = self.nominal
        self.values, self.counts = values, counts.astype("i8")

    def directions(self, source):
        """Unit vectors towards a source, east, north, up, at each integration: astropy's own path."""
        at = source.transform_to(AltAz(obstime=self.times(), location=self.location, pressure=0 * u.hPa))
        az, alt = at.az.rad, at.alt.rad
        return np.column_stack([np.cos(alt) * np.sin(az), np.cos(alt) * np.cos(az), np.sin(alt)])

    def point_source(self, source, stopped_at=None):
        """Voltages of a plane wave, x_k(t) = s(t + r_k . d / c), and their products x_i conj(x_j)."""
        towards = self.directions(source)
        if stopped_at is not None:
            towards = towards - self.directions(stopped_at)
        positions = self.enu[[a for a, _ in self.inputs]]
        cycles = np.einsum("id,td->ti", positions, towards)[:, None, :] * np.array(self.freqs)[None, :, None]
        voltage = np.exp(2j * np.pi * cycles / LIGHT_M_PER_S)
        i, j = np.tril_indices(len(self.inputs))
        self.values = (voltage[:, :, i] * np.conj(voltage[:, :, j])).astype("c8")
        self.values[:, :, i == j] = 1
        self.counts = np.full(self.shape, self.nominal, "i8")

    def write(self, programs, earth=None, endings=("uvh5", "ms"), array=True):
        stem = self.folder / self.name
        text = [f'name = "{self.name}"', f"latitude_deg = {self.latitude!r}", f"longitude_deg = {self.longitude!r}",
                f"altitude_m = {self.altitude!r}",
                "inputs = [" + ", ".join(f'[{self.numbers[a]}, "{f}"]' for a, f in self.inputs) + "]"]
        for number, enu in zip(self.numbers, self.enu):
            text += ["[[antenna]]", f"number = {number}", f"enu_m = [{', '.join(map(repr, map(float, enu)))}]",
                     "diameter_m = 3.5", "feeds = [" + ", ".join(f'"{f}"' for f in self.feeds) + "]"]
        stem.with_suffix(".toml").write_text("\n".join(text) + "\n")
        with open(stem.with_suffix(".raw"), "wb") as raw:
            for values, counts in zip(self.values, self.counts):
                raw.write(values.tobytes() + counts.tobytes())
        spec = {"channel_hz": self.freqs, "channel_width_hz": self.width,
                "integration_s": 0.5, "nominal_count": self.nominal, "telescope": "CHECKED", "instrument": "interop",
                "source": "sky", "history": "written for a test", "extra": {"device": "none"},
                "raw": str(stem.with_suffix(".raw")), "integrations": self.integrations, **(earth or {})}
        if array:
            spec["array"] = str(stem.with_suffix(".toml"))
        else:
            spec |= {"antennas": len(self.numbers), "polarisations": len(self.feeds)}
        if self.tracked is not None:
            spec["phase_centre"] = {"name": "centre", "ra_deg": self.tracked.ra.deg, "dec_deg": self.tracked.dec.deg}
        stem.with_suffix(".json").write_text(json.dumps(spec))
        outputs = [str(stem.with_suffix("." + e)) for e in endings]
        subprocess.run([programs / "write_visibilities", stem.with_suffix(".json"), *outputs], check=True)
        return outputs

    def expected(self, products, casa):
        """[integration, pair, channel, product]: the definition, a pair and a product at a time."""
        place = {label: k for k, label in enumerate(self.inputs)}
        pairs = [(a, b) for k, a in enumerate(self.data_order) for b in self.data_order[k:]]
        shape = (self.shape[0], len(pairs), self.shape[1], len(products))
        data, counts = np.zeros(shape, "c8"), np.zeros(shape, "i8")
        for row, (a, b) in enumerate(pairs):
            for p, (first, second) in enumerate(products):
                one, two = place[a, first], place[b, second]
                i, j = max(one, two), min(one, two)
                v = self.values[:, :, i * (i + 1) // 2 + j]  # x_i conj(x_j)
                first_times_conj_second = v if one == i else np.conj(v)
                data[:, row, :, p] = first_times_conj_second if casa else np.conj(first_times_conj_second)
                counts[:, row, :, p] = self.counts[:, :, i * (i + 1) // 2 + j]
        data[counts == 0] = 0
        return pairs, data, counts


def read_uvh5(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = UVData()
        data.read_uvh5(path, run_check=True, check_extra=True, check_autos=True, fix_autos=False,
                       strict_uvw_antpos_check=True, **options)
    return data


def read_ms(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Fields without tracking state no W, which pyuvdata finds odd where antennas differ in height.
        warnings.filterwarnings("ignore", "The uvw_array does not match the expected values")
        data = UVData()
        data.read_ms(path, ignore_single_chan=False, fix_autos=False)
    return data


def check_uvh5(checks, case, path):
    products = [("x", "x"), ("y", "y"), ("x", "y"), ("y", "x")] if case.feeds == "xy" else [(case.feeds,) * 2]
    pairs, data, counts = case.expected(products, casa=False)
    rows = (len(case.integrations) * len(pairs),)
    uvd = read_uvh5(path)
    checks.same(uvd.data_array, data.reshape(rows + data.shape[2:]), "visdata")
    checks.same(uvd.flag_array, counts.reshape(uvd.data_array.shape) == 0, "flags")
    checks.same(uvd.nsample_array, (counts / case.nominal).astype("f4").reshape(uvd.data_array.shape), "nsamples")
    checks.same(np.rint(uvd.nsample_array.astype("f8") * case.nominal), counts.reshape(uvd.data_array.shape),
                "counts from nsamples")
    checks.same(uvd.polarization_array, [AIPS[p] for p in products], "polarisations")
    checks.same(uvd.freq_array, case.freqs, "frequencies")
    checks.same(uvd.channel_width, [case.width] * len(case.freqs), "channel widths")
    checks.same(uvd.time_array, np.repeat([julian_date(s) for s in case.seconds], len(pairs)), "times")
    checks.same(uvd.integration_time, np.repeat([i["integration_s"] for i in case.integrations], len(pairs)),
                "integration times")
    checks.same(uvd.ant_1_array, np.tile([case.numbers[a] for a, _ in pairs], len(case.integrations)), "ant_1")
    checks.same(uvd.ant_2_array, np.tile([case.numbers[b] for _, b in pairs], len(case.integrations)), "ant_2")
    checks.same(uvd.telescope.antenna_numbers, case.numbers, "antenna numbers")
    checks.near(uvd.telescope.get_enu_antpos(), case.enu, 1e-8, "antenna positions")
    checks.near(uvd.telescope.location_lat_lon_alt_degrees[:2], (case.latitude, case.longitude), 1e-12, "place")
    checks.that(uvd.vis_units == "uncalib" and uvd.telescope.name == "CHECKED", "units and names")
    checks.that(uvd.extra_keywords["device"] == "none" and uvd.extra_keywords["lost"] == "0", "extra keywords")
    checks.that("written for a test" in uvd.history, "history")
    checks.that(list(uvd.telescope.mount_type) == ["fixed"] * len(case.numbers), "mounts")
    checks.that(uvd.telescope.get_x_orientation_from_feeds() == "north", "feed angles")
    checks.that(bool(uvd.blts_are_rectangular) and not uvd.time_axis_faster_than_bls, "rectangular rows")
    if uvd.blt_order is not None:
        checks.that(tuple(uvd.blt_order) == ("time", "baseline"), "name of the order of rows")
        key = list(zip(uvd.time_array, uvd.baseline_array))
        checks.that(key == sorted(key), "order of rows")

    own = uvd.copy()
    own._set_app_coords_helper()
    own.set_uvws_from_antenna_positions(update_vis=False)
    if case.tracked is not None:
        checks.near(uvd.phase_center_app_ra, own.phase_center_app_ra, 1e-9, "apparent right ascension")
        checks.near(uvd.phase_center_app_dec, own.phase_center_app_dec, 1e-9, "apparent declination")
        checks.near(uvd.phase_center_frame_pa, own.phase_center_frame_pa, 1e-9, "frame position angle")
        checks.near(uvd.uvw_array, own.uvw_array, 1e-5, "uvw")
        (entry,) = uvd.phase_center_catalog.values()
        checks.that(entry["cat_type"] == "sidereal" and entry["cat_name"] == "centre", "phase centre")
    else:
        checks.near(uvd.uvw_array, own.uvw_array, 1e-8, "uvw")
        checks.near(uvd.phase_center_app_dec, np.deg2rad(case.latitude), 1e-12, "zenith")
        (entry,) = uvd.phase_center_catalog.values()
        checks.that(entry["cat_type"] == "unprojected", "phase centre")
    return uvd


def check_ms(checks, case, path, uvd):
    """The tables by casacore, and the object that pyuvdata makes of them."""
    products = [("x", "x"), ("x", "y"), ("y", "x"), ("y", "y")] if case.feeds == "xy" else [(case.feeds,) * 2]
    pairs, data, counts = case.expected(products, casa=True)
    rows = (len(case.integrations) * len(pairs),)
    with tables.table(path, ack=False) as main:
        column = {name: main.getcol(name) for name in main.colnames() if name != "FLAG_CATEGORY"}
        checks.that(main.getkeyword("tautline")["device"] == "none", "keyword record")
        checks.that(main.getcolkeyword("TIME", "MEASINFO")["Ref"] == "UTC", "time scale")
    shape = rows + data.shape[2:]
    checks.same(column["DATA"], data.reshape(shape), "DATA")
    checks.same(column["FLAG"], counts.reshape(shape) == 0, "FLAG")
    checks.same(column["FLAG_ROW"], (counts.reshape(shape) == 0).all(axis=(1, 2)), "FLAG_ROW")
    fractions = (counts / case.nominal).astype("f4").reshape(shape)
    checks.same(column["WEIGHT_SPECTRUM"], fractions, "WEIGHT_SPECTRUM")
    weight = fractions.astype("f8").mean(axis=1)
    checks.near(column["WEIGHT"], weight, 1e-6, "WEIGHT")
    with np.errstate(divide="ignore"):
        sigma = np.where(weight > 0, 1 / np.sqrt(weight), -1)
    checks.near(column["SIGMA"] / np.abs(sigma), np.sign(sigma), 1e-6, "SIGMA")
    middles = np.repeat([mjd_seconds(s) for s in case.seconds], len(pairs))
    lengths = np.repeat([i["integration_s"] for i in case.integrations], len(pairs))
    for name, expected in (("TIME", middles), ("TIME_CENTROID", middles), ("INTERVAL", lengths),
                           ("EXPOSURE", lengths)):
        checks.same(column[name], expected, name)
    order = {antenna: row for row, antenna in enumerate(case.data_order)}
    checks.same(column["ANTENNA1"], np.tile([order[a] for a, _ in pairs], len(case.integrations)), "ANTENNA1")
    checks.same(column["ANTENNA2"], np.tile([order[b] for _, b in pairs], len(case.integrations)), "ANTENNA2")
    checks.that((column["ANTENNA1"] <= column["ANTENNA2"]).all(), "order of antennas")
    uvw = -uvd.uvw_array
    if case.tracked is None:
        uvw[:, 2] = 0
    checks.same(column["UVW"], uvw, "UVW against UVH5")
    for name in ("DATA_DESC_ID", "ARRAY_ID", "FEED1", "FEED2", "OBSERVATION_ID", "PROCESSOR_ID", "STATE_ID"):
        checks.that((column[name] == 0).all(), name)

    with tables.table(path + "::ANTENNA", ack=False) as antenna:
        in_rows = case.data_order
        checks.that(antenna.getcol("STATION") == [str(case.numbers[a]) for a in in_rows], "antenna numbers")
        checks.that(antenna.getcol("NAME") == [f"ant{case.numbers[a]}" for a in in_rows], "antenna names")
        checks.near(antenna.getcol("DISH_DIAMETER"), 3.5, 0, "diameters")
    with tables.table(path + "::SPECTRAL_WINDOW", ack=False) as window:
        checks.same(window.getcell("CHAN_FREQ", 0), case.freqs, "CHAN_FREQ")
        checks.same(window.getcell("CHAN_WIDTH", 0), [case.width] * len(case.freqs), "CHAN_WIDTH")
        checks.that(window.getcell("MEAS_FREQ_REF", 0) == 5, "topocentric frequencies")
    with tables.table(path + "::POLARIZATION", ack=False) as polarization:
        checks.same(polarization.getcell("CORR_TYPE", 0), [CASA[p] for p in products], "CORR_TYPE")
        letters = "xy" if case.feeds == "xy" else case.feeds
        checks.same(polarization.getcell("CORR_PRODUCT", 0), [[letters.index(a), letters.index(b)] for a, b in products],
                    "CORR_PRODUCT")
    rows_of = {"ANTENNA": len(case.numbers), "FEED": len(case.numbers), "DATA_DESCRIPTION": 1, "OBSERVATION": 1,
               "POINTING": 0, "STATE": 1, "PROCESSOR": 1, "FLAG_CMD": 0,
               "FIELD": 1 if case.tracked is not None else len(case.integrations)}
    for name, count in rows_of.items():
        with tables.table(path + "::" + name, ack=False) as table:
            checks.that(table.nrows() == count, f"{name} has {table.nrows()} rows, expected {count}")
    with tables.table(path + "::HISTORY", ack=False) as history:
        checks.that("written for a test" in history.getcol("MESSAGE"), "HISTORY")

    # pyuvdata orders polarisations as UVH5 does and takes the conjugate; antenna numbers are rows.
    again = read_ms(path)
    checks.same(again.polarization_array, uvd.polarization_array, "pyuvdata's polarisations")
    checks.same(again.data_array, uvd.data_array, "pyuvdata's data from both files")
    checks.same(again.flag_array, uvd.flag_array, "pyuvdata's flags from both files")
    checks.same(again.nsample_array, uvd.nsample_array, "pyuvdata's nsamples from both files")
    checks.same(again.freq_array, uvd.freq_array, "pyuvdata's frequencies from both files")
    checks.near(again.time_array, uvd.time_array, 1e-9, "pyuvdata's times from both files")
    checks.near(again.telescope.location.x.value, case.location.x.value, 1e-6, "place")
    by_row = uvd.telescope.antenna_positions[case.data_order]
    checks.near(again.telescope.antenna_positions, by_row, 1e-6, "pyuvdata's antenna positions from both files")
    checks.that(again.telescope.get_x_orientation_from_feeds() == "north", "feed angles")
    return again


def check_shapes(checks, programs, folder, random):
    centre = SkyCoord(83.633 * u.deg, 22.0145 * u.deg)
    shapes = {
        "one": dict(antennas=1, feeds="x", channels=1, integrations=1),
        "one_dual": dict(antennas=1, channels=2, integrations=2),
        "single_x": dict(antennas=4, feeds="x", channels=33),
        "single_y": dict(antennas=3, feeds="y"),
        "dual": dict(antennas=5, channels=16),
        "feed_slow": dict(antennas=3, order="feed"),
        "shuffled": dict(antennas=6, order="shuffled", numbers="odd"),
        "odd_numbers": dict(antennas=9, numbers="odd", channels=19, integrations=4),
        "tracked": dict(antennas=6, tracked=centre, integrations=5),
        "tracked_shuffled": dict(antennas=7, tracked=centre, order="shuffled", numbers="odd", feeds="x"),
        # Rows larger than a chunk, and an integration of many chunks.
        "wide": dict(antennas=2, channels=40000, integrations=2),
        "many": dict(antennas=48, channels=32, integrations=2),
    }
    for name, shape in shapes.items():
        checks.where = name
        case = Case(folder, name, random, **shape)
        case.random_data()
        earth = case.earth() if case.tracked is not None else None
        uvh5, ms = case.write(programs, earth)
        uvd = check_uvh5(checks, case, uvh5)
        check_ms(checks, case, ms, uvd)


def worst_phase_deg(uvd):
    cross = uvd.ant_1_array != uvd.ant_2_array
    return float(np.max(np.abs(np.angle(uvd.data_array[cross], deg=True))))


def check_phases(checks, programs, folder, random):
    """A plane wave from a known place comes to zero phase when pyuvdata phases to that place."""
    for tracking in (False, True):
        for level in (0.0, 8.0):
            checks.where = f"point source, {'tracked' if tracking else 'unprojected'}, heights to {level} m"
            case = Case(folder, f"point_{tracking}_{level:.0f}", random, antennas=8, channels=5, integrations=4,
                        height_m=level, spread_m=250, order="shuffled")
            zenith = SkyCoord(alt=90 * u.deg, az=0 * u.deg, obstime=case.times()[0], location=case.location,
                              frame="altaz").icrs
            source = zenith.directional_offset_by(random.uniform(0, 360) * u.deg, random.uniform(10, 50) * u.deg)
            source = SkyCoord(source.ra, source.dec)
            centre = source.directional_offset_by(random.uniform(0, 360) * u.deg, 3 * u.deg) if tracking else None
            case.tracked = centre
            case.point_source(source, stopped_at=centre)
            uvh5, ms = case.write(programs, case.earth() if tracking else None)
            for kind, uvd in (("UVH5", read_uvh5(uvh5)), ("Measurement Set", read_ms(ms))):
                checks.that(worst_phase_deg(uvd) > 20, f"{kind}: phases are far from zero at first")
                uvd.phase(lon=source.ra.rad, lat=source.dec.rad, cat_name="source", phase_frame="icrs")
                worst = worst_phase_deg(uvd)
                print(f"{checks.where}, {kind}: worst phase {worst:.4f} degrees")
                checks.that(worst < 0.5, f"{kind}: worst phase {worst} degrees")


def check_unknown_array(checks, programs, folder, random):
    checks.where = "no array.toml"
    case = Case(folder, "unknown", random, antennas=3)
    case.random_data()
    (path,) = case.write(programs, endings=("uvh5",), array=False)
    uvd = read_uvh5(path, run_check_acceptability=False)  # pyuvdata refuses antennas in one place
    checks.same(uvd.telescope.antenna_positions, np.zeros((3, 3)), "antenna positions")
    checks.same(uvd.uvw_array, np.zeros((len(uvd.time_array), 3)), "uvw")


def check_tart(checks, programs, folder, random, data):
    layout = data / "tart" / "array.toml"
    if not layout.exists():
        print(f"TART left out: {layout} is absent")
        return
    checks.where = "TART"
    array = tomllib.loads(layout.read_text())
    case = Case(folder, "tart", random, antennas=len(array["antenna"]), feeds="x", channels=4, integrations=1)
    case.random_data()
    case.write(programs, endings=())
    spec = json.loads((folder / "tart.json").read_text()) | {"array": str(folder / "tart_single.toml")}
    # The snapshots have one input for each antenna.
    (folder / "tart_single.toml").write_text(
        layout.read_text().replace("[[antenna]]", '[[antenna]]\nfeeds = ["x"]'))
    (folder / "tart.json").write_text(json.dumps(spec))
    subprocess.run([programs / "write_visibilities", folder / "tart.json", folder / "tart.uvh5"], check=True)
    uvd = read_uvh5(folder / "tart.uvh5")
    checks.near(uvd.telescope.get_enu_antpos(), [a["enu_m"] for a in array["antenna"]], 1e-8, "antenna positions")
    checks.near(uvd.telescope.location_lat_lon_alt_degrees,
                [array["latitude_deg"], array["longitude_deg"], array["altitude_m"]], 1e-6, "place")


def main():
    options = arguments(__doc__)
    random = np.random.default_rng(options.seed)
    checks = Checks()
    with scratch() as name:
        folder = pathlib.Path(name)
        check_shapes(checks, options.programs, folder, random)
        check_phases(checks, options.programs, folder, random)
        check_unknown_array(checks, options.programs, folder, random)
        check_tart(checks, options.programs, folder, random, options.data)
    checks.finish()


if __name__ == "__main__":
    main()
