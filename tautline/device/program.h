// Programs for devices that compile at run time: text, kernels, arguments, launches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace tautline::device {

/// Text for the device's compiler. It includes nothing: whoever makes it has put it together.
struct ProgramSource {
  std::string name;                  ///< the kernel file's, for messages
  std::string text;                  ///< CUDA C++ or OpenCL C, as the device's api wants
  std::vector<std::string> defines;  ///< "NAME=VALUE" or "NAME"
  std::vector<std::string> options;  ///< further options of the api's own compiler
};

/// What the compiler made of a kernel; zero where the api does not say.
struct KernelResources {
  std::size_t registers_per_thread = 0;
  std::size_t spilled_bytes = 0;  ///< local memory of one thread (CUDA's term): spills and arrays
  std::size_t static_local_bytes = 0;
  std::size_t max_group_threads = 0;
};

/// Where a program is still being compiled (jit/program.h), all but name() wait, and throw what the compiler said.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const std::string& name() const = 0;
  virtual const KernelResources& resources() const = 0;
  /// The device's own kernel.
  virtual const Kernel& loaded() const { return *this; }
};

/// Loaded code, or code that is being compiled. Kernels live as long as somebody holds them.
class Program {
 public:
  virtual ~Program() = default;
  /// Throws Error(device) when the program has no such kernel.
  virtual std::shared_ptr<const Kernel> kernel(const std::string& name) const = 0;
  /// The same, loaded: waits for it, and throws what the compiler or the driver said.
  virtual const Program& loaded() const { return *this; }
};

struct Extent3 {
  std::size_t x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Extent3 groups;               ///< blocks (CUDA), work-groups (OpenCL)
  Extent3 threads;              ///< of one group
  std::size_t local_bytes = 0;  ///< what LOCAL_MEMORY is given (CUDA; OpenCL compiles it in)
};

/// How the tensor copy engine sees a dense-rowed array in device memory, fastest axis first.
struct TensorLayout {
  const void* data = nullptr;
  unsigned element_bytes = 1;                   ///< 1, 2 or 4
  unsigned rank = 2;                            ///< 1 to 5
  std::array<std::uint64_t, 5> extents{};       ///< elements
  std::array<std::uint64_t, 5> stride_bytes{};  ///< of axis 1 and up; multiples of 16; [0] unused
  std::array<std::uint32_t, 5> box{};           ///< elements that one copy brings
  unsigned swizzle_bytes = 0;                   ///< 0, 32, 64 or 128
};

/// The engine's own form of a TensorLayout, handed to a kernel by value.
struct alignas(64) TensorMap {
  std::array<std::byte, 128> opaque{};
};

/// One kernel argument: a device address, a number or a tensor map.
class Argument {
 public:
  enum class Kind { address, value };

  Argument() = default;
  Argument(const void* address) : kind_(Kind::address), address_(address) {}  // NOLINT
  Argument(const TensorMap& map) : size_(sizeof map), map_(&map) {}           // NOLINT
  template <class T>
  requires std::is_arithmetic_v<T> Argument(T value) : size_(sizeof value) {  // NOLINT
    std::memcpy(value_.data(), &value, sizeof value);
  }

  Kind kind() const { return kind_; }
  const void* address() const { return address_; }
  /// A value's bytes; a tensor map must outlive the launch call.
  const void* bytes() const {
    return map_ != nullptr ? static_cast<const void*>(map_) : value_.data();
  }
  std::size_t size() const { return size_; }

 private:
  Kind kind_ = Kind::value;
  std::size_t size_ = 0;
  const void* address_ = nullptr;
  const TensorMap* map_ = nullptr;
  alignas(8) std::array<std::byte, 8> value_{};
};

}  // namespace tautline::device
