#include "cli/piped_inputs.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cli/field_options.h"
#include "cli/interrupts.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/input_stream.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/voltage_reader.h"
#include "tautline/stream/piped_input.h"

namespace tautline::cli {

namespace {

constexpr std::size_t kPipedPiece_bytes = std::size_t{1} << 20;
constexpr std::size_t kCopyMemory_bytes = std::size_t{256} << 20;
// The first bytes are looked at when so many have come: a slow stream of another kind is refused early.
constexpr std::array<std::size_t, 4> kHeads_bytes{64, 4096, formats::kOrderedHeadBytes,
                                                  formats::kStreamHeadBytes};
// Text of no known kind is small: a description of an array, a record.
constexpr std::uint64_t kMostText_bytes = std::uint64_t{64} << 20;

void require_going(const Global& global, const formats::ForwardBytes& bytes) {
  if (global.stop.stop_requested())
    throw core::Error(core::ErrorKind::io, "run", "interrupted", "",
                      "nothing was made of " + bytes.name() + ", which had not ended");
}

// The first bytes of a stream, at most `most`. Throws Error(format) for a kind that the command does not read.
std::vector<std::byte> first_bytes(const Global& global, const std::string& input,
                                   formats::ForwardBytes& bytes, formats::Contents contents,
                                   std::size_t most) {
  std::vector<std::byte> head;
  for (const std::size_t size : kHeads_bytes) {
    head.resize(size);
    head.resize(bytes.read(0, head));
    require_going(global, bytes);
    const bool ended = head.size() < size;
    if (const auto refusal = formats::refusal_of_stream(
            {head, input, bytes.name(), ended || size == formats::kStreamHeadBytes}, contents))
      throw core::Error(*refusal);
    if (ended || size >= most) break;
  }
  return head;
}

core::Error cannot_keep(const std::string& path) {
  return formats::system_error(
      path, "cannot be written", errno,
      "what comes by a pipe is kept in a temporary file: let TMPDIR name a "
      "folder with room for it");
}

}  // namespace

PipedInputs::PipedInputs(const Global& global, std::vector<std::string>& inputs,
                         formats::Contents contents, const std::string& output, bool overwrite,
                         std::size_t memory_bytes, const ComesInOrder& in_order) {
  if (std::none_of(inputs.begin(), inputs.end(), formats::is_stream)) return;
  if (std::count(inputs.begin(), inputs.end(), "-") > 1)
    throw core::Error(core::ErrorKind::config, "input", "- given twice",
                      "standard input once at most");
  // Folders are told apart by the run itself: some are added to.
  if (!output.empty() && !std::filesystem::is_directory(output))
    formats::require_can_be_written("output", output, overwrite);
  for (std::string& input : inputs) {
    if (!formats::is_stream(input)) continue;
    const auto bytes =
        stream::open_pipe(input, memory_bytes > 0 ? memory_bytes : kCopyMemory_bytes, global.stop);
    if (inputs.size() == 1 && in_order) {
      // Two frames of VDIF may be longer.
      for (const std::size_t most : {formats::kOrderedHeadBytes, formats::kStreamHeadBytes}) {
        const auto head = first_bytes(global, input, *bytes, contents, most);
        if (!head.empty() && in_order(head, input)) {
          live_ = bytes;
          finish_when_stopped();  // what came is written
          return;
        }
        if (head.size() < most) break;
      }
    }
    copy(global, input, contents, *bytes);
  }
}

int PipedInputs::status(int of_run, bool strict) const {
  if (!live_ || !live_->stopped()) return of_run;
  spdlog::warn("{}: stopped before its input ended; the output holds what had come", live_->name());
  return strict ? kFailed : kDamagedInput;
}

// A run that is ended at once removes what is known as partial, and folders that are empty then.
PipedInputs::Folder::Folder(std::string folder)
    : name(std::move(folder)), copies(name + "/copies", true) {
  formats::note_made_folder(name);
}

PipedInputs::Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(name, ignored);
  formats::forget_made_folder(name);
}

void PipedInputs::copy(const Global& global, std::string& input, formats::Contents contents,
                       formats::ForwardBytes& bytes) {
  const auto head = first_bytes(global, input, bytes, contents, formats::kStreamHeadBytes);
  const bool unknown_text = formats::text_kind_of(head) == formats::TextKind::unknown;
  if (!folder_) {
    std::string name = formats::temporary_folder() + "/tautline-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw cannot_keep(name);
    folder_ = std::make_unique<Folder>(name);
    if (::mkdir(folder_->copies.partial().c_str(), S_IRWXU) != 0) throw cannot_keep(name);
  }
  // Pipes of one name may lie in several folders.
  const std::filesystem::path own =
      std::filesystem::path(folder_->copies.partial()) / std::to_string(copied_++);
  if (::mkdir(own.c_str(), S_IRWXU) != 0) throw cannot_keep(own.string());
  const std::string path =
      (own / (input == "-" ? "standard-input" : std::filesystem::path(input).filename())).string();
  std::ofstream file(path, std::ios::binary);
  std::vector<std::byte> piece(kPipedPiece_bytes);
  std::uint64_t done = 0;
  for (;;) {
    const std::size_t got = bytes.read(done, piece);
    require_going(global, bytes);
    file.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(got));
    if (!file) throw cannot_keep(path);
    done += got;
    if (unknown_text && done > kMostText_bytes)
      throw core::Error(
          core::ErrorKind::format, bytes.name() + ": first bytes",
          fmt::format("text of no known kind, more than {} MiB", kMostText_bytes >> 20),
          "a file of a kind that tautline inspect --help lists",
          "check what writes the pipe, or give a file whose name says what it is");
    bytes.forget(done);
    if (got < piece.size()) break;
  }
  if (!file.flush()) throw cannot_keep(path);
  if (done == 0)
    throw core::Error(core::ErrorKind::io, bytes.name(), "nothing came", "data",
                      "did the command before the pipe fail?");
  file.close();
  // "-" and "/dev/fd/3" are no names to go by.
  const bool has_ending = std::filesystem::path(input).has_extension();
  const std::string named = has_ending ? path : path + formats::ending_by_contents(path);
  std::filesystem::rename(path, named);
  spdlog::info("{}: {} bytes, kept in {} meanwhile", bytes.name(), done, named);
  say_instead(named, bytes.name());
  input = named;
}

}  // namespace tautline::cli
