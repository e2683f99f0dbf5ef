#include "tautline/core/saved_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "tautline/core/error.h"
#include "tautline/core/hash.h"

namespace tautline::core {
namespace {

// "tautline", the stage's name, zeros, and the hash of the plan.
using Head = std::array<char, 40>;

Head head_of(std::string_view stage, std::string_view plan) {
  Head head{};
  constexpr std::string_view mark = "tautline";
  std::copy(mark.begin(), mark.end(), head.begin());
  std::copy_n(stage.begin(), std::min<std::size_t>(stage.size(), 24), head.begin() + mark.size());
  const std::uint64_t plan_hash = hash(plan);
  std::memcpy(head.data() + 32, &plan_hash, sizeof plan_hash);
  return head;
}

}  // namespace

std::vector<std::byte> seal_state(std::string_view stage, std::string_view plan,
                                  std::span<const std::byte> content) {
  const Head head = head_of(stage, plan);
  std::vector<std::byte> bytes(head.size() + content.size());
  std::memcpy(bytes.data(), head.data(), head.size());
  std::copy(content.begin(), content.end(), bytes.begin() + head.size());
  return bytes;
}

std::span<const std::byte> open_state(std::string_view stage, std::string_view plan,
                                      std::span<const std::byte> bytes) {
  const Head head = head_of(stage, plan);
  const auto refuse = [&](std::string found) {
    throw Error(ErrorKind::format, "saved state of " + std::string(stage), std::move(found),
                "bytes that a state of an equal plan saved",
                "load it with the configuration and device that saved it");
  };
  if (bytes.size() < head.size() || std::memcmp(bytes.data(), head.data(), 8) != 0)
    refuse(std::to_string(bytes.size()) + " other bytes");
  if (std::memcmp(bytes.data(), head.data(), 32) != 0) refuse("a state of another stage");
  if (std::memcmp(bytes.data(), head.data(), head.size()) != 0) refuse("a state of another plan");
  return bytes.subspan(head.size());
}

}  // namespace tautline::core
