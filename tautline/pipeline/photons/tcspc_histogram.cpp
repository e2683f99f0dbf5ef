#include "tautline/pipeline/photons/tcspc_histogram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

TcspcHistogram tcspc_histogram(formats::PhotonReader& reader, const std::string& path) {
  const formats::PhotonDescription& d = reader.description();
  if (!(d.microtime_unit_s > 0))
    throw core::Error(core::ErrorKind::config, "tcspc", path,
                      "time tags with microtimes: a T3 recording, or .spc with its .set file");
  constexpr std::size_t kPhotons = std::size_t{1} << 14;
  std::map<std::uint16_t, std::vector<std::uint64_t>> found;
  std::vector<formats::Photon> photons(kPhotons);
  std::size_t length = 0;
  reader.rewind();
  while (const std::size_t count = reader.read(photons))
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::uint64_t>& counts = found[photons[n].channel];
      const std::size_t at = photons[n].microtime;
      if (at >= counts.size()) counts.resize(at + 1);
      ++counts[at];
      length = std::max(length, at + 1);
    }
  TcspcHistogram histogram{d.microtime_unit_s, {}, {}};
  for (auto& [detector, counts] : found) {
    counts.resize(length);
    histogram.detectors.push_back(detector);
    histogram.counts.push_back(std::move(counts));
  }
  return histogram;
}

std::string tcspc_csv(const TcspcHistogram& histogram, const std::string& history) {
  std::string text = fmt::format("# {}\n# photons by microtime; bins of {:.9g} s from time_s on\n",
                                 history, histogram.unit_s);
  text += "time_s";
  for (const std::uint16_t detector : histogram.detectors)
    text += fmt::format(",detector_{}", detector);
  text += '\n';
  const std::size_t length = histogram.counts.empty() ? 0 : histogram.counts.front().size();
  for (std::size_t at = 0; at < length; ++at) {
    text += fmt::format("{:.9g}", static_cast<double>(at) * histogram.unit_s);
    for (const auto& counts : histogram.counts) text += fmt::format(",{}", counts[at]);
    text += '\n';
  }
  return text;
}

void write_tcspc(const std::string& path, const TcspcHistogram& histogram,
                 const std::string& history, bool overwrite) {
  formats::PartialFile file(path, overwrite);
  file.write(tcspc_csv(histogram, history));
  file.finish();
}

}  // namespace tautline::pipeline
