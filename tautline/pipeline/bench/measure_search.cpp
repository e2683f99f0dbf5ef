#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tautline/core/dispersion.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/bench/spectra_upload.h"
#include "tautline/pipeline/bench/stage_run.h"
#include "tautline/pipeline/search/search_pass.h"
#include "tautline/stages/dedisperse/case.h"
#include "tautline/stages/detect/case_run.h"

namespace tautline::pipeline {

namespace {

namespace dedisperse = stages::dedisperse;
namespace detect = stages::detect;

constexpr std::uint64_t kEndless = std::uint64_t{1} << 40;

PassRequest request_for(const Problem& sizes, const device::Device& device) {
  const std::size_t samples = sizes.at("samples"), bits = sizes.at("bits");
  if (!std::has_single_bit(samples))
    throw core::Error(core::ErrorKind::config, "`problem` of search: samples",
                      std::to_string(samples), "a power of two: blocks are");
  if (sizes.at("pulses") + sizes.at("impulses_every") > 0 && bits != 8)
    throw core::Error(core::ErrorKind::config, "`problem` of search: bits", std::to_string(bits),
                      "8 for spectra with pulses or impulses");
  if (device.compiles() && bits > 16)
    throw core::Error(core::ErrorKind::config, "`problem` of search: bits", std::to_string(bits),
                      "1 to 16 on " + device.name(), "the host cleans floats");
  PassRequest request;
  request.detect = detect_case(sizes).config;
  request.dedisperse = dedisperse_config(sizes);
  request.dedisperse.dms.clear();
  request.dedisperse.zero_dm = sizes.at("zero_dm") != 0;
  request.samples = kEndless;
  request.sample_bytes = (sizes.at("channels") * bits + 7) / 8;
  request.memory_bytes = std::size_t{1} << 40;  // of the host; allocation fails where less is free
  request.most_block_samples = samples;
  return request;
}

PassPlan only_pass(const PassRequest& request, const Problem& sizes, const DevicePointer& device) {
  dedisperse::DmPlan trials;
  trials.ranges = {{dedisperse_config(sizes).dms, 1, 0}};
  auto passes = plan_passes(request, trials, device);
  if (passes.size() > 1 || passes.front().block_samples != request.most_block_samples)
    throw core::Error(core::ErrorKind::memory, device->name() + ": search",
                      std::to_string(request.dedisperse.beams) + " beams of " +
                          std::to_string(trials.trials()) + " trials",
                      "what fits into its memory at once", "take fewer");
  return std::move(passes.front());
}

// Streams of spectra, `beams` of them in each of some calls.
struct Searches : jit::CaseMemory {
  Searches(PassPlan made, const PassRequest& request, const Problem& sizes, const DevicePointer& on)
      : CaseMemory(on), plan(std::move(made)), beams(request.dedisperse.beams) {
    const std::size_t bytes = beams * plan.block_samples * request.sample_bytes;
    const bool noise = sizes.at("pulses") + sizes.at("impulses_every") == 0;
    spectra = noise ? random(core::kI8, bytes) : repeat(spectra_with_pulses(sizes), bytes);
    if (sizes.at("from_host") != 0) {
      device::Buffer pinned = on->allocate_pinned(bytes);
      queue().copy(pinned.data(), spectra.data(), bytes);
      queue().synchronise();
      spectra = std::move(pinned);
      if (on->compiles()) upload = std::make_unique<SpectraUpload>(on, bytes);
    }
    for (std::size_t c = 0; c < sizes.at("calls"); ++c)
      passes.push_back(std::make_unique<SearchPass>(plan, request.sample_bytes, on, queue()));
  }
  void push() const {
    for (const auto& pass : passes) {
      const void* from =
          upload ? upload->send(queue(), spectra.as<std::byte>(), spectra.bytes()) : spectra.data();
      pass->push(static_cast<const std::byte*>(from), plan.block_samples);
      if (upload) upload->wait();
      for (std::size_t b = 0; b < beams; ++b) pass->take(b);
    }
  }

