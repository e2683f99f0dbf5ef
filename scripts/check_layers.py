#!/usr/bin/env python3
"""Holds the tree to its design (docs/design/layers.md). Prints every breach; exit status 1 if there is one.

- a layer, and a folder of pipeline/, includes only what it may;
- in engine, stream and pipeline no file includes its caller, and a Config has a header of its own, or its node's;
- the command, examples, the Python module and public headers include public headers only, those that
  cmake/public_headers.txt lists, and each of these is needed by one of them;
- a library's headers only where the table below has them: CUDA, NVRTC and OpenCL in device/cuda and device/opencl,
  sockets in stream/;
- no printing, abort or exit under tautline/, and no option of the command in its texts;
- every stage has a header that tautline.h includes, a description of each field, a reference, a case file and its
  harness, tunables, a CPU backend, a maths page, tests and an entry in the table that `bench` and `tune` are made from;
  a role has the same file name in every stage;
- every tunable of a GPU has its values in gpu/tuning.cpp, and the tests for compute-sanitizer name every GPU kernel;
- every folder of tests that is named as a layer mirrors that layer's folders, and its tests include what lies there;
  every format has tests, and a test names every pipeline of examples/pipelines;
- a file of formats, stream or pipeline that divides its work among threads is listed in cmake/sample_loops.txt, and so
  compiled at the full level of optimisation, or has a reason in the table below why not;
- every path that README, docs and cmake/sample_loops.txt name exists.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Layer -> the tautline layers it may include.
ALLOWED = {
    "core": {"core"},
    "device": {"core", "device"},
    "jit": {"core", "device", "jit"},
    "engine": {"core", "device", "engine"},
    "stages": {"core", "device", "jit", "stages"},
    "formats": {"core", "formats"},
    "stream": {"core", "formats", "engine", "stream"},
    "pipeline": {"core", "device", "jit", "stages", "formats", "engine", "stream", "pipeline"},
}
# Folder of pipeline/ -> the other folders it may include. Files of pipeline/ itself serve all folders and include none.
FOLDERS = {
    "": set(),
    "report": set(),
    "voltages": {"report"},
    "search": {"report"},
    "photons": {"report"},
    "simulation": {"voltages", "search", "photons", "report"},
    "bench": {"voltages", "search", "photons", "report", "simulation"},
    "plot": {"voltages", "search", "photons", "report"},
    "graph_file": {"voltages", "search", "photons", "simulation"},
    "monitor": {"voltages", "search", "photons", "report", "plot", "graph_file"},
}
# Third-party header prefix -> folders (relative to tautline/) that may include it.
THIRD_PARTY = {
    "oneapi/tbb": ("device",),
    "tbb/": ("device",),
    "hwy/": ("stages", "pipeline"),
    "kissfft/": ("device/cpu",),
    "hdf5": ("formats",),
    "H5": ("formats",),
    "casacore/": ("formats/measurement_set",),
    "fitsio": ("formats",),
    "cairo": ("formats/picture",),
    "ft2build": ("formats/picture",),
    "minizip/": ("formats/curves",),
    "tiff": ("formats/tiff",),
    "zlib": ("formats/curves",),
    "erfa": ("formats",),
    "nlohmann/": ("jit", "formats", "pipeline"),
    "fmt/": ("",),
    "cminpack": ("pipeline",),
    "toml++": ("formats/toml",),
    "boost/": ("stream",),
    "sys/socket.h": ("stream",),
    "netinet/": ("stream",),
    "arpa/": ("stream",),
    "netdb.h": ("stream",),
    "cuda": ("device/cuda",),
    "nvrtc": ("device/cuda",),
    "CL/": ("device/opencl",),
    "vkFFT": ("device/opencl",),
    "CLI/": (),
    "spdlog/": (),
    "nanobind/": (),
    "Python.h": (),
}
# The compiler's, the C++ standard library's and POSIX's headers.
SYSTEM = re.compile(
    r"[a-z_]+|(?:sys/\w+|unistd|fcntl|poll|dlfcn|sched|pthread|spawn|signal|time|cpuid|[ei]mmintrin)\.h"
)
BANNED = re.compile(
    r"\b(?:cout|cerr|clog|printf|fprintf|(?:fmt|std)::print|puts|fputs|putchar|perror"
    r"|abort|exit|_exit|quick_exit|terminate|std::signal|setlocale)\s*[(<]"
)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
CONFIG_FIELDS = re.compile(r"\bFields<(\w*Config)>& fields\(")
STAGE_TABLE = ROOT / "tautline" / "pipeline" / "bench" / "stage_table.cpp"
PUBLIC_LIST = ROOT / "cmake" / "public_headers.txt"
PUBLIC = {f"tautline/{line}" for line in PUBLIC_LIST.read_text().splitlines() if line and not line.startswith("#")}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
LOOPS_LIST = ROOT / "cmake" / "sample_loops.txt"
# Files that divide work among threads, or have vector code, without a loop over samples of their own.
THREADED = re.compile(r'\b(?:parallel_for|in_pieces)\s*\(|#include "hwy/')
NO_SAMPLE_LOOP = {
    "formats/curves/write_zip.cpp": "makes text",
    "formats/input_file.cpp": "reads by system calls",
    "pipeline/bench/measure_whole_run.cpp": "writes by system calls",
    "pipeline/photons/fit_curves.cpp": "calls the fit of each curve",
    "pipeline/search/search_drawing.cpp": "calls what makes each cut-out",
    "pipeline/simulation/simulate_photons.cpp": "calls the source of each sensor",
    "pipeline/voltages/voltage_source_node.cpp": "calls the reader and the search for empty stretches",
}
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
# The files of a stage, of each of its backends' folders, and of a stage that is tuned.
STAGE_PARTS = ("{}.h", "{}.cpp", "fields.cpp", "reference.cpp", "case.h", "case_run.h", "tunables.h")
BACKEND_PARTS = ("{}/plan.cpp", "{}/dispatch.cpp", "{}/kernels.h")
TUNED_PARTS = ("tune.cpp", "gpu/tuning.h", "gpu/tuning.cpp")
# Members of a stage's Config, and those that only code fills and no field describes.
CONFIG = re.compile(r"^struct Config \{\n(.*?)^\};", re.M | re.S)
MEMBER = re.compile(r"^  [\w:]+(?:<[\w:<>, ]+>)? (\w+)(?: = [^;]+)?;", re.M)
UNDESCRIBED = {"layout", "lengths", "pairs"}
# Tunables of a GPU, and those that no tuner tries: they trade memory, not time.
GPU_TUNABLES = re.compile(r"^struct \w+Tunables \{\n(.*?)^\};", re.M | re.S)
UNTUNED = {"slab_bytes", "work_bytes"}
KERNEL = re.compile(r"^KERNEL(?:_SIZED)?\(", re.M)
KERNEL_NAME = re.compile(r"\b\w+/gpu/[\w/.]+\.kernel\b")
# Folders of formats/ without a folder of tests -> the tests that cover them.
TESTED_BY = {
    "cutout_hdf5": "tests/end_to_end/search/cutouts_test.cpp",
    "modules": "tests/end_to_end/modules_test.cpp",
    "pt3": "tests/formats/ptu/ptu_test.cpp",
    "toml": "tests/pipeline/graph_file/graph_file_test.cpp",
}
# An option of the command in a text, and files whose texts have options of compilers and properties of styles.
OPTION = re.compile(r"(?<![\w!-])--[a-z]")
OTHERS_OPTIONS = ("device/cuda/cuda_compile.cpp", "jit/tuning_page.cpp")

problems = []


def complain(path, message):
    problems.append(f"{path.relative_to(ROOT)}: {message}")


def check_source(path):
    relative = path.relative_to(ROOT / "tautline")
    layer = relative.parts[0]
    if layer == "tautline.h":
        return
    text = path.read_text(encoding="utf-8")
    for _, header in INCLUDE.findall(text):
        if path.suffix == ".kernel":
            if header.split("/")[0] not in ("jit", relative.parts[1] if layer == "stages" else "jit"):
                complain(path, f"a kernel includes kernel files of jit and of its own stage only: {header}")
            continue
        if header.startswith("tautline/"):
            target = header.split("/")
            if target[1] not in ALLOWED[layer]:
                complain(path, f"layer {layer} may not include {header}")
            if layer == "stages" and target[1] == "stages" and target[2] != relative.parts[1]:
                complain(path, f"stage {relative.parts[1]} may not include another stage: {header}")
            if layer == "pipeline" and target[1] == "pipeline":
                check_folder(path, folder_of(relative.parts), folder_of(target[1:]), header)
            if not (ROOT / header).exists():
                complain(path, f"includes {header}, which does not exist")
            continue
        folders = next((folders for prefix, folders in THIRD_PARTY.items() if header.startswith(prefix)), None)
        if folders is None and not SYSTEM.fullmatch(header):
            complain(path, f"includes <{header}>, a library that scripts/check_layers.py does not list")
        if folders is not None and not any(str(relative).startswith(f) for f in folders):
            complain(path, f"may not include <{header}>")
    if path.suffix != ".kernel" and str(relative) not in OTHERS_OPTIONS:
        check_texts(path, text)
    own_header = path.stem.endswith(("_config", "_node"))
    for config in CONFIG_FIELDS.findall(text) if layer in ("stream", "pipeline") and path.suffix == ".h" else ():
        if not own_header:
            complain(path, f"{config} needs a *_config.h of its own, without what runs it")
    code = STRING.sub('""', COMMENT.sub("", text))
    for match in BANNED.finditer(code):
        complain(path, f"the library never prints, aborts or exits: {match.group(0)}")


def folder_of(parts):
    return parts[1] if len(parts) > 2 else ""


def check_folder(path, folder, target, header):
    if folder not in FOLDERS:
        complain(path, f"{folder} is no folder of pipeline/")
    elif target not in FOLDERS[folder] | {folder, ""}:
        complain(path, f"folder {folder or 'pipeline/'} may not include {header}")


def check_texts(path, text):
    for string in STRING.findall(COMMENT.sub("", text)):
        if OPTION.search(string):
            complain(path, f"the library names fields, not options of the command: {string}")


def check_exist(path, text):
    for _, header in INCLUDE.findall(text):
        if header.startswith("tautline/") and not (ROOT / header).exists():
            complain(path, f"includes {header}, which does not exist")


def check_public_only(path, text):
    for _, header in INCLUDE.findall(text):
        if header.startswith("tautline/") and (ROOT / header).exists() and header not in PUBLIC:
            complain(path, f"may include public headers only: {header} is not in cmake/public_headers.txt")


def check_public_headers():
    """Public headers exist, can be used where only they are installed, and each has a user."""
    used = {"tautline/tautline.h"}
    for name in sorted(PUBLIC):
        path = ROOT / name
        if not path.exists():
            complain(PUBLIC_LIST, f"lists {name}, which does not exist")
            used.add(name)
            continue
        text = path.read_text(encoding="utf-8")
        check_public_only(path, text)
        used.update(header for _, header in INCLUDE.findall(text))
    for folder in ("cli", "examples", "python/src"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".h", ".cpp"):
                used.update(header for _, header in INCLUDE.findall(path.read_text(encoding="utf-8")))
    for name in sorted(PUBLIC - used):
        complain(PUBLIC_LIST, f"lists {name}, which no example, command, Python module or public header includes")


def check_user(folder, path, text):
    """The command, examples and the Python module use public headers only; tests and benchmarks may use others."""
    check_exist(path, text)
    if folder in ("cli", "examples", "python/src"):
        check_public_only(path, text)


def check_callers():
    """Files with their headers do not include each other in a circle: what a caller and a callee share has a header."""
    includes = {}
    for layer in ("engine", "stream", "pipeline"):
        for path in (ROOT / "tautline" / layer).rglob("*"):
            if path.suffix in (".h", ".cpp"):
                unit = str(path.relative_to(ROOT).with_suffix(""))
                headers = {header.removesuffix(".h") for _, header in INCLUDE.findall(path.read_text(encoding="utf-8"))}
                includes.setdefault(unit, set()).update(headers - {unit})
    count = 0
    while len(includes) != count:  # leaves out what includes nothing that is left, or is not included
        count = len(includes)
        included = set().union(*includes.values())
        includes = {
            unit: left for unit, headers in includes.items() if unit in included and (left := headers & set(includes))
        }
    for unit in sorted(includes):
        complain(ROOT / unit, f"is in a circle of includes with {', '.join(sorted(includes[unit]))}")


def check_stage(folder):
    name = folder.name
    backends = ["cpu", "gpu"] if (folder / "gpu").exists() else ["cpu"]
    parts = [part.format(name) for part in STAGE_PARTS]
    parts += [part.format(backend) for backend in backends for part in BACKEND_PARTS]
    if (folder / "tune.h").exists():
        parts.extend(TUNED_PARTS)
    needed = [part for part in parts if not (folder / part).exists()]
    needed += [part for part in (f"docs/maths/{name}.md", f"tests/stages/{name}") if not (ROOT / part).exists()]
    if f'#include "tautline/stages/{name}/{name}.h"' not in (ROOT / "tautline/tautline.h").read_text(encoding="utf-8"):
        needed.append("its header in tautline/tautline.h")
    table = STAGE_TABLE.read_text(encoding="utf-8")
    if f'{{.name = "{name}",' not in table:
        needed.append(f"an entry in {STAGE_TABLE.relative_to(ROOT)}")
    elif (folder / "tune.h").exists() and f".tune = tune_{name}," not in table:
        needed.append(f".tune = tune_{name} in {STAGE_TABLE.relative_to(ROOT)}")
    tests = ROOT / "tests/stages" / name
    if "gpu" in backends and tests.exists() and not (tests / "gpu_compile_test.cpp").exists():
        needed.append(f"tests/stages/{name}/gpu_compile_test.cpp")
    for part in needed:
        complain(folder, f"a stage needs {part}")
    if not needed:
        check_fields(folder)
        check_tunables(folder)


def check_fields(folder):
    """Every member of a stage's Config has a field, or none because only code fills it."""
    header = (folder / f"{folder.name}.h").read_text(encoding="utf-8")
    fields = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("fields.*"))
    for member in MEMBER.findall("".join(CONFIG.findall(COMMENT.sub("", header)))):
        if member not in UNDESCRIBED and not re.search(rf"\b{member}\b", COMMENT.sub("", fields)):
            complain(folder, f"Config::{member} has no description in fields.cpp")


