"""Curves as PyCorrFit's own reader opens them, and time tags as ptufile reads them.

simulate photons makes counts and time tags; autocorrelate writes one curve as CSV, several and cross-correlations as
.zip, and all in HDF5, whose numbers the CSVs must hold: lags, G, standard errors as weights, and the type of curve.
pandas reads these, and the other CSVs, as one table each.
Correlator.com's files of each named mode are read as PyCorrFit reads them.
"""
import json
import pathlib
import subprocess
import zipfile

import h5py
import interop_support
import numpy as np
import pandas
import ptufile
from pycorrfit import readfiles

BIN_S = 1e-5


def tautline(options, *arguments):
    subprocess.run([options.command, "--quiet", *map(str, arguments)], check=True)


def check_curve(checks, name, opened, k, h5, sensor, cross):
    checks.where = name
    curve = np.asarray(opened["Correlation"][k])
    lag, g, sem = h5["lag_s"][:], h5["g"][sensor], h5["sem"][sensor]
    keep = (lag > 0) & np.isfinite(g) & (sem > 0)
    checks.that(len(curve) == keep.sum(), f"{len(curve)} lags, expected {keep.sum()}")
    if len(curve) != keep.sum():
        return
    # PyCorrFit keeps milliseconds.
    checks.that(np.allclose(curve[:, 0], lag[keep] * 1e3, rtol=1e-9, atol=0), "lags differ")
    checks.that(np.allclose(curve[:, 1], g[keep], rtol=0, atol=1e-9), "G differs")
    # Its reader of archives drops the weights that its reader of single files has.
    if "Weight" in opened:
        weights = np.asarray(opened["Weight"][k])
        checks.that(len(weights) == len(curve) and np.allclose(weights, sem[keep], rtol=1e-9, atol=1e-12),
                    "weights differ")
    else:
        checks.that(name.endswith("in the archive"), "no weights")
    kind = opened["Type"][k]
    checks.that(kind.startswith("CC" if cross else "AC"), f"type {kind}")
    # Intensities are in a file of their own.
    checks.that(opened["Trace"][k] is None, "a trace in the file of a curve")


# The file is one table, and so is the one of its intensities.
def check_tables(checks, path, h5, sensor, cross):
    checks.where = path.name
    table = np.loadtxt(path, comments="#")
    keep = (h5["lag_s"][:] > 0) & np.isfinite(h5["g"][sensor]) & (h5["sem"][sensor] > 0)
    checks.that(table.shape == (keep.sum(), 5), f"a table of shape {table.shape}")
    trace = np.loadtxt(path.with_suffix(".trace.txt"), comments="#")
    checks.that(trace.ndim == 2 and trace.shape[1] == (3 if cross else 2) and len(trace) > 1,
                f"a trace of shape {trace.shape}")
    checks.that(np.all(np.diff(trace[:, 0]) > 0) and np.all(trace[:, 1:] >= 0), "a trace that is none")


# As pandas opens it: one table with the names of its columns and every lag, lag 0 too.
def check_pandas(checks, path, h5):
    checks.where = path.name
    frame = pandas.read_csv(path, comment="#")
    checks.that(list(frame.columns) == ["lag_s", "g", "standard_error"], f"columns {list(frame.columns)}")
    checks.that(len(frame) == len(h5["lag_s"]), f"{len(frame)} lags, expected {len(h5['lag_s'])}")
    if len(frame.columns) != 3 or len(frame) != len(h5["lag_s"]):
        return
    checks.that((frame.dtypes == float).all(), f"types {list(frame.dtypes)}")
    checks.that(frame.lag_s.iloc[0] == 0, "lag 0 is not the first")
    sem = h5["sem"][0]
    checks.that(np.isnan(sem).any() and not np.isnan(sem).all(), "the test needs lags without a standard error")
    for column, expected in (("lag_s", h5["lag_s"][:]), ("g", h5["g"][0]), ("standard_error", sem)):
        checks.that(np.allclose(frame[column], expected, rtol=1e-10, atol=0, equal_nan=True), f"{column} differs")


# PyCorrFit's form as pandas opens it, with the names that the guide says.
def check_named(checks, path, h5, sensor):
    checks.where = f"{path.name} in pandas"
    frame = pandas.read_csv(path, comment="#", sep="\t", names=["lag_s", "g", "fit", "residual", "standard_error"])
    keep = (h5["lag_s"][:] > 0) & np.isfinite(h5["g"][sensor]) & (h5["sem"][sensor] > 0)
    checks.that(len(frame) == keep.sum() and (frame.dtypes == float).sum() >= 3, f"{len(frame)} lags, {frame.dtypes}")
    if len(frame) != keep.sum():
        return
    for column, name in (("lag_s", "lag_s"), ("g", "g"), ("standard_error", "sem")):
        expected = (h5[name][:] if name == "lag_s" else h5[name][sensor])[keep]
        checks.that(np.allclose(frame[column], expected, rtol=1e-9, atol=1e-12), f"{column} differs")


