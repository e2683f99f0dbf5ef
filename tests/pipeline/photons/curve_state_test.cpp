// Runs in parts, with their states saved and taken up again: the bits of one run, and what is refused.
#include "tautline/pipeline/photons/curve_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tautline/core/error.h"
#include "tautline/formats/ptu/writer.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using core::CorrelationCurves;
using core::Normalization;
using core::SampleType;
using stages::autocorrelate::LagScheme;

// Equal to the last bit, NaN included.
template <class Value>
bool same(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Value)) == 0);
}

void expect_same(const CorrelationCurves& a, const CorrelationCurves& b, const std::string& where) {
  EXPECT_EQ(a.samples, b.samples) << where;
  EXPECT_EQ(a.segments, b.segments) << where;
  EXPECT_EQ(a.segment_samples, b.segment_samples) << where;
  EXPECT_EQ(a.detrended, b.detrended) << where;
  EXPECT_TRUE(same(a.sums, b.sums)) << where;
  EXPECT_TRUE(same(a.lead_in, b.lead_in)) << where;
  EXPECT_TRUE(same(a.monitor_direct, b.monitor_direct)) << where;
  EXPECT_TRUE(same(a.monitor_delayed, b.monitor_delayed)) << where;
  EXPECT_TRUE(same(a.sums_float, b.sums_float)) << where;
  EXPECT_TRUE(same(a.totals, b.totals)) << where;
  EXPECT_TRUE(same(a.counts, b.counts)) << where;
  EXPECT_TRUE(same(a.g, b.g)) << where << ": g";
  EXPECT_TRUE(same(a.standard_error, b.standard_error)) << where << ": standard errors";
  EXPECT_TRUE(same(a.segment_g, b.segment_g)) << where << ": g of segments";
  EXPECT_TRUE(same(a.segment_counts, b.segment_counts)) << where << ": pairs of segments";
  ASSERT_EQ(a.first.size(), b.first.size()) << where;
  for (std::size_t p = 0; p < a.first.size(); ++p) {
    EXPECT_EQ(a.first[p].label, b.first[p].label) << where;
    EXPECT_TRUE(same(a.first[p].trace.time_s, b.first[p].trace.time_s)) << where << ": trace";
    EXPECT_TRUE(same(a.first[p].trace.rate_khz, b.first[p].trace.rate_khz)) << where << ": trace";
  }
}

class CurveState : public ::testing::Test {
 protected:
  std::shared_ptr<const device::Device> device(const std::string& name = "cpu") {
    return device::open(device::parse_selection(name), {.threads = 2});
  }

