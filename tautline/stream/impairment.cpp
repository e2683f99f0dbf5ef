#include "tautline/stream/impairment.h"

#include "tautline/core/error.h"
#include "tautline/core/field_text.h"

namespace tautline::stream {

Impairment parse_impairment(const std::string& text) {
  Impairment all;
  const auto refuse = [&](const std::string& part, const std::string& limit) {
    return core::Error(core::ErrorKind::config, "impair", part, limit,
                       "for example loss=0.01,duplicate=0.001,seed=7");
  };
  if (text.empty()) return all;
  for (const std::string& part : core::text::split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    double* const portion = name == "loss"        ? &all.loss
                            : name == "duplicate" ? &all.duplicate
                            : name == "corrupt"   ? &all.corrupt
                            : name == "reorder"   ? &all.reorder
                                                  : nullptr;
    try {
      if (portion != nullptr)
        *portion = core::text::read<double>(value);
      else if (name == "jitter")
        all.jitter_s = core::text::read<double>(core::text::in_seconds(value));
      else if (name == "seed")
        all.seed = core::text::read<std::uint64_t>(value);
      else
        throw refuse(part, "loss=, reorder=, duplicate=, corrupt=, jitter= or seed=");
    } catch (const core::Error& error) {
      if (error.field() == "impair") throw;
      throw refuse(part, "a number");
    }
    if (portion != nullptr && !(*portion >= 0 && *portion <= 1)) throw refuse(part, "0 to 1");
    if (!(all.jitter_s >= 0 && all.jitter_s <= 3600)) throw refuse(part, "0 to 3600 s");
  }
  return all;
}

}  // namespace tautline::stream
