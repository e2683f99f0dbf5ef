#include "cli/command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"

namespace tautline::cli {

void log_text(core::LogLevel level, const std::string& text) {
  const auto spdlog_level = level == core::LogLevel::warning ? spdlog::level::warn
                            : level == core::LogLevel::info  ? spdlog::level::info
                                                             : spdlog::level::debug;
  spdlog::log(spdlog_level, "{}", text);
}

void Advice::add(const std::string& text) {
  const std::lock_guard lock(mutex_);
  texts_.insert(text);
}

void Advice::say() const {
  const std::lock_guard lock(mutex_);
  for (const std::string& text : texts_) spdlog::info("{}", text);
}

namespace {

// The name of the device: from the option, else from the environment.
struct DeviceName {
  std::string source = "--device", name;
};

DeviceName named_device(const Global& global) {
  const char* environment = std::getenv("TAUTLINE_DEVICE");
  if (global.device == "auto" && environment != nullptr && *environment != '\0')
    return {"TAUTLINE_DEVICE", environment};
  return {"--device", global.device};
}

std::vector<device::Selection> selections_of(const DeviceName& name) {
  try {
    return device::parse_selections(name.name);
  } catch (const core::Error& error) {
    if (error.field() != "device") throw;  // TAUTLINE_CPU has a fault of its own
    throw core::Error(error.kind(), name.source, error.value(), error.limit(), error.advice());
  }
}

}  // namespace

std::vector<std::shared_ptr<const device::Device>> open_devices(const Global& global) {
  const DeviceName name = named_device(global);
  device::Options options;
  options.threads = global.threads;
  options.log = [advice = global.advice](core::LogLevel level, const std::string& text) {
    if (level == core::LogLevel::advice) return advice->add(text);
    log_text(level, text);
  };
  if (!global.device_memory.empty())
    options.device_memory_bytes = parse_bytes(global.device_memory, "--device-memory");
  const std::vector<device::Selection> selections = selections_of(name);
  if (selections.size() == 1) return {device::open(selections.front(), options)};
  // A GPU's context takes a quarter of a second: all at once.
  std::vector<std::future<std::shared_ptr<const device::Device>>> opening;
  for (const device::Selection& selection : selections)
    opening.push_back(std::async(
        std::launch::async, [&options, selection] { return device::open(selection, options); }));
  std::vector<std::shared_ptr<const device::Device>> devices;
  for (auto& one : opening) devices.push_back(one.get());
  return devices;
}

std::shared_ptr<const device::Device> open_device(const Global& global) {
  const auto devices = open_devices(global);
  if (devices.size() > 1)
    throw core::Error(core::ErrorKind::config, named_device(global).source,
                      named_device(global).name, "one device",
                      "only correlate shares its work among several");
  return devices.front();
}

core::Instant utc_option(const std::string& option, const std::string& text) {
  try {
    return core::parse_utc(text);
  } catch (const core::Error& error) {
    throw core::Error(core::ErrorKind::config, option, error.value(), error.limit());
  }
}

std::string history_line(const Global& global) {
  return "tautline " TAUTLINE_VERSION ": " + global.command_line;
}

std::size_t parse_bytes(const std::string& text, const std::string& option) {
  try {
    return core::byte_size().read(text);
  } catch (const core::Error& error) {
    throw core::Error(core::ErrorKind::config, option, text, error.limit());
  }
}

int damage_status(const formats::Damage& damage, std::uint64_t not_finite, bool strict,
                  const std::string& said) {
  for (const std::string& message : damage.messages) spdlog::warn("{}", message);
  if (not_finite > 0) spdlog::warn("{}", said);
  if (!damage.any() && not_finite == 0) return kDone;
  return strict ? kFailed : kDamagedInput;
}

nlohmann::ordered_json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

void print_message(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void flush_output() {
  if (std::fflush(stdout) != 0)
    throw std::system_error(errno, std::generic_category(), "standard output");
}

std::string object_line(const std::string& schema, int version, nlohmann::ordered_json object) {
  nlohmann::ordered_json line{{"schema", schema}, {"version", version}};
  line.update(object);
  // File names need not be UTF-8.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void print_json(const std::string& schema, int version, nlohmann::ordered_json object) {
  fmt::print("{}", object_line(schema, version, std::move(object)));
}

ProgressLine::ProgressLine(const Global& global) : enabled_(!global.quiet && isatty(2) == 1) {}

ProgressLine::~ProgressLine() {
  if (drawn_) print_message("\n");
}

void ProgressLine::show(double fraction, const std::string& text) {
  if (!enabled_) return;
  constexpr int kWidth = 24;
  const int full = static_cast<int>(fraction * kWidth + 0.5);
  std::string bar(static_cast<std::size_t>(full), '#');
  bar.resize(kWidth, '.');
  show(fmt::format("[{}] {:3.0f} %  {}", bar, 100 * fraction, text));
}

void ProgressLine::show(const std::string& text) {
  if (!enabled_) return;
  print_message(fmt::format("\r{}\033[K", text));
  drawn_ = true;
}

}  // namespace tautline::cli
