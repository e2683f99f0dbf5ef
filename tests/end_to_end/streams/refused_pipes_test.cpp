// A stream of a kind that a command does not read is refused by its first bytes, however slowly the rest comes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "tests/end_to_end/command_test.h"
#include "tests/support/pipe.h"
#include "tests/support/seed.h"

namespace tautline::tests {
namespace {

using namespace std::string_literals;

struct Kind {
  std::string name, bytes, words;  // of the refusal
};

std::string random_bytes(std::size_t count) {
  auto random = generator();
  std::string bytes;
  for (std::size_t k = 0; k < count; ++k) bytes += static_cast<char>(random());
  return bytes;
}

std::string repeated(const std::string& text, std::size_t least) {
  std::string all;
  while (all.size() < least) all += text;
  return all;
}

Kind dada() {
  return {"DADA", DadaFile().bytes().substr(0, 5000),
          "this is voltage data (DADA): correlate and channelize read it"};
}

Kind guppi() {
  std::string cards;
  for (const char* text : {"BACKEND = 'GUPPI   '", "BLOCSIZE= 65536", "NBITS   = 8"})
    cards += std::string(text) + std::string(80 - std::string(text).size(), ' ');
  return {"GUPPI RAW", cards + repeated("SRC_NAME= 'noise'" + std::string(63, ' '), 16'000),
          "this is voltage data (GUPPI RAW): correlate and channelize read it"};
}

// Frames of 5,032 bytes in a file of two threads.
Kind vdif() {
  std::string bytes;
  for (std::uint32_t n = 0; n < 8; ++n) {
    const auto word = [&](std::uint32_t value) {
      for (int k = 0; k < 4; ++k) bytes += static_cast<char>(value >> (8 * k) & 255);
    };
    word(1000);
    word(28u << 24 | n / 2);
    word(1u << 29 | 5032 / 8);
    word(1u << 26 | n % 2 << 16 | 7);
    for (int k = 0; k < 4; ++k) word(0);
    bytes += random_bytes(5000);
  }
  return {"VDIF", bytes, "this is voltage data (VDIF): correlate and channelize read it"};
}

const Kind kFilterbank{"sigproc", "\x0c\0\0\0HEADER_START"s + random_bytes(100),
                       "this is a filterbank (sigproc): search and dedisperse read it"};
const Kind kFits{"FITS", "SIMPLE  =                    T"s + std::string(100, ' '),
                 "this is a filterbank (PSRFITS): search and dedisperse read it"};
const Kind kHdf5{"HDF5", "\x89HDF\r\n\x1a\n"s + random_bytes(100), "inspect says what it holds"};
const Kind kTags{"PTU", "PQTTTR\0\0"s + random_bytes(100),
                 "this is photon data (PTU): autocorrelate reads it"};
const Kind kArray{"NPY", "\x93NUMPY\x01\0"s + random_bytes(100),
                  "this is an array (NPY): correlate and channelize read voltages"};
const Kind kText{"text", repeated("nothing of use\n", 5000), "kind of file: text, expected "};
const Kind kCandidates{"candidates", "snr,time_s,sample,dm\n" + repeated("1,2,3,4\n", 5000),
                       "these are candidates: compare, plot and inspect read them"};
const Kind kCurve{"curve", "ALV-7004/FAST\n" + repeated("1\t2\n", 5000),
                  "this is a correlation curve (ALV): fit, compare and inspect read it"};
const Kind kPicture{"PNG", "\x89PNG\r\n\x1a\n"s + random_bytes(140'000),
                    "kind of file: a PNG picture, expected "};

class RefusedPipes : public CommandTest {
 protected:
  void SetUp() override { ASSERT_EQ(mkfifo(pipe_.c_str(), 0600), 0); }

  // The command with a pipe as its standard input that holds these bytes and stays open.
  void refused(const std::vector<std::string>& words, const Kind& kind) {
    SCOPED_TRACE(words.front() + " of " + kind.name);
    const int held = open(pipe_.c_str(), O_RDWR);
    ASSERT_GE(held, 0);
    ASSERT_GE(fcntl(held, F_SETPIPE_SZ, 1 << 20), 1 << 20);
    ASSERT_TRUE(put(held, kind.bytes));
    const auto began = std::chrono::steady_clock::now();
    const pid_t pid = start_program("/bin/sh", {"-c", command_line(words) + " < '" + pipe_ + "'"},
                                    scratch.path().string(), {{"TMPDIR", scratch.path().string()}});
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() - began > std::chrono::seconds(30)) {
        ADD_FAILURE() << "it still waits";
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    close(held);
    const std::string said = read_file(scratch / "err");
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kFailed) << status << said;
    EXPECT_NE(said.find("tautline: standard input: "), std::string::npos) << said;
    EXPECT_NE(said.find(kind.words), std::string::npos) << said;
  }

  const std::string pipe_ = scratch / "pipe";
};

TEST_F(RefusedPipes, OfFilterbanks) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"search", "-", "-o", scratch / "c.csv", "--dms", "0:9"},
        {"dedisperse", "-", "-o", scratch / "s.npy", "--dms", "0:9:1"}})
    for (const Kind& kind :
         {dada(), guppi(), vdif(), kHdf5, kTags, kArray, kText, kCandidates, kCurve, kPicture})
      refused(words, kind);
}

TEST_F(RefusedPipes, OfVoltages) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"correlate", "-", "-o", scratch / "v.uvh5"},
        {"channelize", "-", "-o", scratch / "x.npy"}})
    for (const Kind& kind :
         {kFilterbank, kFits, kHdf5, kTags, kText, kCandidates, kCurve, kPicture})
      refused(words, kind);
}

TEST_F(RefusedPipes, OfCurvesAndVisibilities) {
  const std::vector<std::string> fit{"fit", "-", "-o", scratch / "f.csv", "--model", "3d"},
      report{"report", "-", "-o", scratch / "r.html"},
      compare{"compare", "-", scratch / "x.truth.json"};
  for (const auto& words : {fit, report, compare})
    for (const Kind& kind :
         {dada(), guppi(), vdif(), kFilterbank, kFits, kTags, kArray, kText, kPicture})
      refused(words, kind);
  refused(fit, kCandidates);
  refused(report, kCandidates);
  refused(report, kCurve);
}

TEST_F(RefusedPipes, OfFilesOfAnyKind) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", "-"}, {"plot", "-", "-o", scratch / "p.html"}})
    for (const Kind& kind : {kText, kPicture}) refused(words, kind);
}

// As raw counts; a text without known words may be counts.
TEST_F(RefusedPipes, OfCounts) {
  for (const Kind& kind : {dada(), guppi(), kFilterbank, kFits, kCandidates})
    refused({"autocorrelate", "-", "-o", scratch / "g.csv", "--dtype", "u8", "--sensors", "1",
             "--bin", "1us"},
            kind);
}

}  // namespace
}  // namespace tautline::tests
