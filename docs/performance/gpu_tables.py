#!/usr/bin/env python3
"""Prints the tables of docs/performance/gpu.md from the JSON lines of docs/performance/measure_gpu.

    python3 docs/performance/gpu_tables.py docs/performance/data/gpu.jsonl
"""
import json
import sys


def rows(path):
    with open(path) as file:
        for line in file:
            row = json.loads(line)
            row["sizes"] = {key: int(value) for key, value in (pair.split("=") for pair in row["problem"].split(","))}
            yield row


def energy(row, scale, unit):
    if not row["energy_j"]:
        return "-"
    return f"{row['operations_per_j'] / scale:,.0f} {unit}, {row['power_w']:.0f} W"


def blocks(row):
    return f" x {row['sizes']['blocks']}" if "blocks" in row["sizes"] else ""


def limit(row):
    return f"{100 * row['fraction_of_limit']:.0f} % of {row['limit']}"


def print_table(heading, lines):
    if not lines:
        return
    print("| " + " | ".join(heading) + " |")
    print("| " + " | ".join("---" for _ in heading) + " |")
    for line in lines:
        print("| " + " | ".join(str(cell) for cell in line) + " |")
    print()


def main():
    measured = list(rows(sys.argv[1]))
    by_stage = lambda stage: [row for row in measured if row["stage"] == stage]  # noqa: E731
    print_table(
        ("antennas", "channels x samples", "input", "code", "ms", "spread", "useful T/s", "of the limit", "a station",
         "energy"),
        [(row["sizes"]["inputs"] // 2, f"{row['sizes']['channels']} x {row['sizes']['samples']:,}" + blocks(row),
          "cf16" if "half" in row["sizes"] else {4: "ci4", 8: "ci8", 16: "ci16", 32: "cf32"}[row["sizes"]["bits"]],
          row["instruction_set"],
          f"{1e3 * row['seconds']:.3f}", f"{100 * row['spread']:.1f} %", f"{row['rate'] / 1e12:,.1f}", limit(row),
          f"{row['bandwidth_hz'] / 1e9:.3g} GHz", energy(row, 1e9, "G/J"))
         for row in by_stage("correlate")])
    print_table(
        ("channels", "taps", "in", "out", "code", "ms", "spread", "G samples/s", "of the limit", "energy"),
        [(f"{row['sizes']['channels']:,}", row["sizes"]["taps"], f"{row['sizes']['bits']} bits",
          "floats" if row["sizes"]["output_bits"] == 32 else f"{row['sizes']['output_bits']} bits, turned",
          row["instruction_set"], f"{1e3 * row['seconds']:.3f}", f"{100 * row['spread']:.1f} %",
          f"{row['rate'] / 1e9:,.0f}", limit(row), energy(row, 1e9, "G/J"))
         for row in by_stage("channelize")])
    print_table(
        ("from the host's memory", "block", "ms", "spread", "GB/s in", "of the limit", "real time"),
        [(row["stage"], row["problem"].replace(",", ", "), f"{1e3 * row['seconds']:.3f}", f"{100 * row['spread']:.1f} %",
          f"{row['rate'] / 1e9:.1f}", limit(row),
          f"{row['real_time_factor']:.3g} x" if row["real_time_factor"] else "-")
         for row in measured if row["stage"].startswith("host_fed")])


if __name__ == "__main__":
    main()
