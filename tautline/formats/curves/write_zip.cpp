#include <fmt/format.h>

#include <string>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"
#ifdef TAUTLINE_ZIP
#include <minizip/zip.h>
#endif

namespace tautline::formats::curves {

#ifdef TAUTLINE_ZIP

namespace {

// What no file system and no reader takes badly.
std::string file_name(const core::CorrelationCurve& curve, std::size_t number) {
  std::string name = fmt::format("{:05}_", number);
  std::string label = curve.first.label;
  if (curve.cross && !curve.second.label.empty()) label += " x " + curve.second.label;
  for (const char c : label.substr(0, 60))
    name += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-'
                ? c
                : '_';
  return name;
}

class Archive {
 public:
  Archive(const std::string& name, const std::string& path)
      : path_(path), file_(zipOpen64(name.c_str(), APPEND_STATUS_CREATE)) {
    if (file_ == nullptr) fail("opening");
  }
  ~Archive() {
    if (file_ != nullptr) zipClose(file_, nullptr);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void add(const std::string& name, const std::string& text) {
    zip_fileinfo info{};
    info.tmz_date = {0, 0, 0, 1, 0, 1980};  // the same curves give the same file
    if (zipOpenNewFileInZip64(file_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                              Z_DEFLATED, Z_DEFAULT_COMPRESSION, 0) != ZIP_OK ||
        zipWriteInFileInZip(file_, text.data(), static_cast<unsigned>(text.size())) != ZIP_OK ||
        zipCloseFileInZip(file_) != ZIP_OK)
      fail("writing " + name);
  }
  void close() {
    const int status = zipClose(file_, nullptr);
    file_ = nullptr;
    if (status != ZIP_OK) fail("closing");
  }

 private:
  [[noreturn]] void fail(const std::string& doing) const {
    throw core::Error(core::ErrorKind::io, path_ + ": " + doing, "failed", "",
                      "check the folder and the space on the disk");
  }

  std::string path_;
  zipFile file_;
};

}  // namespace

void write_zip(const std::string& path, const std::vector<core::CorrelationCurve>& curves,
               const CurvesFacts& facts, bool overwrite) {
  PartialPath name(path, overwrite);
  Archive archive(name.partial(), path);
  std::size_t number = 0;
  for (const core::CorrelationCurve& curve : curves) {
    const std::string title = core::label_of(curve), trace = trace_text(curve, title);
    archive.add(file_name(curve, number) + ".csv", csv_text(curve, title, facts));
    if (!trace.empty()) archive.add(trace_path(file_name(curve, number)), trace);
    ++number;
  }
  archive.close();
  name.finish();
}

#else

void write_zip(const std::string& path, const std::vector<core::CorrelationCurve>&,
               const CurvesFacts&, bool) {
  throw core::Error(core::ErrorKind::unsupported, path, "zip", "a build with minizip",
                    "install libminizip-dev and build with -DTAUTLINE_ZIP=ON, or write .h5");
}

#endif

}  // namespace tautline::formats::curves
