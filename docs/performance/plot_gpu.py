#!/usr/bin/env python3
"""Draws figures/gpu_roofline.svg and figures/gpu_sweeps.svg from the JSON lines of docs/performance/measure_gpu.

    docs/performance/measure_gpu cuda:0 docs/performance/data
    python3 docs/performance/plot_gpu.py [--data DIR] [--figures DIR]
"""
import argparse
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

from gpu_tables import HERE, rows  # noqa: E402

# Tensor-Core Correlator (2023), int8, on the same kind of card: dual-polarisation antennas, useful operations/s.
TENSOR_CORE_CORRELATOR = {64: 387e12, 256: 508e12, 576: 551e12, 1024: 565e12}
ROOFS = (
    ("int8_matrix_operations_per_s", "8-bit matrix", "tab:red"),
    ("half_matrix_operations_per_s", "16-bit float matrix", "tab:orange"),
    ("int8_operations_per_s", "8-bit dot products", "tab:green"),
    ("float_operations_per_s", "float32", "tab:blue"),
)


def series(row):
    """What a point of the roofline belongs to, and the number that tells it from the others there."""
    s = row["sizes"]
    if row["stage"] == "correlate":
        if s.get("design") == 1:
            return "X-engine, ci8, portable kernel", s["inputs"] // 2
        kind = "halves" if "half" in s else {4: "ci4", 8: "ci8", 16: "ci16", 32: "cf32"}[s["bits"]]
        return f"X-engine, {kind}" + (f", {s['blocks']} blocks" if "blocks" in s else ""), s["inputs"] // 2
    if s["output_bits"] != 32:
        return "filter bank, ci8 to corner-turned ci8; taps", s["taps"]
    if s["bits"] != 8:
        return f"filter bank, {'ci16' if s['bits'] == 16 else 'cf32'} to floats; taps", s["taps"]
    if s["channels"] != 1024:
        return "filter bank, ci8 to floats, 8 taps; channels", s["channels"]
    return "filter bank, ci8 to floats, 1,024 channels; taps", s["taps"]


def draw_roofline(measured, path):
    """Operations a byte of memory traffic against operations a second, under the card's measured limits."""
    measured = [row for row in measured if row["stage"] in ("correlate", "channelize") and row["sizes"].get("design") != 3]
    limits = {key: max((row["limits"][key] or 0) for row in measured) for key, _, _ in ROOFS}
    copy = max(row["limits"]["copy_bytes_per_s"] for row in measured)
    figure, axis = plt.subplots(figsize=(11, 6.5), constrained_layout=True)
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
    axis.text(1.3, 1.3 * copy * 1.15, f"memory: {copy / 1e12:.2f} TB/s", rotation=43, rotation_mode="anchor",
              fontsize=8)
    groups = {}
    for row in measured:
        name, which = series(row)
        groups.setdefault(name, []).append((row["operations"] / row["bytes"], row["operations"] / row["seconds"], which))
    colours = plt.get_cmap("tab20").colors
    for number, (name, found) in enumerate(groups.items()):
        axis.plot([x for x, _, _ in found], [y for _, y, _ in found], "o" if name.startswith("X") else "s", ms=5,
                  color=colours[number % len(colours)], label=name)
        for x, y, which in found:
            axis.annotate(f"{which:,}", (x, y), textcoords="offset points", xytext=(4, -7), fontsize=6)
    axis.set(xscale="log", yscale="log", xlim=(left, right), ylim=(1e12, top * 1.7),
             xlabel="useful operations a byte that must be read or written", ylabel="useful operations/s",
             title=measured[0]["device"])
    axis.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.01, 1), title="the numbers at the points: antennas, or as labelled",
                title_fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def points(chosen, x_of, value):
    return sorted((x_of(row["sizes"]), row[value]) for row in chosen)