def check_tunables(folder):
    """Every tunable of a GPU is one of those that `tune` tries, or only sets a size of memory."""
    tuning = folder / "gpu" / "tuning.cpp"
    if not tuning.exists():
        return
    values = COMMENT.sub("", tuning.read_text(encoding="utf-8"))
    for body in GPU_TUNABLES.findall(COMMENT.sub("", (folder / "tunables.h").read_text(encoding="utf-8"))):
        for member in MEMBER.findall(body):
            if member not in UNTUNED and not re.search(rf"\b{member}\b", values):
                complain(tuning, f"has no values of the tunable {member}")


def check_kernels(stages):
    """The tests that compute-sanitizer runs name every GPU kernel, so that a new one is not forgotten there."""
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/kernels").glob("every_*_test.cpp"))
    named = set(KERNEL_NAME.findall(tests))
    for path in sorted(stages.rglob("*.kernel")):
        if KERNEL.search(path.read_text(encoding="utf-8")) and str(path.relative_to(stages)) not in named:
            complain(path, "needs a case in tests/kernels/every_*_test.cpp, which names it")
    for name in sorted(named):
        if not (stages / name).exists():
            complain(ROOT / "tests/kernels", f"names {name}, which does not exist")


def check_roles(stages):
    """Two files of stages do not differ in a plural or in the order of words alone: `backend.h`, `backends.h`."""
    names = {}
    for path in sorted(stages.rglob("*.*")):
        place = path.parent.relative_to(stages).parts[1:]
        stem = path.name.split(".")[0].replace("-inl", "")
        first = names.setdefault((place, *sorted(word.rstrip("s") for word in stem.split("_"))), path)
        if first.name.split(".")[0].replace("-inl", "") != stem:
            complain(path, f"has the role of {first.relative_to(ROOT)} and another name")


