#include "tautline/formats/uvh5/hdf5_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "tautline/core/error.h"
#include "tautline/formats/seeming_kind.h"

namespace tautline::formats::hdf5 {
namespace {

using core::Error;
using core::ErrorKind;

// A longer string is taken for damage: no history is this long.
constexpr std::size_t kMostTextBytes = std::size_t{1} << 24;

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::string trimmed(const char* bytes, std::size_t size) {
  std::string text(bytes, strnlen(bytes, size));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

Handle type_of(const Handle& dataset) {
  return {H5Dget_type(dataset.get()), H5Tclose};
}

Handle space_of(const Handle& dataset) {
  return {H5Dget_space(dataset.get()), H5Sclose};
}

}  // namespace

Hdf5Input::Hdf5Input(const std::string& path, const std::string& expected) : path_(path) {
  const auto refuse_kind = [&](const std::string& kind) {
    const std::string advice = how_to_decompress(path);
    throw Error(ErrorKind::format, path, fmt::format("seems to be {}", kind), expected,
                advice.empty() ? "give a file of that kind" : advice);
  };
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored))
    refuse_kind(seeming_kind(path));
  if (!std::ifstream(path, std::ios::binary))
    throw Error(ErrorKind::io, path, std::string("cannot be opened: ") + std::strerror(errno), "",
                "check the name and the permissions");
  file_ = Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (file_.get() >= 0) return;
  if (const std::string kind = seeming_kind(path); !kind.empty() && kind != "HDF5")
    refuse_kind(kind);
  // Which kind of HDF5 it is cannot be told.
  throw Error(ErrorKind::format, path, "HDF5 that cannot be read", "a whole file",
              "it may be cut short: write or copy it again");
}

void Hdf5Input::fail(const std::string& dataset, const std::string& found,
                     const std::string& expected, const std::string& advice) const {
  throw Error(ErrorKind::format, fmt::format("{}: {}", path_, dataset), found, expected, advice);
}

bool Hdf5Input::has(const std::string& name) const {
  // H5Lexists fails, rather than says no, when a group on the way is missing.
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1))
    if (H5Lexists(file_.get(), name.substr(0, slash).c_str(), H5P_DEFAULT) <= 0) return false;
  return H5Lexists(file_.get(), name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Hdf5Input::names(const std::string& group) const {
  std::vector<std::string> found;
  if (!has(group)) return found;
  const Handle opened(H5Gopen2(file_.get(), group.c_str(), H5P_DEFAULT), H5Gclose);
  if (opened.get() < 0) fail(group, "not a group", "a group");
  H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect_name, &found);
  return found;
}

Handle Hdf5Input::open(const std::string& dataset) const {
  if (!has(dataset))
    fail(dataset, "missing", "a dataset",
         "the program that wrote the file may have ended too early: write it again");
  Handle opened(H5Dopen2(file_.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (opened.get() < 0) fail(dataset, "unreadable", "a dataset");
  return opened;
}

void Hdf5Input::read_all(const std::string& dataset, const Handle& opened, hid_t type, void* values,
                         const char* expected) const {
  if (H5Dread(opened.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    fail(dataset, "unreadable", expected);
}

std::vector<hsize_t> Hdf5Input::shape(const std::string& dataset) const {
  const Handle opened = open(dataset);
  const Handle space = space_of(opened);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 0) fail(dataset, "without a shape", "an array");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), lengths.data(), nullptr);
  return lengths;
}

void Hdf5Input::check_size(const std::string& dataset, std::size_t size) const {
  const Handle opened = open(dataset);
  const Handle space = space_of(opened);
  const hssize_t found = H5Sget_simple_extent_npoints(space.get());
  if (found < 0 || static_cast<std::size_t>(found) != size)
    fail(dataset, fmt::format("{} values of shape ({})", found, fmt::join(shape(dataset), ", ")),
         fmt::to_string(size));
}

template <class T>
std::vector<T> Hdf5Input::read_all(const std::string& dataset, hid_t type, std::size_t size) const {
  check_size(dataset, size);
  std::vector<T> values(size);
  read_all(dataset, open(dataset), type, values.data(), "numbers");
  return values;
}

std::vector<double> Hdf5Input::numbers(const std::string& dataset, std::size_t size) const {
  return read_all<double>(dataset, H5T_NATIVE_DOUBLE, size);
}

std::vector<std::int64_t> Hdf5Input::integers(const std::string& dataset, std::size_t size) const {
  return read_all<std::int64_t>(dataset, H5T_NATIVE_INT64, size);
}

std::int64_t Hdf5Input::integer(const std::string& dataset) const {
  return integers(dataset, 1).front();
}

double Hdf5Input::number(const std::string& dataset) const {
  return numbers(dataset, 1).front();
}

std::vector<std::string> Hdf5Input::texts(const std::string& dataset, std::size_t size) const {
  check_size(dataset, size);
  const Handle opened = open(dataset);
  const Handle type = type_of(opened);
  if (H5Tget_class(type.get()) != H5T_STRING) fail(dataset, "not text", "text");
  std::vector<std::string> found;
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char*> pointers(size, nullptr);
    const Handle space = space_of(opened);
    read_all(dataset, opened, type.get(), pointers.data(), "text");
    for (const char* text : pointers) found.emplace_back(text == nullptr ? "" : text);
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
    return found;
  }
  const std::size_t length = H5Tget_size(type.get());
  if (length == 0 || size > kMostTextBytes / length)
    fail(dataset, fmt::format("{} strings of {} bytes", size, length), "less than 16 MiB of text");
  std::vector<char> bytes(size * length);
  read_all(dataset, opened, type.get(), bytes.data(), "text");
  for (std::size_t k = 0; k < size; ++k) found.push_back(trimmed(&bytes[k * length], length));
  return found;
}

