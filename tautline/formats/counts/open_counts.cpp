// Counts in NPY arrays and in raw files: rows of sensors, one after the other.
//
// NPY: u1, u2, u4 and f4 as they are; i1, i2, i4, i8, u8 and f8 are converted, and a count that
// does not fit is an error that says where. Either byte order. Shapes are [time], [time][sensor]
// and [time][row][column].
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tautline/core/counted.h"
#include "tautline/core/error.h"
#include "tautline/core/sample_view.h"
#include "tautline/formats/count_reader.h"
#include "tautline/formats/file_formats.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/npy/header.h"
#include "tautline/formats/npy/npy.h"
#include "tautline/formats/npy/series.h"
#include "tautline/formats/seeming_kind.h"
#include "tautline/formats/text.h"

namespace tautline::formats {

namespace {

using core::SampleType;

// The type of counts that holds every value of an element, as far as there is one.
SampleType natural_type(SampleType element) {
  switch (element) {
    case SampleType::u8:
    case SampleType::i8:
      return SampleType::u8;
    case SampleType::u16:
    case SampleType::i16:
      return SampleType::u16;
    case SampleType::f32:
    case SampleType::f64:
      return SampleType::f32;
    default:
      return SampleType::u32;
  }
}

// Calls body(typed view) for elements of any type that files have.
template <class Body>
auto with_elements(const core::SampleView<1>& elements, const Body& body) {
  return core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int8_t,
                         std::int16_t, std::int32_t, std::int64_t, float, double>(
      elements, "type of the elements", body);
}

// Converts elements; returns the first that does not fit, or how many there are.
template <class From, class To>
std::size_t convert(const core::View<From, 1>& from, const core::View<To, 1>& to) {
  for (std::size_t i = 0; i < from.extent(0); ++i) {
    const From x = from(i);
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
    to(i) = static_cast<To>(x);
  }
  return from.extent(0);
}

std::size_t convert(const core::SampleView<1>& from, const core::MutableSampleView<1>& to) {
  return with_elements(from, [&](const auto& elements) {
    return core::with_type<std::uint8_t, std::uint16_t, std::uint32_t, float>(
        to, "type", [&](const auto& counts) { return convert(elements, counts); });
  });
}

/// The places of a file's rows.
struct Rows {
  SampleType element = SampleType::u8;
  std::uint64_t offset_bytes = 0;
  std::uint64_t count = 0;
  bool big_endian = false;
};

void swap_bytes(std::span<std::byte> elements, std::size_t element_bytes) {
  for (; !elements.empty(); elements = elements.subspan(element_bytes))
    std::reverse(elements.begin(), elements.begin() + static_cast<std::ptrdiff_t>(element_bytes));
}

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
    const std::size_t file_row_bytes = sensors * core::bytes_of(rows_.element);
    const std::uint64_t at = rows_.offset_bytes + next_ * file_row_bytes;
    const bool plain = rows_.element == description_.type;
    if (!plain) raw_.resize(rows * file_row_bytes);
    const auto target = plain ? counts.first(rows * row_bytes) : std::span<std::byte>(raw_);
    file_.read_whole(at, target);
    if (rows_.big_endian) swap_bytes(target, core::bytes_of(rows_.element));
    if (!plain)
      convert_rows(counts.data(), rows * sensors);
    else if (rows_.element == SampleType::f32)
      check_fit(counts.data(), first_bad_float(counts.first(rows * row_bytes)), rows * sensors);
    next_ += rows;
    return rows;
  }

 private:
  void convert_rows(std::byte* to, std::size_t count) const {
    check_fit(raw_.data(),
              convert({raw_.data(), rows_.element, {count}}, {to, description_.type, {count}}),
              count);
  }

  bool are_arrival_times(const std::byte* from, std::size_t count) const {
    constexpr std::size_t kFewest = 16;
    if (description_.sensors != 1 || count < kFewest) return false;
    return with_elements({from, rows_.element, {count}}, [&](const auto& all) {
      for (std::size_t k = 1; k < count; ++k)
        if (!(all(k - 1) < all(k))) return false;
      return true;
    });
  }

  // `from` are the file's elements, of which the first `good` of `count` fit.
  void check_fit(const std::byte* from, std::size_t good, std::size_t count) const {
    if (good == count) return;
    const std::string found = with_elements(
        {from, rows_.element, {count}}, [&](const auto& all) { return std::to_string(all(good)); });
    throw format_error(
        file_.path(),
        "count at time " + std::to_string(next_ + good / description_.sensors) + ", sensor " +
            std::to_string(good % description_.sensors),
        found,
        "a count of 0 or more that " + std::string(core::to_string(description_.type)) + " holds",
        are_arrival_times(from, count) ? "these ascend as arrival times do: numpy.bincount(t "
                                         "// bin) makes counts of them"
        : found.starts_with('-')       ? "voltages need `rate_hz`; counts are not negative"
        : description_.type == SampleType::f32 ? "correct the file"
                                               : "choose a wider `dtype`, or correct the file");
  }

