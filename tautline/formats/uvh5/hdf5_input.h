// HDF5 for one reader: values and arrays whose shapes are checked before anything is allocated.
// Included by .cpp files of formats/ only.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tautline/formats/uvh5/hdf5_file.h"

namespace tautline::formats::hdf5 {

/// An existing file, read by one thread. Every call throws Error(format) with the file and the
/// dataset. Callers hold a QuietErrors.
class Hdf5Input {
 public:
  /// Throws Error(io) when the file cannot be opened and Error(format) when it is not HDF5; that error names the kind
  /// of file that it seems to be, and the kind that was `expected`.
  Hdf5Input(const std::string& path, const std::string& expected);

  const std::string& path() const { return path_; }
  bool has(const std::string& name) const;
  /// Names of the links of a group, in order of name; empty when there is no such group.
  std::vector<std::string> names(const std::string& group) const;

  /// Lengths of the axes of a dataset, empty for a single value.
  std::vector<hsize_t> shape(const std::string& dataset) const;
  std::int64_t integer(const std::string& dataset) const;
  double number(const std::string& dataset) const;
  /// Text; numbers and booleans are written out. Nothing for a dataset of another kind.
  std::optional<std::string> text(const std::string& dataset) const;
  /// A boolean as h5py writes it, or an integer that is not 0.
  bool truth(const std::string& dataset) const;
  /// Whether its elements are integers.
  bool is_integer(const std::string& dataset) const;
  /// The whole dataset, row-major, which must have `size` elements.
  std::vector<double> numbers(const std::string& dataset, std::size_t size) const;
  std::vector<std::int64_t> integers(const std::string& dataset, std::size_t size) const;
  std::vector<std::string> texts(const std::string& dataset, std::size_t size) const;
  /// Rows [first, first + count) of every `step`-th row, into dense memory of `type`.
  void rows(const std::string& dataset, hid_t type, hsize_t first, hsize_t count, hsize_t step,
            void* values) const;

  /// Attributes of the file itself: a number; a text, empty where the attribute is absent.
  double attribute(const std::string& name) const;
  std::string text_attribute(const std::string& name) const;

  /// Throws Error(format) about a dataset.
  [[noreturn]] void fail(const std::string& dataset, const std::string& found,
                         const std::string& expected, const std::string& advice = {}) const;

 private:
  Handle open(const std::string& dataset) const;
  void check_size(const std::string& dataset, std::size_t size) const;
  void read_all(const std::string& dataset, const Handle& opened, hid_t type, void* values,
                const char* expected) const;
  template <class T>
  std::vector<T> read_all(const std::string& dataset, hid_t type, std::size_t size) const;

  std::string path_;
  Handle file_;
};

}  // namespace tautline::formats::hdf5