def draw_sweeps(swept, path):
    """The X-engine against antennas, channels and integration length, and the filter bank against channels and taps."""
    def correlate(condition):
        return [row for row in swept if row["stage"] == "correlate" and condition(row["sizes"])]

    def bank(condition):
        return [row for row in swept if row["stage"] == "channelize" and condition(row["sizes"]) and
                row["sizes"]["bits"] == 8 and row["sizes"]["output_bits"] == 32]

    def plain(sizes):
        return "design" not in sizes

    def separate(sizes):
        return sizes.get("design") == 3

    def power_of_two(channels):
        return channels & (channels - 1) == 0

    # Few inputs need more channels to fill the card.
    antennas = correlate(lambda s: s["samples"] == 3072 and s["channels"] == (1056 if s["inputs"] <= 128 else 132))
    by_channels = correlate(lambda s: s["inputs"] == 512 and s["samples"] == 3072 and s["channels"] != 132)
    by_samples = correlate(lambda s: s["inputs"] == 512 and s["channels"] == 132 and s["samples"] != 3072)
    panels = [
        ("X-engine against antennas", "dual-polarisation antennas", "useful TOPS", 1e-12,
         points(antennas, lambda s: s["inputs"] // 2, "rate")),
        ("Bandwidth of a station that it keeps up with", "dual-polarisation antennas", "GHz", 1e-9,
         points(antennas, lambda s: s["inputs"] // 2, "bandwidth_hz")),
        ("X-engine, 256 antennas, against channels", "channels of 3,072 samples", "useful TOPS", 1e-12,
         points(by_channels, lambda s: s["channels"], "rate")),
        ("X-engine, 256 antennas, against integration", "samples of 132 channels", "useful TOPS", 1e-12,
         points(by_samples, lambda s: s["samples"], "rate")),
        ("Filter bank, 8 taps, ci8 to floats", "channels", "G samples/s", 1e-9,
         points(bank(lambda s: s["taps"] == 8 and plain(s) and power_of_two(s["channels"])), lambda s: s["channels"], "rate")),
        ("Filter bank, 1,024 channels, ci8 to floats", "taps", "G samples/s", 1e-9,
         points(bank(lambda s: s["channels"] == 1024 and plain(s)), lambda s: s["taps"], "rate")),
    ]
    panels = [panel for panel in panels if panel[-1]]
    columns = 2 if len(panels) < 5 else 3
    figure, axes = plt.subplots(-(-len(panels) // columns), columns, squeeze=False, constrained_layout=True,
                                figsize=(4 * columns, 3.5 * -(-len(panels) // columns)))
    for axis, (title, x_name, y_name, scale, found) in zip(axes.flat, panels):
        axis.plot([x for x, _ in found], [y * scale for _, y in found], "o-", ms=3.5, label="tautline, ci8")
        axis.set(title=title, xlabel=x_name, ylabel=y_name)
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        if y_name == "GHz":
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            axis.set_ylim(0, None)
    axes.flat[0].plot(list(TENSOR_CORE_CORRELATOR), [v * 1e-12 for v in TENSOR_CORE_CORRELATOR.values()], "x",
                      color="grey", label="Tensor-Core Correlator, int8")
    if len(panels) == 6:
        odd = points(bank(lambda s: s["taps"] == 8 and plain(s) and not power_of_two(s["channels"])),
                     lambda s: s["channels"], "rate")
        axes.flat[4].plot([x for x, _ in odd], [y * 1e-9 for _, y in odd], "s", ms=3.5, color="tab:orange",
                          label="no power of two: through cuFFT")
        axes.flat[4].legend(fontsize=8)
        design = points(bank(lambda s: s["channels"] == 1024 and separate(s)), lambda s: s["taps"], "rate")
        axes.flat[5].plot([x for x, _ in design], [y * 1e-9 for _, y in design], "x--", color="grey",
                          label="filter kernel, then cuFFT")
        axes.flat[5].legend(fontsize=8)
    axes.flat[0].set_ylim(0, None)
    axes.flat[0].legend(fontsize=8)
    for axis in axes.flat[len(panels):]:
        axis.set_axis_off()
    figure.suptitle(swept[0]["device"])
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--figures", type=pathlib.Path, default=HERE / "figures")
    folders = parser.parse_args()
    plt.rcParams.update({"svg.hashsalt": "tautline", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3})
    channelize = rows(folders.data, "channelize")
    draw_roofline(rows(folders.data, "correlate") + channelize, folders.figures / "gpu_roofline.svg")
    draw_sweeps(rows(folders.data, "sweeps") + channelize, folders.figures / "gpu_sweeps.svg")


if __name__ == "__main__":
    main()
