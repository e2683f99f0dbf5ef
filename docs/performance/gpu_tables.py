#!/usr/bin/env python3
"""The tables of H200 figures in correlate.md, channelize.md and gpu.md, from the JSON lines of measure_gpu.

    python3 docs/performance/gpu_tables.py [--data DIR]        prints them
    python3 docs/performance/gpu_tables.py --write             puts them into the pages, between their markers
"""
import argparse
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("correlate", "channelize", "host_fed", "opencl")
FORMATS = {4: "ci4", 8: "ci8", 16: "ci16", 32: "cf32"}
T, G = 1e12, 1e9

# Of a line of `bench`: the sizes that name it, the target rate, and the fastest peer measured on such a card.
TARGETS = {
    "correlate": [
        (dict(inputs=128, blocks=21), 700 * T, 387 * T), (dict(inputs=128), 700 * T, 387 * T),
        (dict(inputs=512, blocks=21), 1000 * T, 508 * T), (dict(inputs=512), 1000 * T, 508 * T),
        (dict(inputs=1152, blocks=21), 1150 * T, 551 * T), (dict(inputs=1152), 1150 * T, 551 * T),
        (dict(inputs=2048, blocks=21), 1300 * T, 565 * T), (dict(inputs=2048), 1300 * T, 565 * T),
        (dict(inputs=512, bits=16, half=1, blocks=21), 450 * T, 293 * T),
        (dict(inputs=512, bits=16, half=1), 450 * T, 293 * T),
        (dict(inputs=512, bits=32), 35 * T, None), (dict(inputs=512, design=1), 80 * T, None),
    ],
    "channelize": [
        (dict(taps=8, output_bits=32), 330 * G, 129.7 * G), (dict(taps=16, output_bits=32), 300 * G, 102.2 * G),
        (dict(taps=32, output_bits=32), 200 * G, 63.9 * G), (dict(taps=8, output_bits=8), 300 * G, None),
        (dict(taps=16, output_bits=8), 250 * G, None),
    ],
}
# What else may be in a line that these sizes name.
IMPLIED = {"correlate": dict(bits=8), "channelize": dict(bits=8, channels=1024)}
IGNORED = {"correlate": {"channels", "samples"}, "channelize": {"inputs", "spectra"}}


def rows(folder, part):
    found = []
    path = folder / f"gpu_{part}.jsonl"
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        row["sizes"] = {key: int(value) for key, value in (pair.split("=") for pair in row["problem"].split(","))}
        found.append(row)
    return found


def targets(row):
    """(target rate, rate of the peer), None where there is none."""
    stage = row["stage"]
    sizes = {key: value for key, value in row["sizes"].items() if key not in IGNORED[stage]}
    if row["device"].startswith("opencl"):
        return (82.6 * T, None) if sizes.get("design") == 1 else (None, None)
    for named, target, peer in TARGETS[stage]:
        if {**IMPLIED[stage], **named} == sizes:
            return target, peer
    return None, None


def burst_rate(row):
    return row["rate"] * row["seconds"] / row["burst_seconds"] if row.get("burst_seconds") else None


def number(value, scale):
    if value is None:
        return ""
    value /= scale
    return f"{value:,.0f}" if value >= 200 else f"{value:,.1f}"


def beside(row, rate, scale):
    """Another rate, and how many times faster the row's is."""
    return f"{number(rate, scale)} ({row['rate'] / rate:.1f} x)" if rate else ""


def energy(row):
    if not row["energy_j"]:
        return " | "
    return f"{row['operations_per_j'] / 1e9:,.0f} | {row['power_w']:.0f}"


def limit(row):
    return f"{100 * row['fraction_of_limit']:.0f} % of {row['limit']}"


def spread(row):
    return f"{100 * row['spread']:.1f} %"


def table(heading, lines):
    cells = ["| " + " | ".join(heading) + " |", "| " + " | ".join("---" for _ in heading) + " |"]
    return "\n".join(cells + ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines])


def correlate_problem(s):
    """As `bench correlate --problem` takes it."""
    parts = [f"n{s['inputs'] // 2}"]
    parts += ["format=cf16"] if s.get("half") else [f"format={FORMATS[s['bits']]}"] if s["bits"] != 8 else []
    return "`" + ",".join(parts + [f"{key}={s[key]}" for key in ("design", "blocks") if key in s]) + "`"


def channelize_problem(s):
    """As `bench channelize --problem` takes it."""
    parts = [f"c{s['channels']}t{s['taps']}", f"output_bits={s['output_bits']}"]
    parts += [f"bits={s['bits']}"] if s["bits"] != 8 else []
    parts += [f"spectra={s['spectra']}"] if s["channels"] != 1024 else []
    return "`" + ",".join(parts) + "`"


