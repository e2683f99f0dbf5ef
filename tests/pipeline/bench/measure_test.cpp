// Measured limits, problems and rates: plausible, complete, and refused where they make no sense.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/device/cuda/nvml.h"
#include "tautline/jit/program.h"
#include "tautline/pipeline/bench/host_fed_stream.h"
#include "tautline/pipeline/bench/measure_problem.h"
#include "tautline/pipeline/bench/measure_stage.h"
#include "tautline/pipeline/bench/stage_table.h"
#include "tautline/pipeline/bench/tune_stage.h"
#include "tests/support/gpus.h"
#include "tests/support/kernel_compiler.h"

namespace tautline {
namespace {

using pipeline::Limits;
using pipeline::Measurement;

// Between a slow laptop and some hundred times the fastest card of today.
void expect_plausible(const char* what, double value, double least) {
  EXPECT_GT(value, least) << what;
  EXPECT_LT(value, 1e18) << what;
}

TEST(Limits, OfACpuAreItsThree) {
  const auto limits = pipeline::measure_limits(device::open(device::parse_selection("cpu")));
  expect_plausible("copy", limits.copy_bytes_per_s, 1e8);
  expect_plausible("float", limits.float_operations_per_s, 1e8);
  expect_plausible("int8", limits.int8_operations_per_s, 1e8);
  EXPECT_EQ(limits.to_device_bytes_per_s, 0);
  EXPECT_TRUE(limits.matrix_instruction.empty());
}

class Measure : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    device = device::open(device::parse_selection(GetParam()));
  }
  // Once for all tests of a device: a second each.
  const Limits& limits() {
    static std::map<std::string, Limits> known;
    const auto found = known.find(GetParam());
    if (found != known.end()) return found->second;
    return known[GetParam()] = pipeline::measure_limits(device);
  }
  std::shared_ptr<const device::Device> device;
};

TEST_P(Measure, LimitsArePositiveAndPlausible) {
  const bool matrices =
      device->api() == device::Api::cuda && device->properties().compute_capability >= 80;
  for (const pipeline::LimitField& field : pipeline::limit_fields()) {
    const double value = limits().*field.value;
    if (!matrices && std::strstr(field.key, "matrix") != nullptr)
      EXPECT_EQ(value, 0) << field.key;
    else
      expect_plausible(field.key, value, 1e7);
  }
  EXPECT_EQ(limits().matrix_instruction.empty(), !matrices);
}

TEST_P(Measure, CorrelateHasItsWorkAndAFractionOfALimit) {
  for (const std::size_t bits : {4u, 8u, 16u, 32u}) {
    const Measurement m = pipeline::measure_stage(
        "correlate", {{"inputs", 6}, {"channels", 2}, {"samples", 128}, {"bits", bits}}, device,
        limits(), 0);
    EXPECT_EQ(m.problem, "bits=" + std::to_string(bits) + ",channels=2,inputs=6,samples=128");
    EXPECT_EQ(m.operations, 8.0 * 21 * 2 * 128);
    EXPECT_GT(m.seconds, 0);
    EXPECT_DOUBLE_EQ(m.rate, m.operations / m.seconds);
    EXPECT_DOUBLE_EQ(m.bandwidth_hz, 2 * 128 / m.seconds);
    EXPECT_GT(m.fraction_of_limit, 0);
    EXPECT_TRUE(m.limit == "arithmetic" || m.limit == "memory") << m.limit;
    EXPECT_FALSE(m.instruction_set.empty());
  }
}

// At the limit the work takes 5 ms; a time that does not wait for its end would be some tens of microseconds. Ten times
// the limit is more than a busy machine makes of it.
TEST_P(Measure, TimesAreThoseOfFinishedWork) {
  const std::size_t inputs = 256, channels = 8;
  const double rate = std::max({limits().float_operations_per_s, limits().int8_operations_per_s,
                                limits().int8_matrix_operations_per_s});
  const double operations_of_sample = 8.0 * (inputs * (inputs + 1) / 2) * channels;
  const double samples = 5e-3 * rate / operations_of_sample;
  const auto block = static_cast<std::size_t>(std::clamp(samples, 256.0, 65536.0));
  const Measurement m = pipeline::measure_stage(
      "correlate",
      {{"inputs", inputs},
       {"channels", channels},
       {"samples", block},
       {"blocks", static_cast<std::size_t>(samples / static_cast<double>(block)) + 1}},
      device, limits(), 0);
  EXPECT_LT(m.fraction_of_limit, 10) << m.problem << ", " << m.seconds << " s";
}

