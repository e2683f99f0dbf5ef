#include "tautline/pipeline/voltages/packets_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tautline/core/error.h"
#include "tautline/formats/assumed_values.h"
#include "tautline/formats/recorded_spectra.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/pipeline/voltages/block_size.h"
#include "tautline/pipeline/voltages/voltage_source_node.h"

namespace tautline::pipeline {

namespace {

constexpr auto reader_options = [](auto& config) -> auto& {
  return config;
};

}  // namespace

struct Packets : formats::ReaderOptions {
  std::vector<std::string> listen{"udp://127.0.0.1:7148"};
  std::string interface;
  std::string layout = "meerkat-f";
  std::size_t antennas = 0, channels = 0, polarisations = 0;  ///< 0: as in one packet's payload
  std::uint64_t first_channel = 0;
  std::vector<std::uint64_t> antenna_numbers;
  std::optional<std::uint64_t> sub_array;
  std::size_t window_samples = 0, block_samples = 0;
  double wait_s = -1, silence_s = -1, late_s = 1, duration_s = -1;
  std::size_t buffer_bytes = std::size_t{64} << 20;
  std::size_t threads = 1;
  int processor = -1;
  bool keep_constant = false;
  std::string record;
};
const core::Fields<Packets>& fields(const Packets&) {
  using C = Packets;
  static const auto all =
      core::Fields<C>()
          .add({.name = "listen",
                .help =
                    "address to listen at, udp://HOST:PORT, of this machine or of a multicast "
                    "group; or several, where senders are told by the address that they send to"},
               &C::listen)
          .add({.name = "interface",
                .help = "address of the network interface by which multicast groups come"},
               &C::interface)
          .add({.name = "layout", .help = "of the packets: a preset's name or a TOML file"},
               &C::layout)
          .add({.name = "antennas", .help = "antennas that are wanted; 0: those of one packet"},
               &C::antennas)
          .add({.name = "antenna_numbers",
                .help =
                    "numbers of the antennas that are wanted, as packets have them, in the order "
                    "of the inputs; none: from 0 on"},
               &C::antenna_numbers)
          .add({.name = "channels", .help = "channels that are wanted; 0: those of one packet"},
               &C::channels)
          .add({.name = "first_channel", .help = "number of the first of them, as packets have it"},
               &C::first_channel)
          .add({.name = "polarisations",
                .help = "polarisations that are wanted; 0: those of one packet"},
               &C::polarisations)
          .add({.name = "sub_array", .help = "whose packets are wanted; none: everybody's"},
               &C::sub_array)
          .add({.name = "window_samples",
                .help = "how far packets may lie behind the latest one before they are late, in "
                        "samples; 0: a block's, with several threads four blocks'"},
               &C::window_samples)
          .add(
              {.name = "block_samples",
               .help = "samples (times) in a block, whole payloads; 0: about 16 MiB, for a GPU 64, "
                       "a quarter of a second at most"},
              &C::block_samples)
          .add({.name = "wait_s",
                .unit = "s",
                .help = "how long the first packets are waited for; negative: until the run is "
                        "stopped"},
               &C::wait_s)
          .add({.name = "silence_s",
                .unit = "s",
                .help = "ends when no packet that is wanted has come for so long; negative: never"},
               &C::silence_s)
          .add({.name = "late_s",
                .unit = "s",
                .help = "gives on a block that is not full when nothing has come for so long"},
               &C::late_s, core::above(0))
          .add({.name = "duration_s",
                .unit = "s",
                .help = "ends after this much data, in whole packets; negative: never"},
               &C::duration_s)
          .add({.name = "buffer_bytes",
                .unit = "bytes",
                .help = "the system's buffer for each address"},
               &C::buffer_bytes, core::byte_size())
          .add({.name = "threads",
                .help =
                    "threads that receive; each has sockets of its own: addresses are dealt out "
                    "among them, and the system deals out the senders of an address that several "
                    "threads have"},
               &C::threads, core::between(1, 256))
          .add(
              {.name = "processor",
               .help = "number of the processor that receives, of several threads the first one's; "
                       "negative: any"},
              &C::processor)
          .add({.name = "keep_constant", .help = "channels that do not change are data"},
               &C::keep_constant)
          .add({.name = "record",
                .help =
                    "of spectra that `channelize` wrote and whose packets come, NAME.json: start "
                    "and frequencies, where they are not given, and the gains, which are divided "
                    "out"},
               &C::record)
          .include("", reader_options,
                   some_of<C>(fields_of<formats::ReaderOptions>(),
                              {"rate_hz", "centre_hz", "bandwidth_hz", "utc_start"}));
  return all;
}

namespace {

using formats::packets::AxisName;
using formats::packets::Meaning;
using formats::packets::PacketLayout;

// The window leaves a thread that the system delays time to place its packets, while others are no further ahead.
constexpr std::size_t kWindowBlocksOfThreads = 4;

PacketLayout layout_of(const Packets& config) {
  PacketLayout layout = formats::packets::read_layout(config.layout);
  const core::Rational& rate_hz = config.assumed.rate_hz;
  if (rate_hz.numerator == 0) return layout;
  if (layout.field(Meaning::seconds) != nullptr && !(rate_hz == layout.rate_hz))
    throw core::Error(core::ErrorKind::config, "rate_hz", "given for packets that count seconds",
                      "the layout's own", "give it in a layout: like, rate_hz");
  layout.rate_hz = rate_hz;
  return layout;
}

// Whole payloads, enough for an efficient block, and few enough that results do not wait for it.
std::size_t block_samples_for(const PacketLayout& layout, const formats::packets::BlockShape& shape,
                              const NodeContext& context) {
  constexpr std::size_t kBlocksOfMemory = 32;
  const formats::packets::Placement one(layout, shape);
  const bool gpu = context.devices.front()->compiles();
  const std::size_t most = std::min(context.memory_bytes / kBlocksOfMemory,
                                    (gpu ? std::size_t{64} : std::size_t{16}) << 20);
  double payloads = static_cast<double>(most) / static_cast<double>(one.block_bytes());
  const double payload_s = static_cast<double>(layout.samples()) / layout.rate_hz.value();
  if (layout.rate_hz.numerator != 0) payloads = std::min(payloads, kLongestLive_s / payload_s);
  return std::max<std::size_t>(1, static_cast<std::size_t>(payloads)) * layout.samples();
}

// Of the spectra whose packets come; null for none.
struct GivenRecord {
  std::string spectra;  // the file beside which it lies
  nlohmann::json record;
};

GivenRecord read_record(const std::string& path) {
  constexpr std::string_view kEnding = ".json";
  GivenRecord given;
  if (path.empty()) return given;
  if (path.ends_with(kEnding)) {
    given.spectra = path.substr(0, path.size() - kEnding.size());
    given.record = formats::record_beside(given.spectra);
  }
  if (!formats::is_of_channelize(given.record))
    throw core::Error(core::ErrorKind::config, "record", path,
                      "the record that `channelize` wrote beside the spectra, NAME.json");
  return given;
}

// Gains are those of the record's inputs and channels. That it has these fields is checked where it is read.
void require_of_record(const GivenRecord& given, const core::VoltageDescription& d) {
  const nlohmann::json gains = given.record.is_null()
                                   ? nlohmann::json()
                                   : given.record.value("requantisation_gains", nlohmann::json());
  if (gains.empty()) return;
  for (const auto& [field, wanted, recorded] :
       {std::tuple{"antennas", d.antennas, given.record.value("antennas", d.antennas)},
        std::tuple{"polarisations", d.polarisations,
                   given.record.value("polarisations", d.polarisations)},
        std::tuple{"channels", d.channels, gains.size()}})
    if (wanted != recorded)
      throw core::Error(core::ErrorKind::config, field, std::to_string(wanted),
                        fmt::format("{}, as many as {}.json has gains of", recorded, given.spectra),
                        "or the record of the spectra that these packets bring");
}

std::unique_ptr<engine::Node> make_packets(const Packets& config, const NodeContext& context) {
  stream::PacketVoltagesConfig packets;
  for (const std::string& address : config.listen)
    packets.network.listen.push_back(stream::parse_endpoint("listen", address));
  packets.network.interface = config.interface;
  packets.network.buffer_bytes = config.buffer_bytes;
  const PacketLayout layout = layout_of(config);
  formats::packets::BlockShape& shape = packets.capture.shape;
  shape.channels = config.channels;
  shape.antennas = config.antennas;
  shape.polarisations = config.polarisations;
  shape.first_channel = config.first_channel;
  shape.antenna_numbers = config.antenna_numbers;
  if (shape.antennas == 0)
    shape.antennas = config.antenna_numbers.size() * layout.extent(AxisName::antenna);
  shape.samples =
      config.block_samples > 0 ? config.block_samples : block_samples_for(layout, shape, context);
  packets.capture.layout = layout;
  packets.capture.window_samples = config.window_samples;
  packets.capture.sub_array = config.sub_array;
  if (config.threads > 1) packets.capture.window_blocks = kWindowBlocksOfThreads;
  packets.described = config.assumed;
  const GivenRecord given = read_record(config.record);
  if (!given.record.is_null()) {
    packets.described = formats::with_record(given.record, given.spectra, config.assumed);
    if (formats::packets::instant_of(layout, 0)) packets.described.start = config.assumed.start;
    if (context.log && !packets.described.assumed.empty())
      context.log(core::LogLevel::warning, packets.described.assumed);
  }
  packets.wait_s = config.wait_s;
  packets.silence_s = config.silence_s;
  packets.late_s = config.late_s;
  packets.duration_s = config.duration_s;
  packets.threads = config.threads;
  packets.processor = config.processor;
  packets.log = context.log;
  auto voltages = std::make_unique<stream::PacketVoltages>(std::move(packets));
  const core::VoltageDescription& description = voltages->description();
  formats::require_possible(config.assumed, description);
  require_of_record(given, description);
  formats::RecordedSpectra recorded = formats::recorded_spectra(
      given.record, given.spectra, description.channels, description.inputs());
  return std::make_unique<VoltageSourceNode>(std::move(voltages), config.keep_constant, context.log,
                                             std::move(recorded));
}

}  // namespace

NodeType packets_node_type() {
  return node_type<Packets>("packets", "antenna voltages live, in packets over UDP of any layout",
                            0, make_packets)
      .reading({"layout", "record"});
}

}  // namespace tautline::pipeline
