// Converts values to bytes and back, in this machine's byte order, for saved states. An `exchange`
// that gives its fields to one of these classes, one after the other, serves both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tautline/core/error.h"

namespace tautline::core {

/// Writes bytes without their number.
class ByteWriter {
 public:
  using Sink = std::function<void(std::span<const std::byte>)>;
  explicit ByteWriter(Sink sink) : sink_(std::move(sink)) {}

  template <class Value>
  void operator()(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    sink_(std::as_bytes(std::span(&value, 1)));
  }
  template <class Value>
  void operator()(const std::vector<Value>& values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    (*this)(std::uint64_t{values.size()});
    sink_(std::as_bytes(std::span(values)));
  }
  template <class... Values>
  requires(sizeof...(Values) > 1) void operator()(const Values&... values) {
    ((*this)(values), ...);
  }
  /// Bytes whose number the reader knows.
  void operator()(std::span<std::byte> bytes) { sink_(bytes); }

 private:
  Sink sink_;
};

/// Throws Error(format) that names `what` when fewer bytes are left than requested.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  template <class Value>
  void operator()(Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    take(&value, sizeof value);
  }
  template <class Value>
  void operator()(std::vector<Value>& values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    std::uint64_t size = 0;
    (*this)(size);
    if (size > bytes_.size() / sizeof(Value)) refuse();
    values.resize(static_cast<std::size_t>(size));
    take(values.data(), values.size() * sizeof(Value));
  }
  template <class... Values>
  requires(sizeof...(Values) > 1) void operator()(Values&... values) { ((*this)(values), ...); }
  void operator()(std::span<std::byte> bytes) { take(bytes.data(), bytes.size()); }
  /// Throws when bytes are left.
  void finish() const {
    if (!bytes_.empty()) refuse();
  }
  [[noreturn]] void refuse() const {
    throw Error(ErrorKind::format, what_, "bytes that do not fit", "those that such a state saved",
                "load it with the plan that saved it");
  }

 private:
  void take(void* to, std::size_t size) {
    if (size > bytes_.size()) refuse();
    if (size > 0) std::memcpy(to, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  std::span<const std::byte> bytes_;
  std::string what_;
};

}  // namespace tautline::core