TEST_P(Measure, CorrelateOfHalvesAndOfSeveralBlocks) {
  const Measurement m = pipeline::measure_stage(
      "correlate",
      {{"inputs", 6}, {"channels", 2}, {"samples", 128}, {"bits", 16}, {"half", 1}, {"blocks", 3}},
      device, limits(), 0);
  EXPECT_EQ(m.problem, "bits=16,blocks=3,channels=2,half=1,inputs=6,samples=128");
  EXPECT_EQ(m.operations, 3 * 8.0 * 21 * 2 * 128);
  EXPECT_DOUBLE_EQ(m.bandwidth_hz, 3 * 2 * 128 / m.seconds);
}

TEST_P(Measure, CorrelateRunsTheDesignAskedFor) {
  pipeline::Problem problem{{"inputs", 6}, {"channels", 2}, {"samples", 128}, {"design", 1}};
  const Measurement m = pipeline::measure_stage("correlate", problem, device, limits(), 0);
  EXPECT_NE(m.instruction_set.find("tiled"), std::string::npos) << m.instruction_set;
  EXPECT_EQ(m.problem, "bits=8,channels=2,design=1,inputs=6,samples=128");
  problem["design"] = 4;
  EXPECT_THROW(pipeline::measure_stage("correlate", problem, device, limits(), 0), core::Error);
  const auto cpu = device::open(device::parse_selection("cpu"));
  problem["design"] = 1;
  EXPECT_THROW(pipeline::measure_stage("correlate", problem, cpu, limits(), 0), core::Error);
}

TEST_P(Measure, AutocorrelateFromItsMemoryAndFromTheHosts) {
  const pipeline::Problem problem{
      {"sensors", 6}, {"bins", 4}, {"levels", 2}, {"samples", 300}, {"rate_hz", 1000}};
  const Measurement there = pipeline::measure_stage("autocorrelate", problem, device, limits(), 0);
  EXPECT_EQ(there.problem, "bins=4,bits=8,levels=2,most=255,rate_hz=1000,samples=300,sensors=6");
  EXPECT_EQ(there.operations, 2 * 6 * 300 * (4 + 4 / 2.0));
  EXPECT_GT(there.fraction_of_limit, 0);
  const Measurement fed =
      pipeline::measure_stage("host_fed_autocorrelate", problem, device, limits(), 0);
  const Measurement shared = pipeline::measure_stage("host_fed_autocorrelate", problem,
                                                     std::vector{device, device}, limits(), 0);
  for (const Measurement& m : {fed, shared}) {
    EXPECT_EQ(m.operations, there.operations);
    EXPECT_EQ(m.bytes, there.bytes);
    EXPECT_DOUBLE_EQ(m.rate, 6 * 300 / m.seconds);
    EXPECT_EQ(m.limit, "transfer");
    EXPECT_DOUBLE_EQ(*m.real_time_factor, m.bandwidth_hz / 1000);
  }
  EXPECT_THROW(pipeline::measure_stage("host_fed_autocorrelate", {{"sensors", 1}},
                                       std::vector{device, device}, limits(), 0),
               core::Error);
}

TEST_P(Measure, UnpackIsBoundByTheWayToTheDevice) {
  const Measurement m =
      pipeline::measure_stage("unpack", {{"inputs", 4}, {"samples", 4096}}, device, limits(), 0);
  EXPECT_EQ(m.bytes, 4 * 4096 * 4.0);
  EXPECT_GT(m.fraction_of_limit, 0);
}

TEST_P(Measure, HostFedCorrelationIsCheckedAndTimed) {
  const Measurement m = pipeline::measure_stage(
      "host_fed_correlate", {{"inputs", 6}, {"channels", 2}, {"samples", 100}, {"rate_hz", 1000}},
      device, limits(), 0);
  EXPECT_EQ(m.operations, 8.0 * 21 * 2 * 100);
  EXPECT_EQ(m.bytes, 2 * (6 * 100 * 2 + 21 * (16 + 8)));
  ASSERT_TRUE(m.real_time_factor.has_value());
  EXPECT_DOUBLE_EQ(*m.real_time_factor, m.bandwidth_hz / 1000);
  EXPECT_GT(m.fraction_of_limit, 0);
}

