"""Code of C++ and TOML in the documentation is such: the compiler takes all C++, in one program, and tautline all TOML.

C++ is compiled behind the lines that a page leaves out (BEFORE). A pipeline is checked by `tautline run --check`; a part
of one inside an example whose nodes it names (PIPELINES); array and scene files make an observation; a layout is that of
a pipeline's packets.
"""

import argparse
import pathlib
import re
import shlex
import subprocess
import tempfile
import tomllib

# Page: for each piece of C++ what stands before it; what is behind "//" closes it.
BEFORE = {
    "design/buffer.md": [
        """#include "tautline/core/time.h"
#include "tautline/engine/node.h"
#include "tautline/pipeline/trigger.h"
namespace tautline::pipeline {
int count_of(const engine::Block& block);
class Bright final : public engine::Node {
  int limit_ = 0;
  core::Rational rate_hz_;
//};}"""
    ],
    "design/engine.md": [
        """#include "tautline/core/error.h"
#include "tautline/engine/node.h"
namespace tautline::engine {
using core::Error, core::ErrorKind;
//}""",
        """#include <functional>
#include "tautline/engine/run.h"
using namespace tautline;
std::unique_ptr<engine::Node> make_voltage_source(int), make_f_engine(int, int), make_x_engine(int, int), make_visibility_sink(int);
void graph_of(int config, int filter, int device, int integration, int output, std::size_t limit,
              std::size_t recorder, std::stop_token stop) {
  const decltype(engine::RunOptions::progress) show;
//}""",
    ],
    "guide/report.md": [
        """#include "tautline/pipeline/report/report_builder.h"
void report_of(const tautline::formats::VisibilityDescription& description,
               const std::vector<tautline::formats::Integration>& integrations) {
//}"""
    ],
}
# What a part of a pipeline is checked with, by the nodes that it needs and does not have.
PIPELINES = {"x": "packets-live", "receivers": "mwa32-live", "triggers": "search-and-dump"}
TRIGGERS = """
[unrounded]
type = "filter_bank"
inputs = "receivers"
requantise = "off"
[power]
type = "power"
inputs = "unrounded"
[pulses]
type = "search"
inputs = "power"
dms.range = "0:10"
max_width_s = 0.03
[triggers]
type = "candidate_triggers"
inputs = "pulses"
"""
SCENE = 'bandwidth_hz = 20e3\nstart = "2026-03-20-14:00:00"\n[[source]]\nra_deg = 170.0\ndec_deg = -20.0\nflux = 0.2\n'
FILTERBANK = "--nchans 60 --fch1 1500 --foff -1 --tsamp 1e-3 --duration 2"
PACKETS = '[packets]\ntype = "packets"\nlisten = "udp://127.0.0.1:7200"\nlayout = "{}"\nantennas = 2\nchannels = 128\ncentre_hz = 1.4e9\n'
REST = """[f]
type = "filter_bank"
inputs = "packets"
[x]
type = "correlator"
inputs = "f"
integration_s = 1.0
[visibilities]
type = "visibility_file"
inputs = "x"
path = "x.uvh5"
"""


def fences(text, language):
    """[(line, code)]"""
    found = re.finditer(rf"^( *)```{language}\n(.*?)^ *```", text, re.S | re.M)
    return [(text[: one.start()].count("\n") + 1, re.sub(f"^{one[1]}", "", one[2], flags=re.M)) for one in found]


def program_of(pages):
    """One program of all C++, whose lines have the names of their pages."""
    program = []
    for name, pieces in pages.items():
        assert len(pieces) == len(BEFORE.get(name, ())), f"{name}: {len(pieces)} pieces of C++, BEFORE has another number"
        for (line, code), before in zip(pieces, BEFORE[name]):
            before, _, after = before.rpartition("//")
            headers = [one for one in code.splitlines() if one.startswith("#include")]
            code = re.sub("^#include", "// #include", code, flags=re.M)
            program += [*headers, before, f'#line {line + 1} "docs/{name}"', code, after]
    return "\n".join(program) + "\n"


