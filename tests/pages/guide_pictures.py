#!/usr/bin/env python3
"""Makes the pictures that the guide shows (docs/guide/figures) from simulated data: pages in headless Chromium, and
figures that the command draws. Those of the monitor need the program of live_run.cpp.

    tests/pages/guide_pictures.py --command build/tautline [--live-run build/tests/pages/live_run]
                                  [--output docs/guide/figures] [--only fit-page.png]
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import struct
import sys
import tempfile
import time
import zlib

import browser
import live_test
from makers import Maker
from pages_test import PAPER, SKIPPED

ROOT = pathlib.Path(__file__).resolve().parents[2]
SEED = 20260320


def demo(maker):
    """The array of the demo, for a shorter time."""
    array, scene = (ROOT / "examples/demo" / name for name in ("array.toml", "scene.toml"))
    maker.tautline("simulate", "voltages", "--array", array, "--scene", scene, "--duration", 1.5, "--seed", 1, "-o", "demo.dada")
    maker.tautline("correlate", "demo.dada", "--array", array, "--channels", 128, "--taps", 8, "--integration", 0.05, "-o",
                   "demo.uvh5", "--report", "demo.html")
    return "demo.html"


def fringes(maker):
    """The files and commands of the guide's page, up to the page that it shows."""
    text = (ROOT / "docs/guide/interferometry.md").read_text()
    for content in re.findall(r"^```toml\n(# (?:array|scene)\.toml.*?)^```", text, re.DOTALL | re.MULTILINE):
        maker.write(content.split()[1], content)
    for words in re.findall(r"^    tautline (.+)$", text, re.MULTILINE):
        maker.tautline(*shlex.split(words))
        if (maker.folder / "fringes.html").exists():
            return "fringes.html"
    sys.exit("interferometry.md writes no fringes.html")


def search(maker):
    """The commands of the guide's page, with a seed."""
    block = re.search(r"## Try it\n\n```sh\n(.*?)```", (ROOT / "docs/guide/search.md").read_text(), re.DOTALL)[1]
    for words in block.replace("\\\n", "").splitlines():
        command = shlex.split(words)[1:]
        maker.tautline(*command, *(["--seed", SEED] if command[0] == "simulate" else []))
    return "try/candidates.html"


def filterbank(maker):
    """Half a second around a pulse."""
    maker.tautline("simulate", "filterbank", "--nchans", 64, "--fch1", 1450, "--foff", -4, "--tsamp", "1ms",
                   "--duration", 3, "--pulse", "dm=500,time=1.1,width=0.012,snr=200", "--seed", SEED, "-o", "night.fil")
    return "plot", "night.fil", "--start", 1, "--duration", 0.6


def wide_page(maker):
    maker.tautline(*filterbank(maker), "-o", "night.html")
    return "night.html"


def curve(maker):
    maker.tautline("simulate", "photons", "--sensors", 1, "--duration", 20, "--bin", "2us", "--model",
                   "diffusion:n=2,tau=4e-4,rate=3e4", "--seed", SEED, "-o", "cell.npy")
    maker.tautline("autocorrelate", "cell.npy", "--bin", "2us", "-o", "cell.csv")
    return "plot", "cell.csv"


def candidate(maker):
    """The first picture of `search --pictures`."""
    maker.tautline("simulate", "filterbank", "--nchans", 256, "--fch1", 1500, "--foff", -1, "--tsamp", "200us",
                   "--duration", 6, "--pulse", "dm=150,time=2.3,width=0.005,snr=40", "--seed", SEED, "-o", "b.fil")
    maker.tautline("search", "b.fil", "-o", "b.csv", "--dms", "0:300:1", "--pictures", "drawn")
    return maker.folder / "drawn/candidate_0001.png"


# Of each picture: its page, the page's width, its colours, whether it is printed, and how much of it from the top.
PICTURES = {
    "fit-page.png": (Maker.fit_of_many, 1280, "light", False, 1180),
    "phone-dark.png": (Maker.candidates, 400, "dark", False, 1000),
    "printed-page.png": (Maker.fringes, 1280, "light", True, 1015),
    "report.png": (demo, 1100, "light", False, 1150),
    "fringes-page.png": (fringes, 1100, "light", False, 1150),
    "search.png": (search, 1100, "light", False, 1995),
    "plot-page.png": (wide_page, 2560, "light", False, 1195),
}
# Drawn by the command: the words of `plot` without its output, or a file.
DRAWN = {"plot-filterbank.png": filterbank, "plot-curve.png": curve, "candidate.png": candidate}
# Drawn by the snippets of a page of the guide.
SNIPPETS = {"fringes-figure.png": "interferometry.md", "burst.png": "pulses.md", "photons-figure.png": "photons.md"}
# Of the monitor: how much from the top.
LIVE_PICTURES = {"monitor.png": 1430, "monitor-search.png": 1830}
LIVE_WIDTH, LIVE_S = 1280, 11
STEP = 8  # of each colour: finer ones cannot be told apart and are most of a file


