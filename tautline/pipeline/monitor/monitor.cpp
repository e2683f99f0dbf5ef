#include "tautline/pipeline/monitor/monitor.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/pipeline/monitor/health.h"
#include "tautline/pipeline/monitor/tap_node.h"
#include "tautline/pipeline/report/html_page.h"
#include "tautline/stream/endpoint.h"
#include "tautline/stream/http.h"

namespace tautline::pipeline::monitor {

namespace {

using stream::HttpAnswer;
using stream::SharedText;

SharedText shared_text(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

HealthConfig health_of(const MonitorConfig& config, const engine::Run& run) {
  HealthConfig health;
  health.pipeline = config.pipeline;
  health.rate_hz = run.plan().front().outputs.front().rate_hz.value();
  health.files = config.files;
  for (const engine::PlannedNode& node : run.plan())
    if (run.node(node.name).live()) health.live.insert(node.name);
  return health;
}

// Errors by the names that these fields have for users.
std::unique_ptr<stream::HttpServer> listen(stream::HttpServerConfig config) {
  try {
    return std::make_unique<stream::HttpServer>(std::move(config));
  } catch (const core::Error& error) {
    if (error.field() != "address" && error.field() != "token") throw;
    throw core::Error(error.kind(), error.field() == "token" ? "monitor_token" : "monitor",
                      error.value(), error.limit(), error.advice());
  }
}

}  // namespace

class Monitor::Impl {
 public:
  Impl(MonitorConfig config, const engine::Run& run)
      : config_(std::move(config)),
        run_(run),
        health_(health_of(config_, run)),
        page_(shared_text(
            report::compose_page("tautline: " + config_.pipeline, {}, report::PageKind::monitor))) {
    look();
    stream::HttpServerConfig http;
    const auto at = stream::parse_host_port(config_.address);
    if (!at)
      throw core::Error(core::ErrorKind::config, "monitor", config_.address,
                        "ADDRESS:PORT, as 127.0.0.1:8080");
    http.address = at->host;
    http.port = at->port;
    http.token = config_.token;
    http.answer = [this](const std::string& path) { return answer(path); };
    http.welcome = [this] { return std::vector{message_of(&Tapped::all)}; };
    server_ = listen(std::move(http));
    thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
  }
  ~Impl() {
    thread_.request_stop();
    thread_.join();
    try {  // the last word: that the run has ended
      look();
      tell();
    } catch (const std::exception&) {  // a page that gets old shows it
    }
    server_.reset();
  }

  std::string url() const { return server_->url(); }

 private:
  void follow(const std::stop_token& stop) {
    core::name_this_thread("monitor");
    std::mutex mutex;
    std::condition_variable_any stopped;
    const auto pause = std::chrono::duration<double>(config_.every_s);
    std::unique_lock lock(mutex);
    while (!stopped.wait_for(lock, stop, pause, [] { return false; }) && !stop.stop_requested()) {
      try {
        look();
        if (server_->counts().sockets > 0) tell();
      } catch (const std::exception&) {  // the run goes on; what is told gets old, and shows it
      }
    }
  }

  void look() {
    nlohmann::ordered_json status = health_.update(run_.snapshot(), now_s());
    for (const auto& tap : config_.taps)
      if (const std::string failure = tap->failure(); !failure.empty())
        status["problems"].push_back(tap->node() + " is not drawn: " + failure);
    const auto dump = [](const nlohmann::ordered_json& json) {
      return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    };
    SharedText text = shared_text(dump(status) + "\n"),
               metrics = shared_text(prometheus_text(status));
    const std::lock_guard lock(mutex_);
    status_ = std::move(text);
    metrics_ = std::move(metrics);
  }

  void tell() { server_->send(message_of(&Tapped::news)); }

  HttpAnswer answer(const std::string& path) {
    if (path == "/") return {200, "text/html; charset=utf-8", page_};
    const std::lock_guard lock(mutex_);
    if (path == "/status.json") return {200, "application/json", status_};
    if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", metrics_};
    return {404, {}, {}};
  }

  // One message of everything: a browser gets no more of them with more taps.
  SharedText message_of(std::vector<std::string> (Tapped::*drawings)()) {
    std::string text = "{\"type\":\"run\",\"drawings\":[", separator;
    for (const auto& tap : config_.taps)
      for (const std::string& message : ((*tap).*drawings)()) {
        text += separator + "{\"node\":" + nlohmann::json(tap->node()).dump() +
                ",\"message\":" + message + "}";
        separator = ",";
      }
    const std::lock_guard lock(mutex_);
    return shared_text(text + "],\"status\":" + *status_ + "}");
  }

  static double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  MonitorConfig config_;
  const engine::Run& run_;
  Health health_;
  SharedText page_;
  std::mutex mutex_;
  SharedText status_, metrics_;
  std::unique_ptr<stream::HttpServer> server_;
  std::jthread thread_;
};

Monitor::Monitor(MonitorConfig config, const engine::Run& run)
    : impl_(std::make_unique<Impl>(std::move(config), run)) {}
Monitor::~Monitor() = default;
std::string Monitor::url() const {
  return impl_->url();
}

}  // namespace tautline::pipeline::monitor
