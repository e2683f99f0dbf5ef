#include "tautline/stream/send_pipe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/filterbank_reader.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/photon_reader.h"
#include "tautline/formats/sigproc/sigproc.h"
#include "tautline/stream/send_packets.h"
#include "tautline/stream/sent_rows.h"
#include "tautline/stream/voltage_sequence.h"

namespace tautline::stream {

namespace {

using core::Error;
using core::ErrorKind;
using PipeClock = std::chrono::steady_clock;

constexpr std::size_t kPipedHeadBytes = std::size_t{64} << 10;
// A piece is so long at most, and so many bytes.
constexpr double kPiece_s = 0.01;
constexpr std::size_t kMostPiece = std::size_t{1} << 20;
// Between two looks at the stop token, ms.
constexpr int kPatience_ms = 50;

Error interrupted() {
  return {ErrorKind::io, "run", "interrupted", "", "the rest was not sent"};
}

// While it lives, this thread gets EPIPE, and no signal that would end the program.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    pending_before_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~NoPipeSignal() {
    const timespec none{};
    if (!pending_before_) sigtimedwait(&set_, nullptr, &none);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t set_{}, before_{};
  bool pending_before_ = false;
};

class Pipe {
 public:
  // Waits for a reader of a named pipe.
  Pipe(const std::string& to, double connect_s, const std::stop_token& stop)
      : name_(to == "-" ? "standard output" : to), stop_(stop) {
    if (to == "-") {
      descriptor_ = STDOUT_FILENO;
      return;
    }
    const auto until = PipeClock::now() + std::chrono::duration<double>(connect_s);
    while ((descriptor_ = open(to.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
      if (errno != ENXIO && errno != EINTR)
        throw formats::system_error(name_, "open for writing", errno);
      if (PipeClock::now() > until)
        throw Error(ErrorKind::io, name_, "nobody reads it", "a reader",
                    fmt::format("start it within {:g} s, or raise `connect_s`", connect_s));
      wait_until_due(PipeClock::now() + std::chrono::milliseconds(kPatience_ms), stop);
    }
  }
  ~Pipe() {
    if (descriptor_ > STDOUT_FILENO) close(descriptor_);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (stop_.stop_requested()) throw interrupted();
      pollfd ready{descriptor_, POLLOUT, 0};
      if (poll(&ready, 1, kPatience_ms) <= 0) continue;
      // A pipe that is ready takes so many without a wait.
      const ssize_t wrote =
          ::write(descriptor_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
      if (wrote >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(wrote));
      } else if (errno == EPIPE) {
        throw Error(ErrorKind::io, name_, "its reader has ended", "one that reads to the end",
                    "see what it said");
      } else if (errno != EAGAIN && errno != EINTR) {
        throw formats::system_error(name_, "write", errno, "see what reads it");
      }
    }
  }

 private:
  std::string name_;
  std::stop_token stop_;
  int descriptor_ = -1;
  NoPipeSignal no_signal_;
};

// What goes through the pipe: bytes in order, as long as `duration_s`.
struct PipedBytes {
  std::uint64_t size = 0;  // behind the header
  std::vector<std::byte> header = {};
  double duration_s = 0;
  std::uint64_t step = 1;  // bytes of a piece are a multiple of it
  // Fills the front of the span with the bytes from this offset on.
  std::function<std::size_t(std::uint64_t offset, std::span<std::byte>)> read = {};
};

void require_one_file(const SendConfig& config) {
  if (config.files.size() > 1)
    throw Error(ErrorKind::config, "files", std::to_string(config.files.size()), "one",
                "several files of a filterbank go through a pipe, or start one `send` after the "
                "other");
  if (config.start_s > 0 || config.duration_s >= 0)
    throw Error(ErrorKind::config, config.start_s > 0 ? "start_s" : "duration_s", "given",
                "whole files, except filterbanks", "leave it out");
}

PipedBytes bytes_of_file(const std::string& path, double duration_s) {
  auto file = std::make_shared<formats::InputFile>(path);
  file->sequential();
  return {.size = file->size(),
          .duration_s = duration_s,
          .read = [file](std::uint64_t offset, std::span<std::byte> to) {
            return file->read(offset, to);
          }};
}

PipedBytes bytes_of_filterbank(const SendConfig& config) {
  std::shared_ptr<formats::FilterbankReader> reader = formats::open_filterbank(config.files);
  const formats::FilterbankDescription& d = reader->description();
  const bool whole = config.files.size() == 1 && config.start_s == 0 && config.duration_s < 0;
  if (whole && d.format == "sigproc" && !d.time_series)
    return bytes_of_file(config.files.front(), d.duration_s());
  if (d.time_series)
    throw Error(ErrorKind::unsupported, config.files.front(), "a dedispersed series",
                "a filterbank");
  const auto [first, end] = part_to_send(config, d.rate_hz, d.samples);
  const std::uint64_t count = end - first, place = place_of(reader->segments(), first);
  if (count > 0 && place_of(reader->segments(), end - 1) - place != count - 1)
    throw Error(ErrorKind::unsupported, config.files.front(),
                core::counted(reader->segments().size(), "part") + " with gaps between them",
                "a filterbank without gaps", "name one part with `start_s` and `duration_s`");
  formats::sigproc::Header header = formats::sigproc::header_of(d);
  header.nbits = static_cast<int>(8 * formats::bytes_of(d.delivered));
  header.tstart_mjd += static_cast<double>(place) / d.rate_hz.value() / 86'400;
  const std::size_t spectrum = d.sample_bytes();
  return {.size = count * spectrum,
          .header = formats::sigproc::format_header(header),
          .duration_s = static_cast<double>(count) / d.rate_hz.value(),
          .step = spectrum,
          .read = [reader, first = first, spectrum](std::uint64_t offset, std::span<std::byte> to) {
            return reader->read(first + offset / spectrum, to.size() / spectrum, to) * spectrum;
          }};
}

// Where the header does not say it, up to the last photon.
double duration_of_photons(const std::string& path) {
  const auto photons = formats::open_photons(path);
  if (photons->description().acquisition_s > 0) return photons->description().acquisition_s;
  std::vector<formats::Photon> some(std::size_t{1} << 14);
  while (photons->read(some) > 0) {
  }
  return static_cast<double>(photons->counts().last_clock) * photons->description().time_unit_s;
}

// Arrays of whole numbers without a sign, as `inspect` takes them, where nothing is said of voltages.
bool is_array_of_counts(const SendConfig& config) {
  const std::string& path = config.files.front();
  if (config.reader.assumed.rate_hz.numerator != 0 || !config.reader.named.empty()) return false;
  const formats::InputFile file(path);
  if (!formats::npy::recognise(file.head(kPipedHeadBytes), path) ||
      !formats::recognise_counts(file.head(kPipedHeadBytes), path))
    return false;
  const std::string type =
      formats::npy::parse_header(file.head(formats::npy::kMaxHeaderBytes), path).type;
  return type.find('u') != std::string::npos;
}

PipedBytes bytes_to_send(const SendConfig& config) {
  const std::string& path = config.files.front();
  SentKind kind = kind_to_send(config);
  if (kind == SentKind::voltages && is_array_of_counts(config)) kind = SentKind::counts;
  if (kind == SentKind::filterbank) return bytes_of_filterbank(config);
  require_one_file(config);
  if (kind == SentKind::counts) {
    const auto counts = formats::open_counts(path, config.raw);
    return bytes_of_file(
        path, static_cast<double>(counts->total_samples()) * bin_of_counts(config, *counts));
  }
  if (formats::recognise_photons(formats::InputFile(path).head(kPipedHeadBytes), path))
    return bytes_of_file(path, duration_of_photons(path));
  const VoltageSequence voltages(config.files, {.reader = config.reader, .keep_constant = true});
  return bytes_of_file(
      path, static_cast<double>(voltages.total_samples()) / voltages.description().rate_hz.value());
}

void refuse_what_pipes_lack(const SendConfig& config) {
  const auto refuse = [](const char* field, const std::string& value) {
    throw Error(ErrorKind::config, field, value, "only for packets and records",
                "leave it out: a pipe takes the bytes of a file and loses none");
  };
  if (!config.impair.empty()) refuse("impair", config.impair);
  if (!config.layout.empty()) refuse("layout", config.layout);
  if (config.repeat != 1) refuse("repeat", std::to_string(config.repeat));
  if (config.first_count) refuse("first_count", std::to_string(*config.first_count));
  if (!config.interface.empty()) refuse("interface", config.interface);
}

}  // namespace

bool is_pipe(const std::string& to) {
  return to.find("://") == std::string::npos && formats::is_stream(to);
}

SendSummary send_to_pipe(const SendConfig& config, const SendProgress& progress,
                         const std::stop_token& stop) {
  refuse_what_pipes_lack(config);
  const PipedBytes bytes = bytes_to_send(config);
  const double bytes_per_s =
      bytes.duration_s > 0 ? static_cast<double>(bytes.size) / bytes.duration_s : 0;
  const double paced = config.rate > 0 && bytes_per_s > 0
                           ? std::min(bytes_per_s * config.rate * kPiece_s, double{kMostPiece})
                           : double{kMostPiece};
  const std::uint64_t piece =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(paced) / bytes.step) * bytes.step;
  Pipe pipe(config.to.front(), config.connect_s, stop);
  SendSummary summary;
  const auto started = PipeClock::now();
  const auto since_s = [&] {
    return std::chrono::duration<double>(PipeClock::now() - started).count();
  };
  pipe.write(bytes.header);
  std::vector<std::byte> some(static_cast<std::size_t>(std::min(piece, bytes.size)));
  for (std::uint64_t sent = 0; sent < bytes.size;) {
    const auto wanted =
        static_cast<std::size_t>(std::min<std::uint64_t>(some.size(), bytes.size - sent));
    const std::size_t got = bytes.read(sent, std::span(some).first(wanted));
    if (got == 0)
      throw Error(ErrorKind::io, config.files.front(), "ended while it was read",
                  "a file that does not get shorter", "send it once nobody changes it");
    if (config.rate > 0 && bytes_per_s > 0) {  // when its last sample has been taken
      const double due_s = static_cast<double>(sent + got) / bytes_per_s / config.rate;
      wait_until_due(started + std::chrono::duration_cast<PipeClock::duration>(
                                   std::chrono::duration<double>(due_s)),
                     stop);
      summary.behind_s = std::max(summary.behind_s, since_s() - due_s);
    }
    pipe.write(std::span(some).first(got));
    sent += got;
    if (progress) progress(static_cast<double>(sent) / static_cast<double>(bytes.size));
    summary.bytes = bytes.header.size() + sent;
  }
  summary.stream_s = bytes.duration_s;
  summary.elapsed_s = since_s();
  return summary;
}

}  // namespace tautline::stream