  InputFile file_;
  Rows rows_;
  std::uint64_t next_ = 0;
  std::vector<std::byte> raw_;
};

// The whole rows of the file, and the bytes left over.
std::uint64_t whole_rows(const InputFile& file, std::uint64_t offset_bytes, std::uint64_t row_bytes,
                         Damage& damage) {
  const std::uint64_t held = file.size() - std::min(file.size(), offset_bytes);
  if (held % row_bytes != 0) {
    damage.trailing_bytes += held % row_bytes;
    damage.note(file.path() + ": last " + core::counted(held % row_bytes, "byte") + ", from byte " +
                std::to_string(file.size() - held % row_bytes) + ", expected whole times of " +
                core::counted(row_bytes, "byte") + "; they are left out");
  }
  return held / row_bytes;
}

SampleType element_of(const npy::Header& header, const std::string& path) {
  using enum SampleType;
  static constexpr std::pair<const char*, SampleType> kElements[] = {
      {"u1", u8},  {"u2", u16}, {"u4", u32}, {"u8", u64}, {"b1", u8}, {"i1", i8},
      {"i2", i16}, {"i4", i32}, {"i8", i64}, {"f4", f32}, {"f8", f64}};
  const std::string& type = header.type;
  if (type.size() == 3 && (type[0] == '<' || type[0] == '>' || (type[0] == '|' && type[2] == '1')))
    for (const auto& [name, element] : kElements)
      if (type.substr(1) == name) return element;
  throw format_error(path, "type of the elements, descr", type,
                     "bool, u1, u2, u4, u8, i1, i2, i4, i8, f4 or f8",
                     "convert the array, for example with astype('uint16')");
}

// The bin of simulated counts, X.npy, from X.truth.json beside them, where that is of this file.
void take_bin_of_truth(const std::string& path, CountDescription& description) {
  using Json = nlohmann::json;
  if (!path.ends_with(".npy")) return;
  const std::string beside = path.substr(0, path.size() - 4) + ".truth.json";
  std::ifstream file(beside);
  if (!file) return;
  const Json truth = Json::parse(file, nullptr, false);
  if (!truth.is_object() || truth.value("schema", Json()) != "tautline.truth.photons") return;
  const Json of = truth.value("file", Json()), bin_s = truth.value("bin_s", Json());
  const auto name = [](const std::string& of_path) {
    return std::filesystem::path(of_path).filename();
  };
  if (!of.is_string() || name(of.get<std::string>()) != name(path)) return;
  if (!bin_s.is_number() || !(bin_s.get<double>() > 0)) return;
  description.bin_s = bin_s.get<double>();
  description.bin_reason = "as " + beside + " says";
}

std::unique_ptr<CountReader> open_npy(InputFile file, const RawCounts& raw) {
  const std::string path = file.path();
  const npy::Header header = npy::parse_header(file.head(npy::kMaxHeaderBytes), path);
  CountDescription description = describe_npy(header, path);
  take_bin_of_truth(path, description);
  Rows rows{description.type, header.data_offset_bytes, 0, header.type.starts_with('>')};
  description.type = raw.dtype.value_or(natural_type(rows.element));
  Damage damage;
  const std::uint64_t row_bytes = description.sensors * core::bytes_of(rows.element);
  rows.count = header.shape[0];
  const std::uint64_t held_bytes = file.size() - std::min(file.size(), rows.offset_bytes);
  const std::uint64_t held = held_bytes / row_bytes;
  if (held >= rows.count && held_bytes > rows.count * row_bytes) {
    damage.trailing_bytes = held_bytes - rows.count * row_bytes;
    damage.note(path + ": bytes behind the array, byte " +
                std::to_string(rows.offset_bytes + rows.count * row_bytes) + ": " +
                std::to_string(damage.trailing_bytes) + ", expected none; they are left out");
  }
  if (held < rows.count) {
    damage.lost_samples = (rows.count - held) * description.sensors;
    damage.note(path + ": cut short: " + core::counted(held, "time") + ", expected " +
                std::to_string(rows.count) + " as the header says; the whole ones are taken");
    rows.count = held;
  }
  return std::make_unique<RowReader>(std::move(file), std::move(description), rows,
                                     std::move(damage));
}

