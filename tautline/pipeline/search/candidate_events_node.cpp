#include "tautline/pipeline/search/candidate_events_node.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tautline/core/error.h"
#include "tautline/formats/candidates/candidates.h"
#include "tautline/formats/partial_file.h"

namespace tautline::pipeline {

namespace {

// The columns of the .csv, as `search --json` has them, and when the candidate came.
std::string line_of(const FoundCandidate& found,
                    const formats::candidates::SearchDescription& search) {
  const core::Candidate& c = found.candidate;
  nlohmann::ordered_json line{{"schema", "tautline.candidate"},
                              {"version", 1},
                              {"snr", c.snr},
                              {"time_s", c.time_s},
                              {"sample", c.sample},
                              {"width_samples", c.width_samples},
                              {"width_s", found.width_s},
                              {"dm", c.dm},
                              {"dm_index", c.dm_index},
                              {"members", c.members},
                              {"first_sample", c.first_sample},
                              {"last_sample", c.last_sample},
                              {"utc", core::to_iso(found.time)},
                              {"mjd", formats::candidates::mjd_text(c, search)},
                              {"mjd_inf", formats::candidates::mjd_infinite_text(c, search)},
                              {"f_ref_mhz", search.f_ref_mhz},
                              {"sweep_s", found.sweep_s},
                              {"latency_s", found.latency_s},
                              {"beam", c.beam},
                              {"file", search.file},
                              {"filled", nullptr}};
  if (c.filled) line["filled"] = *c.filled;
  if (search.injections) line["injected"] = c.injected;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

CandidateEventsNode::~CandidateEventsNode() {
  for (const std::string& file : files_) {
    std::error_code ignored;
    formats::forget_growing_file(file);
    if (!whole_ && std::filesystem::is_regular_file(file, ignored) &&
        std::filesystem::file_size(file, ignored) == 0)
      std::filesystem::remove(file, ignored);
  }
}

std::vector<engine::Stream> CandidateEventsNode::open(std::span<const engine::Stream> inputs) {
  found_ = std::make_unique<FoundCandidates>(inputs.front().detail<PulseStream>());
  rate_hz_ = inputs.front().rate_hz;
  parts_.require_can_be_written(field_, overwrite_);
  return {};
}

void CandidateEventsNode::start(engine::Outputs&) {
  begin_file();
}

void CandidateEventsNode::begin_file() {
  files_.push_back(parts_.begin());
  file_ = std::ofstream();
  errno = 0;
  file_.open(files_.back(), std::ios::binary | std::ios::trunc);
  if (!file_)
    throw core::Error(core::ErrorKind::io, files_.back() + ": cannot be written",
                      std::strerror(errno), "", "check the folder and the disk");
  formats::note_growing_file(files_.back());
  file_bytes_ = 0;
}

void CandidateEventsNode::begin_segment(std::size_t, const engine::Block& first, engine::Outputs&) {
  found_->begin_segment(first);
}

void CandidateEventsNode::process(std::size_t, const engine::Block& block,
                                  engine::Outputs& outputs) {
  write(found_->in(block), block.samples, outputs);
}

void CandidateEventsNode::end_segment(std::size_t, engine::Outputs& outputs) {
  write(found_->rest(), 0, outputs);
}

void CandidateEventsNode::write(const std::vector<FoundCandidate>& found, std::uint64_t samples,
                                engine::Outputs& outputs) {
  std::string lines;
  for (const FoundCandidate& one : found) {
    const auto& searched = found_->searched();
    lines += line_of(one, searched.size() > 1 ? searched[one.candidate.beam] : searched.front());
    ++candidates_;
  }
  if (parts_.over(samples, rate_hz_, lines.size(), outputs)) begin_file();
  if (lines.empty()) return;
  errno = 0;
  file_.write(lines.data(), static_cast<std::streamsize>(lines.size()));
  file_.flush();
  if (!file_) {
    const int reason = errno;
    drop_torn_line(lines);
    throw core::Error(core::ErrorKind::io, files_.back() + ": cannot be written",
                      std::strerror(reason), "", "check the disk");
  }
  file_bytes_ += lines.size();
  written_bytes_ += lines.size();
}

// Of lines that a disk took in part the whole ones stay.
void CandidateEventsNode::drop_torn_line(const std::string& lines) {
  file_.close();
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(files_.back(), error);
  if (error || size <= file_bytes_) return;
  const std::size_t end = lines.rfind('\n', static_cast<std::size_t>(size - file_bytes_ - 1));
  std::filesystem::resize_file(files_.back(),
                               file_bytes_ + (end == std::string::npos ? 0 : end + 1), error);
}

engine::Counters CandidateEventsNode::counters() const {
  return {{"candidates", candidates_}, {"written_bytes", written_bytes_}};
}

}  // namespace tautline::pipeline
