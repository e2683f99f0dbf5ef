// Counts in NPY arrays and in raw files: rows of sensors, one after the other.
//
// NPY: u1, u2, u4 and f4 as they are; i1, i2, i4, i8, u8 and f8 are converted, and a count that
// does not fit is an error that says where. Shapes are [time], [time][sensor] and
// [time][row][column].
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tautline/core/error.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"

namespace tautline::formats {

namespace {

using core::CountType;

/// Types of elements in files.
enum class Element { u1, u2, u4, u8, i1, i2, i4, i8, f4, f8 };

// Calls `action` with a value of the element's type.
template <class Action>
auto of_type(Element element, Action action) {
  switch (element) {
    case Element::u1:
      return action(std::uint8_t{});
    case Element::u2:
      return action(std::uint16_t{});
    case Element::u4:
      return action(std::uint32_t{});
    case Element::u8:
      return action(std::uint64_t{});
    case Element::i1:
      return action(std::int8_t{});
    case Element::i2:
      return action(std::int16_t{});
    case Element::i4:
      return action(std::int32_t{});
    case Element::i8:
      return action(std::int64_t{});
    case Element::f4:
      return action(float{});
    default:
      return action(double{});
  }
}

std::size_t bytes_of(Element element) {
  return of_type(element, [](auto value) { return sizeof value; });
}

// The type that holds every value of an element, as far as there is one.
CountType natural_type(Element element) {
  return of_type(element, []<class Value>(Value) {
    return std::is_floating_point_v<Value> ? CountType::f32
           : sizeof(Value) == 1            ? CountType::u8
           : sizeof(Value) == 2            ? CountType::u16
                                           : CountType::u32;
  });
}

// The element that is a count as it stands.
Element element_of(CountType type) {
  return type == CountType::u8    ? Element::u1
         : type == CountType::u16 ? Element::u2
         : type == CountType::u32 ? Element::u4
                                  : Element::f4;
}

// Converts `count` elements; returns the first that does not fit, or `count`.
template <class From, class To>
std::size_t convert(const std::byte* from, std::size_t count, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    From x;
    std::memcpy(&x, from + i * sizeof x, sizeof x);
    if constexpr (std::is_floating_point_v<From>) {
      // NaN is neither.
      if (!(x >= 0 && x <= static_cast<From>(std::numeric_limits<To>::max()))) return i;
      if constexpr (!std::is_floating_point_v<To>)
        if (x != std::floor(x)) return i;
    } else if constexpr (std::is_floating_point_v<To>) {
      if (std::cmp_less(x, 0)) return i;
    } else {
      if (std::cmp_less(x, 0) || std::cmp_greater(x, std::numeric_limits<To>::max())) return i;
    }
    const To y = static_cast<To>(x);
    std::memcpy(to + i * sizeof y, &y, sizeof y);
  }
  return count;
}

template <class From>
std::size_t convert_to(CountType type, const std::byte* from, std::size_t count, std::byte* to) {
  switch (type) {
    case CountType::u8:
      return convert<From, std::uint8_t>(from, count, to);
    case CountType::u16:
      return convert<From, std::uint16_t>(from, count, to);
    case CountType::u32:
      return convert<From, std::uint32_t>(from, count, to);
    default:
      return convert<From, float>(from, count, to);
  }
}

std::string value_text(Element element, const std::byte* at) {
  return of_type(element, [at]<class Value>(Value value) {
    std::memcpy(&value, at, sizeof value);
    return std::to_string(value);
  });
}

/// Where a file's rows lie.
struct Rows {
  Element element = Element::u1;
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;
};

class RowReader final : public CountReader {
 public:
  RowReader(InputFile file, CountDescription description, const Rows& rows, Damage damage)
      : file_(std::move(file)), rows_(rows) {
    description_ = std::move(description);
    damage_ = std::move(damage);
    file_.sequential();
  }
  std::uint64_t total_samples() const override { return rows_.count; }
  void seek(std::uint64_t first_sample) override { next_ = std::min(first_sample, rows_.count); }

