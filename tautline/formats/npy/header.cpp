#include "tautline/formats/npy/header.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <system_error>

#include "tautline/formats/input_file.h"

namespace tautline::formats::npy {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignBytes = 64;
constexpr std::size_t kMaxAxes = 32;  // as numpy's own

// Reads the dictionary literal that numpy writes: strings, True and False, tuples of integers.
class Literal {
 public:
  Literal(std::string_view text, std::string file) : text_(text), file_(std::move(file)) {}

  Header parse() {
    Header header;
    bool type = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"')
          throw fail("a structured type", "one plain type, such as '<c8'",
                     "save each field as an array of its own");
        header.type = string();
        type = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        throw fail("key '" + key + "'", "descr, fortran_order and shape");
      }
      if (!accept(',') && peek() != '}') throw fail(rest(), "a comma or the closing brace");
    }
    skip_blanks();
    if (at_ != text_.size()) throw fail(rest(), "nothing behind the closing brace");
    if (!type || !order || !shape) throw fail("keys missing", "descr, fortran_order and shape");
    return header;
  }

 private:
  core::Error fail(const std::string& found, const std::string& expected,
                   const std::string& advice = "save the array again with numpy") const {
    return format_error(file_, "NPY header, character " + std::to_string(at_), found, expected,
                        advice);
  }
  std::string rest() const {
    constexpr std::size_t kShown = 20;
    return at_ >= text_.size() ? "its end" : "'" + std::string(text_.substr(at_, kShown)) + "'";
  }
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw fail(rest(), std::string("'") + c + "'");
  }

  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw fail(rest(), "a quoted name");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) throw fail(rest(), "a closing quote");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return word == "True";
    }
    throw fail(rest(), "True or False");
  }

  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> values;
    expect('(');
    while (!accept(')')) {
      if (values.size() == kMaxAxes) throw fail("more axes", std::to_string(kMaxAxes) + " axes");
      skip_blanks();
      std::uint64_t value = 0;
      const char* end = text_.data() + text_.size();
      const auto result = std::from_chars(text_.data() + at_, end, value);
      if (result.ec != std::errc{} || value > std::numeric_limits<std::int64_t>::max())
        throw fail(rest(), "an extent of 0 to 9223372036854775807");
      at_ = static_cast<std::size_t>(result.ptr - text_.data());
      (void)accept('L');  // as Python 2 wrote them
      values.push_back(value);
      if (!accept(',') && peek() != ')') throw fail(rest(), "a comma or the closing bracket");
    }
    return values;
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
};

}  // namespace

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (std::size_t a = 0; a < shape.size(); ++a)
    text += (a > 0 ? ", " : "") + std::to_string(shape[a]);
  return text + ")";
}

std::size_t element_bytes(const std::string& type) {
  std::size_t bytes = 0;
  const auto digits =
      std::find_if(type.begin(), type.end(), [](char c) { return c >= '0' && c <= '9'; });
  const char* first = type.data() + (digits - type.begin());
  const char* end = type.data() + type.size();
  const auto result = std::from_chars(first, end, bytes);
  return result.ec == std::errc{} && result.ptr == end ? bytes : 0;
}

Header parse_header(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || text.size() < kMagic.size() + 4)
    throw format_error(file, "first bytes of the file",
                       text.starts_with(kMagic) ? "cut short" : "no NPY mark", "\\x93NUMPY",
                       "save the array with numpy.save");
  const auto byte = [&](std::size_t k) { return std::to_integer<std::size_t>(bytes[k]); };
  const std::size_t version = byte(kMagic.size());
  if (version < 1 || version > 3)
    throw format_error(file, "NPY version", std::to_string(version), "1, 2 or 3",
                       "save the array again");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = kMagic.size() + 2 + length_bytes;
  std::size_t length = 0;
  if (text.size() >= begin)
    for (std::size_t k = 0; k < length_bytes; ++k) length |= byte(kMagic.size() + 2 + k) << (8 * k);
  if (text.size() < begin || length > text.size() - begin)
    throw format_error(file, "length of the NPY header in bytes", std::to_string(length),
                       "at most the " +
                           std::to_string(text.size() < begin ? 0 : text.size() - begin) +
                           " that follow",
                       "the file is cut short or no NPY file");
  Header header = Literal(text.substr(begin, length), file).parse();
  header.data_offset_bytes = begin + length;
  return header;
}

std::string format_header(const std::string& type, const std::vector<std::uint64_t>& shape,
                          std::size_t least_bytes) {
  std::string text = "{'descr': '" + type + "', 'fortran_order': False, 'shape': ";
  text += (shape.size() == 1 ? "(" + std::to_string(shape[0]) + ",)" : shape_text(shape)) + ", }";
  constexpr std::size_t kFixedBytes = 10;  // mark, version, length
  const std::size_t whole = std::max(kFixedBytes + text.size() + 1, least_bytes);
  const std::size_t rounded = (whole + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  text.resize(rounded - kFixedBytes - 1, ' ');
  text += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\0';
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8 & 0xff);
  return header + text;
}

}  // namespace tautline::formats::npy