def smaller(png):
    """The same picture with fewer different colours, packed again."""
    chunks, at = {}, 8
    while at < len(png):
        (length,), kind = struct.unpack(">I", png[at:at + 4]), png[at + 4:at + 8]
        chunks[kind] = chunks.get(kind, b"") + png[at + 8:at + 8 + length]
        at += 12 + length
    width, height, depth, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    size = {2: 3, 6: 4}[colours]
    assert depth == 8, depth
    data, row_bytes = zlib.decompress(chunks[b"IDAT"]), size * width
    rows, above = [], bytes(row_bytes)
    for y in range(height):
        kind, row = data[y * (row_bytes + 1)], bytearray(data[y * (row_bytes + 1) + 1:(y + 1) * (row_bytes + 1)])
        unfilter(kind, row, above, size)
        rows.append(bytes(row))
        above = rows[-1]
    coarse = bytes(min(255, (value + STEP // 2) // STEP * STEP) for value in range(256))
    rows = [b"".join(row[k:k + 3] for k in range(0, row_bytes, size)).translate(coarse) for row in rows]
    # Each row as it is or as its difference from the one above, whichever holds more zeros.
    packed, above = [], bytes(3 * width)
    for row in rows:
        up = bytes((a - b) & 255 for a, b in zip(row, above))
        packed.append(b"\2" + up if up.count(0) > 0.9 * len(up) else b"\0" + row)
        above = row
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return png[:8] + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(packed), 9)), (b"IEND", b"")))


def unfilter(kind, row, above, size):
    for k in range(len(row)):
        left, up, corner = (row[k - size], above[k], above[k - size]) if k >= size else (0, above[k], 0)
        if kind == 1:
            row[k] = row[k] + left & 255
        elif kind == 2:
            row[k] = row[k] + up & 255
        elif kind == 3:
            row[k] = row[k] + (left + up) // 2 & 255
        elif kind == 4:
            guess = left + up - corner
            row[k] = row[k] + min((left, up, corner), key=lambda one: abs(guess - one)) & 255
        else:
            return


def live_page(chromium, program, maker, name):
    """Opens the monitor's page of a run of visibilities that goes on, or of a search that has ended."""
    chromium.look(LIVE_WIDTH)
    if name == "monitor.png":
        run = live_test.LiveRun(program, maker.folder)
        chromium.open(run.url)
        time.sleep(LIVE_S)
    else:
        live_test.pipelines(maker)
        os.chdir(maker.folder)
        run = live_test.LiveRun(program, "search.toml")
        chromium.open(run.url)
        until = time.monotonic() + live_test.PATIENCE_S
        while not chromium.run("/^finished/.test(document.querySelector('.subtitle')?.textContent) && "
                               "document.querySelectorAll('#drawings canvas').length === 2"):
            if time.monotonic() > until:
                sys.exit("the search did not end")
            time.sleep(0.1)
    chromium.settle()
    return run


def save(chromium, path, height):
    chromium.screenshot(path, height)
    path.write_bytes(smaller(path.read_bytes()))
    print(path, path.stat().st_size, "bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--live-run", type=pathlib.Path, help="the program of live_run.cpp, for pictures of the monitor")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "docs/guide/figures")
    parser.add_argument("--only", choices=[*PICTURES, *DRAWN, *LIVE_PICTURES])
    options = parser.parse_args()
    program = browser.find()
    if program is None:
        print(f"skipped: {browser.ABSENT}")
        return SKIPPED
    output, live_run = options.output.resolve(), options.live_run and options.live_run.resolve()
    with tempfile.TemporaryDirectory(prefix="tautline-pictures-") as folder, browser.Browser(program) as chromium:
        maker = Maker(options.command.resolve(), pathlib.Path(folder), SEED)
        for name, (make, width, theme, printed, height) in PICTURES.items():
            if options.only not in (None, name):
                continue
            chromium.look(width, theme)
            chromium.open(maker.folder / make(maker))
            if printed:
                chromium.print_layout(PAPER)
            save(chromium, output / name, height)
        for name, make in DRAWN.items():
            if options.only not in (None, name):
                continue
            drawn = make(maker)
            if isinstance(drawn, tuple):
                maker.tautline(*drawn, "-o", output / name, "--overwrite")
            else:
                shutil.copyfile(drawn, output / name)
            print(output / name, (output / name).stat().st_size, "bytes")
        for name, height in LIVE_PICTURES.items():
            if options.only not in (None, name):
                continue
            if options.live_run is None:
                print(name, "is left out: no --live-run")
                continue
            with live_page(chromium, live_run, maker, name):
                save(chromium, output / name, height)
    return 0


if __name__ == "__main__":
    sys.exit(main())