def included_by(path, found):
    """Adds the headers of the tree that a test includes, itself or by headers of the tests."""
    for _, header in INCLUDE.findall(path.read_text(encoding="utf-8")):
        if header not in found:
            found.add(header)
            if header.startswith("tests/") and (ROOT / header).exists():
                included_by(ROOT / header, found)
    return found


def check_mirrored():
    """Tests of a layer lie in the folder that has the tested files' name, and include a header from there."""
    for layer in ALLOWED:
        sources = [path for path in (ROOT / "tests" / layer).rglob("*") if path.suffix in (".h", ".cpp")]
        for folder in sorted({path.parent for path in sources}):
            mirrored = ROOT / "tautline" / folder.relative_to(ROOT / "tests")
            name = mirrored.relative_to(ROOT).as_posix()
            if not mirrored.is_dir():
                complain(folder, f"{name}, which it mirrors, does not exist")
                continue
            if not any(mirrored.rglob("*.h")):
                continue
            for path in sorted(folder.glob("*_test.cpp")):
                headers = [header for header in included_by(path, set()) if header.startswith("tautline/")]
                if headers and not any(header.startswith(name + "/") for header in headers):
                    complain(path, f"includes nothing of {name}/: it belongs into the folder of what it tests")


def check_formats():
    """Every format has tests, in a folder of its name or where TESTED_BY says."""
    for folder in sorted((ROOT / "tautline" / "formats").iterdir()):
        if folder.is_dir():
            own = f"tests/formats/{folder.name}"
            tests = TESTED_BY.get(folder.name, own)
            if not ((ROOT / tests).is_file() or any((ROOT / own).glob("*_test.cpp"))):
                complain(folder, f"a format needs tests: {tests}")


