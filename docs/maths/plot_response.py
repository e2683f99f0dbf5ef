#!/usr/bin/env python3
"""Draws docs/maths/figures/scalloping.svg and leakage.svg from the CSV of bench_channelize_response.

    build/bench/bench_channelize_response | docs/maths/plot_response.py

Needs matplotlib.
"""
import csv
import pathlib
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "tautline"
import matplotlib.pyplot as plt

FIGURES = pathlib.Path(__file__).parent / "figures"
COLOURS = ["#888888", "#c44e52", "#dd8452", "#4c72b0", "#55a868", "#8172b3"]


def read(stream):
    """{(taps, window): ([distance], [dB])} in the order of the file."""
    curves = {}
    for row in csv.DictReader(stream):
        distance, power = curves.setdefault((row["taps"], row["window"]), ([], []))
        distance.append(float(row["distance_channels"]))
        power.append(float(row["power_db"]))
    return curves


def label(key):
    return f"{key[0]} tap{'s' if key[0] != '1' else ''}, {key[1]}"


def save(figure, name):
    figure.tight_layout()
    figure.savefig(FIGURES / name, metadata={"Date": None, "Creator": None})


def scalloping(curves):
    """What a tone loses between the centre of its channel and the edge."""
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for colour, (key, (distance, power)) in zip(COLOURS, curves.items()):
        points = [(d, p) for d, p in zip(distance, power) if d <= 1]
        x = [-d for d, _ in reversed(points)] + [d for d, _ in points[1:]]
        y = [p for _, p in reversed(points)] + [p for _, p in points[1:]]
        axes.plot(x, y, color=colour, label=label(key), linewidth=1.3)
    axes.axvline(-0.5, color="#cccccc", linewidth=0.8)
    axes.axvline(0.5, color="#cccccc", linewidth=0.8)
    axes.set(xlim=(-1, 1), ylim=(-30, 1), xlabel="distance from the channel's centre (channels)",
             ylabel="power (dB)")
    axes.legend(fontsize=8, loc="lower center")
    save(figure, "scalloping.svg")


def leakage(curves):
    """What a tone leaves in channels that it does not belong to: the highest of each 1/16 channel."""
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    for colour, (key, (distance, power)) in zip(COLOURS, curves.items()):
        step = 8
        x = [distance[n + step // 2] for n in range(0, len(distance), step)]
        y = [max(power[n:n + step]) for n in range(0, len(power), step)]
        axes.plot(x, y, color=colour, label=label(key), linewidth=1.1)
    axes.set(xlim=(0, 8), ylim=(-150, 3), xlabel="distance from the channel's centre (channels)",
             ylabel="power (dB)")
    axes.grid(color="#eeeeee")
    axes.legend(fontsize=8, ncol=2)
    save(figure, "leakage.svg")


def main():
    curves = read(sys.stdin)
    FIGURES.mkdir(exist_ok=True)
    scalloping(curves)
    leakage(curves)


if __name__ == "__main__":
    main()
