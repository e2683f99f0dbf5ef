// Inputs that come by pipes: read as they come where their format allows for that, else kept in files meanwhile.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "tautline/formats/forward_bytes.h"
#include "tautline/formats/partial_file.h"
#include "tautline/formats/stream_kind.h"

namespace tautline::cli {

/// Whether a pipe that begins with these bytes and has this name can be read as it comes.
using ComesInOrder =
    std::function<bool(std::span<const std::byte> first_bytes, const std::string& name)>;

/// Copies what comes by "-" (standard input) and by named pipes among `inputs` to files, whose names take their places.
/// The files are gone with this object. A pipe that is the only input, and of which `in_order` says so, is not copied.
class PipedInputs {
 public:
  /// Throws Error(config) for an output that could not be written, before a pipe is waited for, Error(io) where inputs
  /// cannot be read or kept, and after a stop ("interrupted"), Error(format) for a stream whose first bytes are of
  /// another kind than `contents`, or of none, before it is copied.
  PipedInputs(const Global& global, std::vector<std::string>& inputs, formats::Contents contents,
              const std::string& output = {}, bool overwrite = true, std::size_t memory_bytes = 0,
              const ComesInOrder& in_order = {});

  /// The pipe that is read as it comes; null: there are only files.
  const std::shared_ptr<formats::ForwardBytes>& live() const { return live_; }
  /// For a run that was stopped before its pipe had ended: warns, and gives the exit status.
  int status(int of_run, bool strict) const;

 private:
  struct Folder {
    explicit Folder(std::string folder);
    ~Folder();
    std::string name;
    formats::PartialPath copies;
  };
  void copy(const Global& global, std::string& input, formats::Contents contents,
            formats::ForwardBytes& bytes);

  std::shared_ptr<formats::ForwardBytes> live_;
  std::unique_ptr<Folder> folder_;
  std::size_t copied_ = 0;
};

}  // namespace tautline::cli