def check_pipelines():
    """Tests run the pipelines of the examples, or parts of them, by their names."""
    tests = [path for path in (ROOT / "tests").rglob("*") if path.suffix in (".cpp", ".h", ".py")]
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    for path in sorted((ROOT / "examples" / "pipelines").glob("*.toml")):
        if not re.search(rf"(?<![\w-]){re.escape(path.name)}", text):
            complain(path, "a pipeline of the examples that no test names")


# Paths in backquotes or link targets that look like files or folders of this tree.
TOP_FOLDERS = "tautline|cli|python|web|tests|bench|examples|docs|cmake|scripts"
PATH = re.compile(rf"(?:`|\]\()((?:{TOP_FOLDERS}|\.ci)/[\w./+-]*|[A-Z][\w]+\.(?:md|txt|json|cff))[`)#]")
RELATIVE_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def check_document(path):
    text = path.read_text(encoding="utf-8")
    for name in PATH.findall(text):
        if not (ROOT / name).exists() and not (path.parent / name).exists():
            complain(path, f"names {name}, which does not exist")
    for name in RELATIVE_LINK.findall(text):
        if not (path.parent / name).exists():
            complain(path, f"links to {name}, which does not exist")


def check_sample_loops():
    listed = [name for name in LOOPS_LIST.read_text().splitlines() if name and not name.startswith("#")]
    for name in listed:
        if not (ROOT / "tautline" / name).exists():
            complain(LOOPS_LIST, f"lists tautline/{name}, which does not exist")
    for layer in ("formats", "stream", "pipeline"):
        for path in sorted((ROOT / "tautline" / layer).rglob("*.cpp")):
            name = path.relative_to(ROOT / "tautline").as_posix()
            threaded = THREADED.search(path.read_text(encoding="utf-8"))
            if threaded and name not in NO_SAMPLE_LOOP and not name.startswith(tuple(listed)):
                complain(path, "divides work among threads: list it in cmake/sample_loops.txt, or say in "
                               "scripts/check_layers.py why it has no loop over samples")
            if name in NO_SAMPLE_LOOP and not threaded:
                complain(path, "is excepted from cmake/sample_loops.txt, but has no threads")


def main():
    for path in sorted((ROOT / "tautline").rglob("*")):
        if path.suffix in (".h", ".cpp", ".kernel"):
            check_source(path)
    for folder in ("cli", "bench", "examples", "python/src", "tests"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                check_user(folder, path, path.read_text(encoding="utf-8"))
    check_public_headers()
    check_callers()
    check_sample_loops()
    for folder in sorted((ROOT / "tautline" / "stages").iterdir()):
        if folder.is_dir():
            check_stage(folder)
    check_roles(ROOT / "tautline" / "stages")
    check_kernels(ROOT / "tautline" / "stages")
    check_mirrored()
    check_formats()
    check_pipelines()
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in documents:
        if path.exists():
            check_document(path)
    for line in problems:
        print(line, file=sys.stderr)
    if not problems:
        print("layers: no breach")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
