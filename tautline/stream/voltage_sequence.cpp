#include "tautline/stream/voltage_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/formats/mwa32t/mwa32t.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;

core::Instant end_of(const formats::VoltageReader& reader) {
  const auto& d = reader.description();
  return core::advance(d.start, static_cast<std::int64_t>(reader.total_samples()), d.rate_hz);
}

std::uint64_t to_samples(double seconds, const core::Rational& rate, const char* option) {
  const double samples = std::nearbyint(seconds * rate.value());
  if (!(samples >= 0 && samples < 9e18))
    throw Error(ErrorKind::config, option, fmt::format("{} s", seconds),
                "a number of seconds from 0 up");
  return static_cast<std::uint64_t>(samples);
}

}  // namespace

VoltageSequence::VoltageSequence(const std::vector<std::string>& paths,
                                 const SequenceOptions& options)
    : files_(paths) {
  if (paths.empty()) throw Error(ErrorKind::config, "inputs", "none", "at least one file");
  if (options.reader.receivers)
    parts_.emplace_back(paths.front(), formats::mwa32t::open_receivers(paths, options.reader));
  else
    for (const std::string& path : paths)
      parts_.emplace_back(path, formats::open_voltages(path, options.reader));
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return core::before(a.reader->description().start, b.reader->description().start);
  });
  description_ = parts_.front().reader->description();
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    part.remaining = part.reader->total_samples();
    if (p == 0) continue;
    check_agreement(part);
    const core::Instant expected = end_of(*parts_[p - 1].reader);
    const std::int64_t gap =
        core::samples_between(expected, part.reader->description().start, description_.rate_hz);
    if (gap < 0)
      throw Error(ErrorKind::format, part.path + ": start",
                  core::to_iso(part.reader->description().start),
                  fmt::format("no earlier than the end of {} ({})", parts_[p - 1].path,
                              core::to_iso(expected)),
                  "the files overlap: leave one out, or shorten one with --duration");
    part.continues = gap == 0;
  }
  select(options);
}

void VoltageSequence::check_agreement(const Part& part) const {
  const auto& a = description_;
  const auto& b = part.reader->description();
  const auto differ = [&](const char* field, const std::string& found, const std::string& expected) {
    return Error(ErrorKind::format, part.path + ": " + field, found,
                 expected + " as in " + parts_.front().path,
                 "give only files of one observation");
  };
  if (b.format != a.format)
    throw differ("sample format", core::to_string(b.format), core::to_string(a.format));
  if (b.antennas != a.antennas || b.polarisations != a.polarisations)
    throw differ("inputs", fmt::format("{} x {}", b.antennas, b.polarisations),
                 fmt::format("{} x {}", a.antennas, a.polarisations));
  if (b.channels != a.channels)
    throw differ("channels", std::to_string(b.channels), std::to_string(a.channels));
  if (b.rate_hz != a.rate_hz)
    throw differ("sample rate", fmt::format("{} Hz", b.rate_hz.value()),
                 fmt::format("{} Hz", a.rate_hz.value()));
  if (b.centre_hz != a.centre_hz || b.bandwidth_hz != a.bandwidth_hz)
    throw differ("band", fmt::format("{} Hz, {} Hz wide", b.centre_hz, b.bandwidth_hz),
                 fmt::format("{} Hz, {} Hz wide", a.centre_hz, a.bandwidth_hz));
  if (b.channelized() && part.reader->layout(1) != parts_.front().reader->layout(1))
    throw differ("order", "another layout", "the same layout");
}

// Applies --start and --duration, in samples of the stream (gaps do not count).
void VoltageSequence::select(const SequenceOptions& options) {
  std::uint64_t skip = to_samples(options.start_s, description_.rate_hz, "--start");
  std::uint64_t left = options.duration_s < 0
                           ? UINT64_MAX
                           : to_samples(options.duration_s, description_.rate_hz, "--duration");
  std::uint64_t available = 0;
  for (const Part& part : parts_) available += part.remaining;
  if (skip > 0 && skip >= available)
    throw Error(ErrorKind::config, "--start", fmt::format("{} s", options.start_s),
                fmt::format("less than the {} s of input",
                            static_cast<double>(available) / description_.rate_hz.value()));
  bool first = true;
  for (Part& part : parts_) {
    part.skip = std::min(skip, part.remaining);
    skip -= part.skip;
    part.remaining = std::min(part.remaining - part.skip, left);
    left -= part.remaining;
    total_ += part.remaining;
    if (first && part.remaining > 0) {
      description_.start = core::advance(part.reader->description().start,
                                         static_cast<std::int64_t>(part.skip), description_.rate_hz);
      first = false;
    }
  }
}

std::size_t VoltageSequence::read(std::size_t samples, core::RawBlock& block, Segment& segment) {
  while (current_ < parts_.size()) {
    Part& part = parts_[current_];
    if (!part.opened) {
      part.opened = true;
      if (part.remaining > 0) {
        if (started_ && !part.continues) {
          ++segment_.index;
          segment_begins_ = true;
          gap_samples_ += static_cast<std::uint64_t>(
              core::samples_between(end_of(*parts_[current_ - 1].reader),
                                    part.reader->description().start, description_.rate_hz));
        }
        if (segment_begins_)
          segment_.start = core::advance(part.reader->description().start,
                                         static_cast<std::int64_t>(part.skip), description_.rate_hz);
        started_ = true;
        if (part.skip > 0) part.reader->seek(part.skip);
      }
    }
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(samples, part.remaining));
    const std::size_t got = want == 0 ? 0 : part.reader->read(want, block);
    if (got > 0) {
      part.remaining -= got;
      segment = segment_;
      segment.first_block = segment_begins_;
      segment_begins_ = false;
      return got;
    }
    ++current_;
  }
  return 0;
}

formats::Damage VoltageSequence::damage() const {
  formats::Damage all;
  for (const Part& part : parts_) {
    const formats::Damage& damage = part.reader->damage();
    all.lost_samples += damage.lost_samples;
    all.trailing_bytes += damage.trailing_bytes;
    for (const std::string& message : damage.messages)
      if (all.messages.size() < 100) all.messages.push_back(message);
  }
  return all;
}

}  // namespace tautline::stream