def correlate_table(data):
    lines = []
    for row in data["correlate"] + [r for r in data["opencl"] if r["stage"] == "correlate"]:
        s = row["sizes"]
        target, peer = targets(row)
        lines.append((correlate_problem(s), " ".join(row["instruction_set"].split()[:2]),
                      number(target, T), f"**{number(row['rate'], T)}**", number(burst_rate(row), T), limit(row),
                      beside(row, peer, T), spread(row), f"{row['bandwidth_hz'] / 1e9:.3g}", energy(row)))
    return table(("problem", "code", "target, T/s", "sustained", "burst", "of the limit",
                  "peer", "spread", "GHz a station", "G operations/J", "W"), lines)


def separate_of(measured, sizes):
    for row in measured:
        if row["stage"] == "channelize" and row["sizes"] == {**sizes, "design": 3}:
            return row["rate"]
    return None


def channelize_table(data):
    measured = data["channelize"] + [r for r in data["opencl"] if r["stage"] == "channelize"]
    lines = []
    for row in measured:
        s = row["sizes"]
        if s.get("design") == 3:
            continue
        target, peer = targets(row)
        separate = separate_of(measured, s) if row in data["channelize"] else None
        lines.append((channelize_problem(s), FORMATS[s["bits"]],
                      "floats" if s["output_bits"] == 32 else f"corner-turned ci{s['output_bits']}",
                      " ".join(row["instruction_set"].split(",")[0].split()[:2]), number(target, G), f"**{number(row['rate'], G)}**",
                      number(burst_rate(row), G), limit(row), beside(row, separate, G), beside(row, peer, G), spread(row),
                      energy(row)))
    return table(("problem", "input", "output", "code", "target, G samples/s", "sustained", "burst", "of the limit",
                  "filter kernel and cuFFT", "peer", "spread", "G operations/J", "W"), lines)


def host_fed_table(data):
    lines = []
    for row in data["host_fed"] + [r for r in data["opencl"] if r["stage"].startswith("host_fed")]:
        unit = row["unit"].replace("bytes/s", "GB/s").replace("samples/s", "G samples/s")
        lines.append((f"`{row['stage']}`", row["device"].split(" ")[0], row["problem"].replace(",", ", "),
                      f"{1e3 * row['seconds']:.3f}", spread(row), f"{row['rate'] / 1e9:.1f} {unit}", limit(row),
                      f"{row['real_time_factor']:.3g} x" if row["real_time_factor"] else ""))
    return table(("bench", "device", "block", "ms", "spread", "measured", "of the limit", "real time"), lines)


def limits_table(data):
    seen = {}
    for part in PARTS:
        for row in data[part]:
            seen.setdefault(row["device"].split(":")[0], []).append(row["limits"])
    keys = [key for key in seen.get("cuda", [{}])[0] if key != "matrix_instruction"]
    lines = []
    for key in keys:
        cells = []
        for api in ("cuda", "opencl"):
            values = {l[key] for l in seen.get(api, []) if l[key]}
            unit, scale = ("TB/s", T) if "bytes" in key and values and max(values) > 1e12 else \
                ("GB/s", G) if "bytes" in key else ("T/s", T)
            low, high = (min(values) / scale, max(values) / scale) if values else (0, 0)
            digits = 2 if high < 10 else 1 if high < 200 else 0
            span = f"{low:,.{digits}f}" if f"{low:.{digits}f}" == f"{high:.{digits}f}" else f"{low:,.{digits}f} to {high:,.{digits}f}"
            cells.append(f"{span} {unit}" if values else "")
        lines.append([key.replace("_per_s", "").replace("_", " ")] + cells)
    return table(("limit", "CUDA", "OpenCL"), lines)


TABLES = {"correlate": ("correlate.md", correlate_table), "channelize": ("channelize.md", channelize_table),
          "host_fed": ("gpu.md", host_fed_table), "limits": ("gpu.md", limits_table)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = {part: rows(options.data, part) for part in PARTS}
    for name, (page, make) in TABLES.items():
        made = make(data)
        if not options.write:
            print(f"## {name}\n\n{made}\n")
            continue
        begin, end = f"<!-- {name}: gpu_tables.py -->", "<!-- end -->"
        text, count = re.subn(re.escape(begin) + r".*?" + re.escape(end), lambda _: f"{begin}\n{made}\n{end}",
                              (HERE / page).read_text(), flags=re.S)
        if count != 1:
            print(f"{page} has no place for {name}")
        (HERE / page).write_text(text)


if __name__ == "__main__":
    main()
