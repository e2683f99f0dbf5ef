"""The commands that pages for users show run as they stand, each in a folder that has the files that it names.

Every line of code that starts the command is run by a shell. Files that a page takes as given are small ones of the
same kind (FILES); programs beside the command are stand-ins (PROGRAMS). A line that runs otherwise, or does not run,
is in CHANGED, NOT_RUN or ELSEWHERE with the reason. Lines that listen (LISTENING) run beside the line that sends.
"""

import argparse
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

# Pages of docs/ whose commands run in another test, with what they say of the results.
ELSEWHERE = {
    "guide/interferometry.md": "tests/end_to_end/guide_test.cpp",
    "guide/pulses.md": "tests/end_to_end/guide_test.cpp",
    "guide/photons.md": "tests/end_to_end/guide_test.cpp",
}
COMPARED = "tests/pipeline/photons/compare_curves_test.cpp"
NOT_RUN = {
    "tautline --device cuda:0 bench": "takes minutes of a GPU: tests/end_to_end/devices_bench_test.cpp",
    "tautline bench ": "takes minutes: tests/end_to_end/devices_bench_test.cpp",
    "tautline --device cuda:0 tune": "takes minutes of a GPU: tests/end_to_end/tune_test.cpp",
    "tautline top": "needs a run beside it: tests/end_to_end/monitor_command_test.cpp",
    "tautline compare g.csv correlator.SIN": f"needs another correlator's curves: {COMPARED}",
    "tautline compare curves.h5 alv.ASC": f"needs another correlator's curves: {COMPARED}",
}
# Page, its words, and what runs in their place: what takes less time, free ports, files that are there already.
CHANGED = [
    ("guide/simulate.md", "--shape 16x16 --duration 10 ", "--shape 16x16 --duration 0.01 "),
    ("guide/simulate.md", "--sensors 2 --duration 10 ", "--sensors 2 --duration 1 "),
    ("guide/search.md", "--tsamp 256e-6 ", "--tsamp 1e-3 "),
    ("guide/autocorrelate.md", "--duration 600 ", "--duration 0.5 "),
    ("guide/autocorrelate.md", "--start 600 ", "--start 0.5 "),
    ("guide/plot.md", "--start 120 ", "--start 2 "),
    ("guide/formats.md", "correlate night.dada ", "correlate coarse.dada "),
    ("guide/run.md", "--as-live$", "--as-live 20"),
    ("guide/live.md", "--duration 4 ", "--duration 1.2 "),
    ("guide/live.md", "udp://127.0.0.1:7148", "udp://127.0.0.1:7148 --rate 5"),
    ("guide/live.md", "udp://127.0.0.1:7150", "udp://127.0.0.1:7150 --rate 8"),
    ("maths/fit.md", "--duration 4 ", "--duration 0.5 "),
    ("guide/monitor.md", " 0.0.0.0:8470", " 127.0.0.1:0 --overwrite"),
    ("guide/monitor.md", "night.toml --monitor$", "night.toml --monitor 127.0.0.1:0"),
    ("README.md", "night.toml --monitor ", "night.toml --monitor 127.0.0.1:0 "),
]
# Pipelines that wait for the sender of a later line: a free port, and how long they wait after the sender has gone.
LISTENING = {
    "mwa32-live.toml": "receivers.listen=tcp://127.0.0.1:0 --set receivers.wait_s=2 --set receivers.late_s=30",
    "packets-live.toml": "packets.listen=udp://127.0.0.1:0 --set packets.silence_s=2",
    "power.toml": "filterbank.path=udp://127.0.0.1:0 --set filterbank.silence_s=2",
    "photons.toml": "counts.path=udp://127.0.0.1:0 --set counts.silence_s=2",
}

