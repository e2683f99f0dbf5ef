// Empty files, pictures and other files that no command reads: each is said to be what it is, whatever its name.
#include "tests/end_to_end/mistakes.h"

namespace tautline::tests {
namespace {

using std::string_literals::operator""s;

// Commands with the names of files that they read.
struct Reads {
  std::vector<std::string> before, endings, after;
};

std::vector<Reads> readers(const std::string& out) {
  return {{{"correlate"},
           {"dada", "raw", "vdif", "npy", "mwa32t", "bin"},
           {"-o", out + ".uvh5", "--rate-hz", "1e6"}},
          {{"channelize"}, {"dada", "raw", "vdif", "npy", "mwa32t"}, {"-o", out + ".npy"}},
          {{"search"}, {"fil", "fits", "tim", "npy", "bin"}, {"-o", out + ".csv", "--dms", "1"}},
          {{"dedisperse"}, {"fil", "fits"}, {"-o", out + ".npy", "--dms", "1"}},
          {{"autocorrelate"},
           {"npy", "ptu", "pt3", "spc", "tif", "raw"},
           {"-o", out + ".csv", "--bin", "1us"}},
          {{"fit"}, {"csv", "SIN", "ASC", "zip", "bin"}, {"-o", out + ".csv", "--model", "3d"}},
          {{"inspect"},
           {"dada", "vdif", "npy", "fil", "fits", "mask", "ptu", "spc", "tif", "ASC", "zip", "json",
            "toml", "bin"},
           {}},
          {{"plot"},
           {"dada", "vdif", "npy", "fil", "ptu", "spc", "tif", "csv", "ASC", "zip", "json", "bin"},
           {"-o", out + ".html"}},
          {{"send"}, {"dada", "npy"}, {"--to", "udp://127.0.0.1:9", "--layout", "counts"}}};
}

class UnreadableFiles : public Mistakes {
 protected:
  // What a command says of these bytes by each of the names.
  void refused_by_all(const std::string& bytes, const std::string& kind) {
    for (const Reads& reads : readers(scratch / "made"))
      for (const std::string& ending : reads.endings) {
        const std::string file = scratch / ("x." + ending);
        write_file(file, bytes);
        std::vector<std::string> words = reads.before;
        words.push_back(file);
        words.insert(words.end(), reads.after.begin(), reads.after.end());
        const CommandResult result = run(words);
        const std::string what = reads.before.front() + " of x." + ending + ": " + result.err;
        EXPECT_EQ(result.status, kFailed) << what;
        EXPECT_NE(result.err.find(file + ": "), std::string::npos) << what;
        EXPECT_NE(result.err.find(": " + kind + ", expected "), std::string::npos) << what;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << what;
        std::filesystem::remove(file);
        for (const std::string& name : files()) EXPECT_FALSE(name.starts_with("made")) << what;
      }
  }
};

TEST_F(UnreadableFiles, EmptyOnesOfEveryKind) {
  refused_by_all("", "an empty file");
  const std::string empty = scratch / "x.toml";
  write_file(empty, "");
  refused({"run", empty}, kWrongUsage, empty + ": an empty file, expected TOML, which is text");
  refused({"simulate", "voltages", "--array", empty, "--scene", empty, "--duration", "1", "-o",
           scratch / "s.dada"},
          kFailed, empty + ": an empty file, expected TOML");
  write_file(scratch / "x.truth.json", "");
  const std::string fil = filterbank();
  ASSERT_EQ(run({"search", fil, "-o", scratch / "c.csv", "--dms", "1"}).status, kDone);
  write_file(scratch / "e.truth.json", "");
  refused({"compare", scratch / "c.csv", scratch / "e.truth.json"}, kFailed,
          "e.truth.json: an empty file, expected data; check that the file was written completely");
  // A search may have found nothing, and lists without a heading are empty then.
  write_file(scratch / "none.cand", "");
  EXPECT_EQ(run({"inspect", scratch / "none.cand"}).status, kDone);
}

TEST_F(UnreadableFiles, Pictures) {
  auto random = generator();
  std::string noise;
  for (int k = 0; k < 40'000; ++k) noise += static_cast<char>(random());
  refused_by_all("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s + noise, "a PNG picture");
  refused_by_all("\xff\xd8\xff\xe0\0\x10JFIF\0\1\1"s + noise, "a JPEG picture");
  const std::string raw = scratch / "x.raw";
  write_file(raw, "\x89PNG\r\n\x1a\n"s + noise);
  refused({"autocorrelate", raw, "-o", scratch / "g.csv", "--bin", "1us", "--dtype", "u8",
           "--sensors", "1"},
          kFailed, raw + ": kind of file: a PNG picture, expected data");
  refused_by_all("%PDF-1.5\n%"s + noise, "PDF");
}

TEST_F(UnreadableFiles, OthersByTheirBytes) {
  write_file(scratch / "x.spc", "PK\x03\x04"s + std::string(4000, '\x81'));
  refused({"autocorrelate", scratch / "x.spc", "-o", scratch / "g.csv", "--bin", "1us"}, kFailed,
          "x.spc: kind of file: a ZIP archive, expected photon time tags");
  // Each letter would be taken for a count.
  auto random = generator();
  std::string numbers;
  for (int k = 0; k < 3000; ++k) numbers += std::to_string(random() % 12) + "\n";
  write_file(scratch / "counts.txt", numbers);
  const std::vector<std::string> words{"autocorrelate",
                                       scratch / "counts.txt",
                                       "-o",
                                       scratch / "g.csv",
                                       "--bin",
                                       "1us",
                                       "--sensors",
                                       "1"};
  for (const char* type : {"u8", "u16"}) {
    std::vector<std::string> typed = words;
    typed.insert(typed.end(), {"--dtype", type});
    refused(typed, kFailed,
            "counts.txt: kind of file: text, expected raw counts, which are binary; make it an "
            "array: numpy.save");
  }
}

}  // namespace
}  // namespace tautline::tests
