#!/usr/bin/env python3
"""Times the filter bank's configurations on a GPU, and prints how much the best one of each problem gains.

    cmake --build build --target bench_channelize_gpu
    python3 docs/performance/channelize_tuned.py build/bench/bench_channelize_gpu cuda:0

Problems: ci8, 64 to 16,384 channels, 4 to 64 taps, spectra of floats and corner-turned ci8. Configurations: all that
have code for every problem of the list; what they leave open (0: spectra and groups) follows the rules
for the size. They are compiled by several processes first, so that compiling disturbs no timing. "Best fixed" is the one
whose geometric mean over the problems is highest.
"""
import math
import os
import re
import subprocess
import sys

PROBLEMS = [(channels, taps, output) for output in (0, 2) for channels in (64, 256, 1024, 4096, 16384) for taps in (4, 16, 64)]
# design, points, spectra, positions, filter_spectra, groups, conversion, unrolled_taps, fetch, symmetry
CONFIGURATIONS = [f"1 32 0 {positions} 0 0 {conversion} 0 0 {symmetry}"
                  for symmetry in (0, 1) for positions in (2, 4, 8) for conversion in (0, 1)] + ["3 0 0 0 0 0 0 0 0 0"]


def bench(program, device, problem, samples, rounds):
    command = [program, "--device", device, "--samples", str(samples), "--rounds", str(rounds), "--problem",
               "ci8 %d %d %d" % problem]
    for configuration in CONFIGURATIONS:
        command += ["--tunables", configuration]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def rates(text):
    """{configuration, "" for the default: G samples/s}"""
    found = {}
    for line in text.splitlines():
        match = re.search(r"([\d.]+) G samples/s +\d+ GB/s  spread +\d+ %  ?(.*)", line)
        if match:
            found.setdefault(match[2].strip(), float(match[1]))
    return found


def compile_all(program, device):
    waiting, running = list(PROBLEMS), []
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            running.append(bench(program, device, waiting.pop(), 1 << 22, 1))
        running.pop(0).communicate()


def main():
    program, device = sys.argv[1], sys.argv[2]
    compile_all(program, device)
    measured = {problem: rates(bench(program, device, problem, 1 << 28, 5).communicate()[0]) for problem in PROBLEMS}
    everywhere = [c for c in CONFIGURATIONS if all(c in found for found in measured.values())]
    fixed = max(everywhere, key=lambda c: sum(math.log(found[c]) for found in measured.values()))
    print(f"best fixed of {len(everywhere)}: {fixed}\n")
    print("| channels | taps | out | default | tuned | gain over the default | over the best fixed | tuned configuration |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (channels, taps, output), found in measured.items():
        best = max(found, key=found.get)
        print(f"| {channels:,} | {taps} | {'floats' if output == 0 else 'corner-turned ci8'} | {found['']:.0f} | {found[best]:.0f} | "
              f"{found[best] / found['']:.3f} | {found[best] / found[fixed]:.3f} | {best or 'the default'} |")


if __name__ == "__main__":
    main()
