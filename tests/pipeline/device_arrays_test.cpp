// Runs over arrays that lie in a device's memory give what they give of the host's arrays on that device.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/pipeline/photons/autocorrelate_counts.h"
#include "tautline/pipeline/rows_of_device.h"
#include "tautline/pipeline/search/search_filterbank.h"
#include "tautline/pipeline/voltages/correlate_voltages.h"
#include "tests/support/error_of.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::pipeline {
namespace {

using core::SampleType;

/// An array in the host's memory, and the same in the device's.
template <std::size_t Rank>
struct TwoArrays {
  std::vector<std::byte> host;
  device::Buffer there;
  core::SampleView<Rank> on_host, on_device;
};

class DeviceArrays : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_GPU(GetParam());
    if (tests::compiles_slowly(GetParam())) GTEST_SKIP() << "a CPU's OpenCL: with TAUTLINE_FULL";
    device = device::open(device::parse_selection(GetParam()));
  }

  /// Rows of `row` elements, of which the last axis has less.
  template <std::size_t Rank>
  TwoArrays<Rank> arrays(SampleType type, const std::array<std::size_t, Rank>& extents,
                         std::size_t row, const std::function<double(std::size_t)>& value) {
    std::array<std::ptrdiff_t, Rank> strides;
    strides[Rank - 1] = 1;
    std::size_t rows = 1;
    for (std::size_t a = Rank - 1; a-- > 0;) {
      strides[a] = static_cast<std::ptrdiff_t>(row * rows);
      rows *= extents[a];
    }
    TwoArrays<Rank> two;
    two.host.resize(rows * row * core::bytes_of(type));
    fill(two.host, type, value);
    two.there = device->allocate(two.host.size());
    const auto queue = device->make_queue();
    queue->copy(two.there.data(), two.host.data(), two.host.size());
    queue->synchronise();
    two.on_host = {two.host.data(), type, extents, strides};
    two.on_device = {two.there.data(), type, extents, strides};
    return two;
  }
  static void fill(std::vector<std::byte>& bytes, SampleType type,
                   const std::function<double(std::size_t)>& value) {
    std::size_t at = 0, k = 0;
    const auto put = [&](auto number) {
      std::memcpy(bytes.data() + at, &number, sizeof number);
      at += sizeof number;
    };
    while (at < bytes.size()) {
      const double x = value(k++);
      if (type == SampleType::f32 || type == SampleType::cf32)
        put(static_cast<float>(x));
      else if (core::bytes_of(type) == 1 || type == SampleType::ci8)
        put(static_cast<std::uint8_t>(std::lround(x)));
      else if (type == SampleType::u32)
        put(static_cast<std::uint32_t>(std::lround(x)));
      else
        put(static_cast<std::uint16_t>(std::lround(x)));
    }
  }

  std::mt19937_64 random = tests::generator();
  std::shared_ptr<const device::Device> device;
};

struct KeptMeans {
  std::vector<std::complex<float>> means;
  std::vector<std::int64_t> counts;
};

class KeepMeans final : public formats::VisibilityWriter {
 public:
  explicit KeepMeans(KeptMeans& kept) : kept_(kept) {}
  void write(const formats::Integration& one) override {
    for (std::size_t c = 0; c < one.counts.extent(0); ++c) {
      const std::size_t baselines = one.counts.extent(1);
      kept_.means.insert(kept_.means.end(), one.visibilities.row(c),
                         one.visibilities.row(c) + baselines);
      kept_.counts.insert(kept_.counts.end(), one.counts.row(c), one.counts.row(c) + baselines);
    }
  }
  void add_extra(const std::string&, const std::string&) override {}
  void finish() override {}

 private:
  KeptMeans& kept_;
};

