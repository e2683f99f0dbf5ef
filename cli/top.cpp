// tautline top: the monitor of a run in a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "cli/command.h"
#include "cli/field_options.h"
#include "tautline/stream/endpoint.h"
#include "tautline/stream/http.h"

namespace tautline::cli {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMonitorPort = ":8470";  // of `run --monitor`

struct TopOptions {
  std::string url = std::string("127.0.0.1") + kMonitorPort;
  double every_s = 1;
  bool once = false;
};

// "HOST", "HOST:PORT", "PORT" of this machine or the page's URL, with its token: the URL of the status.
std::string status_url(const std::string& text) {
  const bool port = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  std::string page = text.starts_with("http://")
                         ? text
                         : std::string(port ? "http://127.0.0.1:" : "http://") + text;
  const std::size_t end = std::min(page.find_first_of("/?", 7), page.size());
  const std::string place = page.substr(7, end - 7);
  if (!stream::parse_host_port(place) && stream::parse_host_port(place + kMonitorPort))
    page.insert(end, kMonitorPort);
  const std::size_t query = page.find('?');
  std::string path = page.substr(0, query);
  if (path.find('/', 7) == std::string::npos) path += '/';
  return path + "status.json" + (query == std::string::npos ? "" : page.substr(query));
}

// Terminals obey control characters, and names come from others' files.
std::string printable(std::string text) {
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; });
  return text;
}

std::string word(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? printable(found->get<std::string>()) : "";
}

double number_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_number() ? found->get<double>() : 0;
}

std::string ago(double seconds) {
  return seconds < 1 ? "now" : fmt::format("{:.0f} s ago", seconds);
}

std::string in_bytes(double bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  std::size_t k = 0;
  for (; bytes >= 1000 && k < 5; ++k) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, units[k]);
}

std::string text_of_status(const Json& status) {
  const Json &progress = status.at("progress"), &process = status.at("process");
  std::string text = fmt::format(
      "{}: {}, {:.0f} s of run, {:.1f} s of data ({}), {:.3g} x real time ({:.3g} x since the "
      "start)\n",
      word(status, "pipeline"), word(status, "state"), number_in(progress, "run_s"),
      number_in(progress, "data_s"), ago(number_in(progress, "unchanged_s")),
      number_in(progress, "recent_real_time_factor"), number_in(progress, "real_time_factor"));
  text += fmt::format("processor {:.1f} s, memory {}\n", number_in(process, "cpu_s"),
                      in_bytes(number_in(process, "memory_bytes")));
  for (const Json& problem : status.at("problems"))
    text += "! " + printable(problem.get<std::string>()) + '\n';
  std::size_t width = 4;
  for (const Json& node : status.at("nodes")) width = std::max(width, word(node, "node").size());
  text += fmt::format("\n{:<{}}  {:>6}  {:>12}  {:>10}  does now\n", "node", width, "load",
                      "blocks", "moved");
  for (const Json& node : status.at("nodes")) {
    const bool receiving = node.value("receiving", false);
    text += fmt::format("{:<{}}  {:>4.0f} %  {:>12.0f}  {:>10}  {}{}\n", word(node, "node"), width,
                        100 * number_in(node, "load"), number_in(node, "blocks"),
                        ago(number_in(node, "unchanged_s")), word(node, "activity"),
                        receiving ? ", receiving" : "");
  }
  if (!status.at("rings").empty()) text += "\nring\n";
  for (const Json& ring : status.at("rings"))
    text += fmt::format("{} to {}: {:.0f} of {:.0f} blocks in use{}\n", word(ring, "from"),
                        word(ring, "to"), number_in(ring, "in_use"), number_in(ring, "blocks"),
                        number_in(ring, "dropped") > 0
                            ? fmt::format(", {:.0f} dropped", number_in(ring, "dropped"))
                            : "");
  if (!status.at("files").empty()) text += "\noutput\n";
  for (const Json& file : status.at("files"))
    text += fmt::format(
        "{}: {}, {}; {} free\n", word(file, "path"),
        file.value("exists", false) ? in_bytes(number_in(file, "bytes")) : "not there yet",
        file.value("writing", false) ? "writing"
                                     : "last changed " + ago(number_in(file, "unchanged_s")),
        in_bytes(number_in(file, "free_bytes")));
  if (!status.at("losses").empty()) text += "\nlosses\n";
  for (const Json& loss : status.at("losses"))
    text += fmt::format("{}: {} {:.0f}, last {}\n", word(loss, "node"), word(loss, "kind"),
                        number_in(loss, "count"), ago(number_in(loss, "unchanged_s")));
  return text;
}

[[noreturn]] void refuse_status(const std::string& url) {
  throw core::Error(core::ErrorKind::format, url, "no status of a run",
                    "schema tautline.status, version 1",
                    "give the address that the run was told with --monitor");
}

// The answer of a server, which may be any server.
std::string text_of(const std::string& body, const std::string& url) {
  const Json status = Json::parse(body, nullptr, false);
  if (!status.is_object() || word(status, "schema") != "tautline.status" ||
      number_in(status, "version") != 1)
    refuse_status(url);
  try {
    return text_of_status(status);
  } catch (const Json::exception&) {
    refuse_status(url);
  }
}

int run_top(const Global& global, const TopOptions& options) {
  const std::string url = status_url(options.url);
  const bool terminal = isatty(1) == 1 && !global.json && !options.once;
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  for (;;) {
    const std::string body = stream::http_get(url, std::chrono::seconds(5));
    const std::string text = text_of(body, url),
                      shown = global.json ? Json::parse(body).dump() + "\n" : text;
    if (!terminal) {
      fmt::print("{}", shown);
      return kDone;
    }
    // From the top of the screen; what was below is cleared.
    fmt::print("\x1b[H\x1b[2J{}", shown);
    flush_output();
    const auto pause = std::chrono::duration<double>(options.every_s);
    stopped.wait_for(lock, global.stop, pause, [] { return false; });
    if (global.stop.stop_requested()) return kDone;
  }
}

}  // namespace

void add_top(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("top", "the monitor of a run in a terminal");
  auto options = std::make_shared<TopOptions>();
  command
      ->add_option(
          "address", options->url,
          "HOST:PORT or URL that the run was told with --monitor, with its token; without a "
          "port 8470; PORT alone is of this machine")
      ->capture_default_str();
  add_own(*command, options->every_s,
          {.name = "every_s", .unit = "s", .help = "time between two looks"},
          core::plain_text<double>(core::between(0.1, 3600)));
  command->add_flag("--once", options->once,
                    "look once; so it does where its output is no terminal");
  command->footer("Example: tautline top 127.0.0.1:8470");
  when_chosen(*command, global, action, options, run_top);
}

}  // namespace tautline::cli
