// .zip of CSVs, as autocorrelate writes it and PyCorrFit opens it: each one a curve.
#include <map>
#include <string>
#include <utility>

#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/input_file.h"
#include "tautline/formats/text.h"
#ifdef TAUTLINE_ZIP
#include <minizip/unzip.h>
#endif

namespace tautline::formats::curves {

#ifdef TAUTLINE_ZIP

namespace {

constexpr std::size_t kMostMemberBytes = std::size_t{64} << 20;  // as of any text
constexpr std::size_t kMostBytes = std::size_t{2} << 30;         // of all together

class ArchiveReader {
 public:
  explicit ArchiveReader(std::string path) : path_(std::move(path)) {
    const InputFile there(path_);  // throws with the reason where the file cannot be opened
    file_ = unzOpen64(path_.c_str());
    if (file_ == nullptr) fail("not an archive");
  }
  ~ArchiveReader() {
    if (file_ != nullptr) unzClose(file_);
  }
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  // Texts by name. Names are in the order of their numbers.
  std::map<std::string, std::string> texts() {
    std::map<std::string, std::string> all;
    std::size_t bytes = 0;
    for (int more = unzGoToFirstFile(file_); more == UNZ_OK; more = unzGoToNextFile(file_)) {
      unz_file_info64 info{};
      char name[1024] = {};
      if (unzGetCurrentFileInfo64(file_, &info, name, sizeof name - 1, nullptr, 0, nullptr, 0) !=
          UNZ_OK)
        fail("a broken directory");
      const std::string ending = lower(name);
      if (!ending.ends_with(".csv") && !ending.ends_with(".trace.txt")) continue;
      bytes += info.uncompressed_size;
      if (info.uncompressed_size > kMostMemberBytes || bytes > kMostBytes)
        fail(std::string(name) + " of " + std::to_string(info.uncompressed_size) + " bytes");
      all[name] = text(static_cast<std::size_t>(info.uncompressed_size), name);
    }
    return all;
  }

 private:
  std::string text(std::size_t bytes, const std::string& name) {
    std::string made(bytes, '\0');
    if (unzOpenCurrentFile(file_) != UNZ_OK) fail(name + " cannot be unpacked");
    std::size_t done = 0;
    while (done < bytes) {
      const int got =
          unzReadCurrentFile(file_, made.data() + done, static_cast<unsigned>(bytes - done));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    // Closing compares the checksum.
    if (unzCloseCurrentFile(file_) != UNZ_OK || done != bytes) fail(name + " is damaged");
    return made;
  }
  [[noreturn]] void fail(const std::string& found) const {
    throw format_error(path_, "archive", found, "a .zip of CSVs with one curve each");
  }

  std::string path_;
  unzFile file_ = nullptr;
};

}  // namespace

CurveFile read_zip(const std::string& path) {
  const auto texts = ArchiveReader(path).texts();
  CurveFile file;
  file.format = "ZIP of CSVs";
  for (const auto& [name, text] : texts) {
    if (!lower(name).ends_with(".csv")) continue;
    CurveFile one = read_csv_text(path + ": " + name, text);
    core::CorrelationCurve& curve = one.curves.front();
    if (const auto trace = texts.find(trace_path(name));
        trace != texts.end() && curve.first.trace.time_s.empty())
      read_trace_text(path + ": " + trace->first, trace->second, curve);
    file.curves.push_back(std::move(curve));
    if (file.facts.empty()) file.facts = std::move(one.facts);
  }
  if (file.curves.empty())
    throw format_error(path, "archive", "no .csv in it", "one .csv for each curve");
  return file;
}

#else

CurveFile read_zip(const std::string& path) {
  throw core::Error(core::ErrorKind::unsupported, path, "zip", "a build with minizip",
                    "install libminizip-dev and build with -DTAUTLINE_ZIP=ON, or unpack it");
}

#endif

}  // namespace tautline::formats::curves
