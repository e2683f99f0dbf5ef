// Heaps of SPEAD 64-48 that describe their contents: arrays with names and types, which spead2 reads without
// configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace tautline::formats::packets {

struct SpeadArray {
  std::uint32_t item = 0;
  std::string name, about;         ///< `about`: a line for people
  std::string type;                ///< numpy's, as "<c8"
  std::vector<std::size_t> shape;  ///< slowest axis first; none: one value
  std::span<const std::byte> bytes;
};

/// Informs receivers that no heap follows.
inline constexpr std::uint64_t kSpeadStop = 2;

class SpeadHeap {
 public:
  explicit SpeadHeap(std::uint64_t number) : number_(number) {}

  /// The array and its description; copies the bytes.
  void add(const SpeadArray& array);
  /// A heap with a control code for receivers (kSpeadStop).
  void add_control(std::uint64_t word);

  /// Packets with at most `payload_bytes` of the heap each; all items are in the first.
  void for_packets(std::size_t payload_bytes,
                   const std::function<void(std::span<const std::byte> packet)>& take) const;

 private:
  std::uint64_t number_;
  std::vector<std::uint64_t> items_;  // as in the table
  std::vector<std::byte> payload_;
};

}  // namespace tautline::formats::packets
