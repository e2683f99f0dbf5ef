// A state as bytes and back.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::stages::dedisperse {

class SavedState {
 public:
  SavedState() = default;
  explicit SavedState(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  const std::vector<std::byte>& bytes() const { return bytes_; }

  template <class T>
  void put(const T& value) {
    put_raw(&value, sizeof value);
  }
  void put_raw(const void* from, std::size_t count) {
    const auto* bytes = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), bytes, bytes + count);
  }
  template <class T>
  void put_all(const std::vector<T>& values) {
    put(values.size());
    put_raw(values.data(), values.size() * sizeof(T));
  }

  /// These throw Error(format) when the bytes are not what was put.
  void get_raw(void* to, std::size_t count) {
    if (count > bytes_.size() - read_) refuse();
    if (count > 0) std::memcpy(to, bytes_.data() + read_, count);  // an empty vector has no data
    read_ += count;
  }
  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    get_raw(&value, sizeof value);
    return value;
  }
  template <class T>
  void get_all(std::vector<T>& values) {
    const auto size = get<std::size_t>();
    if (size > (bytes_.size() - read_) / sizeof(T)) refuse();
    values.resize(size);
    get_raw(values.data(), size * sizeof(T));
  }
  void require_end() const {
    if (read_ != bytes_.size()) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw core::Error(core::ErrorKind::format, "dedisperse saved state",
                      std::to_string(bytes_.size()) + " bytes", "what a state of this plan saved");
  }

  std::vector<std::byte> bytes_;
  std::size_t read_ = 0;
};

}  // namespace tautline::stages::dedisperse
