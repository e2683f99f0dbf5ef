// A run for a browser to watch.
//   live_run ADDRESS:PORT FOLDER     a live source of visibilities and a sink, controlled by lines on standard input:
//                                    silent, loud, hold, release, lose N, fail, end
//   live_run ADDRESS:PORT FILE.toml  a pipeline, which is served on after its end until a line comes
// Prints the page's URL.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tautline/core/error.h"
#include "tautline/device/device.h"
#include "tautline/pipeline/monitor/health.h"
#include "tautline/pipeline/monitor/monitor.h"
#include "tautline/pipeline/monitor/taps.h"
#include "tests/pipeline/monitor/live_visibilities.h"

namespace {

using namespace tautline;

// Writes something for each block.
class Writing final : public engine::Node {
 public:
  Writing(tests::LiveControl& control, std::string path)
      : control_(control), path_(std::move(path)) {}
  std::vector<engine::Stream> open(std::span<const engine::Stream>) override { return {}; }
  void process(std::size_t, const engine::Block&, engine::Outputs&) override {
    while (control_.held && !control_.end)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (control_.fail)
      throw core::Error(core::ErrorKind::io, path_, "no space left on device", "room for more");
    std::ofstream(path_, std::ios::app) << std::string(10000, '.');
  }

 private:
  tests::LiveControl& control_;
  std::string path_;
};

void serve(const std::string& address, const engine::Run& run,
           std::vector<std::shared_ptr<pipeline::monitor::Tapped>> taps, const std::string& name,
           std::vector<pipeline::WrittenFile> files,
           std::unique_ptr<pipeline::monitor::Monitor>& monitor) {
  pipeline::monitor::MonitorConfig config;
  config.address = address;
  config.pipeline = name;
  config.files = std::move(files);
  config.taps = std::move(taps);
  monitor = std::make_unique<pipeline::monitor::Monitor>(std::move(config), run);
  fmt::print("{}\n", monitor->url());
  std::fflush(stdout);
}

void obey(tests::LiveControl& control) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "silent" || line == "loud") control.silent = line == "silent";
    if (line == "hold" || line == "release") control.held = line == "hold";
    if (line.starts_with("lose ")) control.lost += std::stoull(line.substr(5));
    if (line == "fail") control.fail = true;
    if (line == "end") break;
  }
  control.end = true;
}

void run_live(const std::string& address, const std::string& folder) {
  tests::LiveControl control;
  engine::Graph graph;
  const auto source = graph.add("receivers", std::make_unique<tests::LiveVisibilities>(
                                                 control, 6, 64, std::chrono::milliseconds(100)));
  const std::string path = folder + "/night.uvh5";
  graph.connect(source, graph.add("visibilities", std::make_unique<Writing>(control, path)),
                {.depth = 4});
  auto taps = pipeline::monitor::add_taps(graph, {"receivers"});
  engine::Run run(std::move(graph), {.live_counters = true});
  std::unique_ptr<pipeline::monitor::Monitor> monitor;
  serve(address, run, taps, "live.toml", {{"visibilities", path}}, monitor);
  const std::jthread listens([&] { obey(control); });
  run.go();
}

void run_file(const std::string& address, const std::string& path) {
  const auto types = pipeline::node_types();
  const pipeline::GraphFile file = pipeline::read_graph_file(path, types);
  pipeline::NodeContext context;
  context.devices = {device::open({})};
  context.memory_bytes = std::size_t{1} << 30;
  context.overwrite = true;
  engine::Graph graph = file.build(context);
  auto taps = pipeline::monitor::add_taps(graph, file.drawn());
  engine::Run run(std::move(graph), {.live_counters = true});
  std::unique_ptr<pipeline::monitor::Monitor> monitor;
  serve(address, run, taps, path, file.written(), monitor);
  run.go();
  std::string line;
  std::getline(std::cin, line);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::cerr << "usage: live_run ADDRESS:PORT FOLDER|FILE.toml\n";
    return 2;
  }
  try {
    if (std::filesystem::is_directory(words[2]))
      run_live(words[1], words[2]);
    else
      run_file(words[1], words[2]);
  } catch (const core::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
