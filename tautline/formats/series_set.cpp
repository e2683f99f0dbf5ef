#include "tautline/formats/series_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <utility>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::formats {

namespace {

using core::Error;
using core::ErrorKind;

struct Series {
  std::string path;
  FilterbankDescription description;
};

bool start_together(const FilterbankDescription& a, const FilterbankDescription& b) {
  return std::abs(core::seconds_between(a.start, b.start)) < 0.5 * a.tsamp_s;
}

void require_alike(const Series& first, const Series& other) {
  const FilterbankDescription &a = first.description, &b = other.description;
  const auto require = [&](bool same, const char* field, const std::string& found,
                           const std::string& expected) {
    if (!same)
      throw Error(ErrorKind::format, other.path + ": " + field, found,
                  expected + " as in " + first.path,
                  "give only trials of one observation, sampled alike");
  };
  require(b.time_series && b.trial_dms.empty(), "series", b.format, "one dedispersed series");
  require(a.rate_hz == b.rate_hz, "sample time", fmt::format("{:.9g} s", b.tsamp_s),
          fmt::format("{:.9g} s", a.tsamp_s));
  require(start_together(a, b), "start", core::to_iso(b.start), core::to_iso(a.start));
  require(a.fch1_mhz == b.fch1_mhz && a.refdm_constant == b.refdm_constant, "frequency",
          fmt::format("{:.9g} MHz", b.fch1_mhz), fmt::format("{:.9g} MHz", a.fch1_mhz));
}

class SeriesSet final : public FilterbankReader {
 public:
  SeriesSet(const std::vector<std::string>& paths, OpenSeries open) : open_(std::move(open)) {
    for (const std::string& path : paths) {
      const auto reader = open_(path);
      series_.push_back({path, reader->description()});
      require_alike(series_.front(), series_.back());
      note(*reader);
    }
    std::stable_sort(series_.begin(), series_.end(), [](const Series& a, const Series& b) {
      return a.description.refdm.value_or(0) < b.description.refdm.value_or(0);
    });
    describe();
  }

  std::size_t read(std::uint64_t first_sample, std::size_t count,
                   std::span<std::byte> destination) override {
    if (first_sample >= description_.samples) return 0;
    count = limit_to(count, description_.samples - first_sample, destination);
    for (std::size_t k = 0; k < series_.size(); ++k) {
      const auto reader = open_(series_[k].path);
      row_.resize(count * reader->description().sample_bytes());
      const std::size_t got = reader->read(first_sample, count, row_);
      if (reader->damage().lost_samples > lost_[k]) {
        damage_.lost_samples += reader->damage().lost_samples - lost_[k];
        damage_.note(series_[k].path + ": the file became shorter; the rest reads as zeros");
      }
      std::byte* to = destination.data() + k * sizeof(float);
      with_samples(reader->description().delivered, row_.data(), [&](const auto* from) {
        for (std::size_t at = 0; at < count; ++at, to += series_.size() * sizeof(float)) {
          const float value = at < got ? static_cast<float>(from[at]) : 0;
          std::memcpy(to, &value, sizeof value);
        }
      });
    }
    return count;
  }

 private:
  void note(const FilterbankReader& reader) {
    constexpr std::size_t kMost = 20;
    lost_.push_back(reader.damage().lost_samples);
    damage_.add(reader.damage());
    for (const std::string& remark : reader.remarks())
      if (remarks_.size() < kMost) remarks_.push_back(remark);
  }

  void describe() {
    description_ = series_.front().description;
    description_.trial_delays.clear();
    std::uint64_t longest = 0;
    for (const Series& one : series_) {
      const FilterbankDescription& d = one.description;
      if (!description_.trial_dms.empty() && d.refdm.value_or(0) == description_.trial_dms.back())
        throw Error(ErrorKind::format, one.path + ": DM",
                    fmt::format("{:.10g}", d.refdm.value_or(0)), "a DM that no other series has",
                    "leave one of them out");
      description_.trial_dms.push_back(d.refdm.value_or(0));
      description_.samples = std::min(description_.samples, d.samples);
      longest = std::max(longest, d.samples);
      if (!d.trial_delays.empty()) description_.trial_delays.push_back(d.trial_delays.front());
    }
    if (description_.trial_delays.size() != series_.size()) description_.trial_delays.clear();
    description_.refdm.reset();
    description_.delivered = Delivered::f32;  // of all, some of which may have bytes
    description_.bits = 32;
    description_.channels = series_.size();
    description_.channel_mhz.assign(series_.size(), description_.fch1_mhz);
    if (description_.samples > 0)
      segments_.push_back({0, description_.samples, description_.start, 0});
    if (longest > description_.samples)
      remarks_.push_back(
          fmt::format("{} and the other series: {} of each are read, as the shortest has",
                      series_.front().path, core::counted(description_.samples, "sample")));
  }

  OpenSeries open_;
  std::vector<Series> series_;
  std::vector<std::uint64_t> lost_;  // samples of each, when it was opened first
  std::vector<std::byte> row_;
};

// Of filterbanks and series; an array (.npy) may be one, and an .inf is part of a .dat.
bool is_ending_of_series(const std::string& ending) {
  if (ending == ".inf") return false;
  if (ending == ".npy") return true;
  return std::ranges::any_of(file_formats(), [&](const FileFormat& format) {
    return (format.filterbank != nullptr || format.series != nullptr) &&
           std::ranges::find(format.endings, ending) != format.endings.end();
  });
}

}  // namespace

FolderSeries series_in_folder(const std::string& folder) {
  const auto has = [&](const char* name) { return std::filesystem::exists(folder + name); };
  if (has("/table.dat") && !has("/table.inf"))  // a Measurement Set, whose files end as series do
    throw other_kind(folder, "a filterbank, or a folder of dedispersed series", "check the name");
  std::map<std::string, std::vector<std::string>> all;  // by ending
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    all[entry.path().extension().string()].push_back(entry.path().string());
  for (const char* ending : {".dat", ".tim"}) {
    if (all[ending].empty()) continue;
    FolderSeries found{std::move(all[ending]), ""};
    std::sort(found.paths.begin(), found.paths.end());
    all.erase(ending);
    std::vector<std::string> others;
    for (const auto& [other, paths] : all)
      if (!paths.empty() && is_ending_of_series(other))
        others.push_back(core::counted(paths.size(), other + " file"));
    if (!others.empty())
      found.left_out =
          fmt::format("{}: read: {}; left out: {}. Give others by name, in a run of their own",
                      folder, core::counted(found.paths.size(), std::string(ending) + " file"),
                      fmt::join(others, ", "));
    return found;
  }
  throw Error(ErrorKind::io, folder, "a folder without dedispersed series",
              "one with .dat files (and their .inf) or .tim files", "give the files themselves");
}

bool are_trials(const FilterbankDescription& a, const FilterbankDescription& b) {
  return a.time_series && b.time_series && a.trial_dms.empty() && b.trial_dms.empty() &&
         a.refdm != b.refdm && start_together(a, b);
}

std::unique_ptr<FilterbankReader> open_series_set(const std::vector<std::string>& paths,
                                                  OpenSeries open) {
  return std::make_unique<SeriesSet>(paths, std::move(open));
}

}  // namespace tautline::formats
