// Puts a program's text together: dialect, kernel file, the files that it includes.
#include <algorithm>
#include <optional>
#include <set>

#include "tautline/core/error.h"
#include "tautline/jit/program.h"

namespace tautline::jit {

namespace {

using core::Error;
using core::ErrorKind;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

// The NAME of a line `#include "NAME"`.
std::optional<std::string_view> included_name(std::string_view line) {
  std::string_view rest = trimmed(line);
  if (!rest.starts_with('#')) return {};
  rest = trimmed(rest.substr(1));
  if (!rest.starts_with("include")) return {};
  rest = trimmed(rest.substr(7));
  if (!rest.starts_with('"')) return {};
  rest.remove_prefix(1);
  const std::size_t end = rest.find('"');
  if (end == std::string_view::npos) return {};
  return rest.substr(0, end);
}

std::string line_directive(std::size_t line, std::string_view name) {
  return "#line " + std::to_string(line) + " \"" + std::string(name) + "\"\n";
}

// Appends `text` with its includes. #line makes the compiler's messages name the right file.
class Assembler {
 public:
  void append(std::string_view name, std::string_view text) {
    included_.emplace(name);
    text_ += line_directive(1, name);
    std::size_t number = 1;
    for (std::size_t at = 0; at < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      append_line(name, number, text.substr(at, end - at));
      at = end + 1;
    }
  }
  void append_file(std::string_view name) { append(name, kernel_text(name)); }
  std::string take() { return std::move(text_); }

 private:
  void append_line(std::string_view name, std::size_t number, std::string_view line) {
    const auto wanted = included_name(line);
    if (!wanted) {
      text_.append(line).append("\n");
      return;
    }
    if (kernel_text(*wanted).empty())
      throw Error(ErrorKind::config,
                  "kernel file " + std::string(name) + ", line " + std::to_string(number),
                  "#include \"" + std::string(*wanted) + "\"", "the name of a kernel file");
    if (!included_.contains(std::string(*wanted))) append_file(*wanted);
    text_ += line_directive(number + 1, name);
  }

  std::string text_;
  std::set<std::string, std::less<>> included_;
};

std::string_view dialect_of(device::Api api) {
  if (api == device::Api::cuda) return "jit/dialect_cuda.kernel";
  if (api == device::Api::opencl) return "jit/dialect_opencl.kernel";
  throw Error(ErrorKind::unsupported, "device", "a CPU", "cuda:N or opencl:N",
              "only those run kernels that are compiled at run time");
}

}  // namespace

std::vector<std::string_view> stage_kernels(device::Api api, std::string_view stage) {
  const std::string folder = std::string(stage) + "/";
  std::vector<std::string_view> names;
  for (const std::string_view name : kernel_names())
    if (name.starts_with(folder) && (api == device::Api::cuda || !name.ends_with(".cuda.kernel")))
      names.push_back(name);
  return names;
}

Defines& Defines::set(std::string name, std::string value) {
  const auto at =
      std::lower_bound(values_.begin(), values_.end(), name,
                       [](const auto& entry, const auto& n) { return entry.first < n; });
  if (at != values_.end() && at->first == name)
    at->second = std::move(value);
  else
    values_.insert(at, {std::move(name), std::move(value)});
  return *this;
}

std::vector<std::string> Defines::list() const {
  std::vector<std::string> list;
  for (const auto& [name, value] : values_) list.push_back(name + "=" + value);
  return list;
}

device::ProgramSource make_source(device::Api api, std::string_view name, std::string_view text,
                                  const Defines& defines) {
  Assembler assembler;
  assembler.append_file(dialect_of(api));
  assembler.append(name, text);
  return {std::string(name), assembler.take(), defines.list(), {}};
}

device::ProgramSource make_source(device::Api api, std::string_view kernel_file,
                                  const Defines& defines) {
  const std::string_view text = kernel_text(kernel_file);
  if (text.empty())
    throw Error(ErrorKind::config, "kernel file", std::string(kernel_file),
                "one that the build embeds (tautline/stages/STAGE/gpu/NAME.kernel as "
                "STAGE/gpu/NAME.kernel)");
  return make_source(api, kernel_file, text, defines);
}

}  // namespace tautline::jit
