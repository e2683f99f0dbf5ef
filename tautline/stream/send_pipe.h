// A file through a pipe at the rate at which it was recorded: the bytes of the file, and of filterbanks in other forms
// than sigproc's, or of a part or several files of one, a sigproc filterbank.
#pragma once

#include <stop_token>
#include <string>

#include "tautline/stream/send_config.h"

namespace tautline::stream {

/// Whether `to` is "-" (standard output), or the path of a named pipe or a character device.
bool is_pipe(const std::string& to);

/// Throws Error(config) for fields that a pipe does not take, Error(io) where the reader goes away.
SendSummary send_to_pipe(const SendConfig& config, const SendProgress& progress,
                         const std::stop_token& stop);

}  // namespace tautline::stream
