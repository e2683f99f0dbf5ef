// The common header of saved states: names the stage and the plan, so that only an equal plan loads the state.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tautline::core {

/// `content` after the stage's name and a hash of `plan`: a text of the format's version, the
/// backend where the content depends on it, and every field of the Config on which the content
/// depends.
std::vector<std::byte> seal_state(std::string_view stage, std::string_view plan,
                                  std::span<const std::byte> content);

/// The content of a result of seal_state. Throws Error(format) when `bytes` are no saved state, of
/// another stage or of another plan.
std::span<const std::byte> open_state(std::string_view stage, std::string_view plan,
                                      std::span<const std::byte> bytes);

}  // namespace tautline::core
