#include "tautline/stream/send.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>

#include "tautline/core/frequency_text.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/mwa32t/counters.h"
#include "tautline/formats/mwa32t/mwa32t.h"
#include "tautline/formats/packets/packet_layout.h"
#include "tautline/stream/impairment.h"
#include "tautline/stream/send_packets.h"
#include "tautline/stream/send_pipe.h"
#include "tautline/stream/sent_rows.h"
#include "tautline/stream/tcp.h"

namespace tautline::stream {

namespace {

namespace mwa32t = formats::mwa32t;
using Clock = std::chrono::steady_clock;

// Data of one sender before the next one's turn: about 3 ms, well inside the tolerance of receivers.
constexpr std::size_t kRecordsAtOnce = 4096;
// Length of a file's head, which shows its records.
constexpr std::size_t kHeadBytes = std::size_t{64} << 10;

mwa32t::Mode mode_of(const std::string& layout) {
  if (layout.empty() || layout == "mwa32t") return mwa32t::Mode::two_byte;
  if (layout == "mwa32t-1byte") return mwa32t::Mode::one_byte;
  throw core::Error(core::ErrorKind::config, "layout", layout, "mwa32t or mwa32t-1byte over TCP",
                    "packets of other layouts go to udp://HOST:PORT");
}

// One file and its connection.
class RecordSender {
 public:
  RecordSender(const std::string& path, mwa32t::Mode mode, std::uint64_t repeat,
               const Impairment& impairment, std::size_t index)
      : file_(path),
        record_(mwa32t::record_bytes(mode)),
        left_(repeat),
        fate_(impairment, index),
        impaired_(impairment.any()) {
    const auto head = file_.head(kHeadBytes);
    const auto found = mwa32t::detect_mode(head, head.size() == file_.size());
    if (!found || found->mode != mode)
      throw formats::format_error(
          path, "records", found ? "of the other mode" : "none",
          fmt::format("records of {} bytes with counters that go up by one", record_),
          "name a file of an MWA receiver, and the `layout` of its samples");
    begin_ = offset_ = found->offset;
    const std::uint64_t whole = mwa32t::kCounterPeriod * record_;
    if (repeat > 1 && (file_.size() == begin_ || (file_.size() - begin_) % whole != 0))
      throw core::Error(core::ErrorKind::config, "repeat", std::to_string(repeat),
                        fmt::format("1 for a file of {} records", records()),
                        fmt::format("counters go on only behind whole periods of {} records",
                                    mwa32t::kCounterPeriod));
    file_.sequential();
  }

  void connect(const Endpoint& to, std::chrono::milliseconds patience,
               const std::stop_token& stop) {
    client_ = std::make_unique<TcpClient>(to, patience, stop);
  }
  /// Reads the file once.
  std::uint64_t records() const { return (file_.size() - begin_) / record_; }
  bool ended() const { return client_ == nullptr; }
  double delay_s() { return fate_.delay_s(); }

  // Sends the next piece, with its records impaired; closes the connection after the last one.
  void send(SendSummary& summary) {
    piece_.resize(kRecordsAtOnce * record_);
    const std::size_t got = file_.read(offset_, piece_);
    offset_ += got;
    if (offset_ == file_.size() && --left_ > 0) offset_ = begin_;
    std::span<const std::byte> bytes(piece_.data(), got);
    if (impaired_) bytes = impair(bytes, summary);
    client_->write(bytes);
    summary.bytes += bytes.size();
    summary.records += bytes.size() / record_;
    if (left_ == 0 || got == 0) client_.reset();
  }

 private:
  std::span<const std::byte> impair(std::span<const std::byte> bytes, SendSummary& summary) {
    sent_.clear();
    for (; bytes.size() >= record_; bytes = bytes.subspan(record_)) {
      if (fate_.is_lost()) {
        ++summary.lost;
        continue;
      }
      const bool twice = fate_.is_repeated();
      summary.duplicated += twice ? 1 : 0;
      for (int k = 0; k < (twice ? 2 : 1); ++k)
        sent_.insert(sent_.end(), bytes.begin(),
                     bytes.begin() + static_cast<std::ptrdiff_t>(record_));
      if (fate_.is_corrupted()) {
        ++summary.corrupted;
        sent_[sent_.size() - 1 - fate_.below(record_)] ^= std::byte{1} << fate_.below(8);
      }
    }
    sent_.insert(sent_.end(), bytes.begin(), bytes.end());
    return sent_;
  }

