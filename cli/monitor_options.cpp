#include "cli/monitor_options.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "cli/command.h"
#include "tautline/core/error.h"
#include "tautline/pipeline/monitor/monitor.h"
#include "tautline/pipeline/monitor/taps.h"

namespace tautline::cli {

namespace monitor = pipeline::monitor;

namespace {

// A port that the system chose is known by this line alone, which is then said even where less is to be.
void say_where(const std::string& address, const std::string& url) {
  const std::string text = "the run can be watched at " + url;
  if (address.ends_with(":0") && !spdlog::should_log(spdlog::level::info))
    print_message("tautline: info: " + text + "\n");
  else
    log_text(core::LogLevel::info, text);
}

}  // namespace

void MonitorOptions::add_to(CLI::App& command) {
  command
      .add_option("--monitor", address,
                  "serve a page about the run at ADDRESS:PORT, with /status.json and /metrics; "
                  "port 0: any that is free")
      ->expected(0, 1)
      ->default_str("127.0.0.1:8470");
  command.add_option("--monitor-token", token,
                     "that a client of the monitor must give; needed for addresses that other "
                     "machines reach");
}

pipeline::RunWatch MonitorOptions::watch(const std::string& name,
                                         std::vector<pipeline::WrittenFile> files) const {
  if (address.empty() && !token.empty())
    throw core::Error(core::ErrorKind::config, "--monitor-token", "given", "--monitor beside it",
                      "give `--monitor`, or leave the token out");
  if (address.empty()) return {};
  std::erase_if(files, [](const pipeline::WrittenFile& file) { return file.path.empty(); });
  auto config = std::make_shared<monitor::MonitorConfig>();
  config->address = address;
  config->token = token;
  config->pipeline = name;
  config->files = std::move(files);
  return {.prepare =
              [config](engine::Graph& graph, const std::vector<std::string>& drawn) {
                config->taps = monitor::add_taps(graph, drawn);
              },
          .begin = [config](const engine::Run& run) -> std::shared_ptr<void> {
            auto serving = std::make_shared<monitor::Monitor>(*config, run);
            say_where(config->address, serving->url());
            return serving;
          }};
}

}  // namespace tautline::cli
