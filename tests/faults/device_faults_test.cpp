// A device that fails in the middle of a run: the right message and status, and nothing
// half-written. The drivers are real where they are here; what stands between them and the command
// (the shims of this folder) makes one call fail. An NVIDIA GPU is emulated everywhere, so that its
// side of the command runs in every test.
#include <gtest/gtest.h>

#include "tests/faults/support.h"
#include "tests/formats/sigproc/sigproc_files.h"
#include "tests/support/environment.h"
#include "tests/support/small_disk.h"

namespace tautline::tests {
namespace {

bool says(const CommandResult& result, const std::string& text) {
  return result.err.find(text) != std::string::npos;
}

class Faults : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(scratch / "data");
    const std::string voltages = DadaFile{}.bytes();
    const std::string noise = voltages.substr(voltages.size() - DadaFile{}.payload_bytes);
    SigprocShape shape;
    shape.nchans = 64;
    SigprocBytes header = sigproc_header(shape);
    write_file(scratch / "data/in.dada", voltages);
    write_file(scratch / "data/in.fil",
               std::string(header.bytes().begin(), header.bytes().end()) + noise);
    write_file(scratch / "data/in.u8", noise);
  }

  CommandResult run(const std::string& fault, std::vector<std::string> arguments,
                    const Variables& more = {}) {
    arguments.insert(arguments.begin(), {"--device", selection(GetParam())});
    Variables variables = faulty(GetParam(), fault);
    variables.insert(variables.end(), more.begin(), more.end());
    return run_command(arguments, scratch.path().string(), variables);
  }
  std::vector<std::string> correlate() const {
    return {"correlate",
            scratch / "data/in.dada",
            "-o",
            scratch / "data/v.uvh5",
            "--channels",
            "64",
            "--integration",
            "0.004",
            "--report",
            scratch / "data/v.html"};
  }
  std::vector<std::string> channelize() const {
    return {"channelize", scratch / "data/in.dada", "-o", scratch / "data/x.npy", "--channels",
            "64"};
  }
  std::vector<std::string> dedisperse() const {
    return {"dedisperse", scratch / "data/in.fil", "-o", scratch / "data/s.npy", "--dms", "0:20:5"};
  }
  std::vector<std::string> search() const {
    return {"search", scratch / "data/in.fil", "-o", scratch / "data/c.csv", "--dms", "0:20:5"};
  }
  std::vector<std::string> autocorrelate() const {
    return {"autocorrelate",
            scratch / "data/in.u8",
            "-o",
            scratch / "data/g.h5",
            "--dtype",
            "u8",
            "--sensors",
            "16",
            "--bin",
            "1e-5"};
  }
  void remove_outputs() const {
    for (const std::string& name : listing(scratch / "data"))
      if (!name.starts_with("in.")) std::filesystem::remove(scratch / ("data/" + name));
  }
  // Neither emulated nor a CPU behind OpenCL.
  bool real_gpu() const {
    return GetParam() == "cuda:0" || (GetParam() == "opencl:0" && !device::opencl::is_host_cpu(0));
  }
  // Checks a run that failed as it should: status 1, no output, and existing files unchanged.
  void expect_clean_failure(const CommandResult& result) {
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_EQ(listing(scratch / "data"), kInputs) << result.err;
    EXPECT_TRUE(says(result, "tautline: ")) << result.err;
    EXPECT_EQ(result.out, "");
  }

  // A launch that traps.
  void expect_kernel_named(const CommandResult& result) {
    EXPECT_TRUE(says(result, "kernel "));
    EXPECT_TRUE(says(result, ".kernel"));
    EXPECT_TRUE(says(result, selection(GetParam()) + " ("));
    EXPECT_TRUE(says(result, "start the program again"));
    EXPECT_TRUE(says(result, "CUDA_LAUNCH_BLOCKING") || GetParam().starts_with("opencl"));
  }

  const std::vector<std::string> kInputs{"in.dada", "in.fil", "in.u8"};
  ScratchFolder scratch;
  // The emulated GPU's programs are empty: they must not meet those of a real one.
  Environment cache{"TAUTLINE_CACHE", scratch / "cache"};
};

// Otherwise the failures below would prove nothing.
TEST_P(Faults, WithoutOneEverythingIsWritten) {
  for (const auto& command : {correlate(), channelize(), dedisperse(), search(), autocorrelate()}) {
    const CommandResult result = run("none", command);
    EXPECT_EQ(result.status, 0) << result.err;
  }
  EXPECT_EQ(
      listing(scratch / "data"),
      (std::vector<std::string>{"c.csv", "c.csv.json", "g.h5", "in.dada", "in.fil", "in.u8",
                                "s.npy", "s.npy.json", "v.html", "v.uvh5", "x.npy", "x.npy.json"}));
}

// Whichever launch it is.
TEST_P(Faults, AKernelThatTrapsIsNamed) {
  for (const auto& command : {correlate(), channelize()}) {
    int launch = 1;
    for (;; ++launch) {
      const CommandResult result = run("trap * " + std::to_string(launch), command);
      if (result.status == 0) break;
      ASSERT_LT(launch, 200);
      SCOPED_TRACE(result.err);
      expect_clean_failure(result);
      if (launch == 1) record(GetParam(), command[0] + ", a launch that traps", result);
      expect_kernel_named(result);
      if (HasFailure()) return;
      if (real_gpu()) launch += 5;  // it takes a second to start
    }
    EXPECT_GE(launch, command[0] == "correlate" ? 8 : 2);
    remove_outputs();
  }
}

