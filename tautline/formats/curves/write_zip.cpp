#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/curve_label.h"
#include "tautline/core/error.h"
#include "tautline/core/threads.h"
#include "tautline/formats/curves/curves.h"
#include "tautline/formats/partial_file.h"
#ifdef TAUTLINE_ZIP
#include <minizip/zip.h>
#include <zlib.h>
#endif

namespace tautline::formats::curves {

#ifdef TAUTLINE_ZIP

namespace {

// The characters that every file system and reader accepts.
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

// A file of the archive, compressed.
struct Member {
  std::string name, bytes;
  uLong crc = 0;
  std::size_t text_bytes = 0;
};

// Half of the time of the default level, for files that are a tenth larger.
constexpr int kLevel = 3;

Member compress(std::string name, const std::string& text) {
  Member member{std::move(name), {}, 0, text.size()};
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data());
  member.crc = crc32(0, bytes, static_cast<uInt>(text.size()));
  z_stream stream{};
  // Archives hold the compressed bytes without zlib's own header: a negative number of bits.
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) !=
      Z_OK)
    throw std::bad_alloc();
  member.bytes.resize(deflateBound(&stream, static_cast<uLong>(text.size())));
  stream.next_in = const_cast<Bytef*>(bytes);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(member.bytes.data());
  stream.avail_out = static_cast<uInt>(member.bytes.size());
  deflate(&stream, Z_FINISH);  // there is room for all of it
  member.bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return member;
}

std::vector<Member> members_of(const core::CorrelationCurve& curve, std::size_t number,
                               const CurvesFacts& facts) {
  const std::string title = core::label_of(curve), name = file_name(curve, number),
                    trace = trace_text(curve, title);
  std::vector<Member> members;
  members.push_back(compress(name + ".csv", csv_text(curve, title, facts)));
  if (!trace.empty()) members.push_back(compress(trace_path(name), trace));
  return members;
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

  void add(const Member& member) {
    zip_fileinfo info{};
    info.tmz_date = {0, 0, 0, 1, 0, 1980};  // the same curves give the same file
    constexpr int kRaw = 1;
    if (zipOpenNewFileInZip2_64(file_, member.name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                Z_DEFLATED, kLevel, kRaw, 0) != ZIP_OK ||
        zipWriteInFileInZip(file_, member.bytes.data(),
                            static_cast<unsigned>(member.bytes.size())) != ZIP_OK ||
        zipCloseFileInZipRaw64(file_, member.text_bytes, member.crc) != ZIP_OK)
      fail("writing " + member.name);
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
  constexpr std::size_t kAtOnce = 256;  // curves whose text is made by several threads
  for (std::size_t first = 0; first < curves.size(); first += kAtOnce) {
    std::vector<std::vector<Member>> made(std::min(kAtOnce, curves.size() - first));
    core::in_pieces(made.size(), made.size(), [&](std::size_t k, std::size_t, std::size_t) {
      made[k] = members_of(curves[first + k], first + k, facts);
    });
    for (const std::vector<Member>& members : made)
      for (const Member& member : members) archive.add(member);
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