  std::size_t read(std::span<std::byte> counts) override {
    const std::size_t sensors = description_.sensors;
    const std::size_t row_bytes = sensors * core::bytes_of(description_.type);
    const std::size_t rows = static_cast<std::size_t>(
        std::min<std::uint64_t>(counts.size() / row_bytes, rows_.count - next_));
    if (rows == 0) return 0;
    const std::size_t file_row_bytes = sensors * bytes_of(rows_.element);
    const std::uint64_t at = rows_.offset_bytes + next_ * file_row_bytes;
    const bool plain = rows_.element == element_of(description_.type);
    if (!plain) raw_.resize(rows * file_row_bytes);
    const auto target = plain ? counts.first(rows * row_bytes) : std::span<std::byte>(raw_);
    if (file_.read(at, target) != target.size())
      throw core::Error(core::ErrorKind::io, file_.path(), "ended while it was read",
                        std::to_string(at + target.size()) + " bytes as when it was opened");
    if (!plain)
      convert_rows(counts.data(), rows * sensors);
    else if (rows_.element == Element::f4)
      check_fit(counts.data(), first_bad_float(counts.first(rows * row_bytes)), rows * sensors);
    next_ += rows;
    return rows;
  }

 private:
  void convert_rows(std::byte* to, std::size_t count) const {
    const std::size_t good = of_type(rows_.element, [&]<class From>(From) {
      return convert_to<From>(description_.type, raw_.data(), count, to);
    });
    check_fit(raw_.data(), good, count);
  }

  // `from` are the file's elements, of which the first `good` of `count` fit.
  void check_fit(const std::byte* from, std::size_t good, std::size_t count) const {
    if (good == count) return;
    throw format_error(file_.path(),
                       "count at time " + std::to_string(next_ + good / description_.sensors) +
                           ", sensor " + std::to_string(good % description_.sensors),
                       value_text(rows_.element, from + good * bytes_of(rows_.element)),
                       "a count of 0 or more that " + core::to_string(description_.type) + " holds",
                       description_.type == CountType::f32
                           ? "correct the file"
                           : "choose a wider `type`, or correct the file");
  }

