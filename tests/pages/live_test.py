#!/usr/bin/env python3
"""Opens the monitor's page of runs that go on in headless Chromium: it loads, draws, shows a source that stops, a sink
that stalls and losses, each soon, and recovers after a restart. check.js finds what a reader would stumble over,
at the widths of a phone, a laptop and a large screen, light and dark, and as printed.

    tests/pages/live_test.py --command build/tautline --live-run build/tests/pages/live_run [--screenshots DIR]
"""
import argparse
import json
import os
import pathlib
import random
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

import browser
import pages_test

HERE = pathlib.Path(__file__).resolve().parent
VIEWS = ((400, "light"), (1280, "dark"), (2560, "light"), (2560, "dark"))
PATIENCE_S = 60
SHOWN_WITHIN_S = 6  # one or two where the machine has nothing else to do


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

    def says_soon(self, cause, undo, text, what):
        """The page says a text within SHOWN_WITHIN_S of its cause: the best of three, for machines that are busy."""
        for attempt in range(3):
            if attempt:
                undo()
                self.until(f"!document.body.innerText.includes({text!r})", f"the end of {what}")
            cause()
            taken_s = self.until(f"document.body.innerText.includes({text!r})", what)
            if taken_s is None:
                return
            print(f"{what}: shown after {taken_s:.2f} s")
            if taken_s <= SHOWN_WITHIN_S:
                return
        self.complaints.append(f"{what}: not shown within {SHOWN_WITHIN_S} s, three times")

    def judge(self, name):
        check = (HERE / "check.js").read_text()

        def judge_view(view):
            for finding in self.chromium.complaints() + self.chromium.run(check):
                self.complaints.append(f"{name}, {view}: {finding}")
            self.chromium.events.clear()
            if self.screenshots:
                self.chromium.screenshot(self.screenshots / f"{name}-{view.replace(' ', '-')}.png")

        for width, theme in VIEWS:
            self.chromium.look(width, theme)
            self.chromium.settle()
            judge_view(f"{width} {theme}")
        pages_test.look_at_paper(self.chromium, name, judge_view, self.complaints.append)
        self.chromium.look(1280)
        self.chromium.settle()


RECEIVING = "[...document.querySelectorAll('.tile')].some((tile) => /Sources\\s*receiving/.test(tile.innerText))"
SAMPLES = "Number(document.querySelector('table tbody td:nth-child(5)').textContent)"  # blocks of the first node


PICKER = "document.querySelector('#fringes .picker select')"
PICKED = f"{PICKER}.selectedOptions[0].textContent"


def shows(text):
    """The picker and the facts are of this baseline."""
    return (f"{PICKED} === {text!r} && {text!r}.split(', ')[0] === "
            "document.querySelector('#fringes .facts dd').textContent")


