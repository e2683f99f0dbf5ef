#!/usr/bin/env python3
"""The tables of docs/performance/gpu.md, from the JSON lines of docs/performance/measure_gpu.

    python3 docs/performance/gpu_tables.py [--data DIR]        prints them
    python3 docs/performance/gpu_tables.py --write             puts them into gpu.md, between its markers
"""
import argparse
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("correlate", "channelize", "host_fed", "opencl")
FORMATS = {4: "ci4", 8: "ci8", 16: "ci16", 32: "cf32"}

# What is wanted of a line of `bench`: its sizes, the least rate, the limit that was measured elsewhere on such a card,
# and the fastest peer measured on one.
T, G = 1e12, 1e9
WANTED = [
    ("correlate ci8, 64 antennas, 21 blocks", "correlate", dict(inputs=128, blocks=21), 700 * T, "1,030 (memory)", 387 * T),
    ("the same, one block", "correlate", dict(inputs=128), 700 * T, "", 387 * T),
    ("correlate ci8, 256 antennas, 21 blocks", "correlate", dict(inputs=512, blocks=21), 1000 * T, "1,904", 508 * T),
    ("the same, one block", "correlate", dict(inputs=512), 1000 * T, "", 508 * T),
    ("correlate ci8, 576 antennas, 21 blocks", "correlate", dict(inputs=1152, blocks=21), 1150 * T, "1,904", 551 * T),
    ("the same, one block", "correlate", dict(inputs=1152), 1150 * T, "", 551 * T),
    ("correlate ci8, 1,024 antennas, 21 blocks", "correlate", dict(inputs=2048, blocks=21), 1300 * T, "1,904", 565 * T),
    ("the same, one block", "correlate", dict(inputs=2048), 1300 * T, "", 565 * T),
    ("correlate fp16, 256 antennas, 21 blocks", "correlate", dict(inputs=512, bits=16, half=1, blocks=21), 450 * T,
     "760 (cuBLAS)", 293 * T),
    ("the same, one block", "correlate", dict(inputs=512, bits=16, half=1), 450 * T, "", 293 * T),
    ("correlate float32, 256 antennas", "correlate", dict(inputs=512, bits=32), 35 * T, "60", None),
    ("portable kernel, ci8, 256 antennas, CUDA", "correlate", dict(inputs=512, design=1), 80 * T, "133 (dp4a)", None),
    ("the same, OpenCL (within 25 % of CUDA's 110)", "opencl:correlate", dict(inputs=512, design=1), 82.6 * T, "133", None),
    ("channelize ci8 to floats, 1,024 channels, 8 taps", "channelize", dict(taps=8, output_bits=32), 330 * G, "429", 129.7 * G),
    ("16 taps", "channelize", dict(taps=16, output_bits=32), 300 * G, "429", 102.2 * G),
    ("32 taps", "channelize", dict(taps=32, output_bits=32), 200 * G, "429", 63.9 * G),
    ("channelize ci8 to turned ci8, 1,024 channels, 8 taps", "channelize", dict(taps=8, output_bits=8), 300 * G, "460 (instructions)",
     None),
    ("16 taps", "channelize", dict(taps=16, output_bits=8), 250 * G, "370 (instructions)", None),
]
DEFAULTS = {"correlate": dict(bits=8, blocks=None, half=None, design=None),
            "channelize": dict(bits=8, channels=1024, design=None)}


def rows(folder, part):
    path = folder / f"gpu_{part}.jsonl"
    found = []
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        row["sizes"] = {key: int(value) for key, value in (pair.split("=") for pair in row["problem"].split(","))}
        found.append(row)
    return found


def find(measured, stage, sizes):
    wanted = {**DEFAULTS[stage], **sizes}
    for row in measured:
        if row["stage"] == stage and all(row["sizes"].get(key) == value for key, value in wanted.items()):
            return row
    return None


def burst_rate(row):
    return row["rate"] * row["seconds"] / row["burst_seconds"] if row.get("burst_seconds") else None


def number(value, scale):
    if value is None:
        return ""
    value /= scale
    return f"{value:,.0f}" if value >= 200 else f"{value:,.1f}"


def times(row):
    return f"{1e3 * row['seconds']:.3f} | {100 * row['spread']:.1f} %"


def energy(row, scale, unit):
    if not row["energy_j"]:
        return " | "
    return f"{row['operations_per_j'] / scale:,.0f} {unit} | {row['power_w']:.0f} W"


def limit(row):
    return f"{100 * row['fraction_of_limit']:.0f} % of {row['limit']}"


def table(heading, lines):
    cells = ["| " + " | ".join(heading) + " |", "| " + " | ".join("---" for _ in heading) + " |"]
    return "\n".join(cells + ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines])


def problem(stage, sizes):
    """As `bench STAGE --problem` takes it."""
    if stage == "channelize":
        return f"`c1024t{sizes['taps']},output_bits={sizes['output_bits']}`"
    parts = [f"n{sizes['inputs'] // 2}"]
    parts += ["format=cf16"] if sizes.get("half") else ["format=cf32"] if sizes.get("bits") == 32 else []
    parts += [f"{key}={sizes[key]}" for key in ("design", "blocks") if key in sizes]
    return f"`{','.join(parts)}`"