  InputFile file_;
  Rows rows_;
  std::uint64_t next_ = 0;
  std::vector<std::byte> raw_;
};

// Whole rows that the file holds, and what is left over.
std::uint64_t whole_rows(const InputFile& file, std::uint64_t offset_bytes, std::uint64_t row_bytes,
                         Damage& damage) {
  const std::uint64_t held = file.size() - std::min(file.size(), offset_bytes);
  if (held % row_bytes != 0) {
    damage.trailing_bytes += held % row_bytes;
    damage.note(file.path() + ": last " + std::to_string(held % row_bytes) + " bytes, from byte " +
                std::to_string(file.size() - held % row_bytes) + ", expected whole times of " +
                std::to_string(row_bytes) + " bytes; they are left out");
  }
  return held / row_bytes;
}

Element element_of(const npy::Header& header, const std::string& path) {
  static constexpr std::pair<const char*, Element> kElements[] = {
      {"u1", Element::u1}, {"u2", Element::u2}, {"u4", Element::u4}, {"u8", Element::u8},
      {"b1", Element::u1}, {"i1", Element::i1}, {"i2", Element::i2}, {"i4", Element::i4},
      {"i8", Element::i8}, {"f4", Element::f4}, {"f8", Element::f8}};
  const std::string& type = header.type;
  if (type.size() == 3 && (type[0] == '<' || (type[0] == '|' && type[2] == '1')))
    for (const auto& [name, element] : kElements)
      if (type.substr(1) == name) return element;
  throw format_error(path, "type of the elements, descr", type,
                     "bool or little-endian u1, u2, u4, u8, i1, i2, i4, i8, f4 or f8",
                     "convert the array, for example with astype('uint16')");
}

std::unique_ptr<CountReader> open_npy(InputFile file, const RawCounts& raw) {
  const std::string path = file.path();
  const npy::Header header = npy::parse_header(file.head(npy::kMaxHeaderBytes), path);
  const auto& shape = header.shape;
  constexpr std::uint64_t kMaxSensors = std::uint64_t{1} << 24;
  const std::uint64_t second = shape.size() > 1 ? shape[1] : 1;
  const std::uint64_t third = shape.size() > 2 ? shape[2] : 1;
  if (shape.empty() || shape.size() > 3 || second == 0 || third == 0 || second > kMaxSensors ||
      third > kMaxSensors || second * third > kMaxSensors)
    throw format_error(path, "shape of the array", npy::shape_text(shape),
                       "[time], [time][sensor] or [time][row][column] with 1 to " +
                           std::to_string(kMaxSensors) + " sensors",
                       "reshape the array: time comes first");
  if (header.fortran_order && second * third > 1)
    throw format_error(path, "order of the array", "Fortran", "C: all sensors of a time together",
                       "save numpy.ascontiguousarray(x)");
  Rows rows{element_of(header, path), header.data_offset_bytes, 0};
  CountDescription description{.format = "NPY",
                               .type = raw.type.value_or(natural_type(rows.element)),
                               .sensors = static_cast<std::size_t>(second * third)};
  if (shape.size() == 3) {
    description.rows = static_cast<std::size_t>(second);
    description.columns = static_cast<std::size_t>(third);
  }
  Damage damage;
  const std::uint64_t row_bytes = description.sensors * bytes_of(rows.element);
  rows.count = shape[0];
  const std::uint64_t held = (file.size() - std::min(file.size(), rows.offset_bytes)) / row_bytes;
  if (held < rows.count) {
    damage.lost_samples = (rows.count - held) * description.sensors;
    damage.note(path + ": cut short: " + std::to_string(held) + " times, expected " +
                std::to_string(rows.count) + " as the header says; those there are are taken");
    rows.count = held;
  }
  return std::make_unique<RowReader>(std::move(file), std::move(description), rows,
                                     std::move(damage));
}

std::unique_ptr<CountReader> open_raw(InputFile file, const RawCounts& raw) {
  if (!raw.type)
    throw core::Error(core::ErrorKind::config, file.path() + ": type of the counts", "unknown",
                      "u8, u16, u32 or f32, which a raw file cannot say", "give `type`");
  if (raw.sensors == 0)
    throw core::Error(core::ErrorKind::config, file.path() + ": number of sensors", "unknown",
                      "1 or more, which a raw file cannot say", "give `sensors` or `shape`");
  if (raw.header_bytes > file.size())
    throw core::Error(core::ErrorKind::config, file.path() + ": header",
                      std::to_string(raw.header_bytes) + " bytes",
                      "at most the file's " + std::to_string(file.size()));
  Rows rows{element_of(*raw.type), raw.header_bytes, 0};
  Damage damage;
  rows.count = whole_rows(file, rows.offset_bytes, raw.sensors * bytes_of(rows.element), damage);
  return std::make_unique<RowReader>(
      std::move(file), CountDescription{.format = "raw", .type = *raw.type, .sensors = raw.sensors},
      rows, std::move(damage));
}

}  // namespace

std::size_t first_bad_float(std::span<const std::byte> floats) {
  const std::size_t count = floats.size() / sizeof(float);
  for (std::size_t i = 0; i < count; ++i) {
    float x;
    std::memcpy(&x, floats.data() + i * sizeof x, sizeof x);
    if (!(x >= 0 && x <= std::numeric_limits<float>::max())) return i;
  }
  return count;
}

std::unique_ptr<CountReader> open_counts(const std::string& path, const RawCounts& raw) {
  constexpr std::size_t kFirstBytes = 64;
  InputFile file(path);
  if (const FileFormat* format = find_format(&FileFormat::counts, file.head(kFirstBytes), path))
    return format->counts(path, raw);
  return open_raw(std::move(file), raw);
}

std::unique_ptr<CountReader> open_npy_counts(const std::string& path, const RawCounts& raw) {
  return open_npy(InputFile(path), raw);
}

}  // namespace tautline::formats
