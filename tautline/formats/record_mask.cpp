#include "tautline/formats/record_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/validity.h"
#include "tautline/formats/recorded_spectra.h"

namespace tautline::formats {

namespace {

using Json = nlohmann::json;
using core::InvalidSpan;

constexpr const char* kSpectra = "tautline.channelize.record";

bool has_list(const Json& record) {
  return is_of_recording(record) || (!record.is_null() && record.contains("invalid") &&
                                     record.value("schema", Json()) == kSpectra);
}

// The invalid spans; of a dump also the missed ones, which may lie outside its file.
Json listed_in(const Json& record) {
  Json all = record.at("invalid");
  for (const Json& missed : record.value("missed", Json::array())) all.push_back(missed);
  return all;
}

}  // namespace

RecordMask::RecordMask(const Json& record, const std::string& path, std::uint64_t samples,
                       std::size_t inputs, Damage& damage) {
  const std::string name = path + ".json";
  if (!has_list(record)) return;
  const auto wrong = [&](const std::string& found) {
    return core::Error(core::ErrorKind::format, name, found,
                       "the record that was written with the file",
                       "remove it to take every sample for valid");
  };
  try {
    const bool spectra = record.at("schema") == kSpectra;
    lost_ = !spectra || of_damaged_input(record);
    (void)record.at(spectra ? "spectra" : "samples").get<std::uint64_t>();
    if (const std::string other = other_file_text(record, path, samples); !other.empty()) {
      damage.note(other);
      return;
    }
    for (const Json& one : listed_in(record)) {
      const Json input = one.value("input", Json());
      const std::size_t of = input.is_null() ? InvalidSpan::kAllInputs : input.get<std::size_t>();
      if (of != InvalidSpan::kAllInputs && of >= inputs)
        throw wrong(fmt::format("input {} of {}", of, inputs));
      const auto first = one.at("first_sample").get<std::int64_t>(),
                 count = one.at("samples").get<std::int64_t>(),
                 size = static_cast<std::int64_t>(samples);
      if (count <= 0 || first >= size) continue;
      const std::int64_t from = std::max<std::int64_t>(first, 0),
                         to = first < 0 ? std::min(first + count, size)
                                        : first + std::min(count, size - first);
      if (from < to)
        spans_.push_back({of, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)});
    }
    if (const auto left_out = record.value("invalid_left_out", std::uint64_t{0}); left_out > 0)
      damage.note(
          fmt::format("{}: its list leaves out {} of invalid samples, which are taken for valid",
                      name, core::counted(left_out, "stretch", "stretches")));
    if (const auto values = record.value("invalid_values", std::uint64_t{0}); values > 0)
      damage.note(fmt::format(
          "{}: {} invalid values of single channels are not listed; they are taken for valid", name,
          values));
  } catch (const Json::exception& problem) {
    throw wrong(problem.what());
  }
  if (spans_.empty()) return;
  if (lost_)
    damage.note(fmt::format("{}: lists {} of invalid or missing samples, which are lost", name,
                            core::counted(spans_.size(), "stretch", "stretches")));
  std::stable_sort(spans_.begin(), spans_.end(),
                   [](const Span& a, const Span& b) { return a.first < b.first; });
}

std::uint64_t RecordMask::mark(core::RawBlock& block) {
  const std::uint64_t first = block.first_sample, end = first + block.samples;
  while (next_ < spans_.size() && spans_[next_].first < end) open_.push_back(spans_[next_++]);
  if (open_.empty()) return 0;
  const std::size_t inputs = block.layout.antennas * block.layout.polarisations;
  core::ValidityMask valid(inputs, block.samples);  // spans may overlap
  for (const Span& span : open_) {
    const std::uint64_t from = std::max(span.first, first), to = std::min(span.end, end);
    if (from >= to) continue;
    const InvalidSpan lost{span.input, static_cast<std::size_t>(from - first),
                           static_cast<std::size_t>(to - from)};
    block.invalid.push_back(lost);
    for (std::size_t i = 0; i < inputs; ++i)
      if (lost.input == i || lost.input == InvalidSpan::kAllInputs)
        valid.set(i, lost.first_sample, lost.samples, false);
  }
  std::erase_if(open_, [&](const Span& span) { return span.end <= end; });
  return lost_ ? std::uint64_t{inputs} * block.samples - valid.count() : 0;
}

}  // namespace tautline::formats
