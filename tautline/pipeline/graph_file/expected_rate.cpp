#include "tautline/pipeline/graph_file/expected_rate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "tautline/pipeline/time_writing.h"

namespace tautline::pipeline {

namespace {

void find_bound(ExpectedRate& rate) {
  std::map<std::string, double> devices;
  for (const ExpectedNode& node : rate.measured) devices[node.load.device] += node.load.seconds;
  for (const auto& [device, seconds] : devices)
    if (seconds > rate.busiest.seconds) rate.busiest = {seconds, device};
  double most = 0;
  for (const ExpectedNode& node : rate.measured) {
    if (node.load.device != rate.busiest.device || node.load.seconds <= most) continue;
    most = node.load.seconds;
    rate.bound_by = node.name;
  }
}

}  // namespace

ExpectedRate expected_rate(const engine::Run& run) {
  ExpectedRate rate;
  for (const engine::PlannedNode& node : run.plan()) {
    if (const auto load = run.node(node.name).expected_load())
      rate.measured.push_back({node.name, *load});
    else
      rate.not_measured.push_back(node.name);
  }
  const engine::Stream& source = run.plan().front().outputs.front();
  const double rate_hz = source.rate_hz.value();
  rate.stream_s = static_cast<double>(source.total_samples) / rate_hz;
  rate.source_bytes_per_s = bytes_per_s(source);
  find_bound(rate);
  return rate;
}

std::string describe(const ExpectedRate& rate) {
  std::string text = "expected rate, measured for some milliseconds a node:\n";
  for (const ExpectedNode& node : rate.measured)
    text += fmt::format("  {}: {:.3g} s for 1 s of data ({})\n", node.name, node.load.seconds,
                        node.load.device);
  if (!rate.not_measured.empty())
    text += fmt::format("  not measured: {}\n", fmt::join(rate.not_measured, ", "));
  if (rate.bound_by.empty()) return text + "  nothing is known of the rate\n";
  text += fmt::format("  bound by {} ({}): at most about {:.3g} x real time", rate.bound_by,
                      rate.busiest.device, rate.real_time_factor());
  if (rate.stream_s > 0)
    text += fmt::format(", {:.3g} s for {:.6g} s of data", rate.busiest.seconds * rate.stream_s,
                        rate.stream_s);
  if (rate.source_bytes_per_s > 0)
    text += fmt::format("; that needs {:.3g} MB/s of input",
                        rate.source_bytes_per_s * rate.real_time_factor() / 1e6);
  return text + "; what was not measured comes on top\n";
}

}  // namespace tautline::pipeline
