"""A wheel of scripts/wheel in a fresh environment: it installs without a network, the command works and finds the
documentation's site, its libraries are its own, and tests of the package pass.

    wheel_check.py --need required|optional [--stable] [--left-out NAME,...|none] --python PYTHON --wheels FOLDER
        --build FOLDER --environment FOLDER

--left-out  what scripts/wheel left out (casacore): it is refused by name, and the tests that need it are left out
--stable  the wheel for all Pythons from 3.12 on; otherwise that for the Python of the build
--python  makes the environment, which lies in --environment
--build   what the wheels were made of; where they are required, with the site, which docs/site makes before
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Tests of every call but plots, which need matplotlib and no compiled code of their own.
TESTS = ("package", "filter_bank", "correlation", "pulses", "photons", "photon_arrays", "multipletau", "fitting", "opening",
         "formats", "plans", "pipelines", "nodes")  # fmt: skip
# What only the interface to Python could get wrong: the other module is tested by the same test in the build folder.
TESTS_OF_INTERFACE = ("bad_input", "lifetimes", "node_errors", "node_streams")
FIRST = """
import sys, time
begun = time.perf_counter()
import tautline as tl
imported = time.perf_counter() - begun
import numpy as np
x = (np.random.default_rng().standard_normal((4, 100_000)) + 0j).astype(np.complex64)
vis = tl.correlate(x, rate_hz=1e6, channels=64, integration_s=0.02)
if sys.argv[1].endswith(".npy"):
    np.save(sys.argv[1], np.ones((1000, 64), np.uint8))
else:
    vis.write(sys.argv[1])