  // `samples` times of 6 sensors; bins of one second, so that parts are whole numbers of them.
  AutocorrelateConfig counts(std::size_t samples, SampleType type) {
    std::ofstream file(scratch / "counts.bin", std::ios::binary);
    for (std::size_t i = 0; i < samples * kSensors; ++i) {
      auto value = static_cast<std::uint32_t>(random() % (type == SampleType::u16 ? 60'000 : 200));
      if (type == SampleType::f32) {
        const float real = 0.25f * static_cast<float>(value);
        std::memcpy(&value, &real, sizeof value);
      }
      file.write(reinterpret_cast<const char*>(&value),
                 static_cast<std::streamsize>(core::bytes_of(type)));
    }
    AutocorrelateConfig config;
    config.input = scratch / "counts.bin";
    config.raw = {.dtype = type, .sensors = kSensors};
    config.bin_s = 1;
    config.bins = 8;
    config.levels = 6;
    config.overwrite = true;
    return config;
  }

  AutocorrelateConfig tags(const std::string& name, std::size_t photons) {
    formats::PhotonDescription description;
    description.time_unit_s = 1;
    description.microtime_unit_s = 1e-9;
    formats::ptu::Writer writer(scratch / name, *formats::ptu::find_record_type(0x01010304),
                                description, true);
    std::vector<formats::Photon> all;
    std::uint64_t time = 0;
    for (std::size_t n = 0; n < photons; ++n) {
      time += random() % 30;
      all.push_back({time, static_cast<std::uint16_t>(1 + random() % 2), 3});
    }
    writer.write(all);
    writer.finish({});
    AutocorrelateConfig config;
    config.input = scratch / name;
    config.detectors = {1, 2};
    config.bin_s = 2;
    config.bins = 8;
    config.levels = 8;
    config.overwrite = true;
    return config;
  }

  CorrelationCurves run(const AutocorrelateConfig& config, const std::string& name = "cpu") {
    AutocorrelateSummary summary;
    return correlate_counts(config, device(name), summary);
  }

  // The same in parts that end at these bins, the last one at the end.
  CorrelationCurves run_in_parts(AutocorrelateConfig config, std::vector<std::uint64_t> ends,
                                 const std::string& name = "cpu") {
    std::uint64_t first = 0;
    for (const std::uint64_t end : ends) {
      config.start_s = static_cast<double>(first) * config.bin_s;
      config.duration_s = static_cast<double>(end - first) * config.bin_s;
      config.save_state = scratch / ("state" + std::to_string(end));
      run(config, name);
      config.resume = config.save_state;
      first = end;
    }
    config.start_s = static_cast<double>(first) * config.bin_s;
    config.duration_s = -1;
    config.save_state.clear();
    return run(config, name);
  }

  std::vector<std::uint64_t> random_ends(std::uint64_t samples) {
    std::vector<std::uint64_t> ends(1 + random() % 3);
    for (std::uint64_t& end : ends) end = 1 + random() % (samples - 1);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  static constexpr std::size_t kSensors = 6;
  std::mt19937_64 random = tests::generator();
  tests::ScratchFolder scratch;
};

std::string text_of(const std::vector<std::uint64_t>& ends) {
  std::string text;
  for (const std::uint64_t end : ends) text += " " + std::to_string(end);
  return text;
}

TEST_F(CurveState, PartsOfAFileAreOneRun) {
  constexpr std::uint64_t kSamples = 5003;
  for (const SampleType type :
       {SampleType::u8, SampleType::u16, SampleType::u32, SampleType::f32}) {
    AutocorrelateConfig config = counts(kSamples, type);
    for (const LagScheme scheme : {LagScheme::chain, LagScheme::standard})
      for (const char* pairs : {"auto", "1:0"})
        for (const auto how :
             {Normalization::symmetric, Normalization::global, Normalization::none}) {
          config.lag_scheme = scheme;
          config.sensors.pairs = pairs;
          config.normalization = how;
          config.detrend = how == Normalization::symmetric && scheme == LagScheme::chain;
          const auto ends = random_ends(kSamples);
          const CorrelationCurves one = run(config);
          EXPECT_EQ(one.segments, 10u);
          expect_same(one, run_in_parts(config, ends),
                      std::string(core::to_string(type)) + ", " + pairs + ", " +
                          core::to_string(how) + ", parts that end at" + text_of(ends));
        }
  }
}

// Seconds of one file that are counted twice, or never.
TEST_F(CurveState, PartsThatDoNotFollowAreSaid) {
  AutocorrelateConfig config = counts(500, SampleType::u8);
  config.duration_s = 200;
  config.save_state = scratch / "state";
  run(config);
  config.resume = config.save_state;
  config.save_state.clear();
  config.duration_s = -1;
  const auto warning = [&](double start_s) {
    config.start_s = start_s;
    AutocorrelateSummary summary;
    correlate_counts(config, device(), summary);
    EXPECT_EQ(summary.resumed_samples, 200u);
    for (const std::string& one : summary.warnings)
      if (one.find("the state's part") != std::string::npos) return one;
    return std::string();
  };
  EXPECT_EQ(warning(200), "");
  const std::string twice = warning(100);
  EXPECT_NE(twice.find("ended at 200 s (sample 200)"), std::string::npos) << twice;
  EXPECT_NE(twice.find("begins at 100 s (sample 100): 100 s may be counted twice"),
            std::string::npos)
      << twice;
  EXPECT_NE(warning(350).find("150 s are left out"), std::string::npos);
  // Another file begins at its beginning.
  std::filesystem::copy_file(config.input, scratch / "next.raw");
  config.input = scratch / "next.raw";
  EXPECT_EQ(warning(0), "");
}

class CurveStateOnProcessors : public CurveState,
                               public ::testing::WithParamInterface<std::string> {};

TEST_P(CurveStateOnProcessors, PartsAreOneRun) {
  try {
    device(GetParam());
  } catch (const core::Error& error) {
    GTEST_SKIP() << error.what();
  }
  AutocorrelateConfig config = counts(700, SampleType::u8);
  const auto ends = random_ends(700);
  expect_same(run(config, GetParam()), run_in_parts(config, ends, GetParam()),
              "parts that end at" + text_of(ends));
}

INSTANTIATE_TEST_SUITE_P(Backends, CurveStateOnProcessors,
                         ::testing::Values("reference", "cpu:portable", "cpu:avx2", "cpu:avx512",
                                           "cpu:vnni", "cpu:amx"),
                         [](const auto& info) { return tests::test_name(info.param); });

TEST_F(CurveState, TagsBinnedOrNot) {
  AutocorrelateConfig config = tags("x.ptu", 6000);
  for (const TagMethod method : {TagMethod::bins, TagMethod::direct}) {
    config.tag_method = method;
    const CorrelationCurves one = run(config);
    ASSERT_GT(one.samples, 30'000u);
    const auto ends = random_ends(one.samples);
    expect_same(one, run_in_parts(config, ends), "parts that end at" + text_of(ends));
  }
}

// Where files follow each other, nobody knows at the first how long the run will be: there are then K
// to 2 K - 1 segments, and they are those of a run of known length that has as many.
TEST_F(CurveState, FilesThatFollowEachOther) {
  constexpr std::uint64_t kSamples = 20'011;
  AutocorrelateConfig config = counts(kSamples, SampleType::u8);
  config.lag_scheme = LagScheme::standard;
  config.segments = 4;
  std::ifstream file(config.input, std::ios::binary);
  const std::string all(std::istreambuf_iterator<char>(file), {});
  AutocorrelateConfig part = config;
  const std::vector<std::uint64_t> ends{997, 1500, 9000, 15'000, kSamples};
  std::uint64_t first = 0;
  CorrelationCurves joined;
  for (const std::uint64_t end : ends) {
    part.input = scratch / ("part" + std::to_string(end));
    std::ofstream(part.input, std::ios::binary)
        << all.substr(first * kSensors, (end - first) * kSensors);
    part.save_state = scratch / ("state" + std::to_string(end));
    joined = run(part);
    part.resume = part.save_state;
    first = end;
  }
  const CorrelationCurves one = run(config);
  EXPECT_TRUE(same(joined.g, one.g));
  EXPECT_TRUE(same(joined.sums, one.sums));
  // 249 samples at first, joined until there are fewer than eight.
  ASSERT_EQ(joined.segment_samples, 249u * 16);
  ASSERT_EQ(joined.segments, 5u);
  config.segments = joined.segments;
  config.duration_s = static_cast<double>(joined.segments * joined.segment_samples);
  const CorrelationCurves known = run(config);
  EXPECT_EQ(known.segment_samples, joined.segment_samples);
  EXPECT_TRUE(same(joined.segment_g, known.segment_g));
  EXPECT_TRUE(same(joined.segment_counts, known.segment_counts));
  EXPECT_TRUE(same(joined.standard_error, known.standard_error));
  // The trace: every count is in it once.
  for (std::size_t s = 0; s < kSensors; ++s) {
    const auto& trace = joined.first[s].trace;
    ASSERT_GT(trace.rate_khz.size(), 400u);
    ASSERT_LE(trace.rate_khz.size(), 1000u);
    double counted = 0;
    const double step = trace.time_s[1] - trace.time_s[0];
    for (std::size_t n = 0; n < trace.time_s.size(); ++n) {
      const double length =
          std::min(step, static_cast<double>(kSamples) - step * static_cast<double>(n));
      counted += trace.rate_khz[n] * 1000 * length;
    }
    EXPECT_NEAR(counted, static_cast<double>(joined.totals[2 * s]), 1e-3);
  }
}

TEST_F(CurveState, OfAnotherProblemIsRefusedByName) {
  const AutocorrelateConfig config = counts(400, SampleType::u8);
  AutocorrelateConfig saved = config;
  saved.save_state = scratch / "state";
  run(saved);
  const auto expect_refused = [&](const std::string& name, auto change,
                                  const std::string& where = "cpu") {
    AutocorrelateConfig other = config;
    other.resume = saved.save_state;
    change(other);
    const core::Error error = tests::error_of([&] { run(other, where); });
    EXPECT_EQ(error.kind(), core::ErrorKind::config) << error.what();
    EXPECT_NE(std::string(error.what()).find("state of another problem: " + name),
              std::string::npos)
        << error.what();
  };
  expect_refused("lags", [](auto& c) { c.lag_scheme = LagScheme::standard; });
  expect_refused("bins", [](auto& c) { c.bins = 9; });
  expect_refused("levels", [](auto& c) { c.levels = 5; });
  expect_refused("coarsen",
                 [](auto& c) { c.coarsening = stages::autocorrelate::Coarsening::first; });
  expect_refused("dtype", [](auto& c) { c.raw = {.dtype = SampleType::u16, .sensors = 3}; });
  expect_refused("sensors", [](auto& c) { c.raw.sensors = 3; });
  expect_refused("pairs", [](auto& c) { c.sensors.pairs = "1:0"; });
  expect_refused("segments", [](auto& c) { c.segments = 5; });
  expect_refused("bin_s", [](auto& c) { c.bin_s = 1.5; });
  expect_refused(
      "kernels", [](auto&) {}, "reference");
  std::ofstream(scratch / "mask.txt") << "1 1 0 1 1 1";
  expect_refused("mask", [&](auto& c) { c.sensors.mask_path = scratch / "mask.txt"; });
}

TEST_F(CurveState, DamagedIsRefused) {
  AutocorrelateConfig config = counts(300, SampleType::u8);
  config.save_state = scratch / "state";
  run(config);
  std::ifstream file(config.save_state, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  config.resume = scratch / "damaged";
  config.save_state.clear();
  const auto expect_refused = [&](const std::string& bytes, const std::string& what) {
    std::ofstream(config.resume, std::ios::binary) << bytes;
    EXPECT_THROW(run(config), core::Error) << what;
  };
  for (std::size_t length = 0; length < whole.size(); length += 1 + random() % (whole.size() / 50))
    expect_refused(whole.substr(0, length), "cut at byte " + std::to_string(length));
  for (int n = 0; n < 50; ++n) {
    std::string changed = whole;
    const std::size_t place = random() % whole.size();
    changed[place] = static_cast<char>(changed[place] ^ static_cast<char>(1 << random() % 8));
    expect_refused(changed, "a bit of byte " + std::to_string(place) + " changed");
  }
  expect_refused(whole + "x", "a byte too many");
  for (const char* other : {"1", "3"}) {
    std::ofstream(config.resume, std::ios::binary)
        << whole.substr(0, 29) + other + whole.substr(30);
    try {
      run(config);
      ADD_FAILURE() << "version " << other << " was taken up";
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::format);
      EXPECT_NE(std::string(error.what()).find("version of the state"), std::string::npos)
          << error.what();
    }
  }
  std::ofstream(config.resume, std::ios::binary) << whole;
  EXPECT_NO_THROW(run(config));
}

class CurveStateOnGpus : public CurveState, public ::testing::WithParamInterface<std::string> {};

TEST_P(CurveStateOnGpus, PartsAreOneRun) {
  SKIP_WITHOUT_GPU(GetParam());
  AutocorrelateConfig config = counts(900, SampleType::u8);
  config.levels = 3;
  const auto ends = random_ends(900);
  expect_same(run(config, GetParam()), run_in_parts(config, ends, GetParam()),
              "parts that end at" + text_of(ends));
}

INSTANTIATE_TEST_SUITE_P(Devices, CurveStateOnGpus, ::testing::ValuesIn(tests::gpu_names()),
                         [](const auto& info) { return tests::test_name(info.param); });

}  // namespace
}  // namespace tautline::pipeline
