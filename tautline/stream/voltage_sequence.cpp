#include "tautline/stream/voltage_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tautline/core/error.h"
#include "tautline/formats/assumed_values.h"
#include "tautline/formats/mwa32t/mwa32t.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;

core::Instant end_of(const formats::VoltageReader& reader) {
  const auto& d = reader.description();
  return core::advance(d.start, static_cast<std::int64_t>(reader.total_samples()), d.rate_hz);
}

Error overlap(const std::string& path, const core::Instant& start, const std::string& before,
              const core::Instant& end, const std::string& advice) {
  return Error(ErrorKind::format, path + ": start", core::to_iso(start),
               fmt::format("no earlier than the end of {} ({})", before, core::to_iso(end)),
               "the files overlap: " + advice);
}

constexpr const char* kShorten = "leave one out, or shorten one with `duration_s`";

// Receivers of one array start together, and so do its stations, which no run reads from files of their own.
std::string advice_on(const formats::VoltageReader& a, const formats::VoltageReader& b) {
  const core::VoltageDescription &one = a.description(), &other = b.description();
  const bool receivers = one.instrument == formats::mwa32t::kInstrument &&
                         other.instrument == one.instrument && other.start == one.start;
  if (receivers) return "give `receivers` if they are receivers of one array, else leave one out";
  if (std::abs(core::seconds_between(one.start, other.start)) >= 1) return kShorten;
  return std::string(
             "stations of one array have to be in one file: of VDIF one with the frames of "
             "all in the order of time, else a NPY array of (inputs, times); otherwise ") +
         kShorten;
}

}  // namespace

std::uint64_t samples_in(double seconds, const core::Rational& rate, const char* option) {
  const double samples = std::nearbyint(seconds * rate.value());
  if (!(samples >= 0 && samples < 9e18))
    throw Error(ErrorKind::config, option, fmt::format("{} s", seconds),
                "a number of seconds from 0 up");
  return static_cast<std::uint64_t>(samples);
}

void cut_block(core::RawBlock& block, std::size_t samples) {
  block.samples = samples;
  std::erase_if(block.invalid,
                [&](const core::InvalidSpan& span) { return span.first_sample >= samples; });
  for (core::InvalidSpan& span : block.invalid)
    span.samples = std::min(span.samples, samples - span.first_sample);
}

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
  if (options.reader.receivers) formats::require_possible(options.reader.assumed, description_);
  for (const Part& part : parts_) check_agreement(part);
  check_overlaps();
  select(options);
}

void VoltageSequence::check_overlaps() const {
  const Part* before = nullptr;
  for (const Part& part : parts_) {
    if (part.reader->total_samples() == 0) continue;
    const core::Instant& start = part.reader->description().start;
    if (before != nullptr &&
        core::samples_between(end_of(*before->reader), start, description_.rate_hz) < 0)
      throw overlap(part.path, start, before->path, end_of(*before->reader),
                    advice_on(*before->reader, *part.reader));
    before = &part;
  }
}

