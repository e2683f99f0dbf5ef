// Streams of random samples, poisoned outputs and the Runner of plans, for all tests of this
// folder.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/validity.h"
#include "tautline/stages/channelize/case.h"
#include "tautline/stages/channelize/case_run.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/channelize/tunables.h"
#include "tests/support/gpus.h"
#include "tests/support/seed.h"

namespace tautline::stages::channelize {

/// Samples of all inputs, [input][time], with a gap between rows.
struct Stream {
  core::SampleFormat format;
  std::size_t inputs = 0, samples = 0, row_bytes = 0;
  std::vector<std::byte> bytes;

  Stream(const core::SampleFormat& f, std::size_t input_count, std::size_t sample_count)
      : format(f),
        inputs(input_count),
        samples(sample_count),
        row_bytes(sample_bytes() * sample_count + 48),
        bytes(inputs * row_bytes) {}

  std::size_t sample_bytes() const {
    return static_cast<std::size_t>(format.bits_per_sample()) / 8;
  }
  std::size_t components() const { return samples * (format.complex ? 2 : 1); }
  const std::byte* at(std::size_t sample) const { return bytes.data() + sample * sample_bytes(); }

  void set(std::size_t input, std::size_t component, double value) {
    std::byte* to =
        bytes.data() + input * row_bytes + component * static_cast<std::size_t>(format.bits) / 8;
    const auto store = [to](auto v) { std::memcpy(to, &v, sizeof v); };
    if (format.is_float())
      store(static_cast<float>(value));
    else if (format.bits == 8)
      store(static_cast<std::int8_t>(value));
    else
      store(static_cast<std::int16_t>(value));
  }

  /// Gaussian noise for floats; every code of integers, -128 and -32768 included.
  void randomise(std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    const int half = format.bits == 8 ? 128 : 32768;
    std::uniform_int_distribution<int> code(-half, half - 1);
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t c = 0; c < components(); ++c)
        set(i, c, format.is_float() ? normal(random) : code(random));
  }
};

/// The results of one run: outputs of every type as complex values in [channel][input][time] order.
struct Result {
  std::size_t spectra = 0;
  std::vector<std::complex<float>> values;
  core::ValidityMask valid;
  std::vector<std::uint64_t> clipped;
  friend bool operator==(const Result& a, const Result& b) {
    return a.spectra == b.spectra && a.values == b.values && a.clipped == b.clipped;
  }
};

/// GPU devices are opened once and keep their compiled programs.
inline std::shared_ptr<const device::Device> open_device(const std::string& name,
                                                         std::size_t threads = 2) {
  static std::map<std::string, std::shared_ptr<const device::Device>> gpus;
  const device::Selection selection = device::parse_selection(name);
  if (selection.api != device::Api::cuda && selection.api != device::Api::opencl)
    return device::open(selection, {.threads = threads});
  auto& gpu = gpus[name];
  if (gpu == nullptr) gpu = device::open(selection, {.threads = threads});
  return gpu;
}

/// The instruction sets of this machine.
inline std::vector<std::string> forced_devices() {
  std::vector<std::string> names;
  for (const auto set :
       {device::InstructionSet::portable, device::InstructionSet::avx2,
        device::InstructionSet::avx512, device::InstructionSet::vnni, device::InstructionSet::amx})
    if (device::supported(set)) names.push_back("cpu:" + std::string(to_string(set)));
  return names;
}

/// Every device that compiles kernels at run time; may be empty.
inline std::vector<std::string> gpu_devices() {
  std::vector<std::string> names = tests::gpu_names();
  std::erase(names, "none");
  return names;
}

/// The reference, every instruction set of the CPU, and every GPU.
inline std::vector<std::string> all_devices() {
  std::vector<std::string> names = forced_devices();
  names.insert(names.begin(), "reference");
  for (const std::string& name : gpu_devices()) names.push_back(name);
  return names;
}

/// Runs a plan over a stream, in calls of the given numbers of samples and one of the rest.
class Runner {
 public:
  Runner(std::shared_ptr<const Plan> plan, std::shared_ptr<const device::Device> device)
      : plan_(std::move(plan)), queue_(device->make_queue()), state_(plan_->make_state(*queue_)) {}

  State& state() { return *state_; }

  std::vector<float> gains;                  ///< [channel][input]; ones when empty
  const core::ValidityMask* mask = nullptr;  ///< of the whole stream
  std::vector<PhaseModel> phases;            ///< of the first call

