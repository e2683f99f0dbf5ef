#!/usr/bin/env python3
"""Opens the monitor's page of runs that go on in headless Chromium: it loads, draws, shows a source that stops, a sink that
stalls and losses, and recovers after a restart. check.js finds what a reader would stumble over, at the widths of a phone, a
laptop and a large screen, light and dark.

    tests/pages/live_test.py --command build/tautline --live-run build/tests/pages/live_run [--screenshots DIR]
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import browser
import pages_test

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS = (400, 1280, 2560)
PATIENCE_S = 60


class LiveRun:
    """The program of live_run.cpp."""

    def __init__(self, program, what, address="127.0.0.1:0"):
        self.process = subprocess.Popen([program, address, what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"{program} {address} {what} said nothing")

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Watch:
    def __init__(self, chromium, screenshots, complaints):
        self.chromium, self.screenshots, self.complaints = chromium, screenshots, complaints

    def until(self, condition, what):
        """Seconds until an expression of the page is true; a complaint where it stays false."""
        begun = time.monotonic()
        while not self.chromium.run(f"Boolean({condition})"):
            if time.monotonic() - begun > PATIENCE_S:
                self.complaints.append(f"{what}: not within {PATIENCE_S} s; the page says: "
                                       + str(self.chromium.run("document.body.innerText.slice(0, 1500)")))
                return None
            time.sleep(0.05)
        return time.monotonic() - begun

    def says(self, text, what):
        taken_s = self.until(f"document.body.innerText.includes({text!r})", what)
        if taken_s is not None:
            print(f"{what}: shown after {taken_s:.2f} s")

    def judge(self, name):
        check = (HERE / "check.js").read_text()
        for width in WIDTHS:
            for theme in ("light", "dark"):
                self.chromium.look(width, theme)
                self.chromium.settle()
                for finding in self.chromium.complaints() + self.chromium.run(check):
                    self.complaints.append(f"{name}, {width} {theme}: {finding}")
                self.chromium.events.clear()
                if self.screenshots:
                    self.chromium.screenshot(self.screenshots / f"{name}-{width}-{theme}.png")
        self.chromium.look(1280)
        self.chromium.settle()


RECEIVING = "[...document.querySelectorAll('.tile')].some((tile) => /Sources\\s*receiving/.test(tile.innerText))"
SAMPLES = "Number(document.querySelector('table tbody td:nth-child(5)').textContent)"  # blocks of the first node


def watch_live_run(watch, program, folder):
    chromium = watch.chromium
    with LiveRun(program, folder) as run:
        url = run.url
        chromium.look(1280)
        chromium.open(url)
        watch.until(RECEIVING, "receiving")
        watch.until("[...document.querySelectorAll('td')].some((cell) => cell.textContent === 'writing')", "writing")
        before = chromium.run(SAMPLES)
        watch.until(f"{SAMPLES} > {before}", "blocks go on")
        watch.until("document.querySelectorAll('#fringes .chart canvas').length >= 8 && document.querySelectorAll('#drawings canvas').length === 1",
                    "drawings")
        watch.until("/^[1-9]\\d* of them|^\\d+[xy] – /.test(document.querySelector('#fringes .facts dd').textContent)", "the baseline's facts")
        watch.judge("running")
        # Beyond the rows that a page keeps: neighbours are merged, and nothing is hidden on the way.
        chromium.run("window.hiddenTimes = 0; new MutationObserver(() => { if (document.getElementById('fringes').hidden) ++hiddenTimes; })"
                     ".observe(document.getElementById('fringes'), { attributes: true })")
        watch.until("/([2-9]|\\d\\d) integrations/.test(document.querySelector('#fringes .facts').innerText)", "a merge of rows")
        if chromium.run("hiddenTimes"):
            watch.complaints.append("the fringes were hidden while rows were merged")
        run.tell("silent")
        watch.says("nothing received for", "a source that is silent")
        watch.until("!" + RECEIVING, "no longer receiving")
        watch.judge("silent")
        run.tell("loud")
        watch.until(RECEIVING, "receiving again")
        run.tell("hold")
        watch.says("has been at one block for", "a sink that stalls")
        run.tell("release")
        watch.until("!document.body.innerText.includes('has been at one block for')", "the sink goes on")
        run.tell("lose 12345")
        watch.says("lost_packets now 12345", "a loss")
        watch.until("[...document.querySelectorAll('.tile.bad')].some((tile) => /12.345/.test(tile.innerText))", "the count of losses")
        for finding in chromium.complaints():
            watch.complaints.append(f"live: {finding}")
    watch.says("No word from the run for", "a run that is killed")
    chromium.events.clear()  # from now on the browser says itself that nobody answers
    with LiveRun(program, folder, url.removeprefix("http://").removesuffix("/")) as run:
        watch.until(RECEIVING + " && !document.body.innerText.includes('No word')", "the page after a restart")
        watch.until(f"{SAMPLES} < 2000 && !document.querySelector('#fringes').hidden", "drawings after a restart")
        run.tell("end")
        watch.says("The run has ended", "a run that has ended")
        run.process.wait(PATIENCE_S)
    with LiveRun(program, folder, url.removeprefix("http://").removesuffix("/")) as run:
        watch.until(RECEIVING + " && !document.body.innerText.includes('The run has ended')", "the page after another restart")
        run.tell("fail")
        watch.says("no space left on device", "a run that fails")
        run.process.stdin.close()  # the program waits for nobody any more, and ends
        watch.says("The run has failed", "a run that has failed")
        run.process.wait(PATIENCE_S)
    for finding in chromium.complaints():
        if "ERR_CONNECTION_REFUSED" not in finding:
            watch.complaints.append(f"after a restart: {finding}")
    chromium.call("Page.navigate", url="about:blank")


def watch_file(watch, program, name, path, titles):
    with LiveRun(program, path) as run:
        watch.chromium.open(run.url)
        watch.until("document.querySelector('.subtitle') && document.querySelector('.subtitle').textContent.startsWith('finished')",
                    f"the end of {name}")
        for title in titles:
            watch.until(f"[...document.querySelectorAll('#drawings h2')].some((one) => one.textContent === {title!r})", f"{name}: {title}")
        watch.judge(name)


def pipelines(maker):
    """Pipelines of other kinds than visibilities, and the figures that their pages have."""
    maker.candidates()
    maker.photons("many", 16, 4)
    folder = maker.folder
    (folder / "search.toml").write_text(
        '[filterbank]\ntype = "filterbank_files"\nfiles = ["pulses.fil"]\n'
        '[pulses]\ntype = "search"\ninputs = "filterbank"\ndms.range = "0:300"\n'
        '[candidates]\ntype = "candidate_file"\ninputs = "pulses"\npath = "found.csv"\n')
    (folder / "curves.toml").write_text(
        '[counts]\ntype = "count_file"\npath = "many.npy"\nbin_s = 2e-5\n'
        '[curves]\ntype = "autocorrelator"\ninputs = "counts"\nbins = 16\nlevels = 8\n'
        '[file]\ntype = "curve_file"\ninputs = "curves"\npath = "live.h5"\n')
    return {"search": ("search.toml", ("Filterbank", "Pulses")), "curves": ("curves.toml", ("Curves",))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--live-run", required=True, type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, help="a folder for pictures of every view")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAUTLINE_TEST_SEED", random.randrange(1 << 31))))
    options = parser.parse_args()
    program = browser.find()
    if program is None:
        print("skipped: no Chromium here (Debian's chromium; scripts/install --tests)")
        return pages_test.SKIPPED
    print("seed", options.seed)
    screenshots = options.screenshots and options.screenshots.resolve()
    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    live_run = options.live_run.resolve()
    complaints = []
    with tempfile.TemporaryDirectory(prefix="tautline-live-") as folder, browser.Browser(program) as chromium:
        chromium.call("Page.addScriptToEvaluateOnNewDocument", source=(HERE / "record.js").read_text())
        watch = Watch(chromium, screenshots, complaints)
        watch_live_run(watch, live_run, folder)
        maker = pages_test.Maker(options.command.resolve(), pathlib.Path(folder), options.seed)
        for name, (path, titles) in pipelines(maker).items():
            os.chdir(folder)
            watch_file(watch, live_run, name, path, titles)
        os.chdir("/")
    for complaint in complaints:
        print(complaint)
    print(f"{len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
