#include "tautline/stream/constant_channels.h"

#include <algorithm>
#include <cstdint>

#include "tautline/core/constant_run.h"
#include "tautline/core/error.h"
#include "tautline/stream/input_samples.h"

namespace tautline::stream {

namespace {

constexpr std::uint64_t kParts = 16, kTimes = 64;

// What the channels of one input have been so far.
struct InputChannels {
  std::vector<std::uint64_t> first;  // [channel] at the first time at which some channel changed
  std::vector<bool> changes;         // [channel]; or is not finite, which is counted as such
  std::size_t seen = 0;              // times at which some channel changed
};

void look(const core::RawBlock& block, std::vector<InputChannels>& inputs) {
  const core::RawLayout& layout = block.layout;
  std::vector<std::uint64_t> before(layout.channels), now(layout.channels);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<bool> valid(block.samples, true);
    for (const core::InvalidSpan& span : block.invalid)
      if (span.input == i || span.input == core::InvalidSpan::kAllInputs)
        for (std::size_t t = span.first_sample;
             t < std::min(block.samples, span.first_sample + span.samples); ++t)
          valid[t] = false;
    const InputSamples samples(block, i);
    InputChannels& input = inputs[i];
    for (std::size_t t = 0; t < block.samples; ++t) {
      before.swap(now);
      for (std::size_t c = 0; c < layout.channels; ++c) now[c] = samples.value(t, c);
      if (t == 0 || !valid[t] || !valid[t - 1] || now == before) continue;
      if (input.seen++ == 0) input.first = now;
      for (std::size_t c = 0; c < layout.channels; ++c)
        if (now[c] != input.first[c] || !samples.finite(now[c])) input.changes[c] = true;
    }
  }
}

}  // namespace

std::vector<ConstantChannel> find_constant_channels(const std::vector<std::string>& files,
                                                    const formats::ReaderOptions& options) {
  std::vector<std::uint64_t> ends;  // of the files, in times of all of them
  std::size_t channels = 0, count = 0;
  for (const std::string& file : files) {
    const auto reader = formats::open_voltages(file, options);
    channels = reader->description().channels, count = reader->description().inputs();
    if (channels < 2) return {};
    ends.push_back((ends.empty() ? 0 : ends.back()) + reader->total_samples());
  }
  const std::uint64_t total = ends.empty() ? 0 : ends.back();
  const std::uint64_t parts = std::min(kParts, total / kTimes);
  std::vector<InputChannels> inputs(count, {{}, std::vector<bool>(channels, false), 0});
  core::RawBlock block;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const std::uint64_t at = parts > 1 ? part * (total - kTimes) / (parts - 1) : 0;
    const auto file = std::upper_bound(ends.begin(), ends.end(), at);
    const std::uint64_t begin = file == ends.begin() ? 0 : *(file - 1);
    const auto reader =
        formats::open_voltages(files[static_cast<std::size_t>(file - ends.begin())], options);
    try {
      if (at > begin) reader->seek(at - begin);
      block.samples = reader->read(kTimes, block);
    } catch (const core::Error& error) {
      // Of a part that cannot be read, which a run says that comes so far.
      if (error.kind() != core::ErrorKind::format) throw;
      continue;
    }
    look(block, inputs);
  }
  const std::size_t least =
      core::repeats_of_nothing(kFewestBits, static_cast<double>(channels * count));
  std::vector<ConstantChannel> constant;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < count; ++i)
      if (inputs[i].seen >= least && !inputs[i].changes[c]) constant.push_back({c, i});
  return constant;
}

}  // namespace tautline::stream