bool Hdf5Input::is_integer(const std::string& dataset) const {
  const Handle opened = open(dataset);
  const Handle type = type_of(opened);
  return H5Tget_class(type.get()) == H5T_INTEGER;
}

bool Hdf5Input::truth(const std::string& dataset) const {
  if (is_integer(dataset)) return integer(dataset) != 0;
  check_size(dataset, 1);
  std::int8_t value = 0;
  read_all(dataset, open(dataset), bool_type().get(), &value, "a boolean");
  return value != 0;
}

std::optional<std::string> Hdf5Input::text(const std::string& dataset) const {
  const Handle opened = open(dataset);
  const Handle type = type_of(opened);
  const Handle space = space_of(opened);
  if (H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  switch (H5Tget_class(type.get())) {
    case H5T_STRING:
      return texts(dataset, 1).front();
    case H5T_INTEGER:
      return fmt::to_string(integer(dataset));
    case H5T_FLOAT:
      return fmt::to_string(number(dataset));
    default:
      return std::nullopt;
  }
}

void Hdf5Input::rows(const std::string& dataset, hid_t type, hsize_t first, hsize_t count,
                     hsize_t step, void* values) const {
  const Handle opened = open(dataset);
  std::vector<hsize_t> block = shape(dataset);
  std::vector<hsize_t> start(block.size(), 0), stride(block.size(), 1), counts(block.size(), 1);
  // One block of whole rows when they are adjacent, or `count` blocks of one row each.
  start[0] = first;
  block[0] = step == 1 ? count : 1;
  stride[0] = step == 1 ? count : step;
  counts[0] = step == 1 ? 1 : count;
  const Handle space = space_of(opened);
  std::vector<hsize_t> shape_in_memory = block;
  shape_in_memory[0] = count;
  const Handle memory(
      H5Screate_simple(static_cast<int>(shape_in_memory.size()), shape_in_memory.data(), nullptr),
      H5Sclose);
  for (std::size_t axis = 1; axis < stride.size(); ++axis) stride[axis] = block[axis];
  if (H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), stride.data(), counts.data(),
                          block.data()) < 0 ||
      H5Dread(opened.get(), type, memory.get(), space.get(), H5P_DEFAULT, values) < 0)
    fail(dataset, fmt::format("rows {} to {} unreadable", first, first + (count - 1) * step),
         "whole data", "the file may be cut short");
}

double Hdf5Input::attribute(const std::string& name) const {
  if (H5Aexists(file_.get(), name.c_str()) <= 0) fail(name, "missing", "an attribute of the file");
  const Handle opened(H5Aopen(file_.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle space(H5Aget_space(opened.get()), H5Sclose);
  double value = 0;
  if (H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(opened.get(), H5T_NATIVE_DOUBLE, &value) < 0)
    fail(name, "unreadable", "an attribute that is one number");
  return value;
}

std::string Hdf5Input::text_attribute(const std::string& name) const {
  if (H5Aexists(file_.get(), name.c_str()) <= 0) return {};
  const Handle opened(H5Aopen(file_.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
  const Handle type(H5Aget_type(opened.get()), H5Tclose),
      space(H5Aget_space(opened.get()), H5Sclose);
  if (H5Tget_class(type.get()) != H5T_STRING || H5Sget_simple_extent_npoints(space.get()) != 1)
    return {};
  if (H5Tis_variable_str(type.get()) > 0) {
    char* text = nullptr;
    if (H5Aread(opened.get(), type.get(), &text) < 0 || text == nullptr) return {};
    std::string found = text;
    H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, &text);
    return found;
  }
  const std::size_t length = H5Tget_size(type.get());
  if (length == 0 || length > kMostTextBytes) return {};
  std::vector<char> bytes(length);
  if (H5Aread(opened.get(), type.get(), bytes.data()) < 0) return {};
  return trimmed(bytes.data(), length);
}

}  // namespace tautline::formats::hdf5
