#!/usr/bin/env python3
"""The layer check finds every breach that it is there for: in a small tree with one breach after the other."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAYERS = ("core", "device", "jit", "engine", "stages/fold", "formats", "stream", "pipeline")
STAGE = ("fold.cpp", "fields.cpp", "reference.cpp", "case.h", "case_run.h", "tunables.h", "cpu/plan.cpp",
         "cpu/dispatch.cpp", "cpu/kernels.h", "gpu/plan.cpp", "gpu/dispatch.cpp", "gpu/kernels.h", "tune.h", "tune.cpp",
         "gpu/tuning.h", "gpu/tuning.cpp")
TREE = {
    "README.md": "[layers](docs/design/layers.md), `tautline/core`",
    "cmake/public_headers.txt": "tautline.h\nstages/fold/fold.h\n",
    "cmake/sample_loops.txt": "# A comment.\nstages/fold/\ncore/own.h\n",
    "cli/main.cpp": '#include "tautline/tautline.h"\n',
    "docs/design/layers.md": "",
    "docs/maths/fold.md": "",
    "tautline/pipeline/bench/stage_table.cpp": '{.name = "fold", .tune = tune_fold, },\n',
    "tautline/stages/fold/fold.h": "",
    "tautline/tautline.h": '#include "tautline/stages/fold/fold.h"\n',
    "tests/stages/fold/fold_test.cpp": '#include "tautline/stages/fold/fold.h"\n',
    "tests/stages/fold/gpu_compile_test.cpp": "",
    **{f"tautline/stages/fold/{part}": "" for part in STAGE},
    **{f"tautline/{layer}/own.h": "" for layer in LAYERS},
}


def including(*headers):
    return "".join(f"#include {header if header[0] == '<' else chr(34) + header + chr(34)}\n" for header in headers)


def table_of(heading):
    """The rows of the table of docs/design/layers.md under `heading`: first and second column."""
    page = (ROOT / "docs/design/layers.md").read_text(encoding="utf-8")
    lines = page[page.index(f"| {heading} |"):].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


class Checked(unittest.TestCase):
    """Runs the script in the small tree, with some files written or left out."""

    def complaints(self, files=None, without=()):
        with tempfile.TemporaryDirectory(prefix="tautline-layers-") as name:
            tree = pathlib.Path(name)
            for path, text in {**TREE, **(files or {})}.items():
                if path not in without:
                    (tree / path).parent.mkdir(parents=True, exist_ok=True)
                    (tree / path).write_text(text)
            (tree / "scripts").mkdir()
            shutil.copy(ROOT / "scripts/check_layers.py", tree / "scripts")
            done = subprocess.run([sys.executable, tree / "scripts/check_layers.py"], capture_output=True, text=True)
        lines = done.stderr.splitlines()
        self.assertEqual(done.returncode, 1 if lines else 0, done.stderr)
        self.assertEqual(done.stdout, "" if lines else "layers: no breach\n")
        return lines

    def one(self, text, files=None, without=()):
        lines = self.complaints(files, without)
        self.assertEqual(len(lines), 1, (text, lines))
        self.assertIn(text, lines[0])

    def exactly(self, files, wrong):
        """Complaints are about the files `wrong`, each once."""
        self.assertEqual(sorted(line.split(":")[0] for line in self.complaints(files)), sorted(wrong))


class Layers(Checked):
    def test_a_tree_without_a_breach(self):
        self.assertEqual(self.complaints(), [])

    def test_each_layer_includes_the_layers_that_the_page_names(self):
        allowed = {}
        for name, includes in table_of("layer"):
            layer = {"stages/X": "stages/fold", "pipeline/FOLDER": "pipeline"}.get(name, name)
            if layer in LAYERS:
                names = includes.split(";")[0].split(".")[0]
                allowed[layer] = set(allowed) if names == "all of the above" else set(names.split(", ")) & set(allowed)
        self.assertEqual(sorted(allowed), sorted(LAYERS))
        files, wrong = {}, []
        for layer in LAYERS:
            for target in LAYERS:
                path = f"tautline/{layer}/to_{target.replace('/', '_')}.h"
                files[path] = including(f"tautline/{target}/own.h")
                if target not in allowed[layer] | {layer}:
                    wrong.append(path)
        self.assertGreater(len(wrong), 30)
        self.exactly(files, wrong)

    def test_each_folder_includes_the_folders_that_the_page_names(self):
        allowed = {}
        for names, includes in table_of("folder"):
            for name in re.findall(r"`(\w+)`", names):
                allowed[name] = set(re.findall(r"`(\w+)`", includes))
        files = {f"tautline/pipeline/{folder}/own.h": "" for folder in allowed}
        wrong = []
        for folder in ["", *allowed]:
            for target in allowed:
                path = str(pathlib.Path("tautline/pipeline", folder, f"to_{target}.h"))
                files[path] = including(f"tautline/pipeline/{target}/own.h", "tautline/pipeline/own.h")
                if target not in allowed.get(folder, set()) | {folder}:
                    wrong.append(path)
        self.assertGreater(len(wrong), 50)
        self.exactly(files, wrong)
        self.one("attic is no folder of pipeline/",
                 {"tautline/pipeline/attic/a.h": including("tautline/pipeline/own.h")})

    def test_a_stage_includes_no_other_stage(self):
        other = {f"tautline/stages/comb/{part.replace('fold', 'comb')}": "" for part in STAGE}
        other |= {"tautline/stages/comb/comb.h": "", "docs/maths/comb.md": "",
                  "tests/stages/comb/gpu_compile_test.cpp": "",
                  "tautline/tautline.h": including("tautline/stages/fold/fold.h", "tautline/stages/comb/comb.h"),
                  "cmake/public_headers.txt": "tautline.h\nstages/fold/fold.h\nstages/comb/comb.h\n",
                  "tautline/pipeline/bench/stage_table.cpp": '{.name = "fold", .tune = tune_fold, },\n'
                                                             '{.name = "comb", .tune = tune_comb, },\n'}
        self.assertEqual(self.complaints(other), [])
        other["tautline/stages/comb/cpu/plan.cpp"] = including("tautline/stages/fold/fold.h")
        self.one("stage comb may not include another stage", other)
        other["tautline/stages/comb/cpu/plan.cpp"] = ""
        other["tautline/stages/comb/gpu/a.kernel"] = including("jit/b.kernel", "comb/gpu/c.kernel", "fold/gpu/d.kernel")
        self.one("a kernel includes kernel files of jit and of its own stage only: fold/gpu/d.kernel", other)

    def test_nothing_includes_its_caller(self):
        for layer, breach in (("engine", True), ("stream", True), ("pipeline/voltages", True), ("core", False)):
            run, gains, sums = (f"tautline/{layer}/{name}" for name in ("run", "gains", "sums"))
            files = {f"{run}.h": "", f"{run}.cpp": including(f"{run}.h", f"{gains}.h"), f"{gains}.h": "",
                     f"{gains}.cpp": including(f"{gains}.h", f"{sums}.h"), f"{sums}.h": ""}
            self.assertEqual(self.complaints(files), [])
            for header in (f"{gains}.cpp", f"{sums}.h"):  # a pair, and a circle of three
                wrong = [run, gains] if header.endswith("cpp") else [run, gains, sums]
                self.exactly(files | {header: files[header] + including(f"{run}.h")}, wrong if breach else [])

    def test_configs_have_headers_of_their_own(self):
        text = "const core::Fields<RunConfig>& fields(const RunConfig&);\n"
        for name, breach in (("run", True), ("run_config", False), ("run_node", False)):
            path = f"tautline/stream/{name}.h"
            self.exactly({path: text, "tautline/core/run.h": text}, [path] if breach else [])
        self.assertEqual(self.complaints({"tautline/stream/run.cpp": text}), [])

    def test_headers_exist(self):
        for path in ("tautline/core/a.cpp", "cli/a.cpp", "tests/core/a.cpp", "bench/a.cpp"):
            self.one("tautline/core/none.h, which does not exist", {path: including("tautline/core/none.h")})

    def test_libraries_stay_in_their_folders(self):
        places = {"<CL/cl.h>": ["device/opencl"], "<cuda.h>": ["device/cuda"], "<nvrtc.h>": ["device/cuda"],
                  "<hdf5.h>": ["formats"], "<vkFFT.h>": ["device/opencl"], "<H5public.h>": ["formats"],
                  "<casacore/ms/a.h>": ["formats/measurement_set"], "<fitsio.h>": ["formats"],
                  "<cairo.h>": ["formats/picture"], "<ft2build.h>": ["formats/picture"],
                  "<minizip/zip.h>": ["formats/curves"], "<zlib.h>": ["formats/curves"], "<tiffio.h>": ["formats/tiff"],
                  "<erfa.h>": ["formats"], "<toml++/toml.h>": ["formats/toml"], "<boost/asio.hpp>": ["stream"],
                  "<sys/socket.h>": ["stream"], "<netinet/in.h>": ["stream"], "<arpa/inet.h>": ["stream"],
                  "<netdb.h>": ["stream"], "<kissfft/kiss_fft.h>": ["device/cpu"], "<oneapi/tbb/a.h>": ["device"],
                  "<tbb/a.h>": ["device"],
                  "<hwy/highway.h>": ["stages/fold", "pipeline"], "<cminpack.h>": ["pipeline"],
                  "<nlohmann/json.hpp>": ["jit", "formats", "pipeline"], "<CLI/CLI.hpp>": [], "<spdlog/spdlog.h>": [],
                  "<nanobind/nanobind.h>": [], "<Python.h>": []}
        script = (ROOT / "scripts/check_layers.py").read_text(encoding="utf-8")
        listed = re.findall(r'^    "(\S+)": \(', script[script.index("THIRD_PARTY = {"):].split("\n}\n")[0], re.M)
        untried = {prefix for prefix in listed if not any(header[1:].startswith(prefix) for header in places)}
        self.assertEqual(untried, {"fmt/"})
        files, wrong = {}, []
        folders = [*LAYERS, "device/cpu", "device/cuda", "device/opencl", "formats/measurement_set", "formats/picture",
                   "formats/curves", "formats/tiff", "formats/toml"]
        for number, (header, allowed) in enumerate(places.items()):
            for folder in folders:
                path = f"tautline/{folder}/library{number}.cpp"
                files[path] = including(header, "<fmt/format.h>", "<vector>", "<sys/stat.h>", "<unistd.h>")
                if not any(folder == place or folder.startswith(place + "/") for place in allowed):
                    wrong.append(path)
        files |= {f"tests/{folder}/a_test.cpp": "" for folder in folders if folder.startswith("formats/")}
        self.exactly(files, wrong)
        self.one("includes <unknown/library.h>", {"tautline/formats/a.cpp": including("<unknown/library.h>")})

    def test_the_library_does_not_print_abort_or_exit(self):
        breaches = ("std::cout << 1", "std::cerr << 1", "std::clog << 1", "cout << 1", "std::printf(", "printf (",
                    "fprintf(stderr", "std::fprintf(stdout", "puts(", "std::fputs(", "perror(", "putchar(",
                    "fmt::print(", "std::print(", "abort()", "std::abort()", "exit(1)", "std::exit(1)", "_exit(1)",
                    "std::quick_exit(1)", "std::terminate()", "std::signal(2", "setlocale(")
        others = ("// exit(1)", "/* abort()\n */", 'f("exit(1)")', "on_exit(1)", "std::snprintf(a", "fmt::format(a",
                  "exits(1)")
        files = {f"tautline/core/{number}.cpp": text for number, text in enumerate(breaches + others)}
        self.exactly(files, list(files)[:len(breaches)])

    def test_texts_of_the_library_name_no_options(self):
        for text, breach in (('f("--memory")', True), ('f("raise --memory");', True), ("--count; // --memory", False),
                             ('f("raise `memory_bytes`")', False), ('f("a--b <!--x-->")', False)):
            self.exactly({"tautline/core/a.cpp": text}, ["tautline/core/a.cpp"] if breach else [])
        self.assertEqual(self.complaints({"cli/a.cpp": 'f("--memory")'}), [])


class PublicHeaders(Checked):
    def test_private_headers_stay_behind_them(self):
        for folder in ("cli", "examples", "python/src"):
            self.one("may include public headers only", {f"{folder}/a.cpp": including("tautline/core/own.h")})
        for folder in ("bench", "tests/core"):
            self.assertEqual(self.complaints({f"{folder}/a.cpp": including("tautline/core/own.h")}), [])
        self.one("may include public headers only", {"tautline/stages/fold/fold.h": including("tautline/core/own.h")})

    def test_the_list(self):
        listed = TREE["cmake/public_headers.txt"]
        self.one("lists tautline/core/none.h, which does not exist",
                 {"cmake/public_headers.txt": listed + "core/none.h\n"})
        unused = {"cmake/public_headers.txt": listed + "# A comment.\ncore/own.h\n"}
        self.one("lists tautline/core/own.h, which no example", unused)
        self.assertEqual(self.complaints(unused | {"examples/a.cpp": including("tautline/core/own.h")}), [])


class SampleLoops(Checked):
    def test_the_list(self):
        for name in ("stages/none/", "stages/fold/none.cpp"):
            self.one(f"sample_loops.txt: lists tautline/{name}, which does not exist",
                     {"cmake/sample_loops.txt": f"{name}\n"})

    def test_what_has_threads_is_listed(self):
        listed = TREE["cmake/sample_loops.txt"]
        for layer in ("formats", "stream", "pipeline"):
            for text in ("  queue.parallel_for(8, 1, work);\n", "  core::in_pieces(8, 2, work);\n"):
                files = {f"tautline/{layer}/own.cpp": text}
                self.one(f"{layer}/own.cpp: divides work among threads", files)
                for entry in (f"{layer}/own.cpp", f"{layer}/"):
                    self.assertEqual(self.complaints({**files, "cmake/sample_loops.txt": f"{listed}{entry}\n"}), [])
        self.one("pipeline/own.cpp: divides work among threads",
                 {"tautline/pipeline/own.cpp": '#include "hwy/highway.h"\n'})
        self.assertEqual(self.complaints({"tautline/formats/input_file.cpp": "core::in_pieces(8, 2, work);\n"}), [])
        self.one("is excepted from cmake/sample_loops.txt", {"tautline/formats/input_file.cpp": ""})


class Stages(Checked):
    def test_every_part_is_needed(self):
        for part in STAGE:
            if part != "tune.h":
                self.one(f"a stage needs {part}", without=[f"tautline/stages/fold/{part}"])
        for path in ("docs/maths/fold.md", "tests/stages/fold", "tests/stages/fold/gpu_compile_test.cpp"):
            self.one(f"a stage needs {path}", without=[one for one in TREE if one.startswith(path)])
        self.one("a stage needs an entry in", {"tautline/pipeline/bench/stage_table.cpp": ""})
        self.one("a stage needs .tune = tune_fold in",
                 {"tautline/pipeline/bench/stage_table.cpp": '{.name = "fold", },'})
        self.one("a stage needs its header in tautline/tautline.h",
                 {"tautline/tautline.h": "",
                  "cli/main.cpp": including("tautline/tautline.h", "tautline/stages/fold/fold.h")})
        headers = self.complaints(without=["tautline/stages/fold/fold.h"])
        self.assertTrue(any("a stage needs fold.h" in line for line in headers), headers)

    def test_each_member_of_a_config_is_described(self):
        stage = "tautline/stages/fold/"
        config = ("struct Config {\n  int depth = 1;  ///< or breadth\n  std::vector<core::Pair<int, 2>> rows = {};\n"
                  "  // Of all.\n  std::vector<Pair> pairs;\n  int sum() const { return depth; }\n  int all() const {\n"
                  "    return depth;\n  }\n};\nstruct State {\n  int held = 0;\n};\n")
        described = {stage + "fold.h": config, stage + "fields.cpp": "&Config::depth", stage + "fields.h": "&C::rows"}
        self.assertEqual(self.complaints(described), [])
        for member, without in (("depth", "fields.cpp"), ("rows", "fields.h")):
            self.one(f"Config::{member} has no description in fields.cpp",
                     described | {stage + without: f"// &Config::{member}"})

    def test_parts_of_tuned_stages_and_of_gpus_are_needed_there_only(self):
        gpu = [f"tautline/stages/fold/{part}" for part in STAGE if part.startswith("gpu/")]
        tuned = [f"tautline/stages/fold/{part}" for part in ("tune.h", "tune.cpp")]
        self.assertEqual(self.complaints(without=gpu + tuned), [])

    def test_each_tunable_of_a_gpu_has_values(self):
        stage = "tautline/stages/fold/"
        tunables = ("struct Tunables {\n  int grain = 1;\n  GpuTunables gpu = {};\n};\n"
                    "struct TileTunables {\n  /// Of inputs.\n  std::size_t rows = 0;\n};\nstruct GpuTunables {\n"
                    "  std::size_t slab_bytes = std::size_t{64} << 20;\n  TileTunables tile;\n  bool fetch = false;\n"
                    "  friend bool operator==(const GpuTunables&, const GpuTunables&) = default;\n};\n")
        listed = {stage + "tunables.h": tunables, stage + "gpu/tuning.cpp": "f(&G::tile, &T::rows, {1}); f(&G::fetch);"}
        self.assertEqual(self.complaints(listed), [])
        for member in ("rows", "fetch"):
            self.one(f"gpu/tuning.cpp: has no values of the tunable {member}",
                     listed | {stage + "gpu/tuning.cpp": listed[stage + "gpu/tuning.cpp"].replace(member, "other")})

    def test_compute_sanitizer_gets_every_kernel(self):
        kernels = {"tautline/stages/fold/gpu/add.kernel": "KERNEL(add)\n(GLOBAL u32* sums) {}\n",
                   "tautline/stages/fold/gpu/hopper/mul.cuda.kernel": "KERNEL_SIZED(mul, 128, 1)\n() {}\n",
                   "tautline/stages/fold/gpu/part.kernel": "// What a KERNEL() includes.\nDEVICE u32 part() {}\n"}
        cases = {"tests/kernels/every_a_test.cpp": "// fold/gpu/add.kernel, twice.\n",
                 "tests/kernels/every_b_test.cpp": "// fold/gpu/hopper/mul.cuda.kernel.\n"}
        self.assertEqual(self.complaints(kernels | cases), [])
        for name, kernel in zip(cases, ("add.kernel", "hopper/mul.cuda.kernel")):
            self.one(f"fold/gpu/{kernel}: needs a case in tests/kernels/every_*_test.cpp", kernels | cases | {name: ""})
        self.one("tests/kernels: names fold/gpu/add.kernel, which does not exist", cases | kernels,
                 without=["tautline/stages/fold/gpu/add.kernel"])

    def test_a_role_has_one_name(self):
        stage = "tautline/stages/fold/"
        for pair in (("backends.h", "backend.h"), ("cpu/base_state.h", "cpu/state_base.h"),
                     ("gpu/row-inl.h", "gpu/rows-inl.h")):
            self.one("has the role of", {stage + path: "" for path in pair})
        self.assertEqual(self.complaints({stage + "cpu/sum.h": "", stage + "gpu/sums.h": ""}), [])


class TestsAndDocuments(Checked):
    def test_folders_of_tests_mirror_the_layers(self):
        self.one("tests/formats/wav: tautline/formats/wav, which it mirrors, does not exist",
                 {"tests/formats/wav/a_test.cpp": "", "tests/formats/wav/b.h": ""})
        self.assertEqual(self.complaints({"tests/formats/a_test.cpp": "", "tests/end_to_end/wav/a_test.cpp": "",
                                          "tests/pipeline/bench/a_test.cpp": "", "tests/core/data/a.txt": ""}), [])

    def test_tests_lie_in_the_folder_of_what_they_test(self):
        self.one("tests/stages/fold/own_test.cpp: includes nothing of tautline/stages/fold/",
                 {"tests/stages/fold/own_test.cpp": including("tautline/core/own.h")})
        self.one("tests/pipeline/plot/figure_test.cpp: includes nothing of tautline/pipeline/plot/",
                 {"tautline/pipeline/plot/plot.h": "", "tautline/formats/figure/figure.h": "",
                  "tests/formats/figure/figure_test.cpp": including("tautline/formats/figure/figure.h"),
                  "tests/pipeline/plot/figure_test.cpp": including("tests/support/a.h"),
                  "tests/support/a.h": including("tests/support/b.h"),
                  "tests/support/b.h": including("tests/support/a.h", "tautline/formats/figure/figure.h")})
        self.assertEqual(self.complaints({
            "tests/stages/fold/by_support_test.cpp": including("tests/stages/fold/support.h"),
            "tests/stages/fold/support.h": including("tautline/stages/fold/cpu/kernels.h"),
            "tests/core/of_the_tests_test.cpp": including("tests/support/a.h"), "tests/support/a.h": "",
            "tautline/formats/wav/open.cpp": "",  # declared elsewhere
            "tests/formats/wav/wav_test.cpp": including("tautline/formats/own.h")}), [])

    def test_every_format_has_tests(self):
        format = {"tautline/formats/wav/wav.h": ""}
        self.one("tautline/formats/wav: a format needs tests: tests/formats/wav", format)
        self.one("a format needs tests", format | {"tests/formats/wav/bytes.h": ""})
        self.assertEqual(self.complaints(format | {"tests/formats/wav/wav_test.cpp": ""}), [])
        # Tests elsewhere are listed, and each entry is of a format without tests of its own.
        script = (ROOT / "scripts/check_layers.py").read_text(encoding="utf-8")
        listed = re.findall(r'^    "(\w+)": "(\S+)",', script[script.index("TESTED_BY = {"):].split("\n}\n")[0], re.M)
        self.assertGreater(len(listed), 3)
        for name, tests in listed:
            self.assertTrue((ROOT / "tautline/formats" / name).is_dir(), name)
            self.assertFalse((ROOT / "tests/formats" / name).exists(), name)
            mirrored = str(pathlib.Path(tests).parent).replace("tests/", "tautline/", 1)
            elsewhere = {f"tautline/formats/{name}/own.h": "", f"{mirrored}/own.h": ""}
            self.assertIn(f"tautline/formats/{name}: a format needs tests: {tests}", self.complaints(elsewhere))
            self.assertEqual(self.complaints(elsewhere | {tests: ""}), [])

    def test_pipelines_of_the_examples_are_named_by_tests(self):
        files = {"examples/pipelines/fold.toml": "", "tests/end_to_end/other_test.cpp": 'f("unfold.toml", "fold");'}
        self.one("examples/pipelines/fold.toml: a pipeline of the examples that no test names", files)
        for named in ("tests/end_to_end/a_test.cpp", "tests/pages/a_test.py"):
            self.assertEqual(self.complaints(files | {named: 'f("examples/pipelines/fold.toml");'}), [])

    def test_dead_links(self):
        for path in ("README.md", "CONTRIBUTING.md", "docs/a.md", "docs/guide/a.md"):
            names = ["`tautline/core/none.h`", "[a](none.md)", "`docs/none`", "`CHANGES.md`", "[a](../none/a.md#there)"]
            lines = self.complaints({path: " ".join(names)})
            self.assertEqual(len(lines), len(names), lines)
            alive = "`tautline/core/own.h` `tautline/core/` [a](https://example.org/none) [b](#c)"
            self.assertEqual(self.complaints({path: alive}), [])


if __name__ == "__main__":
    unittest.main()
