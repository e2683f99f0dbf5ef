#!/usr/bin/env python3
"""Opens every kind of page that the command writes, made from simulated data, in headless Chromium: at the widths of a
phone, a laptop and a large screen, light and dark, and as printed. check.js finds what a reader would stumble over.

    tests/pages/pages_test.py --command build/tautline [--screenshots DIR] [--only NAME]
"""
import argparse
import os
import pathlib
import random
import sys
import tempfile
import time

import browser
from makers import Maker

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
# Opened in the first view of each line, which then changes to the others.
VIEWS = (((400, "light"), (1280, "dark"), (400, "dark")), ((2560, "light"), (2560, "dark"), (1280, "light")))
PAPER = 718  # CSS pixels of an A4 sheet between margins of 1 cm

PAGES = (Maker.fringes, Maker.noisy_baselines, Maker.fringes_without_data, Maker.one_input, Maker.parts_of_integrations, Maker.warnings, Maker.candidates,
         Maker.candidates_of_beams, Maker.candidates_of_padded_data, Maker.no_candidates, Maker.fit_of_one, Maker.fit_of_two,
         Maker.fit_of_files, Maker.fit_of_many, Maker.doubtful_fits, Maker.figure_of_a_filterbank, Maker.figure_of_a_padded_filterbank, Maker.figure_of_flags,
         Maker.figure_of_trials, Maker.figure_of_uneven_trials, Maker.figure_of_a_series, Maker.figure_of_a_sigproc_series,
         Maker.figure_of_candidates, Maker.figure_of_events, Maker.figure_of_a_cutout, Maker.figure_of_microtimes, Maker.figure_of_voltages, Maker.figure_of_visibilities, Maker.figure_of_a_measurement_set,
         Maker.figure_of_a_curve, Maker.figure_of_many_curves, Maker.figure_of_a_fit, Maker.figure_of_tags, Maker.figure_of_a_pair, Maker.fit_of_a_pair,
         Maker.figure_of_plain_tags, Maker.figure_of_counts, Maker.figure_of_counts_that_stop, Maker.figure_of_rates,
         Maker.figure_of_wisdom, Maker.tuning_of_a_sweep, Maker.tuning_of_two_problems)


