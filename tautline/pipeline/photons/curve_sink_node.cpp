#include "tautline/pipeline/photons/curve_sink_node.h"

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/photons/curve_output.h"
#include "tautline/pipeline/photons/curve_state.h"

namespace tautline::pipeline {

std::vector<engine::Stream> CurveSink::open(std::span<const engine::Stream> inputs) {
  const auto& curves = inputs[0].detail<CurvesDescription>();
  if (!config_.output.empty())
    check_curves_fit(config_.output, curves.good_curves, curves.only_zero_lag);
  if (!config_.output.empty() && curves.window)
    check_curve_output(window_path(config_.output), config_.overwrite);
  return {};
}

void CurveSink::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  const auto& now = block.payload_of<std::shared_ptr<CurveSnapshot>>();
  if (now->last) {
    last_ = now;
  } else {
    write_on_the_way(*now);
  }
}

// A live run continues after a failed writing that is repeated: a full disk may get free space.
void CurveSink::write_on_the_way(const CurveSnapshot& now) {
  try {
    write(now);
    ++writes_;
    if (now.complete) files_.push_back(path_);
    say(core::LogLevel::info, "written after " + core::counted(now.summary.samples, "sample"));
  } catch (const core::Error& error) {
    if (now.complete || !now.summary.live || error.kind() != core::ErrorKind::io) throw;
    say(core::LogLevel::warning, std::string(error.what()) + "; the run goes on");
  }
  if (now.complete) say_warnings(now);
}

void CurveSink::publish() {
  last_->summary.writes = ++writes_;
  write(*last_);
  files_.push_back(path_);
  say_warnings(*last_);
}

// Of several files, each names its own.
void CurveSink::say_warnings(const CurveSnapshot& now) const {
  for (const std::string& warning : now.summary.warnings)
    say(core::LogLevel::warning, parts_.several() ? path_ + ": " + warning : warning);
}

std::vector<std::string> CurveSink::files() const {
  if (parts_.several()) return files_;
  std::vector<std::string> names{config_.output, config_.save_state};
  std::erase(names, "");
  return names;
}

// After the first writing, the files are the run's own.
void CurveSink::write(const CurveSnapshot& now) {
  if (path_.empty() || now.part != part_) {
    path_ = parts_.begin();
    part_ = now.part;
    output_written_ = false;
  }
  if (!config_.output.empty()) {
    write_curves(path_, now.curves, {config_.history, now.facts},
                 config_.overwrite || output_written_);
    output_written_ = true;
  }
  if (!config_.output.empty() && now.window) {
    write_curves(window_path(config_.output), *now.window, {config_.history, now.window_facts},
                 config_.overwrite || window_written_);
    window_written_ = true;
  }
  if (!config_.save_state.empty()) {
    write_state(config_.save_state, config_.overwrite || state_written_, now.state);
    state_written_ = true;
  }
}

}  // namespace tautline::pipeline
