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


def label(row):
    sizes = row["sizes"]
    if row["stage"] == "correlate":
        bits = "cf16" if "half" in sizes else {4: "ci4", 8: "ci8", 16: "ci16", 32: "cf32"}[sizes["bits"]]
        if "blocks" in sizes:
            bits += f", {sizes['blocks']} blocks"
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
    axis.text(1.5, 1.5 * copy * 1.25, f"memory: {copy / 1e12:.2f} TB/s", rotation=43, rotation_mode="anchor",
              fontsize=8)
    markers = {"correlate": "o", "channelize": "s"}
    colours = plt.get_cmap("tab20").colors
    for number, row in enumerate(measured):
        x, y = row["operations"] / row["bytes"], row["operations"] / row["seconds"]
        axis.plot(x, y, markers[row["stage"]], color=colours[number % len(colours)],
                  label=f"{row['stage']}: {label(row)}")
    axis.set(xscale="log", yscale="log", xlim=(left, right), ylim=(1e12, top * 1.7),
             xlabel="useful operations a byte that must be read or written", ylabel="useful operations/s",
             title=measured[0]["device"])
    axis.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1.01, 1))
    figure.savefig(path, metadata={"Date": None})


def points(chosen, x_of, value):
    return sorted((x_of(row["sizes"]), row[value]) for row in chosen)


def draw_sweeps(swept, path):
    """The X-engine against antennas, channels and integration length, and the filter bank against channels and taps."""
    def correlate(condition):
        return [row for row in swept if row["stage"] == "correlate" and condition(row["sizes"])]

    def bank(condition):
        return [row for row in swept if row["stage"] == "channelize" and condition(row["sizes"])]

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
         points(bank(lambda s: s["taps"] == 8), lambda s: s["channels"], "rate")),
        ("Filter bank, 1,024 channels, ci8 to floats", "taps", "G samples/s", 1e-9,
         points(bank(lambda s: s["channels"] == 1024), lambda s: s["taps"], "rate")),
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
    draw_roofline(rows(folders.data / "gpu.jsonl"), folders.figures / "gpu_roofline.svg")
    draw_sweeps(rows(folders.data / "gpu_sweeps.jsonl"), folders.figures / "gpu_sweeps.svg")


if __name__ == "__main__":
    main()