def watch_picker(watch):
    """Baselines are picked from the list and by its buttons, and stay picked while integrations come; returns the last."""
    chromium = watch.chromium
    texts = chromium.run(f"[...{PICKER}.options].map((one) => one.textContent)")
    if len(texts) < 3 or len(set(texts)) != len(texts) or not all(re.fullmatch(r"\d+[xy] – \d+[xy], [\d.]+ k?m", one) for one in texts):
        watch.complaints.append(f"baselines to pick: {texts}")
        return texts[0]
    if not chromium.run(f"[...{PICKER}.options].every((one) => one.parentElement.label)"):
        watch.complaints.append("baselines to pick are in no group")
    place = chromium.run(f"{PICKER}.selectedIndex")
    watch.until(shows(texts[place]), "the baseline that the page chose")

    def press(label):
        chromium.run(f"document.querySelector('#fringes .picker button[aria-label=\"{label} Baseline\"]').click()")

    for label, step in (("Next", 1), ("Next", 1), ("Previous", -1)):
        press(label)
        place = (place + step) % len(texts)
        watch.until(shows(texts[place]), f"the baseline after {label}")
    chromium.run(f"{PICKER}.selectedIndex = 0, {PICKER}.dispatchEvent(new Event('change'))")
    watch.until(shows(texts[0]), "the first baseline")
    press("Previous")  # around the end
    watch.until(shows(texts[-1]), "the last baseline")
    # Others of them have other pictures: of one stretch of time, which stands still meanwhile.
    pictures = chromium.run("(() => { const panel = document.querySelector('#fringes canvas');"
                            f" const of = (k) => {{ {PICKER}.selectedIndex = k; {PICKER}.dispatchEvent(new Event('change'));"
                            " return panel.toDataURL(); };"
                            f" return [{len(texts)} - 1, 0, {len(texts)} - 1].map(of); }})()")
    if pictures[0] == pictures[1] or pictures[0] != pictures[2]:
        watch.complaints.append("the pictures are not those of the baseline that was picked")
    blocks = chromium.run(SAMPLES)
    watch.until(f"{SAMPLES} > {blocks} + 10", "integrations come")
    watch.until(shows(texts[-1]), "the baseline that was picked, after more integrations")
    return texts[-1]


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
        picked = watch_picker(watch)
        # Beyond the rows that a page keeps: neighbours are merged, and nothing is hidden on the way.
        chromium.run("window.hiddenTimes = 0; new MutationObserver(() => { if (document.getElementById('fringes').hidden) ++hiddenTimes; })"
                     ".observe(document.getElementById('fringes'), { attributes: true })")
        watch.until("/([2-9]|\\d\\d) integrations/.test(document.querySelector('#fringes .facts').innerText)", "a merge of rows")
        if chromium.run("hiddenTimes"):
            watch.complaints.append("the fringes were hidden while rows were merged")
        watch.until(shows(picked), "the baseline that was picked, after a merge of rows")
        watch.says_soon(lambda: run.tell("silent"), lambda: run.tell("loud"), "nothing received for",
                        "a source that is silent")
        watch.until("!" + RECEIVING, "no longer receiving")
        watch.judge("silent")
        run.tell("loud")
        watch.until(RECEIVING, "receiving again")
        watch.says_soon(lambda: run.tell("hold"), lambda: run.tell("release"), "has been at one block for",
                        "a sink that stalls")
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
        watch.until(shows(picked), "the baseline that was picked, after a restart")
        run.tell("end")
        watch.says("The run has ended", "a run that has ended")
        run.process.wait(PATIENCE_S)
    watch_failure(watch, program, folder, url)
    for finding in chromium.complaints():
        if "ERR_CONNECTION_REFUSED" not in finding:
            watch.complaints.append(f"after a restart: {finding}")
    chromium.call("Page.navigate", url="about:blank")


def watch_failure(watch, program, folder, url):
    """A full disk, on the page within SHOWN_WITHIN_S: the best of three runs at one address, for machines that are busy."""
    full = "document.body.innerText.includes('no space left on device')"
    for _ in range(3):
        with LiveRun(program, folder, url.removeprefix("http://").removesuffix("/")) as run:
            watch.until(RECEIVING + " && !/The run has (ended|failed)/.test(document.body.innerText)", "the page after another restart")
            run.tell("fail")
            taken_s = watch.until(full, "a run that fails")
            run.process.stdin.close()  # the program waits for nobody any more, and ends
            watch.says("The run has failed", "a run that has failed")
            run.process.wait(PATIENCE_S)
        if taken_s is None:
            return
        print(f"a full disk: shown after {taken_s:.2f} s")
        if taken_s <= SHOWN_WITHIN_S:
            return
    watch.complaints.append(f"a full disk: not shown within {SHOWN_WITHIN_S} s, three times")


LAYOUT = """about = "8 spectra of 16 channels of an antenna"
byte_order = "big"
header_bytes = 8
axes = [[16, "channel"], [8, "time"]]
sample = "ci8"
step = 8
rate_hz = 1000
[fields]
counter = { offset_bits = 0, bits = 48 }
antenna = { offset_bits = 48, bits = 16 }
"""
CORRELATOR = """[packets]
type = "packets"
listen = "udp://127.0.0.1:0"
layout = "boards.toml"
antennas = 2
channels = 16
polarisations = 1
rate_hz = 1000
centre_hz = 1.4e9
block_samples = 40
silence_s = -1
late_s = 0.1
[f]
type = "filter_bank"
inputs = "packets"
[x]
type = "correlator"
inputs = "f"
integration_s = 0.2
[visibilities]
type = "visibility_file"
inputs = "x"
path = "live-{utc}.uvh5"
"""
PACKETS_PER_S = 125
LOST_PACKETS = 12  # of an antenna at a time