  formats::InputFile file_;
  std::size_t record_;
  std::uint64_t begin_ = 0, offset_ = 0, left_;
  Fate fate_;
  bool impaired_;
  std::unique_ptr<TcpClient> client_;
  std::vector<std::byte> piece_, sent_;
};

// Whether these are voltages of another format, for all receivers together.
bool holds_voltages(const std::string& path) {
  const auto head = formats::InputFile(path).head(kHeadBytes);
  const auto* format = formats::find_format(&formats::FileFormat::voltages, head, path);
  return format != nullptr && format->voltages != mwa32t::open;
}

SendSummary send_over_tcp(const SendConfig& config, const std::vector<Endpoint>& to,
                          const SendProgress& progress, const std::stop_token& stop) {
  if (to.size() > 1)
    throw core::Error(core::ErrorKind::config, "to", std::to_string(to.size()) + " addresses",
                      "one: receivers are numbered as they connect");
  const Impairment impairment = parse_impairment(config.impair);
  if (impairment.reorder > 0)
    throw core::Error(core::ErrorKind::config, "impair", "reorder", "loss, duplicate or corrupt",
                      "TCP keeps the order");
  const mwa32t::Mode mode = mode_of(config.layout);
  if (holds_voltages(config.files.front())) return send_packets(config, to, progress, stop);
  std::vector<RecordSender> senders;
  std::uint64_t longest = 0;
  for (std::size_t k = 0; k < config.files.size(); ++k) {
    senders.emplace_back(config.files[k], mode, config.repeat, impairment, k);
    longest = std::max(longest, senders[k].records() * config.repeat);
  }
  const auto patience =
      std::chrono::milliseconds(static_cast<std::int64_t>(config.connect_s * 1e3));
  for (RecordSender& sender : senders) sender.connect(to.front(), patience, stop);

  SendSummary summary;
  const auto started = Clock::now();
  const auto since_s = [&] {
    return std::chrono::duration<double>(Clock::now() - started).count();
  };
  for (std::uint64_t sent = 0; sent < longest; sent += kRecordsAtOnce) {
    double due_s = config.rate > 0 ? static_cast<double>(sent) / (config.rate * config.rate_hz) : 0;
    for (RecordSender& sender : senders) {
      if (sender.ended()) continue;
      const double late_s = impairment.jitter_s > 0 ? sender.delay_s() : 0;
      if (config.rate > 0 || late_s > 0) {
        summary.behind_s = std::max(summary.behind_s, config.rate > 0 ? since_s() - due_s : 0);
        wait_until_due(started + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(due_s + late_s)),
                       stop);
      }
      sender.send(summary);
    }
    if (progress)
      progress(static_cast<double>(std::min(sent + kRecordsAtOnce, longest)) /
               static_cast<double>(longest));
  }
  summary.stream_s = static_cast<double>(longest) / config.rate_hz;
  summary.elapsed_s = since_s();
  return summary;
}

}  // namespace