std::unique_ptr<CountReader> open_raw(InputFile file, const RawCounts& raw) {
  CountDescription description = describe_raw(raw, file.path());
  if (raw.header_bytes > file.size())
    throw core::Error(core::ErrorKind::config, file.path() + ": header",
                      std::to_string(raw.header_bytes) + " bytes",
                      "at most the file's " + std::to_string(file.size()));
  Rows rows{*raw.dtype, raw.header_bytes, 0};
  Damage damage;
  rows.count =
      whole_rows(file, rows.offset_bytes, raw.sensors * core::bytes_of(rows.element), damage);
  return std::make_unique<RowReader>(std::move(file), std::move(description), rows,
                                     std::move(damage));
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

bool recognise_counts(std::span<const std::byte> first_bytes, const std::string& path) {
  if (find_format(&FileFormat::counts, first_bytes, path) == nullptr) return false;
  if (!npy::recognise(first_bytes, path)) return true;
  if (npy::has_channelize_record(path)) return false;
  const npy::Header header = npy::parse_header(InputFile(path).head(npy::kMaxHeaderBytes), path);
  return header.type.find('c') == std::string::npos && header.shape.size() <= 3;
}

bool may_be_raw_counts(const std::string& path) {
  return lower(path).ends_with(".raw") && seeming_kind(path).empty();
}

std::unique_ptr<CountReader> open_counts(const std::string& path, const RawCounts& raw) {
  constexpr std::size_t kFirstBytes = 64;
  InputFile file(path, raw.dtype ? InputFile::IfEmpty::taken : InputFile::IfEmpty::refused);
  if (const FileFormat* format = find_format(&FileFormat::counts, file.head(kFirstBytes), path))
    return format->counts(path, raw);
  const auto refuse = [&](const std::string& more) {
    return other_kind(path,
                      names_and_endings_of(formats_with(&FileFormat::counts)) +
                          " counts, photon time tags, or raw counts with `dtype`" + more,
                      "");
  };
  // Without a type, a file named .raw is not refused as another kind: several formats have that ending.
  if (!raw.dtype && !may_be_raw_counts(path) &&
      !(commands_for(path).empty() && seeming_kind(path).empty()))
    throw refuse("");
  // With a type, any file may hold counts except a known kind of text and what is named as compressed, and a file of a
  // known format only behind its header.
  if (raw.dtype && (is_known_text(path) || is_named_compressed(path))) throw refuse("");
  if (raw.dtype && raw.header_bytes == 0 && is_known_format(path))
    throw refuse(" (of a file with another header: behind it, with `header_bytes`)");
  // Of counts that scatter, some would be of the numbers that no text has.
  if (raw.dtype && raw.header_bytes == 0 && is_lines_of_text(path))
    throw core::Error(core::ErrorKind::format, path + ": kind of file", "text",
                      "raw counts, which are binary",
                      "make it an array: numpy.save(\"x.npy\", numpy.loadtxt(...).astype(\"u2\"))");
  return open_raw(std::move(file), raw);
}

CountDescription describe_raw(const RawCounts& raw, const std::string& name) {
  if (!raw.dtype)
    throw core::Error(core::ErrorKind::config, name + ": type of the counts", "unknown",
                      "u8, u16, u32 or f32, which raw counts cannot say", "give `dtype`");
  if (raw.sensors == 0)
    throw core::Error(core::ErrorKind::config, name + ": number of sensors", "unknown",
                      "1 or more, which raw counts cannot say", "give `sensors` or `shape`");
  return {.format = "raw", .type = *raw.dtype, .sensors = raw.sensors};
}

CountDescription describe_npy(const npy::Header& header, const std::string& path) {
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
  CountDescription description{.format = "NPY",
                               .type = element_of(header, path),
                               .sensors = static_cast<std::size_t>(second * third)};
  if (shape.size() == 3) {
    description.rows = static_cast<std::size_t>(second);
    description.columns = static_cast<std::size_t>(third);
  }
  return description;
}

std::unique_ptr<CountReader> open_npy_counts(const std::string& path, const RawCounts& raw) {
  const auto refuse = [&](const char* kind, const char* readers) {
    return core::Error(core::ErrorKind::format, path + ": kind of file", kind, "counts of photons",
                       std::string(readers) + "; where it holds counts, " + path +
                           ".json beside it is of another array: take that away");
  };
  if (npy::trials_of_series(path) > 0)
    throw refuse("dedispersed series", "search and plot read it");
  if (npy::has_channelize_record(path))
    throw refuse("channelized voltages", "correlate and plot read it");
  return open_npy(InputFile(path), raw);
}

}  // namespace tautline::formats
