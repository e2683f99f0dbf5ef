#include "tautline/pipeline/voltages/visibility_sink_node.h"

#include <span>

#include "tautline/pipeline/report/report_builder.h"
#include "tautline/pipeline/voltages/data_warnings.h"

namespace tautline::pipeline {

std::vector<engine::Stream> VisibilitySinkNode::open(std::span<const engine::Stream> inputs) {
  visibilities_ = inputs[0].detail<Visibilities>();
  rate_hz_ = inputs[0].rate_hz;
  return {};
}

// The gains of the visibilities' channels.
std::vector<double> VisibilitySinkNode::kept_gains(const std::vector<float>& gains) const {
  const std::size_t inputs = visibilities_.description.array.inputs.size();
  const auto kept = std::span(gains).subspan(visibilities_.channels.first * inputs,
                                             visibilities_.channels.count * inputs);
  return {kept.begin(), kept.end()};
}

void VisibilitySinkNode::start(engine::Outputs& outputs) {
  formats::VisibilityDescription& description = visibilities_.description;
  if (const SharedGains& gains = visibilities_.gains)
    description.requantisation_gains = kept_gains(gains->values(outputs.stop()));
  if (config_.checkpoint) {
    parts_.go_on_after(config_.checkpoint->files());
    config_.checkpoint->save();
  }
  begin_file();
  if (config_.log && !description.array.positions_known)
    config_.log(core::LogLevel::warning, unknown_positions_message());
}

void VisibilitySinkNode::begin_file() {
  const formats::VisibilityDescription& description = visibilities_.description;
  path_ = parts_.begin();
  if (config_.page)
    writer_ = std::make_unique<report::ReportBuilder>(path_, description, config_.overwrite,
                                                      report::DigestLimits{}, config_.words);
  else if (config_.writer)
    writer_ = config_.writer(description);
  else
    writer_ = formats::create_visibilities(path_, description, config_.overwrite);
}

void VisibilitySinkNode::finish_file() {
  writer_->finish();
  writer_.reset();
  files_.push_back(path_);
}

// A file ends when the next one is needed; a file of live data, which may pause, as soon as it is full. The counts of
// the run's nodes are final only at its end: the file that is open then records them. A resumed run reads everything
// again, so there the source's counts are whole.
void VisibilitySinkNode::process(std::size_t, const engine::Block& block,
                                 engine::Outputs& outputs) {
  const auto& time = block.payload_of<IntegrationTime>();
  if (time.gains != gains_ && time.gains) {
    gains_ = time.gains;
    gain_values_ = kept_gains(*gains_);
  }
  const std::uint64_t bytes = block.view<2>(0).size() * sizeof(std::complex<float>);
  if (parts_.over(block.samples, rate_hz_, bytes, outputs)) {
    finish_file();
    if (config_.checkpoint)
      config_.checkpoint->finished(
          path_, parts_.number(),
          StreamPlace{block.segment_start, block.first * visibilities_.clock.hop_samples});
  }
  if (!writer_) {
    if (gains_) visibilities_.description.requantisation_gains = gain_values_;
    begin_file();
  }
  writer_->write({time.middle, time.integration_s, block.view<2>(0).as<const std::complex<float>>(),
                  block.view<2>(1).as<const std::int64_t>(), gain_values_});
  if (config_.live && parts_.end_if_full(block.samples, rate_hz_, bytes)) finish_file();
}

void VisibilitySinkNode::publish() {
  if (!writer_) {  // the last file is complete
    published_ = true;
    return;
  }
  const VoltageFacts facts = config_.facts();
  if (config_.page)
    finish_page(facts, dynamic_cast<report::ReportBuilder&>(*writer_));
  else
    for (const auto& [name, count] : config_.checkpoint ? facts.of_source : facts.counts)
      writer_->add_extra(name, std::to_string(count));
  writer_->finish();
  if (!path_.empty()) files_.push_back(path_);
  if (config_.checkpoint) config_.checkpoint->finished(path_, parts_.number(), std::nullopt);
  published_ = true;
}

}  // namespace tautline::pipeline
