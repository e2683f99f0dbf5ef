#include "tautline/pipeline/voltages/rethrow_of_stage.h"

#include "tautline/core/error.h"

namespace tautline::pipeline {

void rethrow_of_stage(const std::string& failed_node, bool channelized) {
  try {
    throw;
  } catch (const core::Error& error) {
    const std::string& field = error.field();
    bool named = error.kind() != core::ErrorKind::memory || failed_node.empty();
    for (const char* stage : {"unpack: ", "channelize: ", "correlate: ", "delays: "})
      named = named || field.starts_with(stage);
    if (named) throw;
    const std::string stage = failed_node.front() != 'f' ? "correlate"
                              : channelized              ? "unpack"
                                                         : "channelize";
    throw core::Error(error.kind(), stage + ": " + field, error.value(), error.limit(),
                      error.advice());
  }
}

}  // namespace tautline::pipeline
