#include "tautline/pipeline/voltages/block_reader.h"

#include <utility>

#include "tautline/pipeline/progress.h"

namespace tautline::pipeline {

BlockReader::BlockReader(stream::VoltageSequence& sequence, std::size_t block_samples,
                         std::stop_token stop)
    : sequence_(sequence),
      thread_([this, block_samples, stop = std::move(stop)] { read(block_samples, stop); }) {}

void BlockReader::read(std::size_t block_samples, const std::stop_token& stop) {
  try {
    while (ReadBlock* block = ring_.begin_write()) {
      require_running(stop);
      if (sequence_.read(block_samples, block->raw, block->segment) == 0) break;
      ring_.end_write();
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  ring_.close();
}

ReadBlock* BlockReader::next() {
  ReadBlock* block = ring_.begin_read();
  if (block == nullptr) {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(error_);
  }
  return block;
}

}  // namespace tautline::pipeline
