#include "cli/run_output.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "cli/field_options.h"

namespace tautline::cli {

namespace {

void add_profile(nlohmann::ordered_json& summary, const engine::Profile& profile) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const engine::NodeProfile& node : profile.nodes)
    nodes.push_back({{"node", node.node},
                     {"lane", node.lane},
                     {"busy_s", node.busy_s},
                     {"device_s", node.device_s},
                     {"waiting_for_input_s", node.waiting_for_input_s},
                     {"waiting_for_room_s", node.waiting_for_room_s},
                     {"waiting_for_device_s", node.waiting_for_device_s},
                     {"blocks", node.blocks},
                     {"bytes", node.bytes},
                     {"dropped_blocks", node.dropped}});
  summary["profile"] = std::move(nodes);
  summary["bound_by"] = profile.bound_by;
  summary["efficiency"] = profile.efficiency;
  summary["stages_share"] = profile.stages_share;
}

}  // namespace

pipeline::ProgressCallback drawn_on(ProgressLine& line, const std::string& done) {
  return [&line, done](const pipeline::Progress& p) {
    if (p.total_samples == 0) {
      line.show(
          fmt::format("{:.1f} s {}, {:.2f} x real time", p.stream_s, done, p.real_time_factor()));
      return;
    }
    const double fraction =
        p.total_samples > 0 ? static_cast<double>(p.samples) / static_cast<double>(p.total_samples)
                            : 1;
    line.show(fraction, fmt::format("{:.1f} s {}, {:.2f} x real time, {:.0f} s left", p.stream_s,
                                    done, p.real_time_factor(), p.seconds_left));
  };
}

std::function<void(const std::string&)> print_plan(const Global& global) {
  return [&global](const std::string& plan) {
    if (!global.quiet) print_message(option_words().text(plan) + "\n");
  };
}

void note_short_input(double wanted_s, double got_s, std::uint64_t samples) {
  const double step_s = samples > 0 ? got_s / static_cast<double>(samples) : 0;
  if (wanted_s < 0 || got_s + step_s >= wanted_s) return;
  spdlog::warn("--duration: {:.9g} s were asked for, and the input has {:.9g} s", wanted_s, got_s);
}

double real_time_factor(double stream_s, double elapsed_s) {
  return elapsed_s > 0 ? stream_s / elapsed_s : 0;
}

std::string speed_line(double stream_s, double elapsed_s) {
  return fmt::format("  {:.3f} s of data in {:.3f} s: {:.2f} x real time", stream_s, elapsed_s,
                     real_time_factor(stream_s, elapsed_s));
}

void print_summary(const Global& global, const std::string& schema, nlohmann::ordered_json object,
                   const std::string& text, const engine::Profile* profile) {
  if (profile != nullptr && global.profile) print_message(engine::to_text(*profile));
  if (global.json) {
    if (profile != nullptr) add_profile(object, *profile);
    print_json(schema, 1, object);
  } else if (!global.quiet) {
    fmt::print("{}", text);
  }
}

}  // namespace tautline::cli
