#!/usr/bin/env python3
"""Checks that scripts/test-gpu leaves out no test that can run on a GPU.

    python3 scripts/check_gpu_tests.py [--build DIR]

From the sources: every TEST that speaks of CUDA or OpenCL, by itself, by its fixture or by a helper of its file, is
taken by the filter of scripts/test-gpu and belongs to one of its programs, or is excused below.
From the programs of --build: every test that is there only where there is an OpenCL device (PoCL will do) is taken
by the filter. Status 0 when so.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a test writes that opens a GPU, counts them, or compiles for one.
GPU = re.compile(r"\b(gpu_names|device_count|SKIP_WITHOUT_GPU|make_gpu_plan|compiler_available|cuda::compile|"
                 r"make_energy_meter)\b|\"(cuda|opencl):[0-9\"]")

# Tests that name GPUs and run on none: why.
EXCUSED = {
    "DeviceCache.DISABLED_OneOfManyProcesses": "a process that DeviceCache's tests start",
    "EnergyMeter.WithoutACardIsNoError": "is about machines without one",
    "OpenclVendorsHere.NoDeviceButTheHost": "is about machines where PoCL is alone",
}


def matches(pattern, name):
    parts = [".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern]
    return re.fullmatch("".join(parts), name) is not None


def taken(filters, name):
    """As GoogleTest reads --gtest_filter."""
    wanted, _, unwanted = filters.partition("-")
    return any(matches(p, name) for p in wanted.split(":")) and not any(
        matches(p, name) for p in unwanted.split(":") if p)


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def blocks(text):
    """(kind, name, text) of what stands at the left margin with a body: tests, classes, functions."""
    for match in re.finditer(r"^(?!namespace|\}|#)\S[^\n;]*(?:\n(?!\}|\n)[^\n;]*)*?\{\n.*?^\}", text, flags=re.S | re.M):
        yield match.group(0)


def gpu_tests(path):
    """(kind, suite, name) of the tests of a file that speak of GPUs."""
    text = without_comments(path.read_text())
    helpers, tests = {}, []
    for block in blocks(text):
        test = re.match(r"TEST(_F|_P)?\(\s*(\w+),\s*(\w+)\)", block)
        if test:
            tests.append((test.group(1) or "", test.group(2), test.group(3), block))
            continue
        name = re.match(r"(?:class|struct)\s+(\w+)", block) or re.search(r"(\w+)\(", block.split("{")[0])
        if name:
            helpers[name.group(1)] = block
    # Helpers that call helpers.
    speaking = {name for name, block in helpers.items() if GPU.search(block)}
    while True:
        calls = re.compile(r"\b(" + "|".join(map(re.escape, speaking)) + r")\b") if speaking else None
        more = {name for name, block in helpers.items() if name not in speaking and calls and calls.search(block)}
        if not more:
            break
        speaking |= more
    for kind, suite, name, block in tests:
        if kind != "_P" and (GPU.search(block) or suite in speaking or (calls and calls.search(block))):
            yield suite, name


def check_sources(programs, filters):
    problems, found = [], set()
    for path in sorted((ROOT / "tests").rglob("*_test.cpp")):
        program = "test_" + "_".join(path.relative_to(ROOT / "tests").parent.parts)
        for suite, name in gpu_tests(path):
            test = f"{suite}.{name}"
            found.add(test)
            if test in EXCUSED:
                continue
            if program not in programs:
                problems.append(f"{path.relative_to(ROOT)}: {program} is none of the programs: {test}")
            elif not taken(filters, test):
                problems.append(f"{path.relative_to(ROOT)}: the filter leaves out {test}")
    problems += [f"excused, but there is no such test any more: {test}" for test in EXCUSED if test not in found]
    return problems


def names(program, vendors):
    """What --gtest_list_tests says, with the OpenCL drivers of a folder."""
    environment = dict(os.environ)
    if vendors is not None:
        environment["OCL_ICD_VENDORS"] = vendors
    said = subprocess.run([program, "--gtest_list_tests"], env=environment, capture_output=True, text=True, check=True)
    found, suite = set(), ""
    for line in said.stdout.splitlines():
        word = line.split("#")[0].strip()
        if not line.startswith(" "):
            suite = word
        else:
            found.add(suite + word)
    return found


def check_programs(folder, filters):
    """Tests of any program that are there because a device is."""
    problems, counted = [], 0
    for program in sorted(folder.glob("test_*")):
        if program.suffix or not program.is_file():
            continue
        here = names(program, None)
        if not any("opencl" in test for test in here):
            continue
        for test in sorted(here - names(program, "/nonexistent")):
            counted += 1
            if not taken(filters, test):
                problems.append(f"{program.name}: the filter leaves out {test}")
    return problems, counted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, help="a build folder, to ask its test programs")
    options = parser.parse_args()
    listed = subprocess.run([ROOT / "scripts/test-gpu", "--list"], capture_output=True, text=True, check=True)
    *programs, filters = listed.stdout.split()
    problems = check_sources(programs, filters)
    said = f"{len(programs)} programs"
    if options.build:
        more, counted = check_programs(options.build / "tests", filters)
        problems += more
        said += f", {counted} tests that are there with an OpenCL device"
    for problem in problems:
        print(problem)
    print(f"scripts/test-gpu: {said}, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