const core::Fields<SendConfig>& fields(const SendConfig&) {
  using C = SendConfig;
  static const auto all =
      core::Fields<C>()
          .add({.name = "to",
                .help = "who is sent to: tcp://HOST:PORT for records as MWA receivers send them, "
                        "udp://HOST:PORT for packets; several where packets of each antenna, or "
                        "each of `senders`, have an address of their own; - (standard output) or a "
                        "named pipe for the "
                        "file's bytes at the rate at which they were recorded"},
               &C::to)
          .add({.name = "layout",
                .help = "what is sent: mwa32t (the default) or mwa32t-1byte over TCP, any packet "
                        "layout over UDP, a preset's name or a TOML file"},
               &C::layout)
          .add({.name = "rate", .help = "times real time; 0: as fast as it is taken"}, &C::rate,
               core::between(0, 1e6))
          .add({.name = "record_rate_hz",
                .unit = "Hz",
                .help = "of records: samples per second of each input at `rate` 1",
                .option = "sample-rate"},
               &C::rate_hz, core::hertz_text(core::between(1e-3, 1e12)))
          .add({.name = "impair",
                .help = "what the network is to do to it: parts of the records, most delay, seed",
                .form = "loss=,reorder=,duplicate=,corrupt=,jitter=,seed="},
               &C::impair)
          .add({.name = "connect_s",
                .unit = "s",
                .help = "how long somebody who listens, or reads a named pipe, is waited for"},
               &C::connect_s, core::between(0, 86'400))
          .add({.name = "repeat",
                .help = "how often the files are sent, one stream without a gap, for long tests; "
                        "files of records hold whole periods of the counter"},
               &C::repeat, core::between(1, 1'000'000))
          .add({.name = "senders",
                .help = "of packets: how many senders the array has, each with a port of its own, "
                        "which share the antennas, or the channels of an antenna"},
               &C::senders, core::between(1, 1024))
          .add({.name = "sender",
                .help = "of packets: be this one of `senders` alone, from 0; none: all of them"},
               &C::sender)
          .add(
              {.name = "first_count",
               .help = "count of the first packet; none: that of the files' start where the layout "
                       "counts from a known time, else 0"},
              &C::first_count)
          .add({.name = "interface",
                .help = "address of the network interface by which packets to multicast groups go"},
               &C::interface)
          .add({.name = "start_s",
                .unit = "s",
                .help = "of packets and filterbanks: skip this much of the files"},
               &C::start_s, core::at_least(0))
          .add({.name = "duration_s",
                .unit = "s",
                .help = "of packets and filterbanks: send this much; negative: to the end"},
               &C::duration_s)
          .add({.name = "bin_s",
                .unit = "s",
                .help = "of counts: length of a bin, which also says that the file holds counts",
                .option = "bin"},
               &C::bin_s, core::between(0, 3600))
          .add(
              {.name = "raw.dtype", .help = "type of a count without a header", .option = "dtype"},
              [](auto& c) -> auto& { return c.raw.dtype; },
              core::maybe(core::choice<core::SampleType>({{"u8", core::SampleType::u8},
                                                          {"u16", core::SampleType::u16},
                                                          {"u32", core::SampleType::u32},
                                                          {"f32", core::SampleType::f32}})))
          .add(
              {.name = "raw.sensors",
               .help = "of counts without a header: sensors in a row",
               .option = "sensors"},
              [](auto& c) -> auto& { return c.raw.sensors; }, core::plain_text<std::size_t>())
          .add(
              {.name = "raw.header_bytes",
               .unit = "bytes",
               .help = "of counts without a header: how much to skip",
               .option = "header-bytes"},
              [](auto& c) -> auto& { return c.raw.header_bytes; },
              core::plain_text<std::uint64_t>())
          .include("reader", &C::reader, fields(formats::ReaderOptions{}));
  return all;
}

SendSummary send_files(const SendConfig& config, const SendProgress& progress,
                       std::stop_token stop) {
  core::check(config);
  if (config.files.empty())
    throw core::Error(core::ErrorKind::config, "files", "none", "at least one file");
  if (config.to.empty())
    throw core::Error(core::ErrorKind::config, "to", "none",
                      "udp://HOST:PORT, tcp://HOST:PORT, - or a named pipe");
  const auto require_one_sender = [&](const char* advice) {
    if (config.senders > 1)
      throw core::Error(core::ErrorKind::config, "senders", std::to_string(config.senders), "1",
                        advice);
    if (config.sender)
      throw core::Error(core::ErrorKind::config, "sender", std::to_string(*config.sender), "none",
                        advice);
  };
  if (std::any_of(config.to.begin(), config.to.end(), is_pipe)) {
    require_one_sender("one writes to a pipe; packets go to udp://HOST:PORT");
    if (config.to.size() > 1)
      throw core::Error(core::ErrorKind::config, "to", std::to_string(config.to.size()),
                        "one pipe");
    return send_to_pipe(config, progress, stop);
  }
  std::vector<Endpoint> to;
  for (const std::string& address : config.to) to.push_back(parse_endpoint("to", address));
  for (const Endpoint& one : to)
    if (one.transport != to.front().transport)
      throw core::Error(core::ErrorKind::config, "to", to_string(one),
                        "addresses of one transport");
  if (to.front().transport == Endpoint::Transport::udp) {
    if (config.layout.empty())
      throw core::Error(core::ErrorKind::config, "layout", "not given",
                        fmt::format("for packets (udp:) one of {}, or a TOML file",
                                    fmt::join(formats::packets::preset_names(), ", ")));
    return send_packets(config, to, progress, stop);
  }
  require_one_sender("over TCP each receiver is a connection");
  return send_over_tcp(config, to, progress, stop);
}

}  // namespace tautline::stream