// Each of two takes a share of the channels, or blocks in turn; together they do what one does.
TEST_P(Measure, SeveralDevicesShareHostFedWork) {
  const pipeline::Problem channels{{"inputs", 6}, {"channels", 3}, {"samples", 100}};
  const pipeline::Problem blocks{{"inputs", 4}, {"channels", 16}, {"taps", 2}, {"spectra", 64}};
  for (const auto& [stage, problem] :
       {std::pair{"host_fed_correlate", channels}, std::pair{"host_fed_fx", blocks}}) {
    const Measurement one = pipeline::measure_stage(stage, problem, device, limits(), 0);
    const Measurement two =
        pipeline::measure_stage(stage, problem, std::vector{device, device}, limits(), 0);
    EXPECT_EQ(one.operations, two.operations) << stage;
    EXPECT_EQ(one.bytes, two.bytes) << stage;
    EXPECT_DOUBLE_EQ(one.bandwidth_hz * one.seconds, two.bandwidth_hz * two.seconds) << stage;
    EXPECT_GT(two.fraction_of_limit, 0) << stage;
    EXPECT_EQ(two.device, device->name() + ", " + device->name());
  }
  EXPECT_THROW(pipeline::measure_stage("host_fed_correlate", {{"channels", 1}},
                                       std::vector{device, device}, limits(), 0),
               core::Error);
  EXPECT_THROW(pipeline::measure_stage("correlate", {}, std::vector{device, device}, limits(), 0),
               core::Error);
}

TEST_P(Measure, HostFedCopiesAreBoundByTheSlowerWay) {
  const std::size_t bytes = 100000;
  const Measurement m =
      pipeline::measure_stage("host_fed_copy", {{"bytes", bytes}}, device, limits(), 0);
  EXPECT_EQ(m.bytes, 2.0 * bytes);
  EXPECT_EQ(m.limit, "transfer");
  const double slower = std::min(limits().to_device_bytes_per_s, limits().to_host_bytes_per_s);
  EXPECT_NEAR(m.fraction_of_limit * m.seconds, bytes / slower, 1e-6 * bytes / slower);
}

// Work with a memory of earlier calls gives other results the second time. Each part has one block
// or more, so the parts' seconds of a block add up to less than the caller waited: more than that
// would be in another unit, or count a part twice.
TEST_P(Measure, HostFedStreamFindsResultsThatDiffer) {
  const std::size_t bytes = 1000;
  for (const bool remembers : {false, true}) {
    std::uint8_t calls = 0;
    pipeline::HostFedStream stream(device, bytes, bytes, 2,
                                   [&](device::Queue& queue, const void* in, void* out) {
                                     queue.copy(out, in, bytes);
                                     if (remembers) queue.fill(out, ++calls, 1);
                                   });
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = stream.run(11, 4);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    ASSERT_EQ(seconds.size(), 4u);
    const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    EXPECT_GT(total, 0);
    EXPECT_LE(total, waited.count());
    EXPECT_EQ(stream.same_one_at_a_time(2), !remembers);
  }
}

TEST_P(Measure, EnergyIsThatOfTheTime) {
  auto meter = device::cuda::make_energy_meter(*device);
  if (!meter) {
    ASSERT_NE(device->api(), device::Api::cuda) << "an NVIDIA card that reports no energy";
    GTEST_SKIP() << "only NVIDIA cards report their energy";
  }
  const auto start = std::chrono::steady_clock::now();
  meter->start();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto joules = meter->joules();
  ASSERT_TRUE(joules.has_value());
  // An idle card takes some watts and no card 2 kW. The time that this machine really slept counts.
  EXPECT_GT(*joules, 0);
  const std::chrono::duration<double> slept = std::chrono::steady_clock::now() - start;
  EXPECT_LT(*joules, (slept.count() + 0.2) * 2000);
}

