// The monitor of `run` with receivers names those that have not connected, are silent or have gone, also before the
// run begins.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/stream/http.h"
#include "tautline/stream/tcp.h"
#include "tests/end_to_end/documented_json.h"
#include "tests/end_to_end/live_run.h"

namespace tautline::tests {
namespace {

using namespace std::chrono_literals;

// Sends noise with the counters of a receiver, at about its rate or as fast as it is read, while it is not silent.
class Player {
 public:
  Player(const stream::Endpoint& to, std::uint64_t seed)
      : thread_([this, to, seed](const std::stop_token& stop) { play(to, seed, stop); }) {}
  void set_silent(bool silent) { silent_ = silent; }

 private:
  static constexpr std::size_t kRecords = 4096, kBytes = 34;  // 3.2 ms

  void play(const stream::Endpoint& to, std::uint64_t seed, const std::stop_token& stop) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> bytes(kRecords * kBytes);
    for (std::byte& one : bytes) one = static_cast<std::byte>(random() % 32);
    try {
      stream::TcpClient client(to, 60s, stop);
      for (std::uint16_t time = 0; !stop.stop_requested();) {
        std::this_thread::sleep_for(3ms);
        if (silent_) continue;
        for (std::size_t k = 0; k < kRecords; ++k, ++time) {
          bytes[k * kBytes] = static_cast<std::byte>(time & 255);
          bytes[k * kBytes + 1] = static_cast<std::byte>(time >> 8);
        }
        client.write(bytes);
      }
    } catch (const core::Error& error) {
      if (!stop.stop_requested()) ADD_FAILURE() << error.what();
    }
  }

  std::atomic<bool> silent_ = false;
  std::jthread thread_;
};

class LiveReceiversHealth : public LiveRun {
 protected:
  void start_example() {
    start_pipeline(source_folder() + "/examples/pipelines/mwa32-live.toml",
                   {"receivers.listen=tcp://127.0.0.1:0", "receivers.wait_s=80000",
                    "receivers.late_s=0.1", "receivers.block_samples=4096", "f.channels=16",
                    "x.integration_s=0.1", "visibilities.path=" + (scratch / "live.uvh5")},
                   {"--monitor", "127.0.0.1:0"});
    listens = stream::parse_endpoint("to", said_after("listening at ", " for "));
    url = said_after("watched at ", "\n");
  }
  std::string said_after(const std::string& words, const std::string& end) const {
    for (int wait = 0; wait < 60'000; ++wait) {
      const std::string err = run_said();
      const std::size_t at = err.find(words);
      if (at != std::string::npos && err.find(end, at) != std::string::npos)
        return err.substr(at + words.size(), err.find(end, at) - at - words.size());
      std::this_thread::sleep_for(1ms);
    }
    ADD_FAILURE() << words << " was not said: " << run_said();
    return {};
  }
  using Json = nlohmann::json;
  // The first status of which it is true.
  Json status_when(const std::string& what, const std::function<bool(const Json&)>& condition) {
    Json status;
    for (int wait = 0; wait < 3000; ++wait) {
      status = Json::parse(stream::http_get(url + "status.json", 10s));
      if (condition(status)) return status;
      std::this_thread::sleep_for(20ms);
    }
    ADD_FAILURE() << what << " was not in the status: " << status.dump(1) << run_said();
    return status;
  }
  Json status_with(const std::string& problem) {
    return status_when(problem, [&](const Json& status) {
      return status.at("problems").dump().find(problem) != std::string::npos;
    });
  }

  stream::Endpoint listens;
  std::string url;
};

TEST_F(LiveReceiversHealth, NamesWhoIsMissingBeforeTheRunBegins) {
  start_example();
  const Json none = status_with("receivers: nothing received yet, for ");
  EXPECT_EQ(none.at("state"), "starting");
  EXPECT_EQ(none.at("nodes").at(0).at("receiving"), false);
  EXPECT_EQ(none.at("nodes").at(0).at("counters").at("received_bytes"), 0);
  EXPECT_EQ(none.at("nodes").at(0).at("activity"), "waiting for input");
  EXPECT_NE(none.at("problems").dump().find("receivers 1, 2, 3, 4 of 4 are not connected yet"),
            std::string::npos);
  std::vector<std::unique_ptr<Player>> players;
  for (int k = 0; k < 3; ++k) players.push_back(std::make_unique<Player>(listens, random()));
  const Json three = status_with("receivers: receiver 4 of 4 is not connected yet, for ");
  EXPECT_EQ(three.at("state"), "starting");
  EXPECT_EQ(three.at("nodes").at(0).at("counters").at("connections"), 3);
  const Json came = status_when("bytes", [](const Json& status) {
    return status.at("nodes").at(0).at("counters").at("received_bytes") > 0;
  });
  EXPECT_EQ(came.at("state"), "starting");
  EXPECT_EQ(came.at("problems").dump().find("nothing received"), std::string::npos) << came;
  const CommandResult top = run_command({"top", "--once", url}, scratch / "send");
  EXPECT_NE(top.out.find("! receivers: receiver 4 of 4 is not connected yet"), std::string::npos)
      << top.out << top.err;
  players.push_back(std::make_unique<Player>(listens, random()));
  const Json all = status_when("a run that receives", [](const Json& status) {
    return status.at("state") == "running" && status.at("nodes").at(0).at("receiving") == true &&
           status.at("problems").dump().find("connected") == std::string::npos;
  });
  EXPECT_EQ(all.at("nodes").at(0).at("counters").at("connections"), 4);
}

TEST_F(LiveReceiversHealth, NamesTheOneThatFallsSilentOrGoes) {
  start_example();
  std::vector<std::unique_ptr<Player>> players;
  for (int k = 1; k <= 4; ++k) {  // numbered as they connect
    players.push_back(std::make_unique<Player>(listens, random()));
    status_when("a connection", [&](const Json& status) {
      const Json& counters = status.at("nodes").at(0).at("counters");
      return counters.contains("connections") && counters.at("connections") == k;
    });
  }
  const std::size_t place = random() % 4, other = (place + 1 + random() % 3) % 4;
  const std::string number = std::to_string(place + 1), gone = std::to_string(other + 1);
  status_when("a run that receives", [](const Json& status) {
    return status.at("state") == "running" && status.at("nodes").at(0).at("receiving") == true;
  });
  players[place]->set_silent(true);
  status_with("receivers: receiver " + number + " of 4 is silent, for ");
  players[place]->set_silent(false);
  status_when("no silent receiver", [](const Json& status) {
    return status.at("problems").dump().find("silent") == std::string::npos;
  });
  players[other].reset();
  status_with("receivers: receiver " + gone + " of 4 is gone, for ");
}

}  // namespace
}  // namespace tautline::tests
