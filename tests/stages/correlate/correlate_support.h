// Data, plans and comparison for the tests of the correlator.
#pragma once

#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tautline/core/complex_int.h"
#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/stages/correlate/correlate.h"
#include "tests/support/seed.h"

namespace tautline::stages::correlate::tests {
using device::InstructionSet;
using tautline::tests::generator;

inline std::shared_ptr<const device::Device> forced(InstructionSet set, std::size_t threads = 2) {
  return device::open({device::Api::cpu, set}, {.threads = threads});
}
inline std::shared_ptr<const device::Device> reference_device() {
  return device::open({device::Api::reference, std::nullopt}, {.threads = 1});
}

/// A backend: a CPU's instruction set or a GPU.
struct Backend {
  const char* name;
  device::Selection selection;

  bool gpu() const {
    return selection.api == device::Api::cuda || selection.api == device::Api::opencl;
  }
  /// Whether a plan's backend() names this backend. VNNI and AMX have no instructions for floats.
  bool named_by(const std::string& backend, bool floats = false) const {
    if (gpu()) return backend.starts_with(std::string(name) + " ");
    const auto set = *selection.instruction_set;
    return backend == to_string(floats ? std::min(set, InstructionSet::avx512) : set);
  }
};

inline constexpr Backend kBackends[] = {{"portable", {device::Api::cpu, InstructionSet::portable}},
                                        {"avx2", {device::Api::cpu, InstructionSet::avx2}},
                                        {"avx512", {device::Api::cpu, InstructionSet::avx512}},
                                        {"vnni", {device::Api::cpu, InstructionSet::vnni}},
                                        {"amx", {device::Api::cpu, InstructionSet::amx}},
                                        {"cuda", {device::Api::cuda, std::nullopt, 0}},
                                        {"opencl", {device::Api::opencl, std::nullopt, 0}}};

/// The reason why the backend cannot run here; empty if it can.
inline std::string missing(const Backend& backend) {
  if (!backend.gpu())
    return device::supported(*backend.selection.instruction_set)
               ? ""
               : std::string("this processor has no ") + backend.name;
  try {
    device::parse_selection(std::string(backend.name) + ":0");
    return "";
  } catch (const core::Error& error) {
    return error.what();
  }
}

/// An open device of a backend. GPU devices are kept for later tests, with a plan of each kind of
/// sums that keeps their programs.
inline std::shared_ptr<const device::Device> opened(const Backend& backend,
                                                    std::size_t threads = 2) {
  if (!backend.gpu()) return device::open(backend.selection, {.threads = threads});
  struct Kept {
    std::shared_ptr<const device::Device> device;
    std::shared_ptr<const Plan> integers, floats;
  };
  static std::map<device::Api, Kept> all;
  Kept& kept = all[backend.selection.api];
  if (kept.device == nullptr) {
    kept.device = device::open(backend.selection);
    kept.integers = make_plan({.inputs = 64}, kept.device);
    kept.floats = make_plan({.inputs = 64, .format = core::kCf32}, kept.device);
  }
  return kept.device;
}

inline void random_sample(std::mt19937_64& random, core::ci8& x) {
  // Every eighth sample is full scale, where wrong signs and overflows show.
  const auto bits = random();
  const auto extreme = [](unsigned b) { return static_cast<std::int8_t>(b & 1 ? -128 : 127); };
  if (bits >> 32 & 7) {
    x = {static_cast<std::int8_t>(bits), static_cast<std::int8_t>(bits >> 8)};
  } else {
    x = {extreme(static_cast<unsigned>(bits)), extreme(static_cast<unsigned>(bits >> 1))};
  }
}
inline void random_sample(std::mt19937_64& random, core::ci4& x) {
  x.packed = static_cast<std::uint8_t>(random());
}
inline void random_sample(std::mt19937_64& random, core::ci16& x) {
  const auto bits = random();
  x = {static_cast<std::int16_t>(bits), static_cast<std::int16_t>(bits >> 16)};
}
inline void random_sample(std::mt19937_64& random, std::complex<float>& x) {
  std::normal_distribution<float> normal;
  x = {normal(random), normal(random)};
}

inline core::SampleFormat format_of(const core::ci8*) {
  return core::kCi8;
}
inline core::SampleFormat format_of(const core::ci4*) {
  return core::kCi4;
}
inline core::SampleFormat format_of(const core::ci16*) {
  return core::kCi16;
}
inline core::SampleFormat format_of(const core::cf16*) {
  return core::kCf16;
}
inline core::SampleFormat format_of(const std::complex<float>*) {
  return core::kCf32;
}

inline void random_sample(std::mt19937_64& random, core::cf16& x) {
  std::normal_distribution<float> normal;
  x = {core::to_half(normal(random)), core::to_half(normal(random))};
}

/// Spacing of the samples in memory, in elements.
struct Spacing {
  std::size_t time = 1;
  std::size_t after_row = 0;
  std::size_t after_channel = 0;
};

/// Samples [channel][input][time], dense or with gaps. All memory has random values, also the gaps
/// and one sample before the start.
template <class Sample>
struct Data {
  Data(std::size_t channels, std::size_t inputs, std::size_t samples, Spacing spacing = {})
      : extents{channels, inputs, samples} {
    const std::size_t row = samples * spacing.time + spacing.after_row;
    const std::size_t channel = row * inputs + spacing.after_channel;
    strides = {static_cast<std::ptrdiff_t>(channel), static_cast<std::ptrdiff_t>(row),
               static_cast<std::ptrdiff_t>(spacing.time)};
    storage.resize(channel * channels + 1);
    auto random = generator();
    for (Sample& x : storage) random_sample(random, x);
  }
  core::View<Sample, 3> view() { return {storage.data() + 1, extents, strides}; }
  Samples<Sample> samples() { return view(); }
  void fill(std::size_t input, Sample value) {
    for (std::size_t c = 0; c < extents[0]; ++c)
      for (std::size_t t = 0; t < extents[2]; ++t) view()(c, input, t) = value;
  }

