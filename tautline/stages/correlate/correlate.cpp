// Validation and choice of backend.
#include "tautline/stages/correlate/correlate.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "tautline/core/byte_archive.h"
#include "tautline/core/error.h"
#include "tautline/core/saved_state.h"
#include "tautline/stages/correlate/backends.h"
#include "tautline/stages/correlate/cpu/dispatch.h"
#include "tautline/stages/correlate/cpu/plan.h"
#include "tautline/stages/correlate/gpu/tuning.h"

namespace tautline::stages::correlate {

namespace {

[[noreturn]] void throw_config(std::string field, std::string value, std::string limit,
                               std::string advice = {}) {
  throw core::Error(core::ErrorKind::config, std::move(field), std::move(value), std::move(limit),
                    std::move(advice));
}

template <std::size_t Rank>
std::string to_text(const std::array<std::size_t, Rank>& extents) {
  std::string text;
  for (const std::size_t e : extents) text += (text.empty() ? "" : " x ") + std::to_string(e);
  return text;
}

constexpr core::SampleFormat kFormats[] = {core::kCi4, core::kCi8, core::kCi16, core::kCf16,
                                           core::kCf32};

core::SampleFormat format_of(core::SampleType type) {
  for (const core::SampleFormat& format : kFormats)
    if (core::sample_type(format) == type) return format;
  throw_config("correlate sample type", std::string(to_string(type)),
               "ci4, ci8, ci16, cf16 or cf32", "convert the samples first");
}

constexpr const char* kStage = "correlate";
constexpr const char* kVisibilities = "correlate visibilities [channel][baseline]";

void check_samples(const Config& config, const core::SampleView<3>& samples,
                   const Validity& validity) {
  if (samples.type() != core::sample_type(config.format))
    throw_config("correlate sample type", std::string(to_string(samples.type())),
                 core::to_string(config.format), "make the plan with the format of the samples");
  const auto& [channels, inputs, count] = samples.extents();
  if (channels != config.channels || inputs != config.inputs)
    throw_config(
        "correlate samples [channel][input][time]", to_text(samples.extents()),
        std::to_string(config.channels) + " x " + std::to_string(config.inputs) + " x time");
  if (count > config.max_samples)
    throw_config("correlate samples [time]", std::to_string(count),
                 "max_samples = " + std::to_string(config.max_samples) + " or fewer",
                 "split the call, or plan for more");
  if (validity.data() == nullptr) return;
  const std::size_t words = core::validity_words(count);
  const auto& v = validity.extents();
  if (v[0] != channels || v[1] != inputs || v[2] < words)
    throw_config("correlate validity [channel][input][word]", to_text(v),
                 std::to_string(channels) + " x " + std::to_string(inputs) + " x " +
                     std::to_string(words) + " or more",
                 "give one bit a sample, or an empty view when all are valid");
  if (validity.stride(2) != 1 && words > 1)
    throw_config("correlate validity word stride", std::to_string(validity.stride(2)), "1");
}

void check_sums(const Config& config, const core::MutableSampleView<2>& visibilities,
                const Counts& counts) {
  const core::MutableSampleView<2>::Extents expected{config.channels,
                                                     core::baseline_count(config.inputs)};
  if (visibilities.type() != config.visibility_type())
    visibilities.refuse(kVisibilities, std::string(to_string(config.visibility_type())));
  if (visibilities.extents() != expected)
    throw_config(kVisibilities, to_text(visibilities.extents()), to_text(expected));
  if (counts.extents() != expected)
    throw_config("correlate counts [channel][baseline]", to_text(counts.extents()),
                 to_text(expected));
}

}  // namespace

void check_config(const Config& config) {
  core::check(config, kStage);
}

std::string state_plan(const Config& config, std::string_view deferred) {
  return fmt::format("1 {} {} {} {}", config.channels, config.inputs,
                     core::to_string(config.format), deferred);
}

void clear_on_host(device::Queue& queue, const core::MutableSampleView<2>& visibilities,
                   const Counts& counts) {
  const auto clear = [&](const auto& view) {
    queue.parallel_for(view.extent(0), 1, [&](std::size_t first, std::size_t last, std::size_t) {
      for (std::size_t c = first; c < last; ++c)
        for (std::size_t b = 0; b < view.extent(1); ++b) view(c, b) = {};
    });
  };
  core::with_type<core::ci64, std::complex<double>>(visibilities, kVisibilities, clear);
  clear(counts);
}

std::vector<std::byte> State::save() const {
  std::vector<std::byte> content;
  core::ByteWriter write([&](std::span<const std::byte> bytes) {
    content.insert(content.end(), bytes.begin(), bytes.end());
  });
  write(std::uint8_t{begins_});
  save_sums(write);
  return core::seal_state(kStage, plan_, content);
}

void State::load(std::span<const std::byte> saved) {
  core::ByteReader read(core::open_state(kStage, plan_, saved), "saved state of correlate");
  std::uint8_t begins = 0;
  read(begins);
  load_sums(read);
  read.finish();
  begins_ = begins != 0;
}

void Plan::execute(device::Queue& queue, State& state, const core::SampleView<3>& samples,
                   const Validity& validity, const core::MutableSampleView<2>& visibilities,
                   const Counts& counts) const {
  check_samples(config_, samples, validity);
  check_sums(config_, visibilities, counts);
  if (samples.extent(2) > 0) add(queue, state, samples, validity, visibilities, counts);
}

void Plan::flush(device::Queue& queue, State& state, const core::MutableSampleView<2>& visibilities,
                 const Counts& counts) const {
  check_sums(config_, visibilities, counts);
  add_deferred(queue, state, visibilities, counts);
}

void Plan::add_deferred(device::Queue& queue, State& state,
                        const core::MutableSampleView<2>& visibilities,
                        const Counts& counts) const {
  if (state.take_begin()) clear_on_host(queue, visibilities, counts);
}

std::shared_ptr<const Plan> make_plan(const Config& config,
                                      std::shared_ptr<const device::Device> device) {
  check_config(config);
  if (device == nullptr) throw_config("correlate device", "null", "an open device");
  if (device->api() == device::Api::reference) return make_reference_plan(config);
  if (device->compiles()) return gpu::make_tuned_plan(config, std::move(device));
  if (config.exact()) {
    const auto& kernel = cpu::choose_integer_kernel(*device);
    return cpu::make_integer_plan(config, std::move(device), kernel, {});
  }
  const auto& kernel = cpu::choose_float_kernel(*device);
  return cpu::make_float_plan(config, std::move(device), kernel, {});
}

void correlate(const core::SampleView<3>& samples, const Validity& validity,
               const core::MutableSampleView<2>& visibilities, const Counts& counts,
               const device::Selection& selection) {
  constexpr std::size_t kMostSamples = 1 << 16;  // of one execute(): whole words of the masks
  const std::size_t total = samples.extent(2);
  Config config{.channels = samples.extent(0),
                .inputs = samples.extent(1),
                .max_samples = std::clamp<std::size_t>(total, 1, kMostSamples),
                .format = format_of(samples.type())};
  const auto device = device::open(selection);
  const auto plan = make_plan(config, device);
  const auto queue = device->make_queue();
  const auto state = plan->make_state(*queue);
  for (std::size_t first = 0; first < total; first += kMostSamples) {
    const std::size_t count = std::min(kMostSamples, total - first);
    const std::size_t words = core::validity_words(count);
    plan->execute(*queue, *state, samples.slice(2, first, count),
                  validity.empty() ? validity : validity.slice(2, first / 64, words), visibilities,
                  counts);
  }
  plan->flush(*queue, *state, visibilities, counts);
  queue->synchronise();
}

double useful_operations(const Config& config, std::size_t samples) {
  constexpr double kOperationsPerProduct = 8;
  return kOperationsPerProduct * static_cast<double>(core::baseline_count(config.inputs)) *
         static_cast<double>(config.channels) * static_cast<double>(samples);
}

}  // namespace tautline::stages::correlate
