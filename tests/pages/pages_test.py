#!/usr/bin/env python3
"""Opens every kind of page that the command writes, made from simulated data, in headless Chromium: at the widths of a
phone, a laptop and a large screen, light and dark, and as printed. check.js finds what a reader would stumble over.

    tests/pages/pages_test.py --command build/tautline [--screenshots DIR] [--only NAME]
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import browser

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
WIDTHS = (400, 1280, 2560)
PAPER = 718  # CSS pixels of an A4 sheet between margins of 1 cm

ARRAY = """name = "six"
latitude_deg = -26.7
longitude_deg = 116.67
altitude_m = 377.0
"""
SCENE = """name = "two sources"
start = "2026-03-20-14:00:00"
centre_hz = 154.88e6
bandwidth_hz = 320e3
[[source]]
name = "bright"
azimuth_deg = 40.0
elevation_deg = 75.0
flux = 0.5
[[tone]]
frequency_hz = 154.93e6
amplitude = 0.5
[[missing]]
start_s = 1.1
duration_s = 0.4
inputs = [2, 3]
"""


class Maker:
    """Simulates data and writes the pages of them into a folder."""

    def __init__(self, command, folder, seed):
        self.command, self.folder, self.seed = command, folder, seed

    def tautline(self, *words, status=(0,)):
        result = subprocess.run([self.command, "--quiet", "--device", "cpu", *map(str, words)], cwd=self.folder,
                                capture_output=True, text=True, check=False)
        if result.returncode not in status:
            sys.exit(f"tautline {' '.join(map(str, words))}\n{result.stdout}{result.stderr}")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def fringes(self):
        self.write("array.toml", ARRAY + "".join(
            f'[[antenna]]\nname = "ant{k}"\nenu_m = [{97.0 * k}, {31.0 * k * k % 170}, 0.0]\nfeeds = ["x", "y"]\n' for k in range(6)))
        self.write("scene.toml", SCENE)
        self.tautline("simulate", "voltages", "--array", "array.toml", "--scene", "scene.toml", "--duration", 3, "--seed",
                      self.seed, "-o", "sky.dada")
        self.tautline("correlate", "sky.dada", "--array", "array.toml", "--channels", 64, "--integration", 0.1, "-o",
                      "sky.uvh5", "--report", "fringes.html")
        return "fringes.html"

    def noisy_baselines(self):
        """A source that is weak in every cell; the third antenna, farthest away, receives noise alone."""
        self.write("three.toml", ARRAY + "".join(
            f'[[antenna]]\nname = "ant{k}"\nenu_m = [{east}, 0.0, 0.0]\nfeeds = ["x"]\n' for k, east in enumerate((0, 100, 900))))
        self.write("weak.toml", 'start = "2026-03-20-14:00:00"\nbandwidth_hz = 320e3\nnoise_rms = [1.0, 1.0, 30.0]\n'
                   '[[source]]\nazimuth_deg = 40.0\nelevation_deg = 75.0\nflux = 0.04\n')
        self.tautline("simulate", "voltages", "--array", "three.toml", "--scene", "weak.toml", "--duration", 2, "--seed",
                      self.seed, "-o", "weak.dada")
        self.tautline("correlate", "weak.dada", "--array", "three.toml", "--channels", 64, "--integration", 0.1, "-o",
                      "weak.uvh5", "--report", "weak.html")
        return "weak.html"

    def one_input(self):
        """One antenna and feed, one integration that the data cut short."""
        self.write("lone.toml", ARRAY + '[[antenna]]\nenu_m = [0, 0, 0]\nfeeds = ["x"]\n')
        self.write("noise.toml", 'centre_hz = 1579.480031e6\nbandwidth_hz = 80e3\n')
        self.tautline("simulate", "voltages", "--array", "lone.toml", "--scene", "noise.toml", "--duration", 0.2, "--seed",
                      self.seed, "-o", "lone.dada")
        self.tautline("correlate", "lone.dada", "--array", "lone.toml", "--channels", 16, "-o", "lone.uvh5", "--report",
                      "lone.html")
        return "lone.html"

    def parts_of_integrations(self):
        """Three files of 0.25 s, ten seconds apart: each is the part of an integration of 1 s."""
        self.write("pair.toml", ARRAY + "".join(
            f'[[antenna]]\nname = "ant{k}"\nenu_m = [{100.0 * k}, 0.0, 0.0]\nfeeds = ["x"]\n' for k in range(2)))
        parts = []
        for k in range(3):
            self.write("part.toml", f'start = "2026-03-20-14:00:{10 * k:02}"\ncentre_hz = 154.88e6\nbandwidth_hz = 80e3\n')
            parts.append(f"part{k}.dada")
            self.tautline("simulate", "voltages", "--array", "pair.toml", "--scene", "part.toml", "--duration", 0.25, "--seed",
                          self.seed + k, "-o", parts[-1])
        self.tautline("correlate", *parts, "--array", "pair.toml", "--channels", 16, "--integration", 1, "-o", "parts.uvh5",
                      "--report", "parts.html")
        return "parts.html"

    def candidates(self):
        self.tautline("simulate", "filterbank", "--nchans", 64, "--fch1", 1500, "--foff", -4, "--tsamp", 1e-3, "--duration", 20,
                      "--random-pulses", "count=8,dm=5:290,width=0.002:0.02,snr=9:40", "--seed", self.seed, "-o", "pulses.fil")
        self.tautline("search", "pulses.fil", "-o", "pulses.csv", "--dms", "0:300", "--plot", "pulses")
        return "pulses/candidates.html"

    def no_candidates(self):
        self.tautline("simulate", "filterbank", "--nchans", 16, "--fch1", 1500, "--foff", -4, "--tsamp", 1e-3, "--duration", 3,
                      "--seed", self.seed, "-o", "noise.fil")
        self.tautline("search", "noise.fil", "-o", "noise.csv", "--dms", "0:300", "--threshold", 20, "--plot", "noise")
        return "noise/candidates.html"

    def photons(self, name, sensors, seconds):
        if (self.folder / (name + ".h5")).exists():
            return
        self.tautline("simulate", "photons", "--sensors", sensors, "--duration", seconds, "--bin", 2e-5, "--model",
                      "diffusion:n=1,tau=1e-3,rate=1e5", "--seed", self.seed, "-o", name + ".npy")
        shape = ["--shape", "4x4"] if sensors == 16 else []
        self.tautline("autocorrelate", name + ".npy", "-o", name + ".h5", "--bin", 2e-5, "--bins", 16, "--levels", 8, *shape)

    def fit_of_one(self):
        self.photons("one", 1, 4)
        self.tautline("fit", "one.h5", "-o", "one.csv", "--model", "3d", "--report", "one.html", status=(0, 3))
        return "one.html"

    def fit_of_many(self):
        self.photons("many", 16, 4)
        self.tautline("fit", "many.h5", "-o", "many.csv", "--model", "3d", "--waist", 0.25, "--report", "many.html", status=(0, 3))
        return "many.html"

    def doubtful_fits(self):
        """Curves that no model of the command describes well enough to be believed."""
        self.photons("many", 16, 4)
        self.tautline("fit", "many.h5", "-o", "few.csv", "--model", "3d", "--max-chi2", 1e-6, "--report", "few.html",
                      status=(0, 3))
        return "few.html"

    def plotted(self, data, page):
        self.tautline("plot", data, "-o", page)
        return page

    def figure_of_a_filterbank(self):
        return self.plotted("pulses.fil", "filterbank.html")

    def figure_of_candidates(self):
        return self.plotted("pulses.csv", "found.html")

    def figure_of_voltages(self):
        return self.plotted("sky.dada", "voltages.html")

    def figure_of_visibilities(self):
        return self.plotted("sky.uvh5", "visibilities.html")

    def figure_of_a_measurement_set(self):
        self.tautline("correlate", "sky.dada", "--array", "array.toml", "--channels", 64, "--integration", 0.1, "-o", "sky.ms")
        return self.plotted("sky.ms", "set.html")

    def figure_of_flags(self):
        self.tautline("plot", "pulses.fil", "--flag-channels", "-o", "flags.html")
        return "flags.html"

    def figure_of_a_fit(self):
        self.photons("one", 1, 4)
        self.tautline("fit", "one.h5", "-o", "drawn.csv", "--model", "3d", status=(0, 3))
        self.tautline("plot", "one.h5", "--fit", "drawn.csv", "-o", "drawn.html")
        return "drawn.html"

    def figure_of_a_curve(self):
        return self.plotted("one.h5", "curve.html")


PAGES = (Maker.fringes, Maker.noisy_baselines, Maker.one_input, Maker.parts_of_integrations, Maker.candidates,
         Maker.no_candidates, Maker.fit_of_one, Maker.fit_of_many, Maker.doubtful_fits, Maker.figure_of_a_filterbank,
         Maker.figure_of_candidates, Maker.figure_of_voltages, Maker.figure_of_visibilities, Maker.figure_of_a_measurement_set,
         Maker.figure_of_flags, Maker.figure_of_a_fit, Maker.figure_of_a_curve)


# What a page must say or draw beyond what check.js asks of all.
ERROR_BARS = "drawnOn(document.querySelector('#curves .chart canvas')).upright > 60"
INTEGRATION = "[...document.querySelectorAll('.tile')].find((one) => one.children[0].textContent === 'Integration').children"
EXPECTED = {
    "one_input": {INTEGRATION + "[2].textContent": "the only one, cut short of 1 s"},
    "parts_of_integrations": {INTEGRATION + "[2].textContent": "3 of them on average, cut short of 1 s",
                              f"Math.abs(parseFloat({INTEGRATION}[1].textContent) - 250) < 10": True},
    "noisy_baselines": {"document.querySelector('#fringes .facts dd').textContent": "ant0x – ant1x"},
    "fit_of_one": {ERROR_BARS: True, "document.getElementById('maps').hidden": True},
    "fit_of_many": {ERROR_BARS: True, "document.querySelectorAll('#maps canvas').length": 6},
    "doubtful_fits": {ERROR_BARS: True, "document.querySelectorAll('#maps canvas').length": 0},
    "no_candidates": {"[...document.querySelectorAll('main canvas')].some((one) => one.clientWidth > 0)": False},
}


def look_at(chromium, path, name, screenshots, complain):
    check = (HERE / "check.js").read_text()

    def judge(view):
        for finding in chromium.complaints() + chromium.run(check):
            complain(f"{name}, {view}: {finding}")
        if screenshots:
            chromium.screenshot(screenshots / f"{name}-{view.replace(' ', '-')}.png")

    for width in WIDTHS:
        chromium.look(width, "light")
        chromium.open(path)
        judge(f"{width} light")
        chromium.look(width, "dark")
        chromium.settle()
        judge(f"{width} dark")
    for question, answer in EXPECTED.get(name, {}).items():
        if chromium.run(question) != answer:
            complain(f"{name}: not {answer}: {question}")
    # On paper a page is light, whatever it was on the screen: checked as laid out for it, then printed.
    chromium.run("dispatchEvent(new Event('beforeprint'))")
    chromium.look(PAPER, "dark", "print")
    chromium.settle()
    judge("printed")
    if not chromium.run("(([r, g, b]) => r > 230 && g > 230 && b > 230)(getComputedStyle(document.body).backgroundColor.match(/\\d+/g))"):
        complain(f"{name}, printed: dark paper")
    chromium.run("dispatchEvent(new Event('afterprint'))")
    chromium.look(1280, "dark", "")
    chromium.settle()
    sheet = chromium.pdf()
    if not sheet.startswith(b"%PDF") or b"/Page" not in sheet:
        complain(f"{name}: printing gives no PDF")
    if screenshots:
        (screenshots / f"{name}.pdf").write_bytes(sheet)


# What check.js must say of faulty.html, each once at least: a check that finds nothing there finds nothing anywhere.
FAULTS = ("the page scrolls sideways", "reaches from", "shows 80 x", "a choice that is cut off", 'a dead link "nowhere"',
          'a dead link "outside"', '"1579.480031 MHz"', '"1 antennas"', '"2 min 60 s long"', '"NaN"', "contrast 1",
          "a curve's colour is faint", 'no unit in the axis\' name "time"', "no name on the axis upward", '"12345" is cut off',
          '"0.1" and "0.2" lie on each other', "a DM of −50", "an axis of DM that runs below zero", "colours that nobody explains",
          "dB of what", 'a colour bar of "power"', "a colour bar without numbers", 'contrast of "faint"', "faulty on purpose",
          "no tick on the axis x")


def check_the_checks(chromium, complain):
    chromium.look(400)
    chromium.open(HERE / "faulty.html")
    found = "\n".join(chromium.complaints() + chromium.run((HERE / "check.js").read_text()))
    for fault in FAULTS:
        if fault not in found:
            complain(f"faulty.html: nothing found of: {fault}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, help="a folder for pictures of every view")
    parser.add_argument("--only", help="one page: the name of its maker here")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAUTLINE_TEST_SEED", random.randrange(1 << 31))))
    options = parser.parse_args()
    program = browser.find()
    if program is None:
        print("skipped: no Chromium here (Debian's chromium; scripts/install --tests)")
        return SKIPPED
    print("seed", options.seed)
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    complaints = []
    with tempfile.TemporaryDirectory(prefix="tautline-pages-") as folder, browser.Browser(program) as chromium:
        chromium.call("Page.addScriptToEvaluateOnNewDocument", source=(HERE / "record.js").read_text())
        check_the_checks(chromium, complaints.append)
        maker = Maker(options.command.resolve(), pathlib.Path(folder), options.seed)
        for make in PAGES:
            if options.only in (None, make.__name__):
                look_at(chromium, maker.folder / make(maker), make.__name__, options.screenshots, complaints.append)
    for complaint in complaints:
        print(complaint)
    print(f"{len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
