// The bytes of a block: memory of its own, or memory that the block's owner lends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

namespace tautline::core {

/// A copy of lent memory refers to the same memory; a copy of other memory has its own. Lent memory
/// may be a device's: then only its address and size are used.
class BlockBytes {
 public:
  BlockBytes() = default;
  BlockBytes(std::initializer_list<std::byte> bytes) : own_(bytes), view_(own_) {}
  BlockBytes(const BlockBytes& other) : room_(other.room_), view_(other.view_) {
    if (other.is_lent()) return;
    own_.assign(other.begin(), other.end());
    view_ = own_;
  }
  BlockBytes(BlockBytes&& other) noexcept { swap(other); }
  BlockBytes& operator=(BlockBytes other) noexcept {
    swap(other);
    return *this;
  }
  ~BlockBytes() = default;

  /// Sets the bytes, and the room for them, until lend() is called again.
  void lend(std::span<std::byte> memory) {
    room_ = memory;
    view_ = memory;
  }
  /// Resizes in lent memory where it has room, else in memory of its own.
  void resize(std::size_t size) {
    if (size > room_.size() && size > own_.size()) own_.resize(size);
    view_ = (size <= room_.size() ? room_ : std::span(own_)).first(size);
  }
  template <class From>
  void assign(From first, From last) {
    resize(static_cast<std::size_t>(std::distance(first, last)));
    std::copy(first, last, view_.begin());
  }

  std::byte* data() { return view_.data(); }
  const std::byte* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  std::byte& operator[](std::size_t k) { return view_[k]; }
  const std::byte& operator[](std::size_t k) const { return view_[k]; }
  using Iterator = std::span<std::byte>::iterator;
  using ConstIterator = std::span<const std::byte>::iterator;
  Iterator begin() { return view_.begin(); }
  Iterator end() { return view_.end(); }
  ConstIterator begin() const { return std::span<const std::byte>(view_).begin(); }
  ConstIterator end() const { return std::span<const std::byte>(view_).end(); }
  friend bool operator==(const BlockBytes& a, const BlockBytes& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const BlockBytes& a, const std::vector<std::byte>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  bool is_lent() const { return view_.data() == room_.data(); }
  void swap(BlockBytes& other) noexcept {
    own_.swap(other.own_);
    std::swap(room_, other.room_);
    std::swap(view_, other.view_);
  }

  std::vector<std::byte> own_;
  std::span<std::byte> room_, view_;
};

}  // namespace tautline::core
