"""Fits, against lmfit's of the same data with formulae of their own.

For each model a curve with known noise is made here and written as CSV; `tautline fit` and lmfit must find the same
values, the same errors and the same chi-squared.
"""
import csv
import json
import pathlib
import subprocess

import interop_support
import lmfit
import numpy as np

LAGS = np.concatenate([np.arange(1, 17) * 2e-7] + [np.arange(9, 17) * 2e-7 * 2.0**k for k in range(1, 20)])


def through_focus(x, kappa=5):
    return 1 / ((1 + x) * np.sqrt(1 + x / kappa**2))


def dark(lag, triplet, tau_t_s):
    return 1 + triplet / (1 - triplet) * np.exp(-lag / tau_t_s)


def cumulants(lag, beta, gamma_hz, pdi=0, skewness=0):
    x = gamma_hz * lag
    return beta * np.exp(-2 * x) * (1 + pdi * x**2 / 2 - skewness * x**3 / 6) ** 2


MODELS = {
    "3d": (lambda lag, n, tau_d_s: through_focus(lag / tau_d_s) / n, dict(n=3, tau_d_s=2e-4)),
    "3d+triplet": (lambda lag, n, tau_d_s, triplet, tau_t_s: dark(lag, triplet, tau_t_s) * through_focus(lag / tau_d_s) / n,
                   dict(n=3, tau_d_s=2e-4, triplet=0.25, tau_t_s=3e-6)),
    "3d-flow": (lambda lag, n, tau_d_s, tau_v_s: through_focus(lag / tau_d_s)
                * np.exp(-((lag / tau_v_s) ** 2) / (1 + lag / tau_d_s)) / n, dict(n=3, tau_d_s=1e-3, tau_v_s=5e-4)),
    "3d-anomalous": (lambda lag, n, tau_d_s, alpha: through_focus((lag / tau_d_s) ** alpha) / n,
                     dict(n=3, tau_d_s=2e-4, alpha=0.75)),
    "3d+afterpulsing": (lambda lag, n, tau_d_s, afterpulse, tau_a_s: through_focus(lag / tau_d_s) / n
                        + afterpulse * np.exp(-lag / tau_a_s), dict(n=3, tau_d_s=2e-4, afterpulse=0.3, tau_a_s=4e-7)),
    "cumulants1": (cumulants, dict(beta=0.4, gamma_hz=2000)),
    "cumulants2": (cumulants, dict(beta=0.4, gamma_hz=2000, pdi=0.2)),
    "cumulants3": (cumulants, dict(beta=0.4, gamma_hz=2000, pdi=0.2, skewness=0.1)),
}


def write_curve(path, g, error):
    with path.open("w") as file:
        file.write("# Type AC/CC\tAutocorrelation\n")
        file.write("# Lag time [s]\tExperimental correlation\tFitted\tResiduals\tWeights [standard error]\n")
        for row in zip(LAGS, g, error):
            file.write(f"{row[0]:.17e}\t{row[1]:.17e}\t0\t0\t{row[2]:.17e}\n")


def check_model(checks, options, folder, name, random):
    function, truth = MODELS[name]
    exact = function(LAGS, **truth)
    error = 0.005 * (0.05 + exact)
    g = exact + error * random.standard_normal(len(LAGS))
    write_curve(folder / "g.csv", g, error)
    result = subprocess.run([options.command, "--json", "fit", folder / "g.csv", "-o", folder / "f.csv", "--overwrite",
                             "--model", name], check=True, capture_output=True, text=True)
    json.loads(result.stdout)
    with (folder / "f.csv").open() as file:
        ours = next(csv.DictReader(line for line in file if not line.startswith("#")))
    parameters = lmfit.Parameters()
    for key, value in truth.items():
        positive = key not in ("pdi", "skewness")
        parameters.add(key, value=value * 1.02, min=1e-12 if positive else -np.inf)
    theirs = lmfit.minimize(lambda p: (function(LAGS, **p.valuesdict()) - g) / error, parameters, scale_covar=False,
                            xtol=1e-12, ftol=1e-12)
    checks.where = name
    checks.that(ours["status"] == "ok", ours["status"])
    checks.that(abs(float(ours["chi2"]) / theirs.chisqr - 1) < 1e-4, f"chi2 {ours['chi2']}, lmfit's {theirs.chisqr}")
    for key in truth:
        value, stated = theirs.params[key].value, theirs.params[key].stderr
        checks.that(abs(float(ours[key]) - value) < 0.02 * stated, f"{key} {ours[key]}, lmfit's {value} +- {stated}")
        checks.that(abs(float(ours[key + "_error"]) / stated - 1) < 0.03,
                    f"error of {key} {ours[key + '_error']}, lmfit's {stated}")


# Two curves with one diffusion time: lmfit minimises both at once.
def check_together(checks, options, folder, random):
    function, _ = MODELS["3d"]
    curves = []
    for k, n in enumerate((1.5, 6)):
        exact = function(LAGS, n, 2e-4)
        error = 0.01 * (0.05 + exact)
        curves.append((exact + error * random.standard_normal(len(LAGS)), error))
        write_curve(folder / f"g{k}.csv", *curves[-1])
    subprocess.run([options.command, "--quiet", "fit", folder / "g0.csv", folder / "g1.csv", "-o", folder / "f.csv",
                    "--overwrite", "--model", "3d", "--share", "tau_d_s"], check=True)
    with (folder / "f.csv").open() as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    parameters = lmfit.Parameters()
    for key, value in (("n0", 1.4), ("n1", 5.5), ("tau", 1.9e-4)):
        parameters.add(key, value=value, min=1e-9)
    theirs = lmfit.minimize(
        lambda p: np.concatenate([(function(LAGS, p[f"n{k}"].value, p["tau"].value) - g) / error
                                  for k, (g, error) in enumerate(curves)]),
        parameters, scale_covar=False, xtol=1e-12, ftol=1e-12)
    checks.where = "together"
    checks.that(len(rows) == 2, f"{len(rows)} rows")
    for k, row in enumerate(rows):
        for ours, key in (("n", f"n{k}"), ("tau_d_s", "tau")):
            value, stated = theirs.params[key].value, theirs.params[key].stderr
            checks.that(abs(float(row[ours]) - value) < 0.02 * stated, f"{key} {row[ours]}, lmfit's {value} +- {stated}")
            checks.that(abs(float(row[ours + "_error"]) / stated - 1) < 0.03,
                        f"error of {key} {row[ours + '_error']}, lmfit's {stated}")


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    checks = interop_support.Checks()
    random = np.random.default_rng(options.seed)
    with interop_support.scratch() as name:
        folder = pathlib.Path(name)
        for model in MODELS:
            check_model(checks, options, folder, model, random)
        check_together(checks, options, folder, random)
    checks.finish()


if __name__ == "__main__":
    main()
