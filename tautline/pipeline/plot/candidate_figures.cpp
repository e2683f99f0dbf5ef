#include "tautline/pipeline/plot/candidate_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/time.h"
#include "tautline/formats/figure/figure.h"
#include "tautline/formats/output_folder.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/picture/picture.h"
#include "tautline/pipeline/plot/figures.h"
#include "tautline/pipeline/plot/texts.h"
#include "tautline/pipeline/search/candidate_pictures.h"
#include "tautline/pipeline/search/drawn_files.h"

namespace tautline::pipeline {

namespace {

namespace figure = formats::figure;
using plot::axis;

constexpr const char* kColour = "S/N of a bin";

std::string picture_path(const std::string& folder, std::size_t rank) {
  return (std::filesystem::path(folder) / picture_name(rank)).string();
}

// Rows from the lowest frequency up; the pictures of a search have the highest first.
std::vector<float> from_the_lowest(const std::vector<float>& rows, std::size_t columns) {
  std::vector<float> made;
  for (std::size_t row = rows.size() / columns; row-- > 0;)
    made.insert(made.end(), rows.begin() + static_cast<std::ptrdiff_t>(row * columns),
                rows.begin() + static_cast<std::ptrdiff_t>((row + 1) * columns));
  return made;
}

// No DM is below zero: such rows are left out.
figure::Panel dm_panel(const CandidatePictures& p, const figure::Axis& time) {
  const double step =
      p.dm_rows > 1 ? (p.high_dm - p.low_dm) / static_cast<double>(p.dm_rows - 1) : 1;
  std::size_t first = 0;
  while (first + 1 < p.dm_rows && p.low_dm + step * static_cast<double>(first) < 0) ++first;
  const double low = p.low_dm + step * (static_cast<double>(first) - 0.5);
  std::vector<float> rows(p.dm_time.begin() + static_cast<std::ptrdiff_t>(first * p.bins),
                          p.dm_time.end());
  figure::Panel panel = plot::pulse_image(
      "DM against time", time, axis("DM", "pc cm\u207b\u00b3", low, p.high_dm + step / 2), p.bins,
      std::move(rows), axis(kColour, ""));
  plot::cut_below_zero(panel);
  return panel;
}

figure::Panel profile_panel(const CandidatePictures& p, const figure::Axis& time) {
  figure::Panel panel{"Dedispersed profile", time, axis("S/N of a bin", "")};
  figure::Line line;
  const double step = (time.high - time.low) / static_cast<double>(p.bins);
  for (std::size_t k = 0; k < p.bins; ++k) {
    line.x.push_back(time.low + (static_cast<double>(k) + 0.5) * step);
    line.y.push_back(static_cast<double>(p.profile[k]));
  }
  figure::fit_axis(panel.y, line.y);
  panel.lines.push_back(std::move(line));
  return panel;
}

}  // namespace

figure::Figure candidate_figure(const SearchSummary& summary, std::size_t index) {
  const core::Candidate& candidate = summary.candidates[index];
  const CandidatePictures& p = summary.pictures[index];
  const formats::candidates::SearchDescription& search = summary.search_of(candidate);
  std::string name = fmt::format("Candidate {}", index + 1);
  if (summary.searched.size() > 1) name += fmt::format(", beam {}", candidate.beam);
  if (candidate.injected) name += ", injected";
  double scale = 1;
  figure::Axis time = plot::time_axis(p.first_s, static_cast<double>(p.bins) * p.bin_s, scale);
  time.label = "time after the candidate's";
  figure::Figure made{fmt::format("{}: S/N {:.1f}, DM {:.6g} pc cm\u207b\u00b3", name,
                                  candidate.snr, candidate.dm)};
  made.facts = {
      {"file", plot::name_of(search.file)},
      {"time", fmt::format("{:.6f} s", candidate.time_s)},
      {"MJD", formats::candidates::mjd_text(candidate, search)},
      {"width", fmt::format("{} ({})", core::counted(candidate.width_samples, "sample"),
                            plot::in_seconds(static_cast<double>(candidate.width_samples) /
                                             search.rate_hz.value()))},
      {"detections", plot::grouped(candidate.members)}};
  if (candidate.filled.value_or(0) > 0)
    made.facts.push_back({"filled", fmt::format("{:.3g} % of the sweep", 100 * *candidate.filled)});
  made.panels.push_back(profile_panel(p, time));
  made.panels.push_back(plot::pulse_image(
      "Frequency against time, dedispersed", time, axis("frequency", "MHz", p.low_mhz, p.high_mhz),
      p.bins, from_the_lowest(p.frequency_time, p.bins), axis(kColour, "")));
  made.panels.push_back(dm_panel(p, time));
  made.notes.push_back("Each bin of time, frequency and DM is shown in units of its own noise.");
  if (candidate.injected)
    made.notes.push_back("The pulse was injected: these are the file's samples, without it.");
  return made;
}

void require_candidate_pictures(const std::string& folder, const std::string& list,
                                bool overwrite) {
  formats::picture::require(picture_path(folder, 1));
  require_no_others(kPictureFiles, list, folder, overwrite);
}

struct CandidatePictureFiles::Folders {
  formats::OutputFolder folder;
  formats::PartialPath drawn;  // a folder, which never gets its name
};

CandidatePictureFiles::CandidatePictureFiles(const std::string& folder, bool overwrite,
                                             const std::string& locked)
    : folders_(new Folders{{"picture_folder", folder},
                           {(std::filesystem::path(folder) / "pictures").string(), true}}),
      overwrite_(overwrite) {
  std::error_code ignored;
  if (locked.empty() || (std::filesystem::weakly_canonical(locked, ignored) !=
                         std::filesystem::weakly_canonical(folder, ignored)))
    folders_->folder.lock();
}

CandidatePictureFiles::~CandidatePictureFiles() = default;

void CandidatePictureFiles::draw(const SearchSummary& summary) {
  const std::string drawn = folders_->drawn.partial();
  const formats::OutputFolder made("picture_folder", drawn);
  while (paths_.size() < summary.pictures.size()) {
    const std::size_t k = paths_.size();
    const std::string path = picture_path(folders_->folder.path(), k + 1),
                      partial = picture_path(drawn, k + 1);
    formats::picture::write(partial, candidate_figure(summary, k), true);
    formats::refuse_existing(path, overwrite_);
    std::error_code error;
    std::filesystem::rename(partial, path, error);
    if (error)
      throw core::Error(core::ErrorKind::io, path + ": renaming the finished picture",
                        error.message(), "");
    paths_.push_back(path);
  }
}

}  // namespace tautline::pipeline