  Result run(const Stream& stream, const std::vector<std::size_t>& cuts = {}) {
    const Config& config = plan_->config();
    const std::size_t total = plan_->spectra(state_->held_samples(), stream.samples);
    prepare(total);
    std::size_t done = 0, sample = 0;
    for (std::size_t cut = 0; cut <= cuts.size(); ++cut) {
      const std::size_t count = cut < cuts.size() ? cuts[cut] : stream.samples - sample;
      Input input;
      input.samples = stream.at(sample);
      input.row_stride_bytes = stream.row_bytes;
      input.count = count;
      input.phases = phases;
      core::ValidityMask part;
      if (mask != nullptr) {
        part = core::ValidityMask(config.inputs, count);
        for (std::size_t i = 0; i < config.inputs; ++i)
          for (std::size_t t = 0; t < count; ++t)
            if (!mask->valid(i, sample + t)) part.set(i, t, 1, false);
        input.validity = part.view();
      }
      const std::size_t expected = plan_->spectra(state_->held_samples(), count);
      core::ValidityMask valid(config.inputs, std::max<std::size_t>(1, expected));
      const std::size_t got =
          plan_->execute(*queue_, *state_, input, views(done, total, expected, valid));
      if (got != expected) throw std::runtime_error("spectra() and execute() disagree");
      for (std::size_t i = 0; i < config.inputs; ++i)
        for (std::size_t s = 0; s < got; ++s) result_.valid.set(i, done + s, 1, valid.valid(i, s));
      done += got, sample += count;
    }
    return collect(total);
  }

 private:
  void prepare(std::size_t total) {
    const Config& config = plan_->config();
    const std::size_t size = config.channels * config.inputs * (total + kGap);
    const float poison = std::numeric_limits<float>::quiet_NaN();
    floats_.assign(size, {poison, poison});
    ci8_.assign(size, {-77, 99});
    ci4_.assign(size, core::ci4{0x5a});
    if (gains.empty()) gains.assign(config.channels * config.inputs, 1.0f);
    result_ = {};
    result_.clipped.assign(config.inputs, 0);
    result_.valid = core::ValidityMask(config.inputs, std::max<std::size_t>(1, total));
  }

  OutputViews views(std::size_t done, std::size_t total, std::size_t count,
                    core::ValidityMask& valid) {
    const Config& c = plan_->config();
    OutputViews out;
    void* memory = floats_.data();
    if (c.output == Output::corner_turned_ci8) memory = ci8_.data();
    if (c.output == Output::corner_turned_ci4) memory = ci4_.data();
    out.samples = c.output_view(memory, total + kGap)
                      .slice(c.output == Output::spectra_float ? 1 : 2, done, count);
    out.valid = valid.mutable_view();
    out.gains = core::View<const float, 2>(gains.data(), {c.channels, c.inputs});
    out.clipped = core::View<std::uint64_t, 1>(result_.clipped.data(), {c.inputs});
    return out;
  }

  Result collect(std::size_t total) {
    const Config& c = plan_->config();
    result_.spectra = total;
    result_.values.resize(c.channels * c.inputs * total);
    for (std::size_t k = 0; k < c.channels; ++k)
      for (std::size_t i = 0; i < c.inputs; ++i)
        for (std::size_t s = 0; s < total; ++s) {
          const std::size_t at = (k * c.inputs + i) * (total + kGap) + s;
          std::complex<float>& to = result_.values[(k * c.inputs + i) * total + s];
          if (c.output == Output::spectra_float)
            to = floats_[(i * (total + kGap) + s) * c.channels + k];
          else if (c.output == Output::corner_turned_float)
            to = floats_[at];
          else if (c.output == Output::corner_turned_ci8)
            to = {static_cast<float>(ci8_[at].re), static_cast<float>(ci8_[at].im)};
          else
            to = {static_cast<float>(ci4_[at].re()), static_cast<float>(ci4_[at].im())};
        }
    check_poison(total);
    return result_;
  }

  // The gaps after rows must be unchanged.
  void check_poison(std::size_t total) const {
    const Config& c = plan_->config();
    for (std::size_t row = 0; row < c.channels * c.inputs; ++row)
      for (std::size_t g = 0; g < kGap; ++g) {
        const std::size_t at = row * (total + kGap) + total + g;
        const bool kept = c.output == Output::spectra_float ||
                          (c.output == Output::corner_turned_float
                               ? std::isnan(floats_[at].real()) && std::isnan(floats_[at].imag())
                               : ci8_[at] == core::ci8{-77, 99} && ci4_[at] == core::ci4{0x5a});
        if (!kept) throw std::runtime_error("wrote behind the end of a row");
      }
  }

  static constexpr std::size_t kGap = 3;
  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<State> state_;
  Result result_;
  std::vector<std::complex<float>> floats_;
  std::vector<core::ci8> ci8_;
  std::vector<core::ci4> ci4_;
};

inline double rms(const std::vector<std::complex<float>>& values) {
  double power = 0;
  for (const auto& v : values) power += std::norm(std::complex<double>(v));
  return values.empty() ? 0 : std::sqrt(power / static_cast<double>(values.size()));
}

/// The largest difference over the rms of the reference.
inline double worst_difference(const Result& a, const Result& reference) {
  double worst = 0;
  for (std::size_t n = 0; n < a.values.size(); ++n) {
    const double d =
        std::abs(std::complex<double>(a.values[n]) - std::complex<double>(reference.values[n]));
    if (!(d <= worst)) worst = d;  // NaN stays
  }
  const double scale = rms(reference.values);
  return scale > 0 ? worst / scale : worst;
}

}  // namespace tautline::stages::channelize
