#!/usr/bin/env python3
"""Draws figures/tuning_dedisperse.svg and prints the table from what docs/performance/measure_tuning found.

    docs/performance/measure_tuning cuda:0 tuning
    python3 docs/performance/plot_tuning.py [--data FILE] [--figures DIR]

--reduce REPORT FILE keeps of a report of tautline tune what is drawn.
"""
import argparse
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
TITLES = {"apertif": "Apertif", "lofar": "LOFAR"}
BLUE, ORANGE, GREY = "tab:blue", "tab:orange", "0.55"


def reduce_report(source, target):
    report = json.loads(pathlib.Path(source).read_text())
    kept = {"problems": [], "sweeps": report["sweeps"]}
    for problem in report["problems"]:
        kept["problems"].append({key: problem[key] for key in
                                 ("name", "product", "api", "driver", "compiler", "operations", "distribution")})
    pathlib.Path(target).write_text(json.dumps(kept, separators=(",", ":")) + "\n")


def telescope(sweep):
    return sweep["problem"].split(",")[0].removesuffix("-no-delays")


def column(sweep, key):
    """Sizes and values where there are any."""
    pairs = [(point["value"], point[key]) for point in sweep["points"] if point[key] > 0]
    return [p[0] for p in pairs], [p[1] for p in pairs]


def rates(axis, plain, no_delays):
    for key, name, style in (("tuned_rate", "tuned", dict(color=BLUE, marker="o")),
                             ("fixed_rate", "best fixed", dict(color=ORANGE, marker="s")),
                             ("default_rate", "default", dict(color=GREY, marker="^")),
                             ("mean_rate", "mean of the space", dict(color=GREY, linestyle="--"))):
        x, y = column(plain, key)
        axis.plot(x, [v / 1e12 for v in y], label=name, markersize=4, lw=1.4, **style)
    if no_delays:
        x, y = column(no_delays, "tuned_rate")
        axis.plot(x, [v / 1e12 for v in y], label="tuned, no delays", color=BLUE, linestyle=":", lw=1.4)
    axis.set(ylabel="T adds/s", ylim=(0, None))
    axis.legend(fontsize=7)


def curves(axis, plain, no_delays, key, label, level=None):
    for sweep, name, style in ((plain, "delays", "-"), (no_delays, "no delays", ":")):
        if sweep:
            x, y = column(sweep, key)
            axis.plot(x, y, marker="o", markersize=4, lw=1.4, color=BLUE, linestyle=style, label=name)
    if level is not None:
        axis.axhline(level, color=GREY, lw=0.8)
    most = max(max(column(sweep, key)[1], default=1) for sweep in (plain, no_delays) if sweep)
    axis.set(ylabel=label, ylim=(0, 1.25 * most))
    axis.legend(fontsize=7, loc="upper right", ncols=2)


def histogram(axis, problems, sweep):
    """Of the largest size but one, where the device is full."""
    sizes = [point["value"] for point in sweep["points"]]
    size = sizes[-2] if len(sizes) > 1 else sizes[-1]
    name = f"{sweep['problem']},{sweep['key']}={size}"
    spread = next(p["distribution"] for p in problems if p["name"] == name)
    width = spread["bin_width"] / 1e12
    axis.bar([k * width for k in range(len(spread["bins"]))], spread["bins"], width=width * 0.92, align="edge",
             color=BLUE)
    axis.axvline(spread["mean_rate"] / 1e12, color=GREY, linestyle="--", lw=1.2)
    axis.set(xlabel=f"T adds/s, {size} DMs, {spread['count']} candidates", ylabel="candidates")


def draw(found, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    by_name = {}
    for sweep in found["sweeps"]:
        by_name.setdefault(telescope(sweep), {})["zero" if "no-delays" in sweep["problem"] else "plain"] = sweep
    names = [name for name in by_name if "plain" in by_name[name]]
    figure, axes = plt.subplots(4, len(names), figsize=(4.8 * len(names), 10.5), constrained_layout=True,
                                squeeze=False)
    for at, name in enumerate(names):
        plain, no_delays = by_name[name]["plain"], by_name[name].get("zero")
        rates(axes[0][at], plain, no_delays)
        axes[0][at].set_title(TITLES.get(name, name))
        curves(axes[1][at], plain, no_delays, "optimum_sigmas", "deviations above the mean")
        curves(axes[2][at], plain, no_delays, "gain_over_fixed", "speed-up over best fixed", level=1)
        for axis in axes[:3, at]:
            axis.set_xscale("log", base=2)
            axis.set_xticks([point["value"] for point in plain["points"]][1::2])
            axis.set_xticklabels([str(point["value"]) for point in plain["points"]][1::2])
            axis.minorticks_off()
            axis.set_xlabel("trial DMs")
        histogram(axes[3][at], found["problems"], plain)
    figure.suptitle(found["problems"][0]["product"])
    figure.savefig(path, metadata={"Date": None})


def configuration(values):
    return " ".join(f"{key}={value}" for key, value in values.items())


def table(found):
    for sweep in found["sweeps"]:
        print(f"\n{sweep['problem']}; best fixed: {configuration(sweep['best_fixed'] or {})}\n")
        print("| DMs | tuned, T adds/s | best fixed | default | mean | deviations above the mean | over best fixed |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for p in sweep["points"]:
            numbers = [p[key] / 1e12 for key in ("tuned_rate", "fixed_rate", "default_rate", "mean_rate")]
            print("| {} | {:.3g} | {:.3g} | {:.3g} | {:.3g} | {:.1f} | {:.2f} x |".format(
                p["value"], *numbers, p["optimum_sigmas"], p["gain_over_fixed"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data/tuning_dedisperse.json")
    parser.add_argument("--figures", type=pathlib.Path, default=HERE / "figures")
    parser.add_argument("--reduce", nargs=2, metavar=("REPORT", "FILE"))
    options = parser.parse_args()
    if options.reduce:
        reduce_report(*options.reduce)
        return
    found = json.loads(options.data.read_text())
    draw(found, options.figures / "tuning_dedisperse.svg")
    table(found)


main()
