#!/usr/bin/env python3
"""Draws figures/gpu_roofline.svg and figures/gpu_sweeps.svg from the JSON lines of docs/performance/measure_gpu.

    docs/performance/measure_gpu cuda:0 docs/performance/data
    python3 docs/performance/plot_gpu.py [--data DIR] [--figures DIR]
"""
import argparse
import json
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

# Tensor-Core Correlator (2023), int8, on the same kind of card: dual-polarisation antennas, useful operations/s.
TENSOR_CORE_CORRELATOR = {64: 387e12, 256: 508e12, 576: 551e12, 1024: 565e12}
ROOFS = (
    ("int8_matrix_operations_per_s", "8-bit matrix", "tab:red"),
    ("half_matrix_operations_per_s", "16-bit float matrix", "tab:orange"),
    ("int8_operations_per_s", "8-bit dot products", "tab:green"),
    ("float_operations_per_s", "float32", "tab:blue"),
)


def rows(path):
    """The lines of a file, each problem's sizes as numbers."""
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        row["sizes"] = {key: int(value) for key, value in (pair.split("=") for pair in row["problem"].split(","))}
        found.append(row)
    return found


def sizes_of(row, *keys):
    return [row["sizes"][key] for key in keys]


def label(row):
    sizes = row["sizes"]
    if row["stage"] == "correlate":
        bits = {4: "ci4", 8: "ci8", 16: "ci16", 32: "cf32"}[sizes["bits"]]
        portable = ", portable" if sizes.get("design") == 1 else ""
        return f"{sizes['inputs'] // 2} antennas, {bits}{portable}"
    return f"{sizes['channels']} channels, {sizes['taps']} taps to {'floats' if sizes['output_bits'] == 32 else '8 bits'}"


def draw_roofline(measured, path):
    """Operations a byte of memory traffic against operations a second, under the card's measured limits."""
    measured = [row for row in measured if row["stage"] in ("correlate", "channelize")]
    limits = {key: max((row["limits"][key] or 0) for row in measured) for key, _, _ in ROOFS}
    copy = max(row["limits"]["copy_bytes_per_s"] for row in measured)
    figure, axis = plt.subplots(figsize=(9, 6), constrained_layout=True)
    left, right = 1.0, 1e4
    for key, name, colour in ROOFS:
        if not limits[key]:
            continue
        corner = limits[key] / copy
        axis.plot([max(corner, left), right], [limits[key]] * 2, color=colour, lw=1.2)
        axis.text(right, limits[key] * 1.04, f"{name}: {limits[key] / 1e12:,.0f} T/s", ha="right", va="bottom",
                  color=colour, fontsize=8)
    top = max(limits.values())
    axis.plot([left, top / copy], [left * copy, top], color="black", lw=1.2)
    axis.text(1.5, 1.5 * copy * 1.15, f"memory: {copy / 1e12:.2f} TB/s", rotation=42, rotation_mode="anchor", fontsize=8)
    markers = {"correlate": "o", "channelize": "s"}
    colours = plt.get_cmap("tab20").colors
    for number, row in enumerate(measured):
        axis.plot(row["operations"] / row["bytes"], row["operations"] / row["seconds"], markers[row["stage"]],
                  color=colours[number % len(colours)], label=f"{row['stage']}: {label(row)}")
    axis.set(xscale="log", yscale="log", xlim=(left, right), ylim=(1e12, top * 1.7),
             xlabel="useful operations a byte that must be read or written", ylabel="useful operations/s",
             title=measured[0]["device"])
    axis.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.savefig(path, metadata={"Date": None})


def line(axis, chosen, key, value, scale, **style):
    points = sorted((row["sizes"][key], row[value] * scale) for row in chosen)
    if not points:
        axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center")
    axis.plot([x for x, _ in points], [y for _, y in points], "o-", ms=3.5, **style)


def draw_sweeps(swept, path):
    """The X-engine against antennas, channels and integration length, and the filter bank against channels and taps."""
    figure, axes = plt.subplots(2, 3, figsize=(12, 7), constrained_layout=True)
    correlate = [row for row in swept if row["stage"] == "correlate"]
    antennas = [row for row in correlate if sizes_of(row, "channels", "samples") in ([1056, 3072], [132, 3072])
                and (row["sizes"]["channels"] == 1056) == (row["sizes"]["inputs"] <= 128)]
    by_channels = [row for row in correlate if sizes_of(row, "inputs", "samples") == [512, 3072]]
    by_samples = [row for row in correlate if sizes_of(row, "inputs", "channels") == [512, 132]]
    for row in antennas:
        row["sizes"]["antennas"] = row["sizes"]["inputs"] // 2
    line(axes[0, 0], antennas, "antennas", "rate", 1e-12, label="ci8")
    axes[0, 0].plot(list(TENSOR_CORE_CORRELATOR), [v * 1e-12 for v in TENSOR_CORE_CORRELATOR.values()], "x",
                    color="grey", label="Tensor-Core Correlator, int8")
    axes[0, 0].set(title="X-engine against antennas", xlabel="dual-polarisation antennas", ylabel="useful TOPS",
                   ylim=(0, None))
    axes[0, 0].set_xscale("log", base=2)
    axes[0, 0].legend(fontsize=8)
    line(axes[0, 1], antennas, "antennas", "bandwidth_hz", 1e-9)
    axes[0, 1].set(title="Bandwidth of a station that it keeps up with", xlabel="dual-polarisation antennas", ylabel="GHz",
                   yscale="log")
    axes[0, 1].set_xscale("log", base=2)
    line(axes[0, 2], by_channels, "channels", "rate", 1e-12)
    axes[0, 2].set(title="X-engine, 256 antennas, against channels", xlabel="channels", ylabel="useful TOPS", ylim=(0, None))
    axes[0, 2].set_xscale("log", base=2)
    line(axes[1, 0], by_samples, "samples", "rate", 1e-12)
    axes[1, 0].set(title="X-engine, 256 antennas, against integration", xlabel="samples", ylabel="useful TOPS", ylim=(0, None))
    axes[1, 0].set_xscale("log", base=2)
    bank = [row for row in swept if row["stage"] == "channelize"]
    by_size = [row for row in bank if row["sizes"]["taps"] == 8]
    by_taps = [row for row in bank if row["sizes"]["channels"] == 1024]
    line(axes[1, 1], by_size, "channels", "rate", 1e-9)
    axes[1, 1].set(title="Filter bank, 8 taps, ci8 to floats", xlabel="channels", ylabel="G samples/s", ylim=(0, None))
    axes[1, 1].set_xscale("log", base=2)
    line(axes[1, 2], by_taps, "taps", "rate", 1e-9)
    axes[1, 2].set(title="Filter bank, 1,024 channels, ci8 to floats", xlabel="taps", ylabel="G samples/s", ylim=(0, None))
    axes[1, 2].set_xscale("log", base=2)
    figure.suptitle(swept[0]["device"])
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--figures", type=pathlib.Path, default=HERE / "figures")
    folders = parser.parse_args()
    plt.rcParams.update({"svg.hashsalt": "tautline", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    draw_roofline(rows(folders.data / "gpu.jsonl"), folders.figures / "gpu_roofline.svg")
    draw_sweeps(rows(folders.data / "gpu_sweeps.jsonl"), folders.figures / "gpu_sweeps.svg")


if __name__ == "__main__":
    main()