print(f"import {imported:.2f} s; {vis}")
"""
# Of the system's libraries, those of C and C++ and zlib, which every system has.
SYSTEM = ("linux-vdso.", "ld-linux", "libc.", "libm.", "libdl.", "librt.", "libpthread.", "libresolv.", "libgcc_s.", "libstdc++.", "libz.")
WRITE = """
import sys, numpy as np, tautline as tl
tl.correlate(np.ones((2, 4096), np.complex64), rate_hz=1e6, channels=64, integration_s=1e-3).write(sys.argv[1])
"""
READ = """
import pathlib, sys, tautline as tl
pathlib.Path(sys.argv[1]).write_bytes(f"{'SIMPLE  =                    T':80}".encode() * 36)
tl.open(sys.argv[1])
"""
# Of what may be left out: what needs it, and what is said of it where it is; the tests that need it.
LEFT_OUT = {
    "hdf5": (WRITE, "x.uvh5", "HDF5 files", ("test_written_files_come_back", "test_fields_and_writing")),
    "casacore": (WRITE, "x.ms", "Measurement Sets", ()),
    "cfitsio": (READ, "x.sf", "PSRFITS files", ("test_psrfits",)),
    "cairo": (None, "x.png", "pictures", ()),
}


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


class Environment:
    """A fresh one, in which neither this build's package nor the machine's is seen."""

    def __init__(self, python, folder):
        shutil.rmtree(folder, ignore_errors=True)
        hidden = ("PYTHON", "LD_LIBRARY", "PIP_", "VIRTUAL_ENV")
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        self.variables.update(TAUTLINE_DEVICE="cpu", PYTHONDONTWRITEBYTECODE="1", TAUTLINE_CACHE=str(folder / "cache"))
        self.folder = folder
        self.run(python, "-m", "venv", folder)

    def run(self, *command, status=0):
        done = subprocess.run([str(one) for one in command], env=self.variables, cwd=self.folder.parent, capture_output=True, text=True)
        assert done.returncode == status, (command, done.returncode, done.stdout, done.stderr)
        return done

    def python(self, *arguments, status=0):
        return self.run(self.folder / "bin" / "python", *arguments, status=status)

    def command(self, *arguments, status=0):
        return self.run(self.folder / "bin" / "tautline", *arguments, status=status)


def check_command(environment, data, left_out):
    assert "64" in environment.command("inspect", data).stdout
    if "cairo" not in left_out:
        environment.command("plot", data, "-o", environment.folder / "first.png")
    environment.command("no-such-command", status=2)


def check_site(environment, build, package, need):
    site, built = package / "share" / "doc" / "tautline" / "html", build / "docs" / "html"
    if not (built / "index.html").exists():
        assert need == "optional", f"{built} is absent: docs/site makes it"
        assert not site.exists() and "scripts/docs" in environment.command("docs", status=1).stderr
        return
    assert environment.command("docs").stdout == f"{site / 'index.html'}\n"
    for page in ("index.html", "search.html", "searchindex.js", "guide/python.html"):
        assert (site / page).read_bytes() == (built / page).read_bytes(), page


def check_libraries(environment, build, package, data, left_out):
    modules = {module.name for module in package.rglob("libtautline_*.so")}
    made = {module.name for module in build.glob("libtautline_*.so")}
    assert modules == made - {f"libtautline_{name}.so" for name in left_out}, modules
    for program in [package / "bin" / "tautline", *package.glob("_tautline*.so"), *package.rglob("libtautline_*.so")]:
        for line in environment.run("ldd", program).stdout.splitlines():
            name, _, place = line.strip().partition(" => ")
            own = place.startswith(str(package.parent)) or pathlib.Path(name).name.startswith(SYSTEM)
            assert own, f"{program.name} takes from the system: {line.strip()}"
    for name, (code, file, said, _) in LEFT_OUT.items():
        path = environment.folder / file
        if name not in left_out:
            if code == WRITE:
                environment.python("-c", code, path)
            continue
        if code:
            refused = environment.python("-c", code, path, status=1).stderr
        else:
            refused = environment.command("plot", data, "-o", path, status=1).stderr
        assert f"libtautline_{name}.so" in refused and f"without it there are no {said}" in refused, refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--need", choices=["required", "optional"], required=True)
    parser.add_argument("--stable", action="store_true")
    parser.add_argument("--left-out", default="casacore")
    parser.add_argument("--python", required=True)
    for name in ("--wheels", "--build", "--environment"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    options = parser.parse_args()
    if not options.python:
        skip("no Python of 3.12 or later with headers was found or fetched, which the wheel for these is built with")
    version = subprocess.run([options.python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                             check=True, capture_output=True, text=True).stdout.strip()  # fmt: skip
    fetched = ROOT / ".venv-wheels" / version
    if not (fetched / "made-of").exists():
        assert options.need == "optional", f"{fetched} is absent; scripts/interop fetches it"
        skip(f"{fetched} is absent; scripts/interop fetches it")

    (wheel,) = options.wheels.glob(f"tautline-*-{'abi3' if options.stable else 'cp3??-cp3??'}-*.whl")
    environment = Environment(options.python, options.environment.resolve())
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--find-links", fetched)
    begun = time.perf_counter()
    environment.python(*pip, wheel)
    installed = time.perf_counter()
    left_out = [] if options.left_out == "none" else options.left_out.split(",")
    data = environment.folder / ("first.npy" if "hdf5" in left_out else "first.uvh5")
    first = environment.python("-c", FIRST, data).stdout.strip()
    print(f"{wheel.name}, Python {version}: installed in {installed - begun:.1f} s, a first result "
          f"{time.perf_counter() - begun:.1f} s after the beginning; {first}", flush=True)  # fmt: skip
    package = environment.folder / "lib" / f"python{version}" / "site-packages" / "tautline"
    check_command(environment, data, left_out)
    check_site(environment, options.build, package, options.need)
    check_libraries(environment, options.build, package, data, left_out)
    environment.python(*pip, "pytest", "multipletau")
    names = TESTS + (TESTS_OF_INTERFACE if options.stable else ())
    scripts = [ROOT / "tests" / "python" / f"{name}_test.py" for name in names]
    wanted = " and ".join(f"not {test}" for name in left_out for test in LEFT_OUT[name][3])
    tests = subprocess.run([environment.folder / "bin" / "python", "-m", "pytest", "-p", "no:cacheprovider", "-q", "-k", wanted,
                            *scripts], env=environment.variables, cwd=environment.folder)  # fmt: skip
    sys.exit(tests.returncode)


main()
