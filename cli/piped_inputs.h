// Inputs that come by pipes, for commands that read a file more than once or have to know its length.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "tautline/formats/partial_file.h"

namespace tautline::cli {

/// Copies what comes by "-" (standard input) and by named pipes among `inputs` to files, whose names take their places. The
/// files are gone with this object.
class PipedInputs {
 public:
  /// Throws Error(config) for an output that could not be written, before a pipe is waited for, Error(io) where inputs cannot
  /// be read or kept, and after a stop ("interrupted").
  PipedInputs(const Global& global, std::vector<std::string>& inputs,
              const std::string& output = {}, bool overwrite = true);

 private:
  struct Folder {
    explicit Folder(std::string folder);
    ~Folder();
    std::string name;
    formats::PartialPath copies;
  };
  void copy(const Global& global, std::string& input);

  std::unique_ptr<Folder> folder_;
  std::size_t copied_ = 0;
};

}  // namespace tautline::cli