TEST_P(DeviceArrays, CorrelateGivesTheSame) {
  struct Voltages {
    SampleType type;
    std::size_t channels, inputs, times;
    Requantise requantise;
    bool dirty;
  };
  for (const Voltages& v : {Voltages{SampleType::ci8, 1, 6, 700'001, Requantise::bits8, false},
                            Voltages{SampleType::i16, 1, 3, 300'000, Requantise::off, false},
                            Voltages{SampleType::cf32, 1, 4, 200'003, Requantise::bits8, true},
                            Voltages{SampleType::f32, 1, 2, 150'000, Requantise::off, true},
                            Voltages{SampleType::ci8, 16, 4, 30'011, Requantise::off, false},
                            Voltages{SampleType::cf32, 5, 4, 20'000, Requantise::off, true}}) {
    const std::string what =
        std::string(core::to_string(v.type)) + " of " + std::to_string(v.channels) + " channels";
    std::normal_distribution<double> normal(0, 20);
    const auto samples =
        arrays<3>(v.type, {v.channels, v.inputs, v.times}, v.times + 24, [&](std::size_t) {
          if (v.dirty && random() % 10'000 == 0)
            return random() % 2 ? std::nan("") : -std::numeric_limits<double>::infinity();
          return normal(random);
        });
    core::VoltageDescription description;
    description.rate_hz = {1'000'000, 1};
    description.bandwidth_hz = 1e6 * static_cast<double>(v.channels);
    const auto run = [&](bool there, KeptMeans& kept) {
      CorrelateConfig config;
      config.inputs = {"array"};
      config.filter.channels = 32;
      config.filter.taps = 4;
      config.integration_s = 0.02;
      config.requantise = v.requantise;
      config.keep_constant = true;
      config.memory_bytes = std::size_t{64} << 20;
      config.samples_on_device = there;
      config.reader.source = [&, there] {
        return formats::open_memory_voltages(there ? samples.on_device : samples.on_host,
                                             description,
                                             there ? rows_of_device(device) : formats::CopyRows());
      };
      config.writer = [&](const formats::VisibilityDescription&) {
        return std::make_unique<KeepMeans>(kept);
      };
      return correlate_voltages(config, {device});
    };
    KeptMeans host, here;
    const CorrelateSummary of_host = run(false, host), of_device = run(true, here);
    EXPECT_TRUE(std::ranges::any_of(host.counts, [](std::int64_t n) { return n > 0; })) << what;
    EXPECT_EQ(here.counts, host.counts) << what;
    EXPECT_EQ(here.means, host.means) << what;
    EXPECT_EQ(of_device.not_finite, of_host.not_finite) << what;
    EXPECT_EQ(of_device.not_finite > 0, v.dirty) << what;
    EXPECT_EQ(of_device.clipped, of_host.clipped) << what;
    EXPECT_EQ(of_device.samples, v.times) << what;
  }
}

TEST_P(DeviceArrays, AutocorrelateGivesTheSame) {
  for (const SampleType type : {SampleType::u8, SampleType::u16, SampleType::u32, SampleType::f32})
    for (const std::size_t sensors : {1, 20}) {
      const std::string what =
          std::string(core::to_string(type)) + ", " + std::to_string(sensors) + " sensors";
      std::poisson_distribution<int> poisson(2);
      const auto counts =
          arrays<2>(type, {60'001, sensors}, sensors + random() % 3,
                    [&](std::size_t) { return static_cast<double>(poisson(random)); });
      const auto run = [&](bool there) {
        AutocorrelateConfig config;
        config.input = "array";
        config.bin_s = 1e-5;
        config.bins = 16;
        config.levels = 6;
        config.keep_constant = true;
        config.memory_bytes = std::size_t{4} << 20;
        config.samples_on_device = there;
        config.source = [&, there] {
          return formats::open_memory_counts(there ? counts.on_device : counts.on_host,
                                             {.format = "counts"},
                                             there ? rows_of_device(device) : formats::CopyRows());
        };
        AutocorrelateSummary summary;
        return correlate_counts(config, device, summary);
      };
      const core::CorrelationCurves host = run(false), here = run(true);
      EXPECT_EQ(here.samples, 60'001u) << what;
      EXPECT_EQ(here.sums, host.sums) << what;
      EXPECT_EQ(here.sums_float, host.sums_float) << what;
      EXPECT_EQ(here.g, host.g) << what;
      EXPECT_EQ(here.standard_error, host.standard_error) << what;
      EXPECT_EQ(here.first.back().trace.rate_khz, host.first.back().trace.rate_khz) << what;
    }
}

class DeviceFilterbanks : public DeviceArrays {
 protected:
  SearchSummary search(const TwoArrays<2>& samples, bool there, bool zero_dm = false) {
    const std::size_t channels = samples.on_host.extent(1);
    SearchConfig config;
    config.inputs = {"array"};
    config.dms.low = 0;
    config.dms.high = 60;
    config.dms.step = 2;
    config.threshold = 5.5;
    config.max_width_s = 0.02;
    config.method = stages::dedisperse::Method::exact;
    config.keep_constant = true;
    config.zero_dm = zero_dm;
    config.samples_on_device = there;
    config.reader.source = [&, there, channels] {
      formats::FilterbankDescription description;
      description.format = "array";
      for (std::size_t c = 0; c < channels; ++c)
        description.channel_mhz.push_back(1500 - 8 * static_cast<double>(c));
      description.tsamp_s = 512e-6;
      description.rate_hz = core::make_rational(1'000'000, 512);
      return formats::open_memory_filterbank(there ? samples.on_device : samples.on_host,
                                             description,
                                             there ? rows_of_device(device) : formats::CopyRows());
    };
    return search_filterbank(config, device);
  }
  TwoArrays<2> noise(SampleType type, std::size_t times, bool dirty) {
    constexpr std::size_t kChannels = 32, kRow = 35;
    std::normal_distribution<double> normal(0, 12);
    const bool is_signed = type == SampleType::i8 || type == SampleType::i16;
    return arrays<2>(type, {times, kChannels}, kRow, [=, this](std::size_t k) mutable {
      const std::size_t time = k / kRow;
      if (dirty && time == times / 3) return std::nan("");
      const double pulse = time / 8 == times / 16 ? 40 : 0;  // at DM 0
      return (is_signed ? 0 : 100) + std::clamp(normal(random), -60.0, 60.0) + pulse;
    });
  }
};

TEST_P(DeviceFilterbanks, SearchGivesTheSame) {
  for (const SampleType type :
       {SampleType::u8, SampleType::i8, SampleType::u16, SampleType::i16, SampleType::f32})
    for (const bool zero_dm : {false, true}) {
      if (zero_dm && type == SampleType::f32) continue;
      const std::string what = std::string(core::to_string(type)) + (zero_dm ? ", zero-DM" : "");
      const auto samples = noise(type, 50'000 + random() % 1000, false);
      const SearchSummary host = search(samples, false, zero_dm),
                          here = search(samples, true, zero_dm);
      EXPECT_EQ(here.candidates, host.candidates) << what;
      EXPECT_EQ(here.detections, host.detections) << what;
      EXPECT_GE(here.candidates.size(), zero_dm ? 0u : 1u) << what;
      EXPECT_EQ(here.samples, samples.on_host.extent(0)) << what;
    }
}

TEST_P(DeviceFilterbanks, TimesThatAreNotFiniteAreMissing) {
  const auto samples = noise(SampleType::f32, 40'000, true);
  const SearchSummary found = search(samples, true);
  ASSERT_GE(found.candidates.size(), 1u);
  for (const core::Candidate& one : found.candidates) EXPECT_TRUE(std::isfinite(one.snr));
  EXPECT_NEAR(static_cast<double>(found.candidates.front().sample), 20'000, 20);
}

TEST_P(DeviceFilterbanks, FloatsThatTheHostWouldCleanAreRefused) {
  const auto samples = noise(SampleType::f32, 40'000, false);
  const core::Error error = tests::error_of([&] { search(samples, true, true); });
  EXPECT_EQ(error.kind(), core::ErrorKind::unsupported) << error.what();
}

// Of every device: what would look at the samples is found before anything is read.
TEST(SamplesOnDevice, AreNotTakenWhereTheHostWouldLookAtThem) {
  const auto device = device::open({});
  const std::vector<std::uint8_t> values(400 * 4, 1);
  const core::SampleView<2> view(values.data(), SampleType::u8, {400, 4});
  const auto field_of = [](const auto& call) {
    try {
      call();
    } catch (const core::Error& error) {
      EXPECT_EQ(error.kind(), core::ErrorKind::config);
      return error.field();
    }
    return std::string("taken");
  };
  CorrelateConfig correlate;
  correlate.inputs = {"array"};
  correlate.samples_on_device = true;
  correlate.writer =
      [](const formats::VisibilityDescription&) -> std::unique_ptr<formats::VisibilityWriter> {
    return nullptr;
  };
  correlate.reader.source = [&] {
    core::VoltageDescription description;
    description.rate_hz = {1000, 1};
    return formats::open_memory_voltages({values.data(), SampleType::i8, {1, 4, 400}}, description);
  };
  EXPECT_EQ(field_of([&] { correlate_voltages(correlate, {device}); }), "keep_constant");

  SearchConfig search;
  search.inputs = {"array"};
  search.dms.list = {0, 1};
  search.samples_on_device = true;
  search.reader.source = [&] {
    formats::FilterbankDescription description;
    description.channel_mhz = {1500, 1490, 1480, 1470};
    description.tsamp_s = 1e-3;
    description.rate_hz = {1000, 1};
    return formats::open_memory_filterbank(view, description);
  };
  EXPECT_EQ(field_of([&] { search_filterbank(search, device); }), "keep_constant");

  AutocorrelateConfig counts;
  counts.input = "array";
  counts.bin_s = 1e-3;
  counts.keep_constant = true;
  counts.sensors.rows = counts.sensors.columns = 2;
  counts.sensors.bin_rows = 2;
  counts.samples_on_device = true;
  counts.source = [&] { return formats::open_memory_counts(view, {.format = "counts"}); };
  AutocorrelateSummary summary;
  EXPECT_EQ(field_of([&] { correlate_counts(counts, device, summary); }), "bin_sensors");
}

TEST_P(DeviceArrays, RowsThatAreNotDenseAreRefused) {
  const auto samples = arrays<2>(SampleType::u8, {100, 8}, 8, [](std::size_t) { return 1.0; });
  const core::SampleView<2> every_second(samples.on_device.data(), SampleType::u8, {100, 4},
                                         {8, 2});
  EXPECT_THROW(
      formats::open_memory_counts(every_second, {.format = "counts"}, rows_of_device(device)),
      core::Error);
  formats::FilterbankDescription description;
  description.channel_mhz = {1500, 1490, 1480, 1470};
  EXPECT_THROW(formats::open_memory_filterbank(every_second, description, rows_of_device(device)),
               core::Error);
}

const auto name_of = [](const auto& info) { return tests::test_name(info.param); };
INSTANTIATE_TEST_SUITE_P(Devices, DeviceArrays, ::testing::ValuesIn(tests::gpu_names()), name_of);
INSTANTIATE_TEST_SUITE_P(Devices, DeviceFilterbanks, ::testing::ValuesIn(tests::gpu_names()),
                         name_of);

}  // namespace
}  // namespace tautline::pipeline
