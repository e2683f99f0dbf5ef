// PTU files made byte by byte, independently of the library's writer.
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tautline::tests {

inline void append_tag(std::string& bytes, std::string name, std::int32_t index, std::uint32_t type,
                       const void* value) {
  name.resize(32);
  bytes += name;
  bytes.append(reinterpret_cast<const char*>(&index), 4);
  bytes.append(reinterpret_cast<const char*>(&type), 4);
  bytes.append(static_cast<const char*>(value), 8);
}

inline void append_integer(std::string& bytes, const std::string& name, std::int64_t value,
                           std::int32_t index = -1) {
  append_tag(bytes, name, index, 0x10000008, &value);
}

inline void append_number(std::string& bytes, const std::string& name, double value) {
  append_tag(bytes, name, -1, 0x20000008, &value);
}

/// A whole header; `records` is what it states.
inline std::string tag_header(std::uint32_t code, std::int64_t records, double unit_s = 1e-9) {
  std::string bytes(
      "PQTTTR\0\0"
      "1.0.00\0\0",
      16);
  append_number(bytes, "MeasDesc_GlobalResolution", unit_s);
  append_number(bytes, "MeasDesc_Resolution", 4e-12);
  append_integer(bytes, "TTResult_SyncRate", 20'000'000);
  append_integer(bytes, "TTResult_InputRate", 1234, 0);
  append_integer(bytes, "TTResult_InputRate", 567, 1);
  append_integer(bytes, "TTResult_NumberOfRecords", records);
  append_integer(bytes, "TTResultFormat_TTTRRecType", code);
  append_integer(bytes, "TTResultFormat_BitsPerRecord", 32);
  append_integer(bytes, "HW_InpChannels", 2);
  append_integer(bytes, "MeasDesc_AcquisitionTime", 2500);
  const std::int64_t none = 0;
  append_tag(bytes, "Header_End", -1, 0xFFFF0008, &none);
  return bytes;
}

inline std::string tag_file(std::uint32_t code, const std::vector<std::uint32_t>& words,
                            double unit_s = 1e-9) {
  std::string bytes = tag_header(code, static_cast<std::int64_t>(words.size()), unit_s);
  bytes.append(reinterpret_cast<const char*>(words.data()), 4 * words.size());
  return bytes;
}

inline void save(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tautline::tests