void VoltageSequence::check_agreement(const Part& part) const {
  const auto& a = description_;
  const auto& b = part.reader->description();
  const auto differ = [&](const char* field, const std::string& found,
                          const std::string& expected) {
    return Error(ErrorKind::format, part.path + ": " + field, found,
                 expected + " as in " + parts_.front().path, "give only files of one observation");
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

// Applies start_s and duration_s, in samples of the stream (gaps do not count).
void VoltageSequence::select(const SequenceOptions& options) {
  std::uint64_t skip = samples_in(options.start_s, description_.rate_hz, "start_s");
  std::uint64_t left = options.duration_s < 0
                           ? UINT64_MAX
                           : samples_in(options.duration_s, description_.rate_hz, "duration_s");
  std::uint64_t available = 0;
  for (const Part& part : parts_) available += part.reader->total_samples();
  if (skip > 0 && skip >= available)
    throw Error(ErrorKind::config, "start_s", fmt::format("{} s", options.start_s),
                fmt::format("less than the {:.6g} s of input",
                            static_cast<double>(available) / description_.rate_hz.value()));
  left_ = left;
  const core::Instant files_start = end_ = description_.start;
  const std::uint64_t skipped = skip;
  bool first = true;
  for (Part& part : parts_) {
    const std::uint64_t samples = part.reader->total_samples();
    part.skip = std::min(skip, samples);
    skip -= part.skip;
    const std::uint64_t taken = part.taken = std::min(samples - part.skip, left);
    left -= taken;
    total_ += taken;
    if (taken == 0) continue;
    part.reader->require_readable(part.skip, taken);
    const core::Instant& start = part.reader->description().start;
    if (first) {
      description_.start =
          core::advance(start, static_cast<std::int64_t>(part.skip), description_.rate_hz);
      const std::int64_t since =
          core::samples_between(files_start, description_.start, description_.rate_hz);
      skipped_gap_samples_ = static_cast<std::uint64_t>(
          std::max<std::int64_t>(0, since - static_cast<std::int64_t>(skipped)));
    }
    first = false;
    end_ = core::advance(start, static_cast<std::int64_t>(part.skip + taken), description_.rate_hz);
  }
}

std::vector<VoltageJoin> VoltageSequence::joins() const {
  std::vector<VoltageJoin> joins;
  const Part* before = nullptr;
  std::uint64_t sample = 0;
  for (const Part& part : parts_) {
    if (part.taken == 0) continue;
    if (before != nullptr &&
        core::samples_between(end_of(*before->reader), part.reader->description().start,
                              description_.rate_hz) == 0)
      joins.push_back({before->path, part.path, sample, before->skip, before->skip + before->taken,
                       part.taken});
    before = &part;
    sample += part.taken;
  }
  return joins;
}

// Seeks, and finds out whether this part follows the preceding one without a gap: from the samples that the preceding
// one delivered, which are more than its size implies when samples were missing inside, and fewer when it was cut.
void VoltageSequence::open_part(Part& part) {
  part.opened = true;
  const core::Rational& rate = description_.rate_hz;
  const core::Instant start =
      core::advance(part.reader->description().start, static_cast<std::int64_t>(part.skip), rate);
  if (part.skip > 0) part.reader->seek(part.skip);
  if (last_ != nullptr) {
    const core::Instant end =
        core::advance(last_->reader->description().start,
                      static_cast<std::int64_t>(last_->skip + last_->delivered), rate);
    const std::int64_t gap = core::samples_between(end, start, rate);
    if (gap < 0) throw overlap(part.path, start, last_->path, end, kShorten);
    if (gap == 0) return;
    gap_samples_ += static_cast<std::uint64_t>(gap);
    ++segment_.index;
    segment_begins_ = true;
  }
  segment_.start = start;
}

std::size_t VoltageSequence::read(std::size_t samples, core::RawBlock& block,
                                  SegmentPlace& segment) {
  for (; current_ < parts_.size() && left_ > 0; ++current_) {
    Part& part = parts_[current_];
    const std::uint64_t size = part.reader->total_samples();
    if (size == 0 || part.skip == size) continue;
    if (!part.opened) open_part(part);
    // Always requests the same number, and cuts afterwards: a reader's layout may depend on it.
    std::size_t got = part.reader->read(samples, block);
    if (got == 0) continue;
    got = static_cast<std::size_t>(std::min<std::uint64_t>(got, left_));
    cut_block(block, got);
    left_ -= got;
    part.delivered += got;
    last_ = &part;
    segment = segment_;
    segment.first_block = segment_begins_;
    segment_begins_ = false;
    return got;
  }
  return 0;
}

formats::Damage VoltageSequence::damage() const {
  formats::Damage all;
  for (const Part& part : parts_) all.add(part.reader->damage());
  return all;
}

}  // namespace tautline::stream