  PassPlan plan;
  std::size_t beams;
  device::Buffer spectra;
  std::unique_ptr<SpectraUpload> upload;  // of spectra in the host's memory
  std::vector<std::unique_ptr<SearchPass>> passes;
};

}  // namespace

device::Buffer spectra_with_pulses(const Problem& sizes) {
  constexpr double kSigma = 18.5;  // of 64 values that are equally likely
  const dedisperse::Config config = dedisperse_config(sizes);
  const std::size_t channels = sizes.at("channels"), samples = sizes.at("samples");
  device::Buffer block(samples * channels);
  const auto values = block.as<std::uint8_t>();
  std::mt19937_64 random(1);
  for (std::size_t k = 0; k < samples * channels; ++k)
    values[k] = static_cast<std::uint8_t>(64 + random() % 64);
  std::uniform_real_distribution<double> uniform(0, 1);
  // Rounded up with the probability of the fraction, so that the mean is the level.
  const auto add = [&](double dm, double time, double width, double snr) {
    const auto length = static_cast<std::size_t>(width);
    const double level = snr * kSigma / std::sqrt(static_cast<double>(channels * length));
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t first =
          static_cast<std::size_t>(time) +
          static_cast<std::size_t>(core::dispersion_delay_samples(
              dm, config.frequencies_mhz[c], config.frequencies_mhz[0], config.sample_time_s));
      for (std::size_t t = first; t < first + length; ++t) {
        std::uint8_t& value = values[t % samples * channels + c];
        value = static_cast<std::uint8_t>(std::min(255.0, value + level + uniform(random)));
      }
    }
  };
  for (std::size_t p = 0; p < sizes.at("pulses"); ++p) {
    const double dm = uniform(random) * config.dms.back();
    const double time = uniform(random) * static_cast<double>(samples);
    add(dm, time, 10 + 100 * uniform(random), static_cast<double>(sizes.at("snr")));
  }
  const std::size_t between = sizes.at("impulses_every");
  for (std::size_t t = between / 2; between > 0 && t < samples; t += between)
    add(0, static_cast<double>(t), detect::kImpulseSamples, detect::kImpulseSnr);
  return block;
}

StageRun set_up_search(const Problem& sizes, const DevicePointer& device) {
  const PassRequest request = request_for(sizes, *device);
  const auto searches =
      std::make_shared<const Searches>(only_pass(request, sizes, device), request, sizes, device);
  const PassPlan& plan = searches->plan;
  const SearchPart& part = plan.parts.front();
  require_on_device("search", part.detect->backend(), *device);
  const std::size_t before = part.dedisperse->max_delay() + detect::samples_before(*part.detect);
  for (std::size_t n = 0; n < before; n += plan.block_samples) searches->push();
  const dedisperse::Case sums{part.dedisperse->config()};
  const detect::Case boxcars{part.detect->config(), plan.block_samples};
  const auto calls = static_cast<double>(sizes.at("calls"));
  const double times = calls * static_cast<double>(request.dedisperse.beams * plan.block_samples);
  const double data_s = static_cast<double>(plan.block_samples) * request.dedisperse.sample_time_s;
  return {
      .memory = searches,
      .run = [searches] { searches->push(); },
      .code = part.detect->backend() + ", " + part.dedisperse->choice().text,
      .operations = sums.operations() * times + calls * boxcars.operations(),
      // Spectra are read; trials are written and read again.
      .bytes = sums.bytes() * times + calls * boxcars.bytes(),
      .count = static_cast<double>(sizes.at("channels")) * times,
      .input_samples = static_cast<double>(sizes.at("channels") * sizes.at("width_hz")) * data_s,
      .data_s = data_s,
      .host_bytes =
          sizes.at("from_host") != 0 ? times * static_cast<double>(request.sample_bytes) : 0};
}

}  // namespace tautline::pipeline