  std::array<std::size_t, 3> extents;
  std::array<std::ptrdiff_t, 3> strides;
  std::vector<Sample> storage;
};

/// Input 0 has all 65,536 samples, input 1 the same with re and im swapped, and input 2 in reverse
/// order, so that every product of two values occurs in every term.
inline Data<core::ci8> every_pair_of_bytes() {
  Data<core::ci8> data(1, 3, 65536);
  for (std::size_t t = 0; t < 65536; ++t) {
    const core::ci8 x{static_cast<std::int8_t>(t & 255), static_cast<std::int8_t>(t >> 8)};
    data.view()(0, 0, t) = x;
    data.view()(0, 1, t) = {x.im, x.re};
    data.view()(0, 2, 65535 - t) = x;
  }
  return data;
}

/// Masks [channel][input][word]; `shared`: one for all channels, with stride 0.
struct Masks {
  Masks(std::size_t channels, std::size_t inputs, std::size_t samples, bool shared = false)
      : extents{channels, inputs, core::validity_words(samples)},
        length(samples),
        strides{shared ? 0 : static_cast<std::ptrdiff_t>(inputs * extents[2]),
                static_cast<std::ptrdiff_t>(extents[2]), 1},
        words((shared ? 1 : channels) * inputs * extents[2]) {
    for (std::size_t row = 0; row < words.size() / extents[2]; ++row)
      core::set_range(words.data() + row * extents[2], 0, samples, true);
  }
  /// Clears each bit with probability `invalid`.
  void randomise(double invalid) {
    auto random = generator();
    std::bernoulli_distribution drop(invalid);
    for (auto& word : words)
      for (std::size_t bit = 0; bit < 64; ++bit)
        if (drop(random)) word &= ~(std::uint64_t{1} << bit);
  }
  std::uint64_t* row(std::size_t channel, std::size_t input) {
    return words.data() + static_cast<std::ptrdiff_t>(channel) * strides[0] +
           static_cast<std::ptrdiff_t>(input) * strides[1];
  }
  Validity view() const { return {words.data(), extents, strides}; }