INSTANTIATE_TEST_SUITE_P(Devices, Measure, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST(EnergyMeter, WithoutACardIsNoError) {
  EXPECT_FALSE(device::cuda::make_energy_meter("").has_value());
  EXPECT_FALSE(device::cuda::make_energy_meter("0000ffff:ff:1f.7").has_value());
  EXPECT_FALSE(
      device::cuda::make_energy_meter(*device::open(device::parse_selection("cpu"))).has_value());
}

// Problems that the mma.sync and wgmma kernels support also compile.
TEST(LimitKernels, CompileForTheirArchitectures) {
  if (!device::cuda::compiler_available()) GTEST_SKIP() << "no NVRTC here";
  struct Kernels {
    const char* file;
    std::vector<const char*> architectures;
    std::size_t registers;  ///< in eights, by NVRTC 13.0
  };
  const std::vector<const char*> all{"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"};
  const std::vector<Kernels> kernels{{"jit/limits.kernel", all, 56},
                                     {"jit/limits.cuda.kernel", all, 56},
                                     {"jit/limits_wgmma.cuda.kernel", {"sm_90a"}, 160}};
  tests::KernelCompiler compiler;
  for (const auto& [file, architectures, registers] : kernels)
    for (const char* architecture : architectures) {
      const tests::PtxasReport report = compiler.compile(
          jit::make_source(device::Api::cuda, file, jit::Defines().set("THREADS", 256)),
          architecture);
      // Anything spilled to memory would be measured with the rest.
      EXPECT_EQ(report.spilled_bytes, 0u) << compiler.log;
      EXPECT_LE(report.registers, registers) << file;
    }
  compiler.say_what_is_unknown();
}

TEST(Problem, IsANameOrSizesOrBoth) {
  using pipeline::parse_problem;
  using pipeline::Problem;
  EXPECT_EQ(parse_problem("correlate", ""), Problem{});
  EXPECT_EQ(parse_problem("correlate", "n256"),
            (Problem{{"inputs", 512}, {"channels", 240}, {"samples", 3072}}));
  EXPECT_EQ(parse_problem("correlate", "n64,bits=4,samples=100"),
            (Problem{{"inputs", 128}, {"channels", 480}, {"samples", 100}, {"bits", 4}}));
  EXPECT_EQ(parse_problem("correlate", "format=cf32"), (Problem{{"bits", 32}}));
  EXPECT_EQ(parse_problem("correlate", "format=cf16"), (Problem{{"bits", 16}, {"half", 1}}));
  EXPECT_EQ(parse_problem("channelize", "c1024t8"), (Problem{{"channels", 1024}, {"taps", 8}}));
  EXPECT_EQ(
      parse_problem("autocorrelate", "array1024,type=u16,scheme=standard,bins=16"),
      (Problem{{"sensors", 1024}, {"bits", 16}, {"float", 0}, {"standard", 1}, {"bins", 16}}));
  EXPECT_EQ(parse_problem("host_fed_channelize", "c64t4,spectra=9"),
            (Problem{{"channels", 64}, {"taps", 4}, {"spectra", 9}}));
  EXPECT_EQ(parse_problem("channelize", "c64t4,oversample=32/27"),
            (Problem{{"channels", 64},
                     {"taps", 4},
                     {"oversample_numerator", 32},
                     {"oversample_denominator", 27}}));
  for (const char* wrong : {"c1024", "c1024t", "ct8", "c8t8x", "taps=3,c8t8", "oversample=4/3/2"})
    EXPECT_THROW(parse_problem("channelize", wrong), core::Error) << wrong;
  EXPECT_EQ(parse_problem("host_fed_autocorrelate", "type=f32"),
            (Problem{{"bits", 32}, {"float", 1}}));
  for (const char* wrong : {"type=i8", "scheme=rope", "standard=0", "array1"})
    EXPECT_THROW(parse_problem("autocorrelate", wrong), core::Error) << wrong;
  for (const char* wrong : {"type=u8", "n257", "c1024", "c1024t", "ct8", "c8t8x", "inputs=", "=4",
                            "inputs=0", "inputs=-1", "inputs=4x", "samples=1,n256", "format=i8"})
    EXPECT_THROW(parse_problem("correlate", wrong), core::Error) << wrong;
  const auto device = device::open(device::parse_selection("cpu"));
  EXPECT_THROW(pipeline::measure_stage("correlate", {{"taps", 8}}, device, {}, 0), core::Error);
  EXPECT_THROW(pipeline::measure_stage("nothing", {}, device, {}, 0), core::Error);
  EXPECT_THROW(pipeline::measure_stage("host_fed_correlate", {}, device, {}, 0), core::Error);
}

TEST(Problem, NamedOnesHaveTheirStagesSizes) {
  const auto device = device::open(device::parse_selection("cpu"));
  std::size_t found = 0;
  for (const auto& stages :
       {pipeline::measurable_stages(), pipeline::host_fed_stages(), pipeline::whole_runs()})
    for (const std::string& stage : stages)
      for (const auto& named : pipeline::named_problems(stage)) {
        EXPECT_NO_THROW(pipeline::complete(stage, pipeline::default_problem(stage, *device),
                                           pipeline::parse_problem(stage, named.name)))
            << stage << " " << named.name;
        EXPECT_EQ(pipeline::parse_problem(stage, named.name), named.sizes);
        ++found;
      }
  EXPECT_GT(found, 0u);
  // Tuning completes them with sizes of its own.
  for (const std::string& stage : pipeline::tunable_stages())
    for (const std::string& problem : pipeline::tuning_problems(stage))
      EXPECT_NO_THROW(pipeline::complete(stage, pipeline::find_stage(stage).sizes_when_tuned(),
                                         pipeline::parse_problem(stage, problem)))
          << stage << " " << problem;
}

TEST(StageTable, IsInTheGuide) {
  std::ifstream file(TAUTLINE_SOURCE_DIR "/docs/guide/bench.md");
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  for (const pipeline::StageEntry& stage : pipeline::stage_table()) {
    const std::size_t at = guide.find("\n| `" + stage.name + "`");
    ASSERT_NE(at, std::string::npos) << "docs/guide/bench.md has no row of " << stage.name;
    const std::string row = guide.substr(at, guide.find('\n', at + 1) - at);
    for (const pipeline::NamedProblem& problem : stage.problems)
      EXPECT_NE(row.find("`" + problem.name + "`"), std::string::npos)
          << stage.name << " " << problem.name;
  }
}

// A GPU has sizes to be filled with, a CPU those that take it a tenth of a second; tuning takes the
// former, without what only a measurement asks for.
TEST(StageTable, DefaultsFollowTheDeviceAndTheCommand) {
  const pipeline::StageEntry& bank = pipeline::find_stage("channelize");
  const auto cpu = device::open(device::parse_selection("cpu"));
  EXPECT_EQ(pipeline::describe(bank.sizes_on(*cpu)),
            "bits=8,channels=1024,corner_turned=0,delays=0,design=0,inputs=16,"
            "output_bits=8,oversample_denominator=1,oversample_numerator=1,real=0,spectra=512,"
            "taps=8");
  EXPECT_EQ(pipeline::describe(bank.sizes_when_tuned()),
            "bits=8,channels=1024,corner_turned=0,inputs=8,output_bits=8,oversample_denominator=1,"
            "oversample_numerator=1,real=0,spectra=8192,taps=8");
  EXPECT_EQ(pipeline::describe(pipeline::find_stage("autocorrelate").sizes_when_tuned()),
            "bins=32,bits=8,float=0,levels=10,samples=262144,sensors=1024,standard=0");
  EXPECT_EQ(pipeline::describe(pipeline::find_stage("correlate").sizes_when_tuned()),
            "bits=8,channels=240,deferred=0,half=0,inputs=512,samples=3072");
  EXPECT_EQ(
      pipeline::describe(pipeline::find_stage("dedisperse").sizes_when_tuned()),
      "beams=1,bits=8,channels=1024,rate_hz=20000,samples=20000,step_millidm=250,top_khz=1719854,"
      "trials=2000,width_hz=292969");
}

TEST(Sweep, DoublesStepsAndLists) {
  using Values = std::vector<std::size_t>;
  EXPECT_EQ(pipeline::parse_sweep("inputs=16:100").values, (Values{16, 32, 64}));
  EXPECT_EQ(pipeline::parse_sweep("inputs=16:64").values, (Values{16, 32, 64}));
  EXPECT_EQ(pipeline::parse_sweep("inputs=10:31:10").values, (Values{10, 20, 30}));
  EXPECT_EQ(pipeline::parse_sweep("taps=4/16").values, (Values{4, 16}));
  EXPECT_EQ(pipeline::parse_sweep("taps=4").key, "taps");
  for (const char* wrong : {"", "inputs", "inputs=", "=4", "inputs=0:4", "inputs=4:2",
                            "inputs=4:", "inputs=1:2:3:4", "inputs=1:4000:1", "inputs=a"})
    EXPECT_THROW(pipeline::parse_sweep(wrong), core::Error) << wrong;
}

}  // namespace
}  // namespace tautline
