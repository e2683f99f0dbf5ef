// The common parts of all subcommands: the global options, output, progress and exit statuses.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "tautline/device/device.h"
#include "tautline/formats/astronomy.h"
#include "tautline/formats/voltage_reader.h"

namespace tautline::cli {

/// The command's exit statuses; an interrupted run has that of interrupts.h.
enum Exit : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kDamagedInput = 3,
  kReaderEnded = 141  ///< of standard output: 128 + SIGPIPE, as shells have it
};

/// Advice for faster later runs, each text once, printed at the end of this run. From any thread.
class Advice {
 public:
  void add(const std::string& text);
  /// To the log.
  void say() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> texts_;
};

/// Options before the subcommand, and what the process knows.
struct Global {
  std::string device = "auto";
  std::size_t threads = 0;
  std::string device_memory;  ///< bytes with a suffix; empty: all there is
  bool quiet = false;
  bool json = false;
  bool profile = false;
  std::string log_level = "info";
  std::string command_line;
  std::stop_token stop;
  std::shared_ptr<Advice> advice = std::make_shared<Advice>();
};

using Action = std::function<int()>;

/// The subcommand's `action` is run(global, *options).
template <class Options, class Run>
void when_chosen(CLI::App& command, const Global& global, Action& action,
                 const std::shared_ptr<Options>& options, Run run) {
  command.callback([&global, &action, options, run] {
    action = [&global, options, run] { return run(global, *options); };
  });
}

/// Each adds its subcommand to `app` and, when it was chosen, sets `action`.
void add_simulate(CLI::App& app, const Global& global, Action& action);
void add_channelize(CLI::App& app, const Global& global, Action& action);
void add_autocorrelate(CLI::App& app, const Global& global, Action& action);
void add_correlate(CLI::App& app, const Global& global, Action& action);
void add_dedisperse(CLI::App& app, const Global& global, Action& action);
void add_search(CLI::App& app, const Global& global, Action& action);
void add_delays(CLI::App& app, const Global& global, Action& action);
void add_compare(CLI::App& app, const Global& global, Action& action);
void add_plot(CLI::App& app, const Global& global, Action& action);
void add_report(CLI::App& app, const Global& global, Action& action);
void add_fit(CLI::App& app, const Global& global, Action& action);
void add_inspect(CLI::App& app, const Global& global, Action& action);
void add_devices(CLI::App& app, const Global& global, Action& action);
void add_bench(CLI::App& app, const Global& global, Action& action);
void add_tune(CLI::App& app, const Global& global, Action& action);
void add_run(CLI::App& app, const Global& global, Action& action);
void add_top(CLI::App& app, const Global& global, Action& action);
void add_send(CLI::App& app, const Global& global, Action& action);
void add_docs(CLI::App& app, const Global& global, Action& action);
/// The process that candidates of `tune` run in. Not shown in the help.
void add_tune_worker(CLI::App& app, const Global& global, Action& action);

/// Prints docs/guide/options.md. Not shown in the help.
void add_options_page(CLI::App& app, const Global& global, Action& action);

/// The library's log sink: to standard error.
void log_text(core::LogLevel level, const std::string& text);

/// Opens --device (or TAUTLINE_DEVICE) with --threads and --device-memory; several GPUs if so named.
std::vector<std::shared_ptr<const device::Device>> open_devices(const Global& global);
/// The same where one device does the work. Throws core::Error(config) when several are named.
std::shared_ptr<const device::Device> open_device(const Global& global);

/// An option's time. Throws core::Error(config) with the option's name.
core::Instant utc_option(const std::string& option, const std::string& text);

/// "tautline 0.1.0: tautline correlate ...", for the outputs' history.
std::string history_line(const Global& global);

/// `simulate photons`, under `simulate`.
void add_simulate_photons(CLI::App& simulate, const Global& global, Action& action);

/// As core::byte_size() reads them: 4096, 512M, 2GB. Throws core::Error(config).
std::size_t parse_bytes(const std::string& text, const std::string& option = "--memory");

/// Where the help lists the fields of formats::EarthOrientation.
inline constexpr const char* kEarthGroup = "The turning earth (IERS Bulletin A; zero unless given)";

/// Logs damage as warnings, and gives the status that damaged input means. `said`: of the samples that were not finite.
int damage_status(const formats::Damage& damage, std::uint64_t not_finite, bool strict,
                  const std::string& said = {});

/// A CSV of the microtimes of time tags; an empty path: none.
struct TcspcOutput {
  std::string path;
  bool overwrite = false;
};

/// What `inspect` says of photon time tags, TIFF stacks and correlation curves: a status, or nothing
/// when the file is none of these.
/// `tcspc`: a CSV of the tags' microtimes; empty: none.
std::optional<int> inspect_photons(const Global& global, const std::string& path, bool strict,
                                   const TcspcOutput& tcspc);

/// JSON has no infinities and no NaN.
nlohmann::ordered_json number_or_null(double value);

/// Prints on standard error; what nobody reads any longer is lost, and the run goes on.
void print_message(const std::string& text);
/// Writes what was printed so far. Throws std::system_error, as printing does, where nobody reads it any longer.
void flush_output();
/// A JSON object as a line, with its schema's name and version added.
std::string object_line(const std::string& schema, int version, nlohmann::ordered_json object);
/// The same on standard output.
void print_json(const std::string& schema, int version, nlohmann::ordered_json object);

/// A line on standard error that is redrawn; nothing where standard error is no terminal.
class ProgressLine {
 public:
  explicit ProgressLine(const Global& global);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(double fraction, const std::string& text);
  /// The progress of a run whose end is not known.
  void show(const std::string& text);

 private:
  bool enabled_;
  bool drawn_ = false;
};

}  // namespace tautline::cli