# What a page must say or draw beyond what check.js asks of all.
# Some 120 lags have bars, and each ends inside the chart's area.
ERROR_BARS = """(() => {
  const { uprights, clips } = drawnOn(document.querySelector('#curves .chart canvas')), area = clips.at(-1);
  return uprights.length > 60 && uprights.every(({ top, bottom }) => top >= area.top - 1 && bottom <= area.bottom + 1);
})()"""
INTEGRATION = "[...document.querySelectorAll('.tile')].find((one) => one.children[0].textContent === 'Integration').children"
FACT = "[...document.querySelectorAll('.facts-table tr')].find((one) => one.cells[0].textContent === {!r}).cells[1].textContent"
TOP_ROW_IS_BRIGHTER = """(() => {
  const pixels = pixelsOn(document.querySelector('canvas[role=img]'), 'up', 0.5);
  const light = ([red, green, blue]) => red + green + blue;
  return light(pixels[5]) > light(pixels.at(-5)) + 100;
})()"""
# One range of a dynamic spectrum, in seconds of 8 s, has no colour from left to right.
HATCHED = """(() => {
  const pixels = pixelsOn(document.querySelector('canvas[role=img]'), 'across', 0.5);
  const blank = (pixel) => Math.min(...pixel) > 180 && Math.max(...pixel) - Math.min(...pixel) < 25;
  const first = pixels.findIndex(blank), last = pixels.findLastIndex(blank), second = pixels.length / 8;
  return Math.abs(first / second - 1) < 0.02 && Math.abs(last / second - 2.5) < 0.02 &&
    pixels.slice(first, last).every(blank);
})()"""
SCATTERS = "[...document.querySelectorAll('#overview canvas')].map(greyOn)"
DURATIONS = "[4e-4, 0.99996, 59.99, 119.6, 119.96, 179.7, 3599.8, 7199.9].map(tautline.duration).join(', ')"
EXPECTED = {
    "one_input": {
        DURATIONS: "0.4 ms, 1 s, 59.99 s, 119.6 s, 2 min 0 s, 3 min 0 s, 1 h 0 min, 2 h 0 min",
        INTEGRATION + "[2].textContent": "the only one, cut short of 1 s"},
    "parts_of_integrations": {INTEGRATION + "[2].textContent": "3 of them on average, cut short of 1 s",
                              f"Math.abs(parseFloat({INTEGRATION}[1].textContent) - 250) < 10": True},
    "fringes": {"/ Channel 0 is flagged, .* ends of the band/.test(document.querySelector('#fringes .section-head p').textContent)": True},
    "fringes_without_data": {
        "[...document.querySelectorAll('#fringes .facts dt')].find((one) => one.textContent === \"Fringe's S/N\").nextSibling.textContent": "–"},
    "noisy_baselines": {"document.querySelector('#fringes .facts dd').textContent": "0x – 1x"},
    "fit_of_one": {ERROR_BARS: True, "document.getElementById('maps').hidden": True},
    "fit_of_files": {"[...document.querySelectorAll('#table tbody tr')].slice(0, 3).map((one) => one.cells[0].textContent.split(':')[0])": ["one", "two", "two"],
                     "document.querySelector('#maps .dygraph-xlabel').textContent": "curve",
                     "/hatched|grey/.test(document.querySelector('#maps p').textContent)": False},
    "fit_of_many": {ERROR_BARS: True, "document.querySelectorAll('#maps canvas').length": 6},
    "doubtful_fits": {ERROR_BARS: True, "document.querySelectorAll('#maps canvas').length": 0},
    # Of 16 s, in DM and in S/N against time.
    "candidates": {SCATTERS: [[], [], []]},
    "candidates_of_padded_data": {
        SCATTERS: [[[0.06, 0.16], [0.5, 0.5], [0.84, 0.94]], [], [[0.06, 0.16], [0.5, 0.5], [0.84, 0.94]]],
        "/Grey: no data. A grey line: the level/.test(document.querySelector('#overview p').textContent)": True,
        FACT.format("steps of level"): "1", FACT.format("samples without data"): "3000"},
    "candidates_of_beams": {"[...document.querySelectorAll('td')].some((one) => one.textContent === '3 (many)')": True},
    "warnings": {"document.querySelectorAll('.warning li').length >= 2": True},
    "figure_of_counts_that_stop": {"greyOn(document.querySelector('.chart canvas'))": [[0.5, 0.75]]},
    "figure_of_a_padded_filterbank": {
        HATCHED: True,
        "/^1,?500 samples/.test([...document.querySelectorAll('.tile')].at(-1).children[1].textContent)": True},
    "figure_of_counts": {TOP_ROW_IS_BRIGHTER: True},
    "figure_of_rates": {"document.querySelectorAll('.bars li').length": 3},
    "figure_of_wisdom": {"document.querySelector('.bars').textContent.startsWith('autocorrelate')": True,
                         "document.querySelector('.bars b').textContent": "1.9"},
    "figure_of_a_pair": {"document.querySelector('.card-title').textContent": "Correlation of detector 0 x detector 1"},
    "fit_of_a_pair": {"document.querySelector('#curves option').textContent": "detector 0 x detector 1",
                      "document.querySelector('#curves .card-title').textContent.startsWith('G of detector 0 x detector 1 ')": True},
    "tuning_of_a_sweep": {"document.querySelectorAll('svg').length >= 5": True},
    "tuning_of_two_problems": {"/What tuning is worth/.test(document.body.textContent)": True},
    "no_candidates": {"[...document.querySelectorAll('main canvas')].some((one) => one.clientWidth > 0)": False},
}


