// `tautline bench`: every stage can be measured, on the code that was asked for.
#include "tautline/pipeline/bench/measure_stage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/bench/measure_problem.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/pipeline/bench/stage_table.h"

namespace tautline::pipeline {
namespace {

TEST(MeasureStage, EveryStageOnSmallProblems) {
  const auto device =
      device::open({device::Api::cpu, device::InstructionSet::portable}, {.threads = 1});
  Limits limits;
  limits.copy_bytes_per_s = limits.float_operations_per_s = limits.int8_operations_per_s = 1e9;
  const Problem small{{"inputs", 4},  {"channels", 16}, {"samples", 1024}, {"spectra", 64},
                      {"trials", 8},  {"beams", 2},     {"rate_hz", 1000}, {"width_ms", 20},
                      {"sensors", 5}, {"bins", 8},      {"levels", 3}};
  for (const std::string& stage : measurable_stages()) {
    SCOPED_TRACE(stage);
    Problem problem;
    for (const auto& [key, unused] : default_problem(stage, *device))
      if (small.contains(key)) problem[key] = small.at(key);
    const Measurement m = measure_stage(stage, problem, device, limits, 0.001);
    EXPECT_EQ(m.stage, stage);
    EXPECT_NE(m.instruction_set.find("portable"), std::string::npos) << m.instruction_set;
    EXPECT_GT(m.seconds, 0);
    EXPECT_GT(m.rate, 0);
    EXPECT_GT(m.bytes, 0);
    EXPECT_GT(m.fraction_of_limit, 0);
    EXPECT_THROW(measure_stage(stage, {{"dishes", 3}}, device, limits, 0.001), core::Error);
  }
  EXPECT_THROW(measure_stage("fold", {}, device, limits), core::Error);
}

// From a file to results, by the pipelines of the commands.
TEST(MeasureStage, EveryWholeRunOnSmallProblems) {
  const auto device = device::open(device::parse_selection("cpu"), {.threads = 1});
  const Problem small{{"inputs", 4},  {"channels", 16}, {"trials", 8},
                      {"sensors", 8}, {"megabytes", 2}, {"seconds", 2}};
  const std::vector<Problem> asked{{},
                                   {{"channelized", 1}, {"rate_hz", 10000}},
                                   {{"output_bits", 32}},
                                   {{"zero_dm", 1}, {"impulses", 3}},
                                   {{"files", 1}},
                                   {{"bits", 16}}};
  for (const std::string& run : whole_runs())
    for (Problem problem : asked) {
      const Problem sizes = default_problem(run, *device);
      if (!std::all_of(problem.begin(), problem.end(),
                       [&](const auto& size) { return sizes.contains(size.first); }))
        continue;  // another run's
      SCOPED_TRACE(run + " " + describe(problem));
      for (const auto& [key, value] : small)
        if (sizes.contains(key)) problem.emplace(key, value);
      const Measurement m = measure_stage(run, problem, device, {}, 0);
      EXPECT_EQ(m.stage, run);
      EXPECT_GT(m.rate, 0);
      ASSERT_TRUE(m.profile.has_value());
      EXPECT_GT(m.fraction_of_limit, 0);
      if (run == "run_dedisperse") {
        EXPECT_TRUE(m.limit.starts_with("plain writing, ")) << m.limit;
      } else {
        EXPECT_TRUE(std::any_of(m.profile->nodes.begin(), m.profile->nodes.end(),
                                [&](const auto& node) { return node.node == m.limit; }))
            << m.limit;
        EXPECT_LE(m.fraction_of_limit, 1);
      }
      ASSERT_TRUE(m.real_time_factor.has_value());
      EXPECT_GT(*m.real_time_factor, 0);
      EXPECT_EQ(m.has_inputs, m.bandwidth_hz > 0);
    }
  for (const auto& [run, wrong] :
       {std::pair("run_channelize", "output_bits=16"), std::pair("run_autocorrelate", "bits=32")})
    EXPECT_THROW(measure_stage(run, parse_problem(run, wrong), device, {}, 0), core::Error) << run;
}

// Inputs, outputs and layouts other than the default run, and show in the problem.
TEST(MeasureStage, RunsTheSizesThatAreSeldomAskedFor) {
  const auto device = device::open(device::parse_selection("cpu"), {.threads = 1});
  const std::vector<std::pair<std::string, std::vector<const char*>>> asked{
      {"unpack", {"layout1,samples=64", "layout10,samples=64", "layout14,samples=64"}},
      {"channelize",
       {"real=1", "delays=1", "oversample=4/3", "output_bits=32,corner_turned=1", "output_bits=4"}},
      {"dedisperse", {"beams=2,method=2", "method=3,pulse_us=5000"}},
      {"detect", {"pulses=3,impulses_every=200", "pulses=3,snr=200,float=1"}},
      {"search", {"calls=3", "from_host=1", "beams=2,pulses=3,impulses_every=200"}}};
  const Problem small{
      {"channels", 12}, {"inputs", 3}, {"spectra", 30}, {"samples", 1024}, {"trials", 9}};
  for (const auto& [stage, texts] : asked)
    for (const char* text : texts) {
      SCOPED_TRACE(stage + " " + text);
      Problem problem = parse_problem(stage, text);
      for (const auto& [key, unused] : default_problem(stage, *device))
        if (stage != "unpack" && small.contains(key)) problem.emplace(key, small.at(key));
      const Measurement m = measure_stage(stage, problem, device, {}, 0);
      EXPECT_GT(m.rate, 0);
      for (const auto& [key, value] : parse_problem(stage, text))
        EXPECT_NE(("," + m.problem).find("," + key + "=" + std::to_string(value)),
                  std::string::npos)
            << m.problem;
    }
  EXPECT_THROW(measure_stage("unpack", {{"layout", 99}}, device, {}, 0), core::Error);
  EXPECT_THROW(measure_stage("channelize", {{"oversample_denominator", 7}}, device, {}, 0),
               core::Error);
}

// Spectra of a block that is repeated, summed along the delays of a dispersion measure, in units of the noise.
std::vector<double> summed(const device::Buffer& block, const Problem& sizes, double dm) {
  const std::size_t channels = sizes.at("channels"), samples = sizes.at("samples");
  const auto frequencies = dedisperse_config(sizes).frequencies_mhz;
  const double mean = 95.5, sigma = std::sqrt((64 * 64 - 1) / 12.0);
  std::vector<double> sums(samples);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto delay = static_cast<std::size_t>(core::dispersion_delay_samples(
        dm, frequencies[c], frequencies[0], 1 / static_cast<double>(sizes.at("rate_hz"))));
    for (std::size_t t = 0; t < samples; ++t)
      sums[t] += (block.as<std::uint8_t>()[(t + delay) % samples * channels + c] - mean) /
                 (sigma * std::sqrt(static_cast<double>(channels)));
  }
  return sums;
}

double snr_of(const std::vector<double>& sums, std::size_t first, std::size_t width) {
  double sum = 0;
  for (std::size_t t = first; t < first + width; ++t) sum += sums[t % sums.size()];
  return sum / std::sqrt(static_cast<double>(width));
}

double best_snr(const std::vector<double>& sums) {
  double best = 0;
  for (std::size_t t = 0; t < sums.size(); ++t)
    for (std::size_t width = 10; width <= 110; width += 10)
      best = std::max(best, snr_of(sums, t, width));
  return best;
}

TEST(MeasureStage, SpectraOfASearchHoldPulsesAndImpulses) {
  Problem sizes = find_stage("search").sizes;
  for (const auto& [key, value] :
       Problem{{"channels", 512}, {"samples", 2048}, {"trials", 41}, {"step_millidm", 500}})
    sizes[key] = value;
  // Impulses of 20 samples, with noise alone between them.
  sizes["impulses_every"] = 300;
  const std::vector<double> impulses = summed(spectra_with_pulses(sizes), sizes, 0);
  for (std::size_t t = 150; t < 2048; t += 300) {
    EXPECT_NEAR(snr_of(impulses, t, 20), 500, 10);
    EXPECT_NEAR(snr_of(impulses, t + 20, 20), 0, 6);
  }
  // One pulse of 10 to 110 samples: nearly whole at the nearest of the trials, and fainter at a distant one.
  sizes["impulses_every"] = 0;
  sizes["pulses"] = 1;
  const device::Buffer pulse = spectra_with_pulses(sizes);
  double best = 0, best_dm = 0;
  for (double dm = 0; dm <= 20; dm += 0.5)
    if (const double snr = best_snr(summed(pulse, sizes, dm)); snr > best) {
      best = snr;
      best_dm = dm;
    }
  EXPECT_NEAR(best, static_cast<double>(sizes.at("snr")), 8);
  EXPECT_LT(best_snr(summed(pulse, sizes, best_dm > 10 ? 0 : 20)), 0.8 * best);
  sizes["bits"] = 4;
  EXPECT_THROW(measure_stage("search", sizes, device::open({}), {}, 0), core::Error);
}

// Every type of counts, at the lags that were asked for.
TEST(MeasureStage, AutocorrelateHasItsWorkAndItsRealTime) {
  const auto device = device::open(device::parse_selection("cpu:portable"), {.threads = 1});
  Limits limits;
  limits.copy_bytes_per_s = 1e9;
  limits.float_operations_per_s = 1e15;
  limits.int8_operations_per_s = 1e6;
  const std::map<std::string, std::size_t> types{{"u8", 1}, {"u16", 2}, {"u32", 4}, {"f32", 4}};
  for (const auto& [type, bytes] : types) {
    SCOPED_TRACE(type);
    const Measurement m = measure_stage(
        "autocorrelate",
        parse_problem("autocorrelate", "type=" + type + ",sensors=7,bins=8,levels=2,samples=400," +
                                           "scheme=standard,most=200,rate_hz=1000"),
        device, limits, 0);
    EXPECT_NE(m.problem.find("standard=1"), std::string::npos) << m.problem;
    EXPECT_EQ(m.bytes, 7 * 400.0 * static_cast<double>(bytes));
    EXPECT_EQ(m.operations, 2 * 7 * 400 * (9 + 4 / 2.0));
    EXPECT_DOUBLE_EQ(m.rate, 7 * 400 / m.seconds);
    EXPECT_DOUBLE_EQ(m.bandwidth_hz, 400 / m.seconds);
    ASSERT_TRUE(m.real_time_factor.has_value());
    EXPECT_DOUBLE_EQ(*m.real_time_factor, m.bandwidth_hz / 1000);
    EXPECT_EQ(m.unit, "samples/s");
    EXPECT_EQ(m.limit, type == "f32" ? "memory" : "arithmetic");
  }
  for (const char* wrong : {"bits=7", "most=256", "bits=16,float=1", "levels=41", "bins=1025"})
    EXPECT_THROW(
        measure_stage("autocorrelate", parse_problem("autocorrelate", wrong), device, limits, 0),
        core::Error)
        << wrong;
}

// The bytes in and out of a search: of all beams, in the time of one beam.
TEST(MeasureStage, SearchesHaveTheirWorkAndTheirRealTime) {
  const auto device = device::open(device::parse_selection("cpu"), {.threads = 1});
  Limits limits;
  limits.copy_bytes_per_s = 1e9;
  for (const std::size_t floats : {0u, 1u}) {
    const Measurement m = measure_stage(
        "detect",
        {{"trials", 3}, {"samples", 1000}, {"rate_hz", 500}, {"width_ms", 40}, {"float", floats}},
        device, limits, 0);
    EXPECT_EQ(m.bytes, 4 * 3 * 1000);
    EXPECT_DOUBLE_EQ(m.rate, 3 * 1000 / m.seconds);
    ASSERT_TRUE(m.real_time_factor.has_value());
    EXPECT_DOUBLE_EQ(*m.real_time_factor, 2 / m.seconds);
    EXPECT_EQ(m.problem.find("float=1") != std::string::npos, floats == 1) << m.problem;
  }
  for (const std::size_t zero_dm : {0u, 1u}) {
    const Measurement m = measure_stage("search",
                                        {{"channels", 8},
                                         {"trials", 5},
                                         {"samples", 2048},
                                         {"rate_hz", 1024},
                                         {"bits", 4},
                                         {"beams", 3},
                                         {"width_ms", 20},
                                         {"zero_dm", zero_dm}},
                                        device, limits, 0);
    EXPECT_EQ(m.bytes, 3 * 2048 * (8 / 2 + 4 * 5 + 4 * 5));
    EXPECT_DOUBLE_EQ(m.rate, 3 * 2048 * 8 / m.seconds);
    ASSERT_TRUE(m.real_time_factor.has_value());
    EXPECT_DOUBLE_EQ(*m.real_time_factor, 2 / m.seconds);
    EXPECT_EQ(m.problem.find("zero_dm=1") != std::string::npos, zero_dm == 1) << m.problem;
  }
  for (const char* wrong : {"samples=1000", "rate_hz=0", "width_ms=0", "beams=0", "bits=5"})
    EXPECT_THROW(measure_stage("search", parse_problem("search", wrong), device, limits, 0),
                 core::Error)
        << wrong;
  for (const char* wrong : {"rate_hz=0", "width_ms=0", "trials=0", "beams=2"})
    EXPECT_THROW(measure_stage("detect", parse_problem("detect", wrong), device, limits, 0),
                 core::Error)
        << wrong;
}

}  // namespace
}  // namespace tautline::pipeline
