// TIFF stacks, written byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tautline::formats::tiff {

struct Stack {
  std::uint32_t columns = 5, rows = 3, frames = 4;
  int bits = 8, format = 1;  // 1 unsigned, 2 signed, 3 float
  bool big_endian = false;
};

class Bytes {
 public:
  explicit Bytes(bool big) : big_(big) {}
  void put(std::uint64_t value, int bytes) {
    for (int b = 0; b < bytes; ++b)
      text += static_cast<char>(value >> 8 * (big_ ? bytes - 1 - b : b) & 255);
  }
  void entry(int tag, int type, std::uint32_t value, std::uint32_t count = 1) {
    put(static_cast<std::uint64_t>(tag), 2);
    put(static_cast<std::uint64_t>(type), 2);
    put(count, 4);
    put(value, type == 3 ? 2 : 4);
    if (type == 3) put(0, 2);
  }
  std::string text;

 private:
  bool big_;
};

// The classic layout: a header, then for each frame its pixels and its directory.
inline std::string file_of(const Stack& s, const std::vector<std::uint32_t>& values) {
  Bytes out(s.big_endian);
  out.text = s.big_endian ? "MM" : "II";
  out.put(42, 2);
  const std::uint32_t pixels = s.columns * s.rows,
                      frame_bytes = pixels * static_cast<std::uint32_t>(s.bits) / 8;
  const std::uint32_t padded = frame_bytes + frame_bytes % 2;
  out.put(8 + padded, 4);
  for (std::uint32_t f = 0; f < s.frames; ++f) {
    const auto start = static_cast<std::uint32_t>(out.text.size());
    for (std::uint32_t k = 0; k < pixels; ++k) out.put(values[f * pixels + k], s.bits / 8);
    if (frame_bytes % 2) out.put(0, 1);
    out.put(9, 2);
    out.entry(256, 4, s.columns);
    out.entry(257, 4, s.rows);
    out.entry(258, 3, static_cast<std::uint32_t>(s.bits));
    out.entry(259, 3, 1);
    out.entry(262, 3, 1);
    out.entry(273, 4, start);
    out.entry(278, 4, s.rows);
    out.entry(279, 4, frame_bytes);
    out.entry(339, 3, static_cast<std::uint32_t>(s.format));
    const bool last = f + 1 == s.frames;
    out.put(last ? 0 : out.text.size() + 4 + padded, 4);
  }
  return out.text;
}

/// As ImageJ writes them: the first directory, the pixels of all frames, then the other directories, if there are any.
/// `images`: of the description.
inline std::string imagej_file_of(const Stack& s, const std::vector<std::uint32_t>& values,
                                  std::uint32_t images, bool all_directories) {
  std::string description = "ImageJ=1.53t\nimages=" + std::to_string(images) +
                            "\nslices=" + std::to_string(images) + "\nloop=false\n";
  description.push_back('\0');
  if (description.size() % 2) description.push_back('\0');
  Bytes out(s.big_endian);
  out.text = s.big_endian ? "MM" : "II";
  out.put(42, 2);
  out.put(8, 4);
  const std::uint32_t pixels = s.columns * s.rows,
                      frame_bytes = pixels * static_cast<std::uint32_t>(s.bits) / 8;
  constexpr std::uint32_t kEntries = 10, kDirectory = 2 + 12 * kEntries + 4;
  const auto text_bytes = static_cast<std::uint32_t>(description.size());
  const std::uint32_t text_at = 8 + kDirectory, first = text_at + text_bytes;
  const std::uint32_t behind = first + s.frames * frame_bytes, even = behind + behind % 2;
  for (std::uint32_t f = 0; f < (all_directories ? s.frames : 1); ++f) {
    out.put(kEntries, 2);
    out.entry(256, 4, s.columns);
    out.entry(257, 4, s.rows);
    out.entry(258, 3, static_cast<std::uint32_t>(s.bits));
    out.entry(259, 3, 1);
    out.entry(262, 3, 1);
    out.entry(270, 2, text_at, text_bytes);
    out.entry(273, 4, first + f * frame_bytes);
    out.entry(278, 4, s.rows);
    out.entry(279, 4, frame_bytes);
    out.entry(339, 3, static_cast<std::uint32_t>(s.format));
    const bool last = !all_directories || f + 1 == s.frames;
    out.put(last ? 0 : even + f * kDirectory, 4);
    if (f > 0) continue;
    out.text += description;
    for (std::uint32_t k = 0; k < s.frames * pixels; ++k) out.put(values[k], s.bits / 8);
    if (behind % 2) out.put(0, 1);
  }
  return out.text;
}

}  // namespace tautline::formats::tiff
