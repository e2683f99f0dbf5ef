#include "tautline/formats/filterbank_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tautline/core/error.h"

namespace tautline::formats {

namespace {

using core::Error;
using core::ErrorKind;

// An MJD in a double has steps of 0.6 microseconds, and two of them are compared.
constexpr double kDateStep_s = 1.3e-6;

template <class From, class To>
void widen(const std::byte* from, std::byte* to, std::size_t values) {
  const auto* source = reinterpret_cast<const From*>(from);
  auto* wide = reinterpret_cast<To*>(to);
  for (std::size_t k = 0; k < values; ++k) wide[k] = static_cast<To>(source[k]);
}

void widen(const std::byte* from, Delivered type, std::byte* to, Delivered wide,
           std::size_t values) {
  if (type == Delivered::u8 && wide == Delivered::u16)
    widen<std::uint8_t, std::uint16_t>(from, to, values);
  else if (type == Delivered::u8)
    widen<std::uint8_t, float>(from, to, values);
  else
    widen<std::uint16_t, float>(from, to, values);
}

core::Instant end_of(const FilterbankReader& reader) {
  const DataSegment& last = reader.segments().back();
  return core::advance(last.start, static_cast<std::int64_t>(last.samples),
                       reader.description().rate_hz);
}

}  // namespace

FilterbankSequence::FilterbankSequence(std::vector<Part> parts) : parts_(std::move(parts)) {
  if (parts_.empty()) throw Error(ErrorKind::config, "inputs", "none", "at least one file");
  std::stable_sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) {
    return core::before(a.reader->description().start, b.reader->description().start);
  });
  description_ = parts_.front().reader->description();
  description_.samples = 0;
  const Part* before = nullptr;
  for (Part& part : parts_) {
    check_agreement(part);
    description_.delivered = std::max(description_.delivered, part.reader->description().delivered);
    for (const std::string& remark : part.reader->remarks()) remarks_.push_back(remark);
    part.first_sample = description_.samples;
    if (part.reader->segments().empty()) continue;
    join(part, before);
    before = &part;
  }
}

void FilterbankSequence::check_agreement(const Part& part) const {
  const FilterbankDescription& a = description_;
  const FilterbankDescription& b = part.reader->description();
  const auto require_same = [&](bool same, const char* field, const std::string& found,
                                const std::string& expected,
                                const char* advice = "give only files of one observation") {
    if (!same)
      throw Error(ErrorKind::format, part.path + ": " + field, found,
                  expected + " as in " + parts_.front().path, advice);
  };
  require_same(a.channels == b.channels, "channels", std::to_string(b.channels),
               std::to_string(a.channels));
  require_same(a.channel_mhz == b.channel_mhz, "frequencies",
               fmt::format("{} MHz and steps of {}", b.fch1_mhz, b.foff_mhz),
               fmt::format("{} MHz and steps of {}", a.fch1_mhz, a.foff_mhz));
  require_same(a.trial_dms == b.trial_dms, "DMs of the trials",
               std::to_string(b.channels) + " trials", "those");
  require_same(a.rate_hz == b.rate_hz, "tsamp", fmt::format("{} s", b.tsamp_s),
               fmt::format("{} s", a.tsamp_s));
  require_same(a.bits == b.bits && a.zero_level == b.zero_level, "bits",
               fmt::format("{}{}", b.bits, b.is_signed ? " signed" : ""),
               fmt::format("{}{}", a.bits, a.is_signed ? " signed" : ""));
  require_same(a.ifs == b.ifs, "IFs", std::to_string(b.ifs), std::to_string(a.ifs));
  require_same(a.summed_ifs == b.summed_ifs, "IFs that are added up",
               fmt::format("{}", fmt::join(b.summed_ifs, ",")),
               fmt::format("{}", fmt::join(a.summed_ifs, ",")), "choose them with `ifs`");
  const char* series = "series of several DMs are not joined: search each by itself";
  require_same(a.refdm == b.refdm, "DM (refdm)", fmt::format("{}", b.refdm.value_or(0)),
               fmt::format("{}", a.refdm.value_or(0)),
               a.time_series && b.time_series ? series : "give only files of one observation");
}

// Appends a part's segments to those before it; the first one may continue the last of them.
void FilterbankSequence::join(Part& part, const Part* before) {
  const core::Rational& rate = description_.rate_hz;
  const core::Instant& start = part.reader->segments().front().start;
  bool goes_on = false;
  if (before != nullptr) {
    const core::Instant end = end_of(*before->reader);
    const double gap_s = core::seconds_between(end, start);
    goes_on = std::abs(gap_s) <= std::max(0.5 / rate.value(), kDateStep_s);
    if (!goes_on && gap_s < 0)
      throw Error(
          ErrorKind::format, part.path + ": start", core::to_iso(start),
          fmt::format("no earlier than the end of {} ({})", before->path, core::to_iso(end)),
          "the files overlap: leave one out");
  }
  for (const DataSegment& segment : part.reader->segments()) {
    if (goes_on) {
      joins_.push_back({part.first_sample, before->path, part.path});
      segments_.back().samples += segment.samples;
      goes_on = false;
    } else {
      DataSegment added = segment;
      added.first_sample += description_.samples;
      added.grid_sample = static_cast<std::uint64_t>(std::max<std::int64_t>(
          0, core::samples_between(description_.start, segment.start, rate)));
      segments_.push_back(added);
    }
  }
  description_.samples += part.reader->description().samples;
}

std::size_t FilterbankSequence::read(std::uint64_t first_sample, std::size_t count,
                                     std::span<std::byte> destination) {
  const auto segment =
      std::find_if(segments_.begin(), segments_.end(), [&](const DataSegment& candidate) {
        return first_sample - candidate.first_sample < candidate.samples;
      });
  if (segment == segments_.end() || first_sample < segment->first_sample) return 0;
  count = limit_to(count, segment->first_sample + segment->samples - first_sample, destination);
  const std::size_t sample_bytes = description_.sample_bytes();
  std::size_t done = 0;
  for (Part& part : parts_) {
    const std::uint64_t samples = part.reader->description().samples;
    while (done < count && first_sample + done >= part.first_sample &&
           first_sample + done < part.first_sample + samples) {
      const std::size_t got = read_part(part, first_sample + done - part.first_sample, count - done,
                                        destination.subspan(done * sample_bytes));
      if (got == 0) return done;
      done += got;
    }
  }
  return done;
}

std::size_t FilterbankSequence::read_part(Part& part, std::uint64_t first_sample, std::size_t count,
                                          std::span<std::byte> destination) {
  const FilterbankDescription& d = part.reader->description();
  if (d.delivered == description_.delivered)
    return part.reader->read(first_sample, count, destination);
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  count = std::min(count, std::max<std::size_t>(1, kPieceBytes / d.sample_bytes()));
  narrow_.resize(count * d.sample_bytes());
  const std::size_t got = part.reader->read(first_sample, count, narrow_);
  widen(narrow_.data(), d.delivered, destination.data(), description_.delivered, got * d.channels);
  return got;
}

const Damage& FilterbankSequence::damage() const {
  gathered_ = {};
  for (const Part& part : parts_) gathered_.add(part.reader->damage());
  return gathered_;
}

}  // namespace tautline::formats
