"""The standard lags against multipletau: random walks, photon counts, and series made as in its own tests.

multipletau averages where we add, so its level-l sums times 4^l are ours, and its normalize=True is our `global`.
"""
import json
import subprocess
import warnings

import interop_support

import multipletau  # noqa: E402
import numpy as np  # noqa: E402

# Relative to the size of what is summed: g is a small difference of large sums.
TOLERANCE = 1e-10


def ours(options, folder, series, kind, m, levels, normalize, compress, pair=None):
    path = folder / "counts.raw"
    series.tofile(path)
    sensors = series.shape[1] if series.ndim == 2 else 1
    name = {"average": "sum"}.get(compress, compress)
    command = [options.programs / "dump_correlation", path, kind, sensors, "standard", m, levels, normalize, name]
    out = subprocess.run([str(word) for word in command + list(pair or [])], check=True, capture_output=True)
    return {key: np.array(value, dtype=float) for key, value in json.loads(out.stdout).items()}


def compare(options, checks, folder, series, kind, m, levels, compress, pair=None):
    """Every lag that multipletau gives: it stops at the last level that is long enough."""
    x = series.astype(np.float64)
    a, v = (x, x) if pair is None else (x[:, pair[0]], x[:, pair[1]])

    def theirs(**how):
        if pair is None:
            return multipletau.autocorrelate(a, m=m, compress=compress, dtype=np.float64, **how)
        # Its text says sum of a[n] v[n + k]; what it computes is sum of v[n] a[n + k].
        return multipletau.correlate(v, a, m=m, compress=compress, dtype=np.float64, **how)

    sums, count = theirs(ret_sum=True)
    raw = theirs()
    none = ours(options, folder, series, kind, m, levels, "none", compress, pair)
    n = min(len(count), len(none["counts"]))
    checks.that(n > m, f"{n} lags to compare")
    checks.that(np.array_equal(none["lag_samples"][:n], sums[:n, 0]), "lags")
    checks.that(np.array_equal(none["counts"][:n], count[:n]), "numbers of pairs")
    level = none["levels"][:n]
    scale = 4.0**level if compress == "average" else np.ones(n)
    size = np.sqrt(np.sum(a**2) * np.sum(v**2))
    error = np.abs(none["g"][:n] / scale - sums[:n, 1]).max() / size
    checks.that(error < TOLERANCE, f"none: sums differ by {error:.2e}")
    # Without ret_sum every level is scaled up to the samples of the first.
    samples = len(a) // 2**level
    error = np.abs(none["g"][:n] / scale * len(a) / samples - raw[:n, 1]).max() / size
    checks.that(error < TOLERANCE, f"none: curves differ by {error:.2e}")
    normalized = theirs(normalize=True)
    g = ours(options, folder, series, kind, m, levels, "global", compress, pair)["g"][:n]
    error = np.abs(g - normalized[:n, 1]).max() / max(1.0, np.abs(normalized[:n, 1]).max())
    checks.that(error < TOLERANCE, f"global: g differs by {error:.2e}")


def main():
    options = interop_support.arguments(__doc__)
    rng = np.random.default_rng(options.seed)
    warnings.simplefilter("ignore")
    checks = interop_support.Checks()
    with interop_support.scratch() as name:
        folder = interop_support.pathlib.Path(name)
        for m, levels in ((2, 20), (16, 17), (64, 12)):
            for length in (4 * m, 1000, 12345, 131072):
                for compress in ("average", "first", "second"):
                    checks.where = f"m {m}, {length} samples, {compress}"
                    walk = np.abs(np.cumsum(rng.integers(-1, 2, length)) + 20) % 256
                    compare(options, checks, folder, walk.astype(np.uint8), "u8", m, levels, compress)
                    counts = rng.poisson(900 + 300 * np.sin(np.arange(length) / 50)).astype(np.uint16)
                    compare(options, checks, folder, counts, "u16", m, levels, compress)
        # The series of multipletau's own tests, rounded to our input's type.
        for first, last, length, shift, power in ((-4.3, 9921, 33, 0, 1), (1, 281, 92, 1, 4), (9, 23.5, 47, 12, .5),
                                                  (-99.2, 5.3, 54, 4, 2), (13, 77, 99, 0, 3)):
            checks.where = f"linspace({first}, {last}, {length}) to the power of {power}"
            x = np.linspace(first, last, length)
            series = ((x * np.roll(x, shift))**power).astype(np.float32)
            for m in (4, 10, 16):
                if length >= 2 * m:
                    compare(options, checks, folder, series, "f32", m, 6, "average")
        two = np.stack([rng.poisson(5, 20000), rng.poisson(9, 20000)], axis=1)
        two[3:, 1] += two[:-3, 0]
        for pair in ((0, 1), (1, 0)):
            checks.where = f"pair {pair}"
            compare(options, checks, folder, two.astype(np.uint8), "u8", 16, 12, "average", pair)
    checks.finish()


if __name__ == "__main__":
    main()
