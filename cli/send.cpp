// tautline send: plays files onto the network.
#include "tautline/stream/send.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/common_options.h"
#include "cli/field_options.h"
#include "cli/run_output.h"
#include "tautline/core/counted.h"

namespace tautline::cli {

namespace {

// Packets that were damaged on purpose, and samples of the files that were not sent.
std::string packets_text(const stream::SendSummary& s) {
  std::string text;
  for (const auto& [count, what] : std::initializer_list<std::pair<std::uint64_t, const char*>>{
           {s.lost, "lost on purpose"},
           {s.duplicated, "repeated"},
           {s.corrupted, "corrupted"},
           {s.reordered, "out of their order"},
           {s.left_out, "not sent, as their samples are invalid"},
           {s.clipped, "components clipped"},
           {s.trailing_samples, "times not sent, which fill no packet"}})
    if (count > 0) text += fmt::format("  {}: {}\n", what, count);
  return text;
}

// Nothing of a pipe.
std::string records_text(const stream::SendConfig& config, const stream::SendSummary& s) {
  const std::string& to = config.to.front();
  if (!to.starts_with("udp:") && !to.starts_with("tcp:")) return {};
  return core::counted(s.records, to.starts_with("udp:") ? "packet" : "record") + ", ";
}

// Where standard output carries the data, nothing is printed but to standard error.
int send_to_output(const Global& global, const stream::SendConfig& config) {
  const stream::SendSummary s = stream::send_files(config, {}, global.stop);
  if (!global.quiet)
    print_message(fmt::format("standard output: {} bytes; at most {:.3f} s late\n{}\n", s.bytes,
                              s.behind_s, speed_line(s.stream_s, s.elapsed_s)));
  return kDone;
}

int run_send(const Global& global, const stream::SendConfig& config) {
  if (config.to == std::vector<std::string>{"-"}) return send_to_output(global, config);
  ProgressLine line(global);
  const stream::SendSummary s = stream::send_files(
      config, [&](double done) { line.show(done, "sent"); }, global.stop);
  print_summary(global, "tautline.send",
                {{"files", config.files},
                 {"to", config.to},
                 {"records", s.records},
                 {"bytes", s.bytes},
                 {"lost", s.lost},
                 {"duplicated", s.duplicated},
                 {"corrupted", s.corrupted},
                 {"reordered", s.reordered},
                 {"left_out", s.left_out},
                 {"clipped", s.clipped},
                 {"trailing_samples", s.trailing_samples},
                 {"data_s", s.stream_s},
                 {"elapsed_s", s.elapsed_s},
                 {"behind_s", s.behind_s}},
                fmt::format("{}: {}{} bytes from {}; at most {:.3f} s late\n{}{}\n",
                            fmt::join(config.to, ", "), records_text(config, s), s.bytes,
                            core::counted(config.files.size(), "file"), s.behind_s, packets_text(s),
                            speed_line(s.stream_s, s.elapsed_s)));
  return kDone;
}

}  // namespace

void add_send(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("send", "files played onto the network, as telescopes would");
  auto config = std::make_shared<stream::SendConfig>();
  add_input(*command, config->files,
            "over TCP, files of MWA receivers, each a connection, in this order; over UDP, and "
            "over TCP of other formats, voltages, consecutive files or `receivers`; over UDP also "
            "filterbanks and counts; through a pipe any file",
            "files");
  add_required_field(*command, *config, "to");
  add_fields(*command, *config,
             {"layout", "rate", "record_rate_hz", "impair", "connect_s", "repeat", "senders",
              "sender", "first_count", "interface", "start_s", "duration_s"});
  add_fields(*command, *config, {"bin_s", "raw.dtype", "raw.sensors", "raw.header_bytes"},
             "Counts");
  add_reader_options(*command, *config, "reader.");
  command->footer(
      "Example: tautline send mwa.0 mwa.1 mwa.2 mwa.3 --layout mwa32t --to tcp://127.0.0.1:9032 "
      "--rate 1");
  command->callback([&global, &action, config, command] {
    config->reader.named = given_members(*command, "reader.");
    action = [&global, config] { return run_send(global, *config); };
  });
}

}  // namespace tautline::cli
