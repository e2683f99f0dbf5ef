// Several senders of one array, of one process or of one each: what one sender's packets give, to the bit, and every
// packet accounted for.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/end_to_end/streams/live_packets.h"

namespace tautline::tests {
namespace {

struct SendersCase {
  const char* name;
  Telescope telescope;
  std::size_t senders;
  std::uint64_t packets;  // of all senders
};

// Tautline's own names of the fields, among them a sub-array's.
constexpr const char* kSubArrays = R"(header_bytes = 16
axes = [[8, "channel"], [32, "time"], [2, "polarisation"]]
sample = "ci8"
step = 32
[fields]
counter = { offset_bits = 0, bits = 48 }
sub_array = { offset_bits = 48, bits = 16, value = 3 }
antenna = { offset_bits = 64, bits = 16 }
channel = { offset_bits = 80, bits = 16 }
)";

class SeveralSenders : public LivePackets, public ::testing::WithParamInterface<SendersCase> {
 protected:
  // The words of `send` that are the same for all senders.
  static std::vector<std::string> send_options(const std::string& layout, std::size_t senders) {
    return {"--layout", layout, "--rate", "1", "--senders", std::to_string(senders)};
  }
  // A process for each sender, at the same time; the sums of their summaries.
  nlohmann::json send_by_processes(const std::vector<std::string>& to, std::size_t senders,
                                   const std::vector<std::string>& more,
                                   std::vector<nlohmann::json>& each) {
    std::vector<pid_t> processes;
    const auto folder = [&](std::size_t k) { return scratch / ("send." + std::to_string(k)); };
    for (std::size_t k = 0; k < senders; ++k) {
      std::filesystem::create_directory(folder(k));
      std::vector<std::string> words = more;
      words.insert(words.end(), {"--sender", std::to_string(k)});
      processes.push_back(start_command(words_to_send(to, words), folder(k)));
    }
    nlohmann::json sum = nlohmann::json::object();
    each.clear();
    for (std::size_t k = 0; k < senders; ++k) {
      const CommandResult result = finish_command(processes[k], folder(k));
      EXPECT_EQ(result.status, kDone) << result.err;
      each.push_back(nlohmann::json::parse(result.out.empty() ? "{}" : result.out));
      for (const char* name : {"records", "bytes", "lost", "duplicated", "corrupted", "reordered"})
        sum[name] = sum.value(name, std::uint64_t{0}) + each[k].value(name, std::uint64_t{0});
    }
    return sum;
  }
};

TEST_P(SeveralSenders, GiveWhatOneGives) {
  SendersCase c = GetParam();
  if (c.telescope.layout.ends_with(".toml")) {
    c.telescope.layout = scratch / c.telescope.layout;
    write_file(c.telescope.layout, kSubArrays);
  }
  write_voltages(c.telescope);
  const std::string samples = std::to_string(c.telescope.samples);
  std::string fields = fields_of(c.telescope) + "polarisations = 2\n";
  if (c.telescope.layout.ends_with(".toml")) fields += "sub_array = 3\n";
  write_pipeline(fields + "window_samples = " + samples + "\n");
  const Outcome one = run_and_send({"--layout", c.telescope.layout, "--rate", "1"});
  const Outcome several = run_and_send(send_options(c.telescope.layout, c.senders));
  expect_the_files(several);
  EXPECT_TRUE(several.live == one.live);
  EXPECT_EQ(several.sent.at("records"), c.packets);
  for (const char* name : {"records", "bytes", "clipped", "trailing_samples", "data_s"})
    EXPECT_EQ(several.sent.at(name), one.sent.at(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(
    Of, SeveralSenders,
    ::testing::Values(
        SendersCase{"antennas", kFEngines, 3, 39 * 3 * 2 * 2},
        SendersCase{"channels", kFEngines, 5, 39 * 3 * 2 * 2},
        SendersCase{"boards", {"ata-snap", core::kCi4, 512, 2, 16 * 251, 20'000}, 4, 251 * 2 * 2},
        SendersCase{"inputs", {"mwax", core::kCi8, 1, 3, 2048 * 60, 1'280'000}, 6, 60 * 3 * 2},
        SendersCase{
            "subarrays", {"sub.toml", core::kCi8, 16, 2, 32 * 200, 40'000}, 2, 200 * 2 * 2}),
    [](const auto& info) { return info.param.name; });

// The faults of each sender are its own, whichever process it is in.
TEST_F(SeveralSenders, WithFaultsAreAccountedForExactly) {
  write_voltages(kFEngines);
  write_pipeline(fields_of(kFEngines) + "window_samples = " + std::to_string(kFEngines.samples) +
                 "\n");
  std::vector<std::string> words = send_options("meerkat-f", 3);
  words.insert(words.end(), {"--impair", "loss=0.1,reorder=0.1,duplicate=0.1,jitter=5ms,seed=" +
                                             std::to_string(random() % 999)});
  const Outcome together = run_and_send(words);
  std::vector<nlohmann::json> each;
  const Outcome apart = run_and(
      [&](const std::vector<std::string>& to) { return send_by_processes(to, 3, words, each); });
  const auto of = [](const nlohmann::json& object, const char* name) {
    return object.at(name).get<std::uint64_t>();
  };
  for (const Outcome* outcome : {&together, &apart}) {
    const nlohmann::json &c = outcome->counters, &sent = outcome->sent;
    EXPECT_EQ(of(c, "missing"), of(sent, "lost"));
    EXPECT_EQ(of(c, "duplicate"), of(sent, "duplicated"));
    EXPECT_EQ(of(c, "accepted") + of(c, "missing"), 39U * 3 * 2 * 2);
    EXPECT_EQ(of(sent, "records") + of(sent, "lost"),
              of(c, "accepted") + of(c, "missing") + of(c, "late") + of(c, "duplicate") +
                  of(c, "early") + of(c, "malformed") + of(c, "foreign"));
    for (const char* name : {"records", "lost", "duplicated", "reordered"})
      EXPECT_EQ(sent.at(name), together.sent.at(name)) << name;
  }
  EXPECT_TRUE(apart.live == together.live);
  // Shares are of one size.
  ASSERT_EQ(each.size(), 3U);
  const auto faults = [&](std::size_t k) {
    return std::vector{of(each[k], "lost"), of(each[k], "duplicated"), of(each[k], "reordered")};
  };
  EXPECT_FALSE(faults(0) == faults(1) && faults(1) == faults(2));
}

// One address for each sender, where the layout says nothing of addresses; and the receiver's threads divide them.
TEST_F(SeveralSenders, HaveAddressesOfTheirOwn) {
  write_voltages(kFEngines);
  std::string fields = fields_of(kFEngines);
  const std::string one = "listen = \"udp://127.0.0.1:0\"";
  fields.replace(fields.find(one), one.size(),
                 "listen = [\"udp://127.0.0.1:0\", \"udp://127.0.0.1:0\"]\nthreads = 2");
  write_pipeline(fields + "window_samples = " + std::to_string(kFEngines.samples) + "\n");
  expect_the_files(run_and_send(send_options("meerkat-f", 2), 2));
}

// One that cannot go on ends those that would wait for the times of their packets for hours.
TEST_F(SeveralSenders, EndWithTheOneThatFails) {
  write_voltages({"", core::kCi8, 16, 5, 32 * 2000, 40'000});
  std::string narrow = kSubArrays;
  const std::string antenna = "antenna = { offset_bits = 64, bits = 16 }";
  narrow.replace(narrow.find(antenna), antenna.size(), "antenna = { offset_bits = 64, bits = 2 }");
  write_file(scratch / "narrow.toml", narrow);
  const CommandResult result =
      run_command({"send", files[0], "--to", "udp://127.0.0.1:9", "--layout",
                   scratch / "narrow.toml", "--senders", "5", "--rate", "1e-6"},
                  scratch / "send");
  EXPECT_EQ(result.status, kWrongUsage) << result.err;
  EXPECT_NE(result.err.find("antenna: 4, expected"), std::string::npos) << result.err;
}

TEST_F(SeveralSenders, ThatCannotBeAreRefused) {
  write_voltages(kFEngines);
  const auto refused = [&](std::vector<std::string> words, const std::string& text) {
    words.insert(words.begin(), {"send", files[0]});
    const CommandResult result = run_command(words, scratch / "send");
    EXPECT_EQ(result.status, kWrongUsage) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
  };
  const std::string to = "udp://127.0.0.1:9";
  refused({"--to", to, "--layout", "meerkat-f", "--senders", "7"}, "7, expected 1 to 6");
  refused({"--to", to, "--layout", "meerkat-f", "--senders", "0"}, "0, expected");
  refused({"--to", to, "--layout", "meerkat-f", "--senders", "2", "--sender", "2"},
          "2, expected below 2");
  refused({"--to", to, to, "--layout", "meerkat-f", "--senders", "3"},
          "2 addresses, expected 1, or 3");
  refused({"--to", "tcp://127.0.0.1:9", "--senders", "2"}, "2, expected 1");
  refused({"--to", "-", "--sender", "0"}, "0, expected none");
}

}  // namespace
}  // namespace tautline::tests