class Toml:
    def __init__(self, command, source, folder):
        self.command, self.source, self.folder = command.resolve(), source, folder

    def run(self, *arguments):
        done = subprocess.run([self.command, "--device", "cpu", *arguments], cwd=self.folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def check_pipeline(self, text):
        (self.folder / "pipeline.toml").write_text(text)
        return self.run("run", "--check", "pipeline.toml")

    def pipeline_of(self, part, code):
        """The code in a pipeline that has all nodes."""
        named = [part[node].get("inputs", []) for node in part if isinstance(part[node], dict)]
        needed = {one for inputs in named for one in ([inputs] if isinstance(inputs, str) else inputs)}
        needed |= {node for one in part.get("observation", ()) for node in one.get("set", {})}
        base = next((PIPELINES[one] for one in PIPELINES if one in needed - part.keys()), None)
        if base is None:
            return code
        text = (self.source / f"examples/pipelines/{base}.toml").read_text()
        for node in part:
            text = re.sub(rf"^\[{node}\]\n(?:(?!\[).*\n?)*", "", text, flags=re.M)
        if "triggers" in needed - tomllib.loads(text).keys():
            text += TRIGGERS
        return text + code

    def check(self, code):
        """(status, message) of what the code is taken for."""
        part = tomllib.loads(code)
        if "fields" in part:
            (self.folder / "layout.toml").write_text(code)
            return self.check_pipeline(PACKETS.format("layout.toml") + REST)
        if "antenna" in part or "bandwidth_hz" in part:
            array = "antenna" in part
            (self.folder / ("array" if array else "scene")).write_text(code)
            (self.folder / ("scene" if array else "array")).write_text(SCENE if array else self.array)
            files = ("--array", "array", "--scene", "scene", "--duration", "0.001", "-o", "x.dada")
            return self.run("simulate", "voltages", *files, "--overwrite")
        return self.check_pipeline(self.pipeline_of(part, code))

    array = "latitude_deg = -26.7\nlongitude_deg = 116.67\n" + "[[antenna]]\nenu_m = [0.0, 0.0, 0.0]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--compile", required=True, help="the compiler and its options")
    options = parser.parse_args()
    source = options.source.resolve()
    pages = {page.relative_to(source / "docs").as_posix(): page.read_text() for page in sorted((source / "docs").rglob("*.md"))}
    outside = [page for page in (*source.glob("*.md"), *(source / "examples").rglob("*.md"))]
    assert not [page for page in outside if re.search(r"^ *```(cpp|c\+\+|toml)", page.read_text(), re.M)], outside
    assert not [name for name, text in pages.items() if re.search(r"^ *(```(c\+\+|C\+\+)|~~~)", text, re.M)], "the names are cpp and toml"
    problems = []
    with tempfile.TemporaryDirectory(prefix="tautline-fences-") as name:
        folder = pathlib.Path(name)
        cpp = {name: pieces for name, text in pages.items() if (pieces := fences(text, "cpp"))}
        assert cpp.keys() == BEFORE.keys()
        (folder / "all.cpp").write_text(program_of(cpp))
        compiled = subprocess.run([*shlex.split(options.compile), "-fsyntax-only", "all.cpp"], cwd=folder, capture_output=True, text=True)
        if compiled.returncode != 0:
            problems.append(compiled.stderr)
        toml = Toml(options.command, source, folder)
        (folder / "array").write_text(toml.array)
        (folder / "scene").write_text(SCENE)
        for second, file in enumerate(("night.0.dada", "night.1.dada", "night.dada")):
            (folder / "scene").write_text(SCENE.replace("14:00:00", f"14:00:0{second}"))
            status, said = toml.run("simulate", "voltages", "--array", "array", "--scene", "scene", "--duration", "1", "-o", file)
            assert status == 0, said
        for file, channels in (("night.fil", "60"), ("sky.fil", "64")):  # packets have 16 channels
            words = FILTERBANK.replace("60", channels, 1).split()
            status, said = toml.run("simulate", "filterbank", *words, "-o", file, "--overwrite")
            assert status == 0, said
        checked = 0
        for name, text in pages.items():
            for line, code in fences(text, "toml"):
                status, said = toml.check(code)
                if status != 0:
                    problems.append(f"docs/{name}:{line}: {said}")
                spoilt = re.sub(r"^(\w+ = )", r"no_such_field = 1\n\1", code, count=1, flags=re.M)
                status, said = toml.check(spoilt)
                if status == 0 or "no_such_field" not in said:
                    problems.append(f"docs/{name}:{line}: is not checked: with another field status {status}: {said}")
                if title := re.match(r"# (\w+\.toml)\n", code):  # later pieces name it
                    (folder / title[1]).write_text(code)
                checked += 1
    for problem in problems:
        print(problem)
    if problems:
        raise SystemExit(f"{len(problems)} problems")
    print(f"{sum(len(pieces) for pieces in cpp.values())} pieces of C++, {checked} of TOML")


main()