# Fits, histograms of microtimes and candidates: one table each, with a heading.
def check_other_tables(checks, options, folder):
    tautline(options, "fit", folder / "x.h5", "-o", folder / "fit.csv", "--model", "3d", "--max-chi2", 1e9)
    tautline(options, "inspect", folder / "t3.ptu", "--tcspc", folder / "tcspc.csv")
    tautline(options, "simulate", "filterbank", "--nchans", 32, "--fch1", 1500, "--foff", -4, "--tsamp", "1ms",
             "--duration", 4, "--seed", options.seed, "--pulse", "dm=20,time=1.5,width=0.003,snr=40",
             "-o", folder / "s.fil")
    for name in ("list.csv", "list.your.csv"):
        tautline(options, "search", folder / "s.fil", "-o", folder / name, "--dms", "0:50")
    for name, first, columns, rows in (("fit.csv", "sensor", ["n", "tau_d_s", "reduced_chi2"], 3),
                                       ("tcspc.csv", "time_s", ["detector_0", "detector_1", "detector_2"], 16),
                                       ("list.csv", "snr", ["time_s", "dm"], 1),
                                       ("list.your.csv", "file", ["snr", "dm"], 1)):
        checks.where = name
        frame = pandas.read_csv(folder / name, comment="#")
        checks.that(frame.columns[0] == first and set(columns) <= set(frame.columns), f"columns {list(frame.columns)}")
        checks.that(len(frame) >= rows, f"{len(frame)} rows")
        checks.that(all(np.issubdtype(frame[one].dtype, np.number) for one in columns if one in frame), "no numbers")


# Why the names of columns are a comment in the others.
def check_heading(checks, path, folder):
    checks.where = "a heading that is no comment"
    rows = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    for separator in ("\t", ","):
        named = folder / "named.csv"
        named.write_text("\n".join([separator.join(["lag_s", "g", "fit", "residual", "error"])] + rows) + "\n")
        try:
            readfiles.open_any(str(named))
        except ValueError:
            continue
        checks.that(False, f"PyCorrFit reads it, with {separator!r} between columns: all curves could have one")


# Without counts G is undefined: PyCorrFit opens such a curve as one without points, and the others beside it.
def check_dark(checks, options, folder):
    counts = np.random.default_rng(options.seed).integers(0, 9, (20000, 3), dtype=np.uint8)
    counts[:, 1] = 0
    for name, array in (("empty", counts[:0, :1]), ("dark", counts[:, 1:2]), ("lit", counts)):
        np.save(folder / f"{name}.npy", array)
        target = folder / f"{name}.{'zip' if name == 'lit' else 'csv'}"
        tautline(options, "autocorrelate", folder / f"{name}.npy", "-o", target, "--bin", BIN_S, "--levels", 5)
        checks.where = target.name
        found = [len(curve) for curve in readfiles.open_any(str(target))["Correlation"]]
        expected = [159, 0, 159] if name == "lit" else [0]
        checks.that(found == expected, f"{found} lags, expected {expected}")


# Correlator.com's files of each named mode, as both readers open them.
def check_sin(checks, options, folder):
    random = np.random.default_rng(options.seed)
    columns = {"Single Auto": 1, "Single Cross": 1, "Dual Auto": 2, "Dual Cross": 2, "Quad": 4}
    for mode, count in columns.items():
        lags = np.cumsum(random.uniform(1e-7, 1e-6, 40))
        curves = 1 + random.uniform(0.01, 0.5, (40, count))
        trace = np.column_stack([np.arange(9) * 0.25, random.uniform(1e3, 1e5, (9, 2))])
        text = f"FLXA\nVersion= 1d\n\n[Parameters]\nDuration= 2.25\nMode= {mode}\n\n[CorrelationFunction]\n"
        for lag, row in zip(lags, curves):
            text += "\t".join(f"{value:.6e}" for value in (lag, *row)) + "\n"
        text += "\n\n[RawCorrelationFunction]\n\n[IntensityHistory]\nTraceNumber= 9\n"
        for row in trace:
            text += "\t".join(f"{value:.6e}" for value in row) + "\n"
        path = folder / "mode.SIN"
        path.write_text(text + "\n\n[Histogram]\n")
        checks.where = mode
        theirs = readfiles.open_any(str(path))
        found = subprocess.run([options.command, "--json", "inspect", path], check=True, capture_output=True, text=True)
        ours = json.loads(found.stdout)["curves"]
        checks.that(len(ours) == len(theirs["Correlation"]) == count, f"{len(ours)} curves")
        for k, one in enumerate(ours):
            checks.that(one["cross"] == theirs["Type"][k].startswith("CC"), f"type of curve {k}")
            checks.that(one["lags"] == len(theirs["Correlation"][k]), f"{one['lags']} lags")
            traces = theirs["Trace"][k] if one["cross"] else [theirs["Trace"][k]]
            if theirs["Type"][k] != "CC21":  # PyCorrFit keeps the order of the first pair
                rate = np.mean(traces[0][:, 1]) * 1e3
                checks.that(abs(one["mean_rate_hz"] - rate) < 1e-6 * rate, f"{one['mean_rate_hz']} Hz, theirs {rate}")


