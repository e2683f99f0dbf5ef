// tautline send: plays files onto the network.
#include "tautline/stream/send.h"

#include <fmt/format.h>

#include "cli/field_options.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"

namespace tautline::cli {

namespace {

int run_send(const Global& global, const stream::SendConfig& config) {
  ProgressLine line(global);
  const stream::SendSummary s = stream::send_files(
      config, [&](double done) { line.show(done, "sent"); }, global.stop);
  print_summary(
      global, "tautline.send",
      {{"files", config.files},
       {"to", config.to},
       {"records", s.records},
       {"bytes", s.bytes},
       {"lost", s.lost},
       {"duplicated", s.duplicated},
       {"corrupted", s.corrupted},
       {"data_s", s.stream_s},
       {"elapsed_s", s.elapsed_s},
       {"behind_s", s.behind_s}},
      fmt::format("{}: {} records, {} bytes from {}; at most {:.3f} s late\n{}\n", config.to,
                  s.records, s.bytes, core::counted(config.files.size(), "file"), s.behind_s,
                  speed_line(s.stream_s, s.elapsed_s)));
  return kDone;
}

}  // namespace

void add_send(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("send", "files played onto the network, as receivers would");
  auto config = std::make_shared<stream::SendConfig>();
  command
      ->add_option("files", config->files,
                   "files of MWA receivers; several files are several connections, in this order")
      ->required();
  add_required_field(*command, *config, "to");
  add_fields(*command, *config, {"layout", "rate", "rate_hz", "impair", "connect_s"});
  command->footer(
      "Example: tautline send mwa.0 mwa.1 mwa.2 mwa.3 --layout mwa32t --to tcp://127.0.0.1:9032 "
      "--rate 1");
  command->callback([&global, &action, config] {
    action = [&global, config] { return run_send(global, *config); };
  });
}

}  // namespace tautline::cli
