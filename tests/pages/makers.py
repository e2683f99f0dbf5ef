"""Makers of pages of every kind: each simulates data, has the command write a page of them, and names it."""
import json
import os
import subprocess
import sys

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

    def tautline(self, *words, status=(0,), device="cpu", environment=None):
        result = subprocess.run([self.command, "--quiet", "--device", device, *map(str, words)], cwd=self.folder,
                                capture_output=True, text=True, check=False, env=environment)
        if result.returncode not in status:
            sys.exit(f"tautline {' '.join(map(str, words))}\n{result.stdout}{result.stderr}")
        return result.stdout

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def sky(self):
        """Voltages of six antennas, two feeds each, with lost samples, and their visibilities."""
        if (self.folder / "sky.uvh5").exists():
            return
        self.write("array.toml", ARRAY + "".join(
            f'[[antenna]]\nname = "ant{k}"\nenu_m = [{97.0 * k}, {31.0 * k * k % 170}, 0.0]\nfeeds = ["x", "y"]\n' for k in range(6)))
        self.write("scene.toml", SCENE)
        self.tautline("simulate", "voltages", "--array", "array.toml", "--scene", "scene.toml", "--duration", 3, "--seed",
                      self.seed, "-o", "sky.dada")
        self.tautline("correlate", "sky.dada", "--array", "array.toml", "--channels", 64, "--integration", 0.1, "-o",
                      "sky.uvh5", "--report", "fringes.html")

    def fringes(self):
        self.sky()
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

    def fringes_without_data(self):
        """Two antennas, one of which received nothing."""
        self.write("pair.toml", ARRAY + "".join(
            f'[[antenna]]\nname = "ant{k}"\nenu_m = [{100.0 * k}, 0.0, 0.0]\nfeeds = ["x"]\n' for k in range(2)))
        self.write("dead.toml", 'centre_hz = 154.88e6\nbandwidth_hz = 80e3\n')
        self.tautline("simulate", "voltages", "--array", "pair.toml", "--scene", "dead.toml", "--duration", 0.25, "--seed",
                      self.seed, "-o", "dead.dada")
        data = bytearray((self.folder / "dead.dada").read_bytes())
        for part in (2, 3):  # re and im of the second antenna
            data[4096 + part::4] = bytes(len(data[4096 + part::4]))
        (self.folder / "dead.dada").write_bytes(data)
        self.tautline("correlate", "dead.dada", "--array", "pair.toml", "--channels", 16, "--integration", 0.05, "-o",
                      "dead.uvh5", "--report", "dead.html")
        return "dead.html"

    def filterbank(self, name, duration, *more):
        self.tautline("simulate", "filterbank", "--nchans", 64, "--fch1", 1500, "--foff", -4, "--tsamp", 1e-3, "--duration",
                      duration, "--seed", self.seed, "-o", name, *more)

    def pulses(self):
        if not (self.folder / "pulses.fil").exists():
            self.filterbank("pulses.fil", 20, "--pulse", "dm=60,time=2,width=0.01,snr=30", "--random-pulses",
                            "count=8,dm=5:290,width=0.002:0.02,snr=9:40")

    def candidates(self):
        self.pulses()
        if (self.folder / "pulses.csv").exists():
            return "pulses/candidates.html"
        self.tautline("search", "pulses.fil", "-o", "pulses.csv", "--dms", "0:300", "--plot", "pulses")
        return "pulses/candidates.html"

    def candidates_of_beams(self):
        """Three beams: a pulse in one of them, and interference in all."""
        both = "--impulse", "time=5,duration=0.02,amplitude=3"
        for k in range(3):
            one = ("--pulse", "dm=120,time=8,width=0.01,snr=40") if k == 1 else ()
            self.filterbank(f"beam{k}.fil", 12, *both, *one)
            self.seed += 1
        self.tautline("search", *(f"beam{k}.fil" for k in range(3)), "--beams", "-o", "beams.csv", "--dms", "0:300", "--plot", "beams")
        return "beams/candidates.html"

    def candidates_of_padded_data(self):
        """Two files in which nothing changes for a while, the second one of another level."""
        if (self.folder / "padded.csv").exists():
            return "padded/candidates.html"
        self.filterbank("first.fil", 8, "--pulse", "dm=60,time=4,width=0.01,snr=30", "--utc-start", "2026-03-20-14:00:00")
        self.filterbank("second.fil", 8, "--pulse", "dm=60,time=3,width=0.01,snr=30", "--utc-start", "2026-03-20-14:00:08")
        for name, level, empty in (("first.fil", 0, 1000), ("second.fil", 60, 5500)):
            data = bytearray((self.folder / name).read_bytes())
            begin = len(data) - 64 * 8000
            data[begin:] = bytes(min(255, value + level) for value in data[begin:])
            data[begin + 64 * empty:begin + 64 * (empty + 1500)] = bytes([96]) * (64 * 1500)
            (self.folder / name).write_bytes(data)
        self.tautline("search", "first.fil", "second.fil", "-o", "padded.csv", "--dms", "0:300", "--plot", "padded")
        return "padded/candidates.html"

    def no_candidates(self):
        self.filterbank("noise.fil", 3)
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

    def fit_of_two(self):
        """Maps of sensors without a shape are charts over their numbers."""
        self.photons("two", 2, 4)
        self.tautline("fit", "two.h5", "-o", "two.csv", "--model", "3d", "--report", "two.html", status=(0, 3))
        return "two.html"

    def fit_of_files(self):
        """Curves of several files are named by these."""
        self.photons("one", 1, 4)
        self.photons("two", 2, 4)
        self.tautline("fit", "one.h5", "two.h5", "-o", "files.csv", "--model", "3d", "--report", "files.html", status=(0, 3))
        return "files.html"

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
        self.pulses()
        return self.plotted("pulses.fil", "filterbank.html")

    def figure_of_candidates(self):
        self.candidates()
        return self.plotted("pulses.csv", "found.html")

    def figure_of_events(self):
        self.pulses()
        self.tautline("search", "pulses.fil", "-o", "again.csv", "--dms", "0:300", "--events", "events.jsonl", "--cutouts", "cut",
                      "--max-cutouts", 1)
        return self.plotted("events.jsonl", "events.html")

    def figure_of_a_cutout(self):
        if not (self.folder / "cut").exists():
            self.figure_of_events()
        cutout, = (self.folder / "cut").iterdir()
        return self.plotted(f"cut/{cutout.name}", "cutout.html")

    def figure_of_microtimes(self):
        self.tags()
        self.tautline("inspect", "tags.ptu", "--tcspc", "microtimes.csv")
        return self.plotted("microtimes.csv", "microtimes.html")

    def figure_of_voltages(self):
        self.sky()
        return self.plotted("sky.dada", "voltages.html")

    def figure_of_visibilities(self):
        self.sky()
        return self.plotted("sky.uvh5", "visibilities.html")

    def figure_of_a_measurement_set(self):
        self.sky()
        self.tautline("correlate", "sky.dada", "--array", "array.toml", "--channels", 64, "--integration", 0.1, "-o", "sky.ms")
        return self.plotted("sky.ms", "set.html")

    def figure_of_flags(self):
        self.pulses()
        self.tautline("plot", "pulses.fil", "--flag-channels", "-o", "flags.html")
        return "flags.html"

    def figure_of_a_fit(self):
        self.photons("one", 1, 4)
        self.tautline("fit", "one.h5", "-o", "drawn.csv", "--model", "3d", status=(0, 3))
        self.tautline("plot", "one.h5", "--fit", "drawn.csv", "-o", "drawn.html")
        return "drawn.html"

    def figure_of_a_curve(self):
        self.photons("one", 1, 4)
        return self.plotted("one.h5", "curve.html")

    def figure_of_many_curves(self):
        self.photons("many", 16, 4)
        return self.plotted("many.h5", "curves.html")

    def figure_of_trials(self):
        self.pulses()
        self.tautline("dedisperse", "pulses.fil", "-o", "trials.npy", "--dms", "0:300:5")
        return self.plotted("trials.npy", "trials.html")

    def figure_of_uneven_trials(self):
        self.pulses()
        self.write("dms.txt", "0\n3.5\n20\n100\n101.25\n290\n")
        self.tautline("dedisperse", "pulses.fil", "-o", "uneven.npy", "--dm-list", "dms.txt")
        return self.plotted("uneven.npy", "uneven.html")

    def figure_of_a_series(self, ending="dat"):
        self.pulses()
        self.tautline("dedisperse", "pulses.fil", "-o", "series." + ending, "--dms", 100)
        return self.plotted("series." + ending, ending + ".html")

    def figure_of_a_sigproc_series(self):
        return self.figure_of_a_series("tim")

    def figure_of_a_padded_filterbank(self):
        self.candidates_of_padded_data()
        return self.plotted("first.fil", "padded.html")

    def tags(self):
        """Two detectors; T3, with the time within the laser's period."""
        if (self.folder / "tags.ptu").exists():
            return
        self.tautline("simulate", "photons", "--sensors", 2, "--duration", 2, "--tags", "t3", "--lifetime", 3e-9, "--model",
                      "diffusion:n=1,tau=1e-3,rate=2e4", "--seed", self.seed, "-o", "tags.ptu")

    def figure_of_tags(self):
        self.tags()
        return self.plotted("tags.ptu", "tags.html")

    def pair(self):
        self.tags()
        if not (self.folder / "pair.h5").exists():
            self.tautline("autocorrelate", "tags.ptu", "-o", "pair.h5", "--bin", "10us", "--pairs", "0x1")
        return "pair.h5"

    def figure_of_a_pair(self):
        return self.plotted(self.pair(), "pair.html")

    def fit_of_a_pair(self):
        self.tautline("fit", self.pair(), "-o", "pair.csv", "--model", "3d", "--report", "pair-fit.html", status=(0, 3))
        return "pair-fit.html"

    def figure_of_plain_tags(self):
        self.tautline("simulate", "photons", "--duration", 1, "--tags", "t2", "--model", "diffusion:n=1,tau=1e-3,rate=2e4",
                      "--seed", self.seed, "-o", "plain.ptu")
        return self.plotted("plain.ptu", "plain.html")

    def figure_of_counts(self):
        """A camera of 12 rows, of which the first is bright; its bin is not in the file."""
        self.tautline("simulate", "photons", "--shape", "12x32", "--duration", 0.5, "--bin", 1e-3, "--model",
                      "diffusion:n=1,tau=1e-2,rate=1e4", "--hot-sensors", *range(32), "--hot-rate", 1e5, "--seed", self.seed,
                      "-o", "camera.npy")
        self.tautline("plot", "camera.npy", "--bin", 1e-3, "-o", "camera.html")
        return "camera.html"

    def figure_of_counts_that_stop(self):
        """One sensor, without the length of a bin."""
        self.photons("one", 1, 4)
        data = bytearray((self.folder / "one.npy").read_bytes())
        data[len(data) // 2:len(data) * 3 // 4] = bytes(len(data) * 3 // 4 - len(data) // 2)
        (self.folder / "stops.npy").write_bytes(data)
        return self.plotted("stops.npy", "stops.html")

    def figure_of_rates(self):
        lines = [self.tautline("--json", "bench", stage, "--problem", problem, "--budget", 0) for stage, problem in
                 (("correlate", "inputs=8,channels=2,samples=64"), ("correlate", "inputs=16,channels=2,samples=64"),
                  ("corner_turn", "inputs=8,channels=16,spectra=64"))]
        self.write("bench.jsonl", "".join(lines))
        return self.plotted("bench.jsonl", "bench.html")

    def figure_of_wisdom(self):
        """As `tune` writes it on a GPU, whose configurations and times are made up."""
        lines = []
        for k, (stage, problem) in enumerate((("correlate", {"bits": 8, "channels": 512, "inputs": 256, "samples": 4096}),
                                              ("dedisperse", {"channels": 1536, "samples": 20000, "trials": 2000}),
                                              ("autocorrelate", {"bins": 32, "levels": 10, "sensors": 1024}))):
            lines.append(json.dumps({
                "schema": "tautline.wisdom", "version": 1, "stage": stage, "variant": "packed", "problem": problem, "api": "cuda",
                "product": "NVIDIA H100 80GB HBM3", "driver": "1", "compiler": "1", "kernel_hash": "0", "configuration": {"design": 1},
                "seconds": 1e-3, "spread": 0.01, "default_seconds": 1e-3 * (1.1 + 0.4 * k), "date": "2026-03-20T14:00:00Z",
                "tautline": "0.1.0"}))
        self.write("wisdom.jsonl", "\n".join(lines) + "\n")
        return self.plotted("wisdom.jsonl", "wisdom.html")

    def tuned(self, stage, *words):
        """The report of a tuning run on a device that compiles kernels; None where there is none."""
        found = [json.loads(line) for line in self.tautline("--json", "devices").splitlines()]
        device = next((one["device"] for one in found if one["device"].startswith(("cuda:", "opencl:")) and one["supported"]), None)
        if device is None:
            return None
        self.tautline("tune", stage, *words, "--strategy", "random", "--candidates", 3, "--budget", 600, "--seed", self.seed,
                      "--report", "tuning", device=device,
                      environment={**os.environ, "TAUTLINE_CACHE": str(self.folder / "cache")})
        return f"tuning/tuning-{stage}.html"

    def tuning_of_a_sweep(self):
        return self.tuned("dedisperse", "--problem", "apertif,channels=16,samples=256", "--sweep", "trials=2:4", "--fix",
                          "items_time=16,items_dm=2,elements_time=1,elements_dm=2")

    def tuning_of_two_problems(self):
        return self.tuned("autocorrelate", "--problem", "sensors=1,samples=100000,bins=4,levels=2", "--problem",
                          "sensors=2,samples=100000,bins=4,levels=2")

    def warnings(self):
        """A file that is cut short, in a sample, and of which stretches hold nothing."""
        self.sky()
        data = bytearray((self.folder / "sky.dada").read_bytes())
        data[len(data) // 3:len(data) // 2] = bytes(len(data) // 2 - len(data) // 3)
        (self.folder / "cut.dada").write_bytes(data[:len(data) * 4 // 5 + 3])
        self.tautline("correlate", "cut.dada", "--array", "array.toml", "--channels", 64, "--integration", 0.1, "-o", "cut.uvh5",
                      "--report", "cut.html", status=(0, 3))
        return "cut.html"