class Boards(threading.Thread):
    """Two antennas' packets in real time, until it is closed; lose() leaves out some of the second antenna's, and while it is
    silent it sends none."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.address = ("127.0.0.1", port)
        self.lost = self.to_lose = 0
        self.lost_at_s = None  # when the first of the last loss should have gone
        self.over = self.silent = False

    def set_silent(self, silent):
        self.silent = silent

    def lose(self):
        self.lost_at_s = None
        self.to_lose = LOST_PACKETS

    def run(self):
        payload = random.Random(1).randbytes(16 * 8 * 2)
        begun = time.monotonic()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as to:
            number = 0
            while not self.over:
                time.sleep(max(0.0, begun + number / PACKETS_PER_S - time.monotonic()))
                for antenna in () if self.silent else (0, 1):
                    if antenna == 1 and self.to_lose > 0:
                        if self.lost_at_s is None:
                            self.lost_at_s = time.monotonic()
                        self.to_lose -= 1
                        self.lost += 1
                        continue
                    to.sendto(struct.pack(">Q", (8 * number) << 16 | antenna) + payload, self.address)
                number += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


class Command:
    """`run` of CORRELATOR with its monitor, once it listens."""

    def __init__(self, command, folder, monitor):
        self.log = pathlib.Path(folder, "log")
        with self.log.open("w") as log:
            words = [command, "--device", "cpu", "run", "correlator.toml", "--monitor", monitor]
            self.process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
        self.url = self.said(r"watched at (http://\S+)")
        self.port = int(self.said(r"listening at udp://127.0.0.1:(\d+)"))

    def said(self, pattern):
        until = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.log.read_text())) is None:
            if time.monotonic() > until or self.process.poll() is not None:
                raise RuntimeError(f"no {pattern} in {self.log.read_text()}")
            time.sleep(0.05)
        return found[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


MISSING = "Number((document.body.innerText.match(/packets: missing now (\\d+)/) || [0, 0])[1])"


def show_losses(watch, boards, what):
    """The counter of the page, soon after each of three losses; the best of them, since the machine may be busy."""
    taken_s = []
    for _ in range(3):
        watch.until("!document.body.innerText.includes('missing now')", f"{what}: quiet")
        boards.lose()
        if watch.until(f"{MISSING} > 0", what) is None:
            return
        taken_s.append(time.monotonic() - boards.lost_at_s)
        if watch.until(f"{MISSING} >= {boards.lost + boards.to_lose}", f"{what}: all of it") is None:
            return
    print(f"{what}: shown after " + ", ".join(f"{one:.2f} s" for one in taken_s))
    if min(taken_s) > SHOWN_WITHIN_S:
        watch.complaints.append(f"{what}: shown after {min(taken_s):.2f} s at best, expected {SHOWN_WITHIN_S} s")


def compare_top(watch, command, url, problem=None):
    """`top` shows the state, the nodes and the losses of the run that is watched, and a problem."""

    def told():
        with urllib.request.urlopen(url + "status.json") as answer:
            return json.load(answer)

    def counts(status):
        return [(loss["node"], loss["kind"], loss["count"]) for loss in status["losses"]]

    for _ in range(10):  # a busy machine may lose packets of its own between two looks
        status = told()
        top = subprocess.run([command, "top", url, "--once"], capture_output=True, text=True)
        if counts(told()) == counts(status):
            break
    expected = [f"correlator.toml: {status['state']}, ", *(f"\n{node['node']} " for node in status["nodes"])]
    expected += [f"\n{loss['node']}: {loss['kind']} {loss['count']}, last " for loss in status["losses"]]
    expected += [f"\n! {problem}"] if problem else []
    for text in expected:
        if text not in top.stdout:
            watch.complaints.append(f"top does not say {text!r}: status {top.returncode}: {top.stdout}{top.stderr}")
    if status["state"] != "running" or len(status["nodes"]) < 4 or not status["losses"]:
        watch.complaints.append(f"/status.json of a run that goes on: {status}")


def watch_packets(watch, command, folder):
    pathlib.Path(folder, "boards.toml").write_text(LAYOUT)
    pathlib.Path(folder, "correlator.toml").write_text(CORRELATOR)
    chromium = watch.chromium
    with Command(command, folder, "127.0.0.1:0") as run:
        url = run.url
        chromium.open(url)
        watch.says("packets: nothing received yet, for", "a source that nobody has sent to")
        watch.until("[...document.querySelectorAll('.tile.bad')].some((tile) => /Sources\\s*not receiving/.test(tile.innerText))",
                    "the tile of that source")
        with Boards(run.port) as boards:
            watch.until(RECEIVING, "packets are received")
            show_losses(watch, boards, "lost packets")
            compare_top(watch, command, url)
            watch.says_soon(lambda: boards.set_silent(True), lambda: boards.set_silent(False), "nothing received for",
                            "senders that are silent")
            watch.until("!" + RECEIVING, "packets are no longer received")
            compare_top(watch, command, url, "packets: nothing received for ")
            boards.set_silent(False)
            watch.until(RECEIVING, "packets are received again")
        for finding in chromium.complaints():
            watch.complaints.append(f"packets: {finding}")
    watch.says("No word from the run for", "a command that is killed")
    chromium.events.clear()  # from now on the browser says itself that nobody answers
    with Command(command, folder, url.removeprefix("http://").removesuffix("/")) as run, Boards(run.port) as boards:
        watch.until(RECEIVING + " && !document.body.innerText.includes('No word')", "the page after a command's restart")
        show_losses(watch, boards, "lost packets after a restart")
    for finding in chromium.complaints():
        if "ERR_CONNECTION_REFUSED" not in finding:
            watch.complaints.append(f"packets after a restart: {finding}")
    chromium.call("Page.navigate", url="about:blank")


def watch_file(watch, program, name, path, titles, early=None):
    """The figures of a run, and one that is there before its end."""
    finished = "(document.querySelector('.subtitle') && document.querySelector('.subtitle').textContent.startsWith('finished'))"

    def has(title):
        return f"[...document.querySelectorAll('#drawings h2')].some((one) => one.textContent === {title!r})"

    with LiveRun(program, path) as run:
        watch.chromium.open(run.url)
        if early:
            watch.until(f"{has(early)} || {finished}", f"{name}: {early} meanwhile")
            if watch.chromium.run(f"Boolean({finished})"):
                watch.complaints.append(f"{name}: {early} came at the end")
        watch.until(finished, f"the end of {name}")
        for title in titles:
            watch.until(has(title), f"{name}: {title}")
        watch.judge(name)


def pipelines(maker):
    """Pipelines of other kinds than visibilities, the figures that their pages have, and one that comes before the end:
    20 s of a filterbank, as if live, with a pulse after 2 s."""
    maker.candidates()
    maker.photons("many", 16, 4)
    folder = maker.folder
    (folder / "search.toml").write_text(
        '[filterbank]\ntype = "filterbank_files"\nfiles = ["pulses.fil"]\nrate = 1\n'
        '[pulses]\ntype = "search"\ninputs = "filterbank"\ndms.range = "0:300"\nmax_width_s = 0.03\nlatency_s = 2.5\n'
        '[candidates]\ntype = "candidate_file"\ninputs = "pulses"\npath = "found.csv"\n')
    (folder / "curves.toml").write_text(
        '[counts]\ntype = "count_file"\npath = "many.npy"\nbin_s = 2e-5\n'
        '[curves]\ntype = "autocorrelator"\ninputs = "counts"\nbins = 16\nlevels = 8\n'
        '[file]\ntype = "curve_file"\ninputs = "curves"\npath = "live.h5"\n')
    return {"search": ("search.toml", ("Filterbank", "Pulses"), "Pulses"), "curves": ("curves.toml", ("Curves",))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--live-run", required=True, type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, help="a folder for pictures of every view")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAUTLINE_TEST_SEED", random.randrange(1 << 31))))
    options = parser.parse_args()
    program = browser.find()
    if program is None:
        print(f"skipped: {browser.ABSENT}")
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
        watch_packets(watch, options.command.resolve(), folder)
        maker = pages_test.Maker(options.command.resolve(), pathlib.Path(folder), options.seed)
        for name, about in pipelines(maker).items():
            os.chdir(folder)
            watch_file(watch, live_run, name, *about)
        os.chdir("/")
    return pages_test.verdict(complaints)


if __name__ == "__main__":
    sys.exit(main())