def comes_true(chromium, question, answer):
    """Pictures are decoded and drawn beside the page's own work: on a busy machine after it has settled."""
    for _ in range(300):
        if chromium.run(question) == answer:
            return True
        time.sleep(0.1)
    return False


def look_at(chromium, path, name, screenshots, complain):
    check = (HERE / "check.js").read_text()

    def judge(view):
        for finding in chromium.complaints() + chromium.run(check):
            complain(f"{name}, {view}: {finding}")
        if screenshots:
            chromium.screenshot(screenshots / f"{name}-{view.replace(' ', '-')}.png")

    for views in VIEWS:
        for width, theme in views:
            chromium.look(width, theme)
            if (width, theme) == views[0]:
                chromium.open(path)
            chromium.settle()
            judge(f"{width} {theme}")
    for question, answer in EXPECTED.get(name, {}).items():
        if not comes_true(chromium, question, answer):
            complain(f"{name}: not {answer}: {question}")
    look_at_paper(chromium, name, judge, complain)
    chromium.look(1280, "dark", "")
    chromium.settle()
    sheet = chromium.pdf()
    if not sheet.startswith(b"%PDF") or b"/Page" not in sheet:
        complain(f"{name}: printing gives no PDF")
    if screenshots:
        (screenshots / f"{name}.pdf").write_bytes(sheet)


def look_at_paper(chromium, name, judge, complain):
    """On paper a page is light, whatever it was on the screen: judged as laid out for it."""
    for width in (400, 2560):
        chromium.look(width, "dark")
        chromium.settle()
        chromium.print_layout(PAPER, "dark")
        judge(f"printed from {width}")
        if not chromium.run("(([r, g, b]) => r > 230 && g > 230 && b > 230)(getComputedStyle(document.body).backgroundColor.match(/\\d+/g))"):
            complain(f"{name}, printed from {width}: dark paper")
        chromium.run("dispatchEvent(new Event('afterprint'))")


# What check.js must say of faulty.html, each once at least: a check that finds nothing there finds nothing anywhere.
FAULTS = ("the page scrolls sideways", "reaches from", "shows 80 x", "a choice that is cut off", 'a dead link "nowhere"',
          'a dead link "outside"', '"1579.480031 MHz"', '"1 antennas"', '"2 min 60 s long"', '"NaN"', "contrast 1",
          "a curve's colour is faint", 'no unit in the axis\' name "time"', "no name on the axis upward", '"12345" is cut off',
          '"0.1" and "0.2" lie on each other', "a DM of −50", "an axis of DM that runs below zero", "colours that nobody explains",
          "dB of what", 'a colour bar of "power"', "a colour bar without numbers", 'contrast of "faint"', "faulty on purpose",
          "no tick on the axis x", '"small" of 5.0 pixels', '"beyond" is cut off', '"one" and "other" lie on each other',
          'of "pale words"')


def check_the_checks(chromium, complain):
    chromium.look(400)
    chromium.open(HERE / "faulty.html")
    found = "\n".join(chromium.complaints() + chromium.run((HERE / "check.js").read_text()))
    for fault in FAULTS:
        if fault not in found:
            complain(f"faulty.html: nothing found of: {fault}")


def verdict(complaints):
    """Prints them, and gives the exit status."""
    for complaint in complaints:
        print(complaint)
    print(f"{len(complaints)} complaints")
    return 1 if complaints else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, help="a folder for pictures of every view")
    parser.add_argument("--only", help="one page: the name of its maker here")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAUTLINE_TEST_SEED", random.randrange(1 << 31))))
    options = parser.parse_args()
    program = browser.find()
    if program is None:
        print(f"skipped: {browser.ABSENT}")
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
            if options.only not in (None, make.__name__):
                continue
            page = make(maker)
            if page is None:
                print(f"{make.__name__} is left out: no device here compiles kernels (pocl-opencl-icd, a GPU)")
            else:
                look_at(chromium, maker.folder / page, make.__name__, options.screenshots, complaints.append)
    return verdict(complaints)


if __name__ == "__main__":
    sys.exit(main())