  std::array<std::size_t, 3> extents;
  std::size_t length;
  std::array<std::ptrdiff_t, 3> strides;
  std::vector<std::uint64_t> words;
};

/// Visibilities and counts that start from a pattern, since plans add to them.
template <class Visibility>
struct Sums {
  Sums(std::size_t channels, std::size_t inputs, std::size_t spread = 1)
      : channels(channels), baselines(core::baseline_count(inputs)), spread(spread) {
    visibilities.resize(channels * baselines * spread);
    counts.resize(channels * baselines * spread);
    for (std::size_t k = 0; k < visibilities.size(); ++k) {
      const auto start = static_cast<std::int64_t>(k % 97) - 48;
      if constexpr (std::is_same_v<Visibility, core::ci64>) visibilities[k] = {start << 33, -start};
      counts[k] = start << 33;
    }
  }
  core::View<Visibility, 2> visibility_view() { return view(visibilities.data()); }
  Counts count_view() { return view(counts.data()); }

  template <class T>
  core::View<T, 2> view(T* data) {
    return {data,
            {channels, baselines},
            {static_cast<std::ptrdiff_t>(baselines * spread), static_cast<std::ptrdiff_t>(spread)}};
  }

  std::size_t channels, baselines, spread;
  std::vector<Visibility> visibilities;
  std::vector<std::int64_t> counts;
};

template <class Sample>
Config config_for(const Samples<Sample>& samples) {
  return {.channels = samples.extent(0),
          .inputs = samples.extent(1),
          .max_samples = std::max<std::size_t>(1, samples.extent(2)),
          .format = format_of(static_cast<const Sample*>(nullptr))};
}

/// A new state with all that `state` has.
inline std::unique_ptr<State> saved_and_loaded(const Plan& plan, const device::Queue& queue,
                                               const State& state) {
  auto other = plan.make_state(queue);
  other->begin();  // to be overwritten
  other->load(state.save());
  return other;
}

/// Runs one execute() of `plan` on new sums.
template <class Sample>
Sums<VisibilityOf<Sample>> run(const Plan& plan, device::Queue& queue,
                               const Samples<Sample>& samples, const Validity& validity = {}) {
  Sums<VisibilityOf<Sample>> sums(samples.extent(0), samples.extent(1));
  const auto state = plan.make_state(queue);
  plan.execute(queue, *state, samples, validity, sums.visibility_view(), sums.count_view());
  return sums;
}

template <class Sample>
Sums<VisibilityOf<Sample>> run(const std::shared_ptr<const device::Device>& device,
                               const Samples<Sample>& samples, const Validity& validity = {}) {
  const auto plan = make_plan(config_for(samples), device);
  const auto queue = device->make_queue();
  return run(*plan, *queue, samples, validity);
}

template <class Sample>
Sums<VisibilityOf<Sample>> run_reference(const Samples<Sample>& samples,
                                         const Validity& validity = {}) {
  return run(reference_device(), samples, validity);
}

/// Compares bit for bit; names the first difference.
inline void expect_equal(const Sums<core::ci64>& got, const Sums<core::ci64>& expected,
                         const std::string& what) {
  ASSERT_EQ(got.visibilities.size(), expected.visibilities.size()) << what;
  for (std::size_t k = 0; k < got.visibilities.size(); ++k) {
    ASSERT_EQ(got.visibilities[k].re, expected.visibilities[k].re) << what << " re at " << k;
    ASSERT_EQ(got.visibilities[k].im, expected.visibilities[k].im) << what << " im at " << k;
  }
  ASSERT_EQ(got.counts, expected.counts) << what;
}

/// A test for each backend, skipped with the reason if it cannot run here.
class EachBackend : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (const std::string reason = missing(GetParam()); !reason.empty()) GTEST_SKIP() << reason;
  }
};

inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) {
  return info.param.name;
}

}  // namespace tautline::stages::correlate::tests