def wanted_table(data):
    lines = []
    for name, where, sizes, least, most, peer in WANTED:
        part, _, stage = where.rpartition(":")
        row = find(data[part or stage], stage, sizes)
        if not row:
            continue
        scale = T if stage == "correlate" else G
        rate, burst = row["rate"], burst_rate(row)
        best = max(rate, burst or 0)
        verdict = "reached" if rate >= least else "in bursts" if best >= least else f"{100 * rate / least:.0f} %"
        lines.append((name, number(least, scale), f"**{number(rate, scale)}**", number(burst, scale), verdict, most,
                      f"{number(peer, scale)} ({rate / peer:.1f} x)" if peer else "", problem(stage, sizes)))
    return table(("what", "wanted", "for long", "in bursts", "", "limit", "peer", "problem"), lines)


def correlate_table(data):
    lines = []
    for row in data["correlate"] + [r for r in data["opencl"] if r["stage"] == "correlate"]:
        s = row["sizes"]
        blocks = f", {s['blocks']} blocks" if "blocks" in s else ""
        lines.append((f"{s['inputs'] // 2:,}", f"{s['channels']} x {s['samples']:,}{blocks}",
                      "cf16" if "half" in s else FORMATS[s["bits"]], row["instruction_set"].replace(" (default)", ""),
                      times(row), number(row["rate"], T), number(burst_rate(row), T), limit(row),
                      f"{row['bandwidth_hz'] / 1e9:.3g} GHz", energy(row, 1e9, "G/J")))
    return table(("antennas", "channels x samples", "input", "code", "ms", "spread", "T/s for long", "in bursts", "of the limit",
                  "a station", "operations", "power"), lines)


def separate_of(measured, sizes):
    for row in measured:
        if row["stage"] == "channelize" and row["sizes"] == {**sizes, "design": 3}:
            return row
    return None


def channelize_table(data):
    measured = data["channelize"] + [r for r in data["opencl"] if r["stage"] == "channelize"]
    lines = []
    for row in measured:
        s = row["sizes"]
        if s.get("design") == 3:
            continue
        other = separate_of(measured, s) if row in data["channelize"] else None
        lines.append((f"{s['channels']:,}", s["taps"], FORMATS[s["bits"]],
                      "floats" if s["output_bits"] == 32 else f"{s['output_bits']} bits, turned",
                      row["instruction_set"].replace(" (default)", "").split(",")[0], times(row), number(row["rate"], G),
                      number(burst_rate(row), G), limit(row),
                      f"{number(other['rate'], G)} ({row['rate'] / other['rate']:.1f} x)" if other else "",
                      energy(row, 1e9, "G/J")))
    return table(("channels", "taps", "in", "out", "code", "ms", "spread", "G samples/s for long", "in bursts", "of the limit",
                  "filter kernel and FFT", "operations", "power"), lines)


def sizes_table(data):
    """Powers of two, as parts of the rate of 1,024 channels over as long a time."""
    banks = {row["sizes"]["channels"]: row for row in data["channelize"]
             if row["stage"] == "channelize" and row["sizes"]["taps"] == 8 and row["sizes"]["output_bits"] == 32
             and row["sizes"]["bits"] == 8 and "design" not in row["sizes"]}
    if 1024 not in banks:
        return ""
    powers = [c for c in sorted(banks) if c & (c - 1) == 0 and c <= 16384]
    return table(["channels"] + [f"{c:,}" for c in powers],
                 [["G samples/s"] + [number(banks[c]["rate"], G) for c in powers],
                  ["of the rate of 1,024"] + [f"{100 * banks[c]['rate'] / banks[1024]['rate']:.0f} %" for c in powers]])


def host_fed_table(data):
    lines = []
    for row in data["host_fed"] + [r for r in data["opencl"] if r["stage"].startswith("host_fed")]:
        lines.append((row["stage"], row["device"].split(" ")[0], row["problem"].replace(",", ", "), times(row),
                      f"{row['rate'] / 1e9:.1f} {row['unit'].replace('bytes/s', 'GB/s').replace('samples/s', 'G samples/s')}",
                      limit(row), f"{row['real_time_factor']:.3g} x" if row["real_time_factor"] else ""))
    return table(("from the host's memory", "device", "block", "ms", "spread", "rate", "of the limit", "real time"), lines)


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
    return table(("processes of this run", "CUDA", "OpenCL"), lines)


TABLES = {"wanted": wanted_table, "correlate": correlate_table, "channelize": channelize_table, "sizes": sizes_table,
          "host_fed": host_fed_table, "limits": limits_table}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=HERE / "data")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    data = {part: rows(options.data, part) for part in PARTS}
    page = HERE / "gpu.md"
    text = page.read_text()
    for name, make in TABLES.items():
        made = make(data)
        if not options.write:
            print(f"## {name}\n\n{made}\n")
            continue
        begin, end = f"<!-- {name}: gpu_tables.py -->", "<!-- end -->"
        text, count = re.subn(re.escape(begin) + r".*?" + re.escape(end), lambda _: f"{begin}\n{made}\n{end}", text, flags=re.S)
        if count != 1:
            print(f"gpu.md has no place for {name}")
    if options.write:
        page.write_text(text)


if __name__ == "__main__":
    main()