ARRAY = "latitude_deg = -26.7\nlongitude_deg = 116.67\naltitude_m = 377.0\n" + "".join(
    f'\n[[antenna]]\nname = "A{k}"\nenu_m = [{37 * k % 150}.0, {53 * k % 170}.0, 0.0]\n' for k in range(8)
)
SCENE = """bandwidth_hz = 20e3
start = "2026-03-20-14:00:00"
[[source]]
ra_deg = 170.0
dec_deg = -20.0
flux = 0.2
"""
MASK = struct.pack("<6d14i", 10, 4, 60000, 1, 1441, 1, 60, 8, 1000, 1, 7, 0, *[0] * 8)
# What a page takes as given: the file's bytes, or the command that makes it, in this order.
VOLTAGES = "tautline simulate voltages --overwrite --array array.toml --scene scene.toml"
MWA = ("array.toml", "examples/demo/array.toml")  # of 64 inputs, which are four receivers'
FILTERBANK = "tautline simulate filterbank --overwrite --nchans 60 --fch1 1500 --foff -1 --tsamp 1e-3"
FINE = FILTERBANK.replace("1e-3", "256e-6")
PULSE = "--pulse dm=80,time=3,width=0.01,snr=60"
PHOTONS = "tautline simulate photons --overwrite --model diffusion:n=0.5,tau=1ms,rate=1e5 --seed 4"
FILES = {
    "array.toml": ARRAY.encode(),
    "scene.toml": SCENE.encode(),
    "night.dada": f"{VOLTAGES} --duration 8 -o night.dada",
    "coarse.dada": "tautline channelize night.dada -o coarse.dada --channels 16 --requantize 8",
    "night.uvh5": "tautline correlate night.dada -o night.uvh5 --array array.toml --channels 64",
    "rec.0": f"{VOLTAGES.replace(*MWA)} --duration 1 --format mwa32t -o rec",
    **{f"rec.{k}": f"test -e rec.{k}" for k in (1, 2, 3)},
    "obs.fil": f"{FINE} --pulse dm=80,time=38,width=0.01,snr=60 --duration 40 --seed 3 -o obs.fil",
    "obs.fil.zst": "cp obs.fil obs.fil.zst",
    "night.fil": f"{FILTERBANK} {PULSE} --duration 8 --seed 3 -o night.fil",
    "sky.fil": f"{FILTERBANK.replace('60', '64', 1)} {PULSE} --duration 8 --seed 3 -o sky.fil",
    "beam1.fil": f"{FILTERBANK} {PULSE} --duration 8 --seed 4 -o beam1.fil",
    "beam2.fil": f"{FILTERBANK} {PULSE} --duration 8 --seed 5 -o beam2.fil",
    "series.npy": "tautline dedisperse obs.fil -o series.npy --dms 0:100:5",
    "series.npy.json": "test -e series.npy.json",
    "series": "tautline dedisperse obs.fil -o series --dms 0:100:5",
    "GBT_J1807-0847.dat": "tautline dedisperse obs.fil -o GBT_J1807-0847.dat --dms 80",
    "GBT_J1807-0847.inf": "test -e GBT_J1807-0847.inf",
    "night_rfifind.mask": MASK,
    "counts.npy": f"{PHOTONS} --shape 32x32 --duration 0.1 --bin 1e-4 -o counts.npy",
    "night.npy": f"{PHOTONS} --sensors 1 --duration 1 --bin 1e-5 -o night.npy",
    "cell.ptu": f"{PHOTONS} --sensors 2 --duration 2 -o cell.ptu",
    "G.h5": "tautline autocorrelate counts.npy -o G.h5 --bin 1e-4",
    "fit.csv": "tautline fit G.h5 -o fit.csv --model 3d || test $? = 3",
    "correlate.toml": "cp examples/pipelines/correlate.toml correlate.toml",
    "autocorrelate.toml": "cp examples/pipelines/autocorrelate.toml autocorrelate.toml",
    "night.toml": "sed 's/^path =/each_s = 2\\npath =/' examples/pipelines/correlate.toml > night.toml",
}
# Programs beside the command. mkfifo has a writer for the pipe that it makes.
PROGRAMS = {
    "camera": "tail -c +129 counts.npy",
    "nc": "cat night.dada",
    "zstdcat": 'cat "$1"',
    "mkfifo": """rm -f "$1"
/usr/bin/mkfifo "$1"
case $1 in
  tags) from=cell.ptu ;;
  voltages) from=night.dada ;;
  *) from=obs.fil ;;
esac
(cat $from > "$1") > /dev/null 2>&1 &""",
}


