#include "tautline/pipeline/photons/fit_sink_node.h"

#include "tautline/core/error.h"
#include "tautline/pipeline/photons/fit_curves.h"
#include "tautline/pipeline/photons/fit_page.h"

namespace tautline::pipeline {

std::vector<engine::Stream> FitSink::open(std::span<const engine::Stream> inputs) {
  (void)inputs[0].detail<CurvesDescription>();
  return {};
}

void FitSink::start(engine::Outputs&) {
  table_ = std::make_unique<formats::PartialFile>(config_.output, config_.overwrite);
  if (!config_.report.empty())
    page_ = std::make_unique<formats::PartialFile>(config_.report, config_.overwrite);
}

void FitSink::process(std::size_t, const engine::Block& block, engine::Outputs&) {
  const auto& now = block.payload_of<std::shared_ptr<CurveSnapshot>>();
  if (now->last) last_ = now;
}

void FitSink::finish(engine::Outputs& outputs) {
  const core::CorrelationCurves& curves = last_->curves;
  const std::vector<formats::curves::CurvesFacts> facts{{.history = {}, .extra = last_->facts}};
  result_ =
      fit_curves(curves, config_, {}, outputs.stop(), stopped_curves(curves, {"curves"}, facts));
  name_changes_of_rates(curves, {"curves"}, facts, result_);
  table_->write(fit_csv(result_, curves, config_.history));
  if (page_) page_text_ = report::fit_page(result_, curves, config_);
  last_.reset();
}

void FitSink::publish() {
  table_->finish();
  if (log_)
    for (const std::string& warning : result_.warnings) log_(core::LogLevel::warning, warning);
  if (!page_) return;
  page_->write(std::string_view(page_text_));
  page_->finish();
}

std::vector<std::string> FitSink::files() const {
  std::vector<std::string> names{table_->path()};
  if (page_) names.push_back(page_->path());
  return names;
}

engine::Counters FitSink::counters() const {
  return {{"good", result_.good},
          {"unjudged", result_.unjudged},
          {"hot", result_.hot},
          {"masked", result_.masked},
          {"failed", result_.failed}};
}

}  // namespace tautline::pipeline
