#include "tautline/pipeline/search/live_search_record.h"

#include <nlohmann/json.hpp>

#include "tautline/pipeline/search/inject_node.h"
#include "tautline/pipeline/search/iqrm_node.h"
#include "tautline/pipeline/search/live_filterbank_node.h"
#include "tautline/pipeline/search/search_noise.h"

namespace tautline::pipeline {

namespace {

template <class Node>
const Node* find(const std::vector<NamedNode>& nodes) {
  for (const auto& [name, node] : nodes)
    if (const auto* found = dynamic_cast<const Node*>(node)) return found;
  return nullptr;
}

// As of files, in the trial that is kept; warns of much.
std::optional<WidthNoise> measure_noise(const SearchPlan& plan, const CandidateSinkNode& sink,
                                        const std::vector<NamedNode>& nodes,
                                        const device::Device& device) {
  const auto* search = find<SearchNode>(nodes);
  if (plan.config().noise != stages::detect::Noise::trial || find<IqrmNode>(nodes) != nullptr ||
      search == nullptr || search->kept() == nullptr)
    return {};
  const core::Candidate* widest = widest_of_best(sink.candidates());
  if (widest == nullptr) return {};
  const formats::FilterbankDescription& description = sink.stream().filterbank.description();
  const auto* source = find<LiveFilterbankNode>(nodes);
  const EmptyFound empty = source == nullptr ? EmptyFound{} : source->empty();
  const auto noise =
      search->kept()->noise_of(widest->dm, widest->width_samples, description.whole_numbers, empty);
  if (noise && noise->is_much())
    device.shared().log(
        core::LogLevel::warning,
        noise_warning(
            *noise, widest->dm, description.rate_hz.value(),
            {!plan.config().zero_dm && !description.time_series, channels_stopped(empty), {}}));
  return noise;
}

}  // namespace

std::string live_search_record(const SearchPlan& plan, const CandidateSinkNode& sink,
                               const std::vector<NamedNode>& nodes, const device::Device& device) {
  using Json = nlohmann::ordered_json;
  const SearchConfig& config = plan.config();
  const SearchPart& part = plan.first_part();
  const FilterbankStream& filterbank = sink.stream().filterbank;
  const double sample_s = part.detect->config().sample_time_s;
  Json segments = Json::array();
  for (const SearchedData& data : sink.data_searched())
    segments.push_back(
        {{"first_sample", data.first_sample}, {"samples", data.samples}, {"trials", data.trials}});
  Json record{{"schema", "tautline.search.record"},
              {"version", 1},
              {"history", config.history},
              {"device", device.name()},
              {"kernels", part.dedisperse->backend()},
              {"search_kernels", part.detect->backend()},
              {"inputs", filterbank.files},
              {"f_ref_mhz", filterbank.description().highest_mhz()},
              {"dm_constant", config.dm_constant},
              {"start", core::to_iso(filterbank.description().start)},
              {"start_mjd", core::modified_julian_date(filterbank.description().start)},
              {"tsamp_s", filterbank.description().tsamp_s},
              {"ignored_channels", filterbank.left_out.front()},
              {"zero_dm", config.zero_dm},
              {"dms", plan.trials().dms()},
              {"threshold", config.threshold},
              {"widths_samples", part.detect->widths()},
              {"baseline_s", static_cast<double>(part.detect->baseline_samples()) * sample_s},
              {"noise_samples", part.detect->noise_samples()},
              {"noise_of_width", nullptr},
              {"latency_s", plan.latency_s()},
              {"candidates", sink.candidates().size()},
              {"data_segments", segments}};
  if (const auto noise = measure_noise(plan, sink, nodes, device))
    record["noise_of_width"] = {{"width_samples", noise->width}, {"excess", noise->excess}};
  for (const auto& [name, node] : nodes) {
    if (const auto* masks = dynamic_cast<const IqrmNode*>(node)) {
      record["iqrm"] = {{"threshold", masks->config().threshold},
                        {"radius", masks->config().radius},
                        {"every_s", masks->config().every_s}};
      record["iqrm"].update(masks->found().record());
    }
    if (const auto* source = dynamic_cast<const LiveFilterbankNode*>(node)) {
      record["empty_samples"] = source->empty().samples;
      record["empty_values"] = source->empty().values;
      record["empty_stretches"] = empty_stretches(source->empty());
      record["empty_channels"] = empty_channels(source->empty());
    }
    if (const auto* injects = dynamic_cast<const InjectNode*>(node))
      record["injection"] = {{"pulses", to_text(injects->config())},
                             {"injected", sink.injections().injected},
                             {"recalled", sink.injections().recalled},
                             {"snr_ratio", sink.injections().snr_ratio},
                             {"clipped", injects->clipped()}};
    for (const auto& [counter, count] : node->counters())
      record["counters"][name + "." + counter] = count;
  }
  return record.dump(1) + "\n";
}

}  // namespace tautline::pipeline