// The first launch and allocation, and later ones.
TEST_P(Faults, OfSearchesAndCountsAreNamed) {
  for (const auto& command : {dedisperse(), search(), autocorrelate()})
    for (const std::string kind : {"trap * ", "memory ", "pinned "}) {
      int n = 1, failures = 0;
      for (;; n *= 2, ++failures) {
        const CommandResult result = run(kind + std::to_string(n), command);
        if (result.status == 0) break;
        ASSERT_LT(n, 10'000);
        SCOPED_TRACE(command[0] + ", " + kind + std::to_string(n) + ": " + result.err);
        expect_clean_failure(result);
        if (n == 1) record(GetParam(), command[0] + ", " + kind + "1", result);
        if (kind == "trap * ") {
          expect_kernel_named(result);
        } else {
          EXPECT_TRUE(says(result, " MiB") || says(result, " KiB") || says(result, " bytes"));
          EXPECT_TRUE(says(result, "lower --memory"));
        }
        if (HasFailure()) return;
      }
      EXPECT_GE(failures, kind == "trap * " ? 2 : 1) << command[0] << ", " << kind;
      remove_outputs();
    }
}

TEST_P(Faults, ByItsOwnNameWhenTheDriverWaitsForEachKernel) {
  if (GetParam().starts_with("opencl")) GTEST_SKIP() << "CUDA_LAUNCH_BLOCKING is CUDA's";
  for (const std::string kernel : {"unpack", "fused", "correlate"}) {
    const CommandResult result =
        run("trap " + kernel + " 1", correlate(), {{"CUDA_LAUNCH_BLOCKING", "1"}});
    expect_clean_failure(result);
    record(GetParam(), "a launch of " + kernel + " that traps, CUDA_LAUNCH_BLOCKING=1", result);
    EXPECT_NE(result.err.find("kernel " + kernel), std::string::npos) << result.err;
    // The first kernel that the message names is the one.
    EXPECT_EQ(result.err.find("kernel " + kernel), result.err.find("kernel ")) << result.err;
  }
}

TEST_P(Faults, EveryAllocationThatFindsNoRoomSaysSo) {
  const bool quick = GetParam() == "emulated" || std::getenv("TAUTLINE_FULL") != nullptr;
  for (const std::string kind : {"memory", "pinned"}) {
    int n = 1, failures = 0;
    for (;; n += quick ? 1 : real_gpu() ? 13 : 6) {
      ASSERT_LT(n, 200);
      const CommandResult result = run(kind + " " + std::to_string(n), correlate());
      if (result.status == 0) break;
      SCOPED_TRACE(kind + " " + std::to_string(n) + ": " + result.err);
      expect_clean_failure(result);
      if (n == 1)
        record(GetParam(), "the first allocation (" + kind + ") that finds no room", result);
      EXPECT_TRUE(says(result, "unpack: ") || says(result, "channelize: ") ||
                  says(result, "correlate: "));
      EXPECT_TRUE(says(result, " MiB") || says(result, " KiB") || says(result, " bytes"));
      EXPECT_TRUE(says(result, "lower --memory, --channels"));
      if (kind == "memory") {
        EXPECT_TRUE(says(result, " free"));
      }
      ++failures;
      if (HasFailure()) return;
    }
    EXPECT_GE(failures, kind == "memory" ? 3 : 2);
    remove_outputs();
  }
}

TEST_P(Faults, AKernelThatDoesNotCompileIsNamedWithItsDefinitions) {
  // OpenCL has texts, whose files have no names: what only one of them declares.
  const bool opencl = GetParam().starts_with("opencl");
  for (const auto& [kernel, text] :
       {std::pair<std::string, std::string>{"unpack/gpu/unpack.kernel", "KERNEL_SIZED(unpack,"},
        {"channelize/gpu/fused.kernel", "KERNEL_SIZED(fused,"}}) {
    std::filesystem::remove_all(scratch /
                                "cache");  // the other kernels compile beside the one that fails
    const CommandResult result = run("build " + (opencl ? text : kernel), correlate());
    expect_clean_failure(result);
    record(GetParam(), "a build of " + kernel + " that fails", result);
    EXPECT_TRUE(says(result, "kernel file " + kernel + " with ")) << result.err;
    EXPECT_TRUE(says(result, "refused by the test")) << result.err;
  }
}

TEST_P(Faults, AFullDiskLeavesNothing) {
  std::filesystem::create_directory(scratch / "disk");
  for (auto command : {correlate(), channelize()}) {
    command[3] = scratch / "disk/out" + std::filesystem::path(command[3]).extension().string();
    command.resize(6);  // neither report nor integration: many small ones are not needed
    const int status = on_small_disk(scratch / "disk", 16 << 10, [&] {
      const CommandResult result = run("none", command);
      record(GetParam(), command[0] + " to a full disk", result);
      const bool right = result.status == 1 && says(result, "No space left on device") &&
                         listing(scratch / "disk").empty();
      if (!right) fprintf(stderr, "status %d\n%s", result.status, result.err.c_str());
      return right ? 0 : 9;
    });
    if (status == kNoSmallDisk) GTEST_SKIP() << "this machine lets no test mount a small disk";
    EXPECT_EQ(status, 0) << command[0];
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Faults, ::testing::ValuesIn(faulty_devices()),
                         [](const auto& info) { return test_name(info.param); });

}  // namespace
}  // namespace tautline::tests
