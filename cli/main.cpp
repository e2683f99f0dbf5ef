// The tautline command: global options, subcommands, errors to exit statuses.
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "cli/usage_errors.h"
#include "tautline/core/error.h"

namespace {

using namespace tautline;

std::string join(int argc, char** argv) {
  std::string line;
  for (int a = 0; a < argc; ++a) {
    const std::string word = argv[a];
    const bool plain = word.find_first_of(" \t\"'\\$&|;<>()*?") == std::string::npos;
    line += (a == 0 ? "" : " ") + (plain && !word.empty() ? word : "'" + word + "'");
  }
  return line;
}

// Logged texts of the library name fields; users know options.
class OptionFormatter : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    const std::string text =
        cli::option_words().text(std::string(message.payload.data(), message.payload.size()));
    spdlog::details::log_msg said = message;
    said.payload = text;
    pattern_.format(said, to);
    // Where the sink is to put its colours.
    message.color_range_start = said.color_range_start;
    message.color_range_end = said.color_range_end;
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<OptionFormatter>();
  }

 private:
  spdlog::pattern_formatter pattern_{"tautline: %^%l%$: %v"};
};

// Too little memory is wrong usage where the line has a cap on it, and else the machine's limit.
int status_of(const core::Error& error, const CLI::App& app) {
  if (error.value() == "interrupted") return cli::interrupted_status();
  const CLI::Option* memory = cli::chosen(app).get_option_no_throw("--memory");
  const bool capped =
      app.count("--device-memory") > 0 || (memory != nullptr && memory->count() > 0);
  const bool wrong_usage = error.kind() == core::ErrorKind::config ||
                           (error.kind() == core::ErrorKind::memory && capped);
  return wrong_usage ? cli::kWrongUsage : cli::kFailed;
}

// For people on standard error and, with --json, for programs on standard output.
int say_error(bool json, const std::string& said, int status) {
  const std::string message = cli::printable(said);
  cli::print_message("tautline: " + message + "\n");
  if (json) cli::print_json("tautline.error", 1, {{"message", message}, {"status", status}});
  return status;
}

int run_main(int argc, char** argv) {
  const bool json = cli::asks_for_json(argc, argv);
  cli::Global global;
  global.command_line = join(argc, argv);
  std::stop_source stop;
  global.stop = stop.get_token();
  const std::jthread signals = cli::watch_interrupts(stop, json);

  CLI::App app("tautline correlates many signals on many cores", "tautline");
  app.set_version_flag("--version", "tautline " TAUTLINE_VERSION);
  app.add_option("--device", global.device,
                 "auto, reference, cpu, cpu:portable|avx2|avx512|vnni|amx, cuda:N[,cuda:M] or "
                 "opencl:N (also "
                 "TAUTLINE_DEVICE)")
      ->capture_default_str();
  app.add_option(
      "--device-memory", global.device_memory,
      "most memory to take on a GPU: " + core::byte_size().allowed + "; default: all that is free");
  cli::add_own(app, global.threads,
               {.name = "threads", .help = "to compute with, 0: all there are"},
               core::plain_text<std::size_t>(core::between(0, 4096)));
  app.add_flag("--quiet", global.quiet, "no progress, only warnings and errors");
  app.add_flag("--json", global.json, "results as JSON Lines");
  app.add_flag("--profile", global.profile, "where the run's time went, on standard error");
  cli::add_own(app, global.log_level,
               {.name = "log_level", .help = "the least important messages to show"},
               cli::word_of({"debug", "info", "warn", "error"}));
  app.require_subcommand(1);
  app.fallthrough();
  app.footer("Example: tautline correlate night.dada -o night.uvh5 --array array.toml");

  cli::Action action;
  cli::add_simulate(app, global, action);
  cli::add_channelize(app, global, action);
  cli::add_autocorrelate(app, global, action);
  cli::add_correlate(app, global, action);
  cli::add_dedisperse(app, global, action);
  cli::add_search(app, global, action);
  cli::add_delays(app, global, action);
  cli::add_compare(app, global, action);
  cli::add_plot(app, global, action);
  cli::add_report(app, global, action);
  cli::add_fit(app, global, action);
  cli::add_inspect(app, global, action);
  cli::add_devices(app, global, action);
  cli::add_bench(app, global, action);
  cli::add_tune(app, global, action);
  cli::add_run(app, global, action);
  cli::add_top(app, global, action);
  cli::add_send(app, global, action);
  cli::add_docs(app, global, action);
  cli::add_tune_worker(app, global, action);
  cli::add_options_page(app, global, action);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    command->footer(
        command->get_footer() +
        "\nOptions of all commands (--threads, --device, --json, ...): tautline --help");
  cli::say_options_in_help(app);
  if (const std::string empty = cli::empty_word(argc, argv); !empty.empty())
    return say_error(json, empty, cli::kWrongUsage);
  try {
    std::vector<std::string> words = cli::with_help_as_option(argc, argv);
    std::reverse(words.begin(), words.end());  // the order that CLI11 takes a list in
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help and --version
      const std::string unknown = cli::unknown_command(app);
      if (!unknown.empty()) return say_error(json, unknown, cli::kWrongUsage);
      if (json && error.get_name() == "CallForVersion")
        cli::print_json("tautline.version", 1, {{"tautline", TAUTLINE_VERSION}});
      else
        app.exit(error);
      return cli::kDone;
    }
    return say_error(json, cli::usage_error(app, error), cli::kWrongUsage);
  }

  cli::choose_option_words(cli::chosen(app));
  auto logger = spdlog::stderr_color_mt("tautline");
  logger->set_formatter(std::make_unique<OptionFormatter>());
  logger->set_level(std::max(spdlog::level::from_str(global.log_level),
                             global.quiet ? spdlog::level::warn : spdlog::level::trace));
  spdlog::set_default_logger(logger);
  try {
    const int status = action();
    global.advice->say();
    if (json && stop.stop_requested() && status == cli::interrupted_status())
      cli::print_json("tautline.error", 1, {{"message", "interrupted"}, {"status", status}});
    return status;
  } catch (const core::Error& error) {  // while there is an app to know the options
    // Of any command: "run" would be taken for the command of that name.
    if (error.field() == "run" && error.value() == "interrupted")
      return say_error(json, "interrupted; " + error.advice(), status_of(error, app));
    return say_error(json, cli::option_words().message(error), status_of(error, app));
  }
}

// All output has to have arrived: a full disk shows when the last of it is written.
int with_output_written(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (errno == EPIPE) return cli::kReaderEnded;
  cli::print_message(fmt::format("tautline: standard output: {}; what was printed is not whole\n",
                                 std::strerror(errno)));
  return status == cli::kDone ? cli::kFailed : status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return with_output_written(run_main(argc, argv));
  } catch (const std::bad_alloc&) {
    return say_error(cli::asks_for_json(argc, argv), "out of memory; lower --channels or --memory",
                     cli::kFailed);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::broken_pipe) return cli::kReaderEnded;  // of what is printed
    return say_error(cli::asks_for_json(argc, argv), error.what(), cli::kFailed);
  } catch (const std::exception& error) {
    return say_error(cli::asks_for_json(argc, argv), error.what(), cli::kFailed);
  }
}
