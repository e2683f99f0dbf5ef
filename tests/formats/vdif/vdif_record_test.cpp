// The record beside VDIF tells the band, unless it is of a file of fewer samples.
#include <nlohmann/json.hpp>

#include "tests/formats/vdif/vdif_frames.h"

namespace tautline::formats::vdif {
namespace {

TEST_F(Vdif, TheRecordOfAnotherFileTellsNoBand) {
  const Recording recording = record(1 + random_() % 2, 25);
  const std::size_t frame = recording.samples_per_frame(), samples = recording.total();
  const auto bytes = recording.bytes();
  for (const auto& [recorded, used] :
       {std::pair{samples, true}, {samples - frame, true}, {samples - frame - 1, false}}) {
    const std::string text = nlohmann::json{{"schema", "tautline.dump"},
                                            {"samples", recorded},
                                            {"centre_hz", 1.4e9},
                                            {"bandwidth_hz", -640},
                                            {"invalid", nlohmann::json::array()}}
                                 .dump();
    tests::write_bytes(path_ + ".json", {text.begin(), text.end()});
    const auto reader = open_bytes(bytes);
    EXPECT_EQ(reader->description().centre_hz, used ? 1.4e9 : 0) << recorded;
    EXPECT_EQ(reader->description().bandwidth_hz, used ? -640 : 640) << recorded;
    EXPECT_EQ(reader->damage().any(), !used);
    if (!used) {
      EXPECT_EQ(reader->damage().messages.at(0),
                path_ + ".json: of a file of " + std::to_string(recorded) + " samples, expected " +
                    std::to_string(samples) + ": not used");
    }
    recording.expect(read_all(*reader, 100));
  }
}

}  // namespace
}  // namespace tautline::formats::vdif
