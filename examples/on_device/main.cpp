// Raw samples to visibilities in the memory of one device: unpack, filter bank and correlator hand
// each other their results by address, nothing is copied to the host between them, and the host
// waits once, for the sums. On a CPU the same code works on the host's memory.
//   on_device [cuda:0 | opencl:0 | cpu ...]
// Ends with what the CPU finds from the same samples.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tautline/core/error.h"
#include "tautline/stages/channelize/channelize.h"
#include "tautline/stages/correlate/correlate.h"
#include "tautline/stages/unpack/unpack.h"

using namespace tautline;
using namespace tautline::stages;

namespace {

constexpr std::size_t kAntennas = 9, kPolarisations = 2, kInputs = kAntennas * kPolarisations;
constexpr std::size_t kSamples = 20000, kChannels = 64, kTaps = 8;
constexpr std::size_t kBaselines = core::baseline_count(kInputs);
constexpr float kGain = 0.25F;  // full-scale samples to an rms of some 20 steps

// As a digitiser sends it: time slowest, then antenna, polarisation, re and im of 8 bits.
core::RawBlock digitised_samples() {
  core::RawBlock block;
  block.layout.format = core::kCi8;
  block.layout.antennas = kAntennas;
  block.layout.polarisations = kPolarisations;
  block.layout.time_stride_bits = 16 * kInputs;
  block.layout.antenna_stride_bits = 16 * kPolarisations;
  block.layout.polarisation_stride_bits = 16;
  block.samples = kSamples;
  block.bytes.resize(2 * kInputs * kSamples);
  std::mt19937 random(std::random_device{}());
  for (std::byte& b : block.bytes) b = static_cast<std::byte>(random());
  return block;
}

channelize::Config filter_config() {
  channelize::Config config;
  config.inputs = kInputs;
  config.channels = kChannels;
  config.taps = kTaps;
  config.output = channelize::Output::corner_turned_ci8;
  config.max_samples = kSamples;
  return config;
}

// What comes back to the host.
struct Results {
  std::size_t spectra = 0;
  std::vector<core::ci8> voltages;     // [channel][input][time]: only to check the sums
  std::vector<core::ci64> sums;        // [channel][baseline]
  std::vector<std::int64_t> counts;    // [channel][baseline]
  std::vector<std::uint64_t> clipped;  // [input]
};

Results run_chain(const std::shared_ptr<const device::Device>& device,
                  const core::RawBlock& block) {
  const auto queue = device->make_queue();
  const auto unpacker =
      unpack::make_plan({.layout = block.layout, .max_samples = kSamples}, device);
  const auto filter = channelize::make_plan(filter_config(), device);
  Results r;
  r.spectra = filter->spectra(0, kSamples);
  const auto correlator = correlate::make_plan(
      {.channels = kChannels, .inputs = kInputs, .max_samples = r.spectra}, device);
  std::printf("%s\n  unpack %s\n  channelize %s\n  correlate %s\n", device->name().c_str(),
              unpacker->backend().c_str(), filter->backend().c_str(),
              correlator->backend().c_str());

  // Everything is allocated before anything is computed.
  const auto unpack_state = unpacker->make_state(*queue);
  const auto filter_state = filter->make_state(*queue);
  const auto correlate_state = correlator->make_state(*queue);
  r.voltages.resize(kChannels * kInputs * r.spectra);
  r.sums.resize(kChannels * kBaselines);
  r.counts.resize(kChannels * kBaselines);
  r.clipped.resize(kInputs);
  const std::vector<float> gains(kChannels * kInputs, kGain);
  const device::Buffer samples = device->allocate(kInputs * kSamples * sizeof(core::ci8));
  const device::Buffer voltages = device->allocate(r.voltages.size() * sizeof(core::ci8));
  const device::Buffer sums = device->allocate(r.sums.size() * sizeof(core::ci64));
  const device::Buffer counts = device->allocate(r.counts.size() * sizeof(std::int64_t));
  const device::Buffer clipped = device->allocate(r.clipped.size() * sizeof(std::uint64_t));
  for (const device::Buffer* zeroed : {&sums, &counts, &clipped})
    queue->fill(zeroed->data(), 0, zeroed->bytes());

  // Masks are small, and the host's.
  core::ValidityMask valid(kInputs, kSamples), spectra_valid(kInputs, r.spectra);
  unpacker->execute(*queue, *unpack_state, block,
                    core::View<core::ci8, 3>(samples.as<core::ci8>(), {1, kInputs, kSamples}),
                    valid.mutable_view());

  channelize::Input input;
  input.samples = samples.data();
  input.row_stride_bytes = kSamples * sizeof(core::ci8);
  input.count = kSamples;
  input.validity = valid.view();
  const core::View<core::ci8, 3> corner_turned(voltages.as<core::ci8>(),
                                               {kChannels, kInputs, r.spectra});
  channelize::OutputViews output;
  output.samples = corner_turned;
  output.valid = spectra_valid.mutable_view();
  output.gains = {gains.data(), {kChannels, kInputs}};
  output.clipped = {clipped.as<std::uint64_t>(), {kInputs}};
  filter->execute(*queue, *filter_state, input, output);

  // The mask of the spectra for every channel: its channel stride is 0.
  const correlate::Validity mask(spectra_valid.row(0),
                                 {kChannels, kInputs, core::validity_words(r.spectra)},
                                 {0, spectra_valid.view().stride(0), 1});
  correlator->execute(*queue, *correlate_state, corner_turned, mask,
                      {sums.as<core::ci64>(), {kChannels, kBaselines}},
                      {counts.as<std::int64_t>(), {kChannels, kBaselines}});

  queue->copy(r.sums.data(), sums.data(), sums.bytes());
  queue->copy(r.counts.data(), counts.data(), counts.bytes());
  queue->copy(r.clipped.data(), clipped.data(), clipped.bytes());
  queue->copy(r.voltages.data(), voltages.data(), voltages.bytes());
  queue->synchronise();
  return r;
}

// The sums are those of the device's own voltages, to the bit.
std::size_t wrong_sums(const Results& r) {
  std::vector<core::ci64> sums(r.sums.size());
  std::vector<std::int64_t> counts(r.counts.size());
  correlate::correlate({r.voltages.data(), {kChannels, kInputs, r.spectra}}, {},
                       {sums.data(), {kChannels, kBaselines}},
                       {counts.data(), {kChannels, kBaselines}});
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < sums.size(); ++k)
    wrong += !(sums[k] == r.sums[k]) || counts[k] != r.counts[k];
  return wrong;
}

// Voltages may round the other way, by one step and hardly ever.
bool same_voltages(const Results& a, const Results& b) {
  std::size_t steps = 0, far = 0;
  for (std::size_t k = 0; k < a.voltages.size(); ++k) {
    const int re = std::abs(a.voltages[k].re - b.voltages[k].re);
    const int im = std::abs(a.voltages[k].im - b.voltages[k].im);
    steps += static_cast<std::size_t>(re + im);
    far += re > 1 || im > 1;
  }
  std::printf("%zu of %zu components are a step off\n", steps, 2 * a.voltages.size());
  return far == 0 && steps <= 2 * a.voltages.size() / 10000;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const core::RawBlock block = digitised_samples();
    const auto device = device::open(device::parse_selection(argc > 1 ? argv[1] : "auto"));
    const Results results = run_chain(device, block);
    const Results on_cpu = run_chain(device::open(device::parse_selection("cpu")), block);
    const std::size_t wrong = wrong_sums(results);
    std::printf("%zu wrong sums\n", wrong);
    return wrong == 0 && same_voltages(results, on_cpu) && results.counts == on_cpu.counts ? 0 : 1;
  } catch (const core::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