def check_tags(checks, options, folder, mode):
    path = folder / f"{mode}.ptu"
    tautline(options, "simulate", "photons", "--sensors", 3, "--duration", 0.2, "--tags", mode, "--seed", options.seed,
             *(["--lifetime", 3e-9] if mode == "t3" else []), "--model", "diffusion:n=0.3,tau=1e-4,rate=3e4", "-o", path)
    checks.where = path.name
    found = subprocess.run([options.command, "--json", "inspect", path], check=True, capture_output=True, text=True)
    ours = json.loads(found.stdout)
    with ptufile.PtuFile(str(path)) as ptu:
        records = ptu.decode_records()
        photons = records[records["channel"] >= 0]
        checks.that(len(photons) == ours["photons"], f"{len(photons)} photons, ours {ours['photons']}")
        checks.that(ptu.is_t3 == (mode == "t3"), "mode differs")
        for one in ours["detectors"]:
            theirs = int((photons["channel"] == one["detector"]).sum())
            checks.that(theirs == one["photons"], f"detector {one['detector']}: {theirs} photons, ours {one['photons']}")
        last_s = float(photons["time"][-1]) * ptu.global_resolution
        checks.that(abs(last_s - ours["last_photon_s"]) < 1e-9, f"last photon at {last_s}, ours {ours['last_photon_s']}")


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    with interop_support.scratch() as name:
        folder = pathlib.Path(name)
        tautline(options, "simulate", "photons", "--shape", "1x3", "--duration", 1, "--bin", BIN_S, "--seed", options.seed,
                 "--model", "diffusion:n=0.3,tau=2e-4,rate=5e4", "-o", folder / "x.npy")
        tautline(options, "simulate", "photons", "--duration", 1, "--bin", BIN_S, "--seed", options.seed + 1,
                 "--model", "diffusion:n=0.3,tau=2e-4,rate=5e4", "-o", folder / "one.npy")
        lags = ["--bin", BIN_S, "--lags", "standard", "--bins", 16, "--levels", 14]
        for source, target in [("one.npy", "one.csv"), ("one.npy", "one.table.csv"), ("one.npy", "one.h5"), ("x.npy", "x.zip"), ("x.npy", "x.h5")]:
            tautline(options, "autocorrelate", folder / source, "-o", folder / target, *lags)
        for target in ("cc.zip", "cc.h5"):
            tautline(options, "autocorrelate", folder / "x.npy", "-o", folder / target, "--pairs", "1:0", *lags)
        with h5py.File(folder / "one.h5") as h5:
            check_curve(checks, "one.csv", readfiles.open_any(str(folder / "one.csv")), 0, h5, 0, False)
            check_tables(checks, folder / "one.csv", h5, 0, False)
            check_pandas(checks, folder / "one.table.csv", h5)
            check_named(checks, folder / "one.csv", h5, 0)
        check_heading(checks, folder / "one.csv", folder)
        for archive, cross, count in (("x", False, 3), ("cc", True, 2)):
            opened = readfiles.open_any(str(folder / f"{archive}.zip"))
            checks.where = archive
            checks.that(len(opened["Correlation"]) == count, f"{len(opened['Correlation'])} curves, expected {count}")
            with h5py.File(folder / f"{archive}.h5") as h5:
                for k in range(min(count, len(opened["Correlation"]))):
                    check_curve(checks, f"{archive}.zip {k} in the archive", opened, k, h5, k, cross)
                with zipfile.ZipFile(folder / f"{archive}.zip") as files:
                    files.extractall(folder)
                    for k, member in enumerate(name for name in files.namelist() if name.endswith(".csv")):
                        single = readfiles.open_any(str(folder / member))
                        check_tables(checks, folder / member, h5, k, cross)
                        check_named(checks, folder / member, h5, k)
                        check_curve(checks, f"{archive}.zip {member}", single, 0, h5, k, cross)
        check_dark(checks, options, folder)
        check_sin(checks, options, folder)
        for mode in ("t3", "t2"):
            check_tags(checks, options, folder, mode)
        check_other_tables(checks, options, folder)
    checks.finish()


if __name__ == "__main__":
    main()
