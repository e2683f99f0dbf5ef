#!/usr/bin/env python3
"""Draws docs/performance/figures/scaling.svg from the CSV files beside it.

    docs/performance/measure_correlate > docs/performance/data/correlate_scaling.csv
    docs/performance/measure_channelize > docs/performance/data/channelize_scaling.csv
    python3 docs/performance/plot_scaling.py
"""
import csv
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent


def rows(name):
    with open(HERE / "data" / name, newline="") as file:
        first = file.readline()
        # The header comes again before every instruction set.
        return list(csv.DictReader([first] + [line for line in file if line != first]))


def main():
    plt.rcParams.update({"svg.hashsalt": "tautline", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(12, 3.6), constrained_layout=True)

    correlate = rows("correlate_scaling.csv")
    for name in dict.fromkeys(row["set"] for row in correlate):
        chosen = [row for row in correlate if row["set"] == name]
        a.loglog([int(r["inputs"]) for r in chosen], [float(r["us_per_channel"]) for r in chosen], "o-", label=name)
    a.set(title="X-engine: time of 4,096 samples", xlabel="inputs", ylabel="µs a channel")
    a.legend()

    channelize = rows("channelize_scaling.csv")
    for axis, sweep in ((b, "channels"), (c, "taps")):
        chosen = [row for row in channelize if row["sweep"] == sweep]
        for name in dict.fromkeys(row["set"] for row in chosen):
            part = [row for row in chosen if row["set"] == name]
            axis.semilogx([int(r[sweep]) for r in part], [1e12 / float(r["samples_per_s"]) for r in part], "o-", base=2,
                          label=name)
        axis.set(title=f"Filter bank, 8-bit in and out, against {sweep}", xlabel=sweep, ylabel="ps a sample",
                 ylim=(0, None))
        axis.legend()
    figure.savefig(HERE / "figures" / "scaling.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