def commands_of(text):
    """Lines of code that start the command, with the lines that go on behind a backslash."""
    fence, lines = None, iter(text.splitlines())
    for line in lines:
        if line.startswith("```"):
            fence = line[3:].strip() if fence is None else None
            continue
        code = line if fence in ("", "sh") else line[4:] if fence is None and line.startswith("    ") else ""
        if re.match(r"(tautline|mkfifo) |\S.*(\||&&) tautline ", code):
            while code.endswith("\\"):
                code = code[:-1] + next(lines).strip()
            yield code


def toml_files_of(text):
    """Names and texts of TOML that a page shows with its file's name in the first line."""
    return re.findall(r"^```toml\n# (\w+\.toml)\n(.*?)^```$", text, re.M | re.S)


class Runner:
    """Runs lines of shell with the command and the stand-ins. `problems` has what went wrong."""

    def __init__(self, options, scratch):
        self.bin, self.problems, self.groups = scratch / "bin", [], []
        self.listener, self.listened = None, {}  # the run that waits for a sender; lines that did, by their protocol
        self.bin.mkdir()
        for name, text in {"tautline": f'exec "{options.command.resolve()}" "$@"', **PROGRAMS}.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.bin / name).chmod(0o755)

    def start(self, line, folder, out=subprocess.PIPE):
        path = {"PATH": f"{self.bin}:{os.environ['PATH']}"}
        shell = subprocess.Popen(["sh", "-c", line], cwd=folder, env={**os.environ, **path}, start_new_session=True,
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, text=True)
        self.groups.append(shell.pid)
        return shell

    def run(self, line, folder):
        shell = self.start(line, folder)
        try:
            said = shell.communicate(timeout=300)[0]
        except subprocess.TimeoutExpired:
            self.stop()
            return "went on for more than 300 s", -1
        return said, shell.returncode

    def stop(self):
        """Ends the writers of pipes that nobody read to their ends."""
        for group in self.groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.groups.clear()

    def listen(self, line, folder):
        """Starts a line that waits for a sender."""
        words = next(words for pipeline, words in LISTENING.items() if pipeline in line)
        self.listened[re.search(r"(\w+)://", words)[1]] = line
        with (folder / "listener.log").open("w+") as log:
            shell = self.start(f"{line} --overwrite --set {words}", folder, log)
        self.listener = (shell, line, folder / "listener.log")

    def send(self, line, page, folder):
        """Runs a line that sends to the run of an earlier line, and waits for both."""
        if self.listener is None:
            before = self.listened.get(re.search(r"--to (\w+)://", line)[1])
            if before is None:
                self.problems.append(f"{page}: {line}: no line before it listens")
                return
            self.listen(before, folder)
        shell, listening, log = self.listener
        self.listener = None
        until = time.monotonic() + 60
        while not (address := re.search(r"listening at (\S+) ", log.read_text())):
            if shell.poll() is not None or time.monotonic() > until:
                self.problems.append(f"{page}: {listening}: {log.read_text()}")
                return
            time.sleep(0.01)
        self.expect(re.sub(r"(?<=--to )\S+", address[1], line), page, folder)
        try:
            status = shell.wait(timeout=120)
        except subprocess.TimeoutExpired:
            status = "none: it goes on"
        # Records that are lost on purpose are told by the status.
        if status != (3 if "--impair" in line else 0):
            self.problems.append(f"{page}: {listening}: status {status}: {log.read_text()}")

    def expect(self, line, page, folder):
        code = line.split(" #")[0]
        names = re.findall(r"(?:-o |(?<!counts)(?<!filterbank)\.path=)(\S+)", code)
        if code.startswith("tautline plot ") and not names:
            names = [code.split()[2] + ".html"]
        outputs = [folder / name for name in names]
        for path in [*outputs, *(path.with_name(path.name + ".json") for path in outputs)]:
            if path.is_symlink() or path.is_file():  # an input, or an earlier line's output
                path.unlink()
            elif path.is_dir():
                shutil.rmtree(path)
        said, status = self.run(line, folder)
        # Curves of little data make doubtful fits.
        if status != 0 and not (status == 3 and line.startswith("tautline fit ")):
            self.problems.append(f"{page}: {line}: status {status}: {said}")
        else:
            for path in outputs:  # of files in parts, or of several receivers, the first one
                first = (path.with_stem(path.stem + "-0001"), path.with_name(path.name + ".0"))
                if not path.exists() and not any(one.exists() for one in first):
                    self.problems.append(f"{page}: {line}: no {path.name}: {said}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("pages", nargs="*", help="of these pages alone")
    options = parser.parse_args()
    source = options.source.resolve()
    folders = [source / "docs" / name for name in ("guide", "start", "coming-from", "maths")]
    pages = [source / "README.md", source / "docs/index.md"]
    pages += [page for folder in folders for page in sorted(folder.glob("*.md"))]
    unused = {*ELSEWHERE, *NOT_RUN, *CHANGED}
    lines = 0
    with tempfile.TemporaryDirectory(prefix="tautline-guides-") as name:
        scratch = pathlib.Path(name)
        runner = Runner(options, scratch)
        given = scratch / "given"
        links = {"examples": source / "examples", "tart": source.parent / "shared/data/tart"}
        given.mkdir()
        (given / "examples").symlink_to(links["examples"])
        for file, content in FILES.items():
            if isinstance(content, bytes):
                (given / file).write_bytes(content)
            else:
                said, status = runner.run(content, given)
                assert status == 0 and (given / file).exists(), (content, said)
        for page in pages:
            short = str(page.relative_to(source if page.parent == source else source / "docs"))
            text = page.read_text(encoding="utf-8")
            commands = list(commands_of(text))
            if not commands or options.pages and short not in options.pages:
                continue
            if short in ELSEWHERE:
                unused.discard(short)
                assert (source / ELSEWHERE[short]).exists(), ELSEWHERE[short]
                continue
            folder = scratch / short.replace("/", "-")
            folder.mkdir()
            for link, target in {**links, **{file: given / file for file in FILES}}.items():
                # night.uvh5 is also what correlate.toml writes.
                if target.exists() and (link != "night.uvh5" or any(link in line for line in commands)):
                    (folder / link).symlink_to(target)
            for file, toml in toml_files_of(text):
                (folder / file).unlink(missing_ok=True)
                (folder / file).write_text(toml)
            for line in commands:
                lines += 1
                for change in CHANGED:
                    if change[0] == short and change[1] in line + "$":
                        line = (line + "$").replace(*change[1:]).removesuffix("$")
                        unused.discard(change)
                reason = next((one for one in NOT_RUN if line.startswith(one)), None)
                unused.discard(reason)
                if reason:
                    print(f"not run: {short}: {line}: {NOT_RUN[reason]}")
                elif "tart/" in line and not (folder / "tart").exists():
                    print(f"not run: {short}: {line}: the snapshots are not in {links['tart']}")
                elif any(pipeline in line for pipeline in LISTENING):
                    runner.listen(line, folder)
                elif re.match(r"tautline send .*--to \w+://", line):
                    runner.send(line, short, folder)
                else:
                    runner.expect(line, short, folder)
            assert runner.listener is None, f"{short}: no line sends to {runner.listener[1]}"
            runner.stop()
    for problem in runner.problems:
        print(problem)
    assert not runner.problems, f"{len(runner.problems)} of {lines} lines"
    assert options.pages or not unused, f"on no page: {unused}"
    print(f"{lines} lines of code start the command")


main()
