// The outputs that a program leaves that must end at once.
#include "tautline/formats/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <string>
#include <thread>

#include "tautline/core/error.h"
#include "tautline/formats/output_folder.h"
#include "tests/support/error_of.h"
#include "tests/support/scratch.h"
#include "tests/support/seed.h"

namespace tautline::formats {
namespace {

std::string content_of(const std::string& path) {
  std::string text(std::filesystem::file_size(path), ' ');
  std::ifstream(path, std::ios::binary)
      .read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

// A program that waits for a result opens it as soon as it has its name, with a shared lock, as HDF5 does.
TEST(PartialFiles, AreFreeWhenTheyHaveTheirName) {
  const tests::ScratchFolder scratch;
  int refused = 0;
  for (int k = 0; k < 300; ++k) {
    const std::string path = scratch / (std::to_string(k) + ".uvh5");
    PartialPath name(path, false, PartialPath::Makes::file);
    std::ofstream(name.partial()) << "data";
    name.lock();
    std::jthread reader([&] {
      int file = -1;
      while (file < 0) file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      refused += ::flock(file, LOCK_SH | LOCK_NB) != 0 ? 1 : 0;
      ::close(file);
    });
    name.finish();
  }
  EXPECT_EQ(refused, 0);
}

TEST(PartialFiles, AreGoneWhenTheProcessEndsAtOnce) {
  const tests::ScratchFolder scratch;
  std::ofstream(scratch / "kept.npy") << "of an earlier run";
  const pid_t pid = fork();
  if (pid == 0) {
    PartialFile open(scratch / "open.npy", false), done(scratch / "done.npy", false);
    PartialFile over(scratch / "kept.npy", true);
    AppendFile closed(scratch / "closed.dat", false);
    const PartialPath folder(scratch / "folder.ms", false);
    std::filesystem::create_directory(folder.partial());
    std::ofstream(folder.partial() + "/table.dat") << "rows";
    for (PartialFile* file : {&open, &done, &over}) file->write(std::string(3 << 20, 'x'));
    closed.write(std::string_view("x"));
    done.finish();
    { const PartialFile given_up(scratch / "given_up.npy", false); }
    remove_partial_files();
    _exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    left.insert(entry.path().filename().string());
  EXPECT_EQ(left, (std::set<std::string>{"done.npy", "kept.npy"}));
  EXPECT_EQ(std::filesystem::file_size(scratch / "kept.npy"), 17u);
}

TEST(PartialFiles, ThatGetNoNameLeaveTheRecordOfTheFileThatIsThere) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "x.npy.json";
  for (const bool there : {false, true}) {
    if (there) std::ofstream(path) << "of the file that is there";
    {
      PartialFile record(path, true);
      record.write(std::string_view("new"));
      EXPECT_THROW(finish_after_record(record,
                                       [&] {
                                         EXPECT_EQ(content_of(path), "new");
                                         throw core::Error(core::ErrorKind::io, "x", "full", "");
                                       }),
                   core::Error);
    }
    ASSERT_EQ(std::filesystem::exists(path), there);
  }
  EXPECT_EQ(content_of(path), "of the file that is there");
  PartialFile record(path, true);
  record.write(std::string_view("new"));
  finish_after_record(record, [] {});
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
}

// A second run with the same output is refused, and what a killed one left is not in its way.
TEST(PartialFiles, AreOfOneRunAtATime) {
  const tests::ScratchFolder scratch;
  const std::string path = scratch / "x.npy", folder = scratch / "x.ms";
  std::ofstream(partial_name(path)) << "of a run that was killed";
  const auto refused = [](const std::string& name, const auto& action) {
    const core::Error error = tests::error_of([&] { action(); });
    EXPECT_EQ(error.kind(), core::ErrorKind::io);
    EXPECT_EQ(error.field(), name + ": output");
    EXPECT_EQ(error.value(), "another run writes it");
  };
  {
    PartialFile first(path, false);
    first.write(std::string_view("first"));
    for (const bool overwrite : {false, true}) refused(path, [&] { PartialFile(path, overwrite); });
    PartialPath tables(folder, false);
    std::filesystem::create_directory(tables.partial());
    tables.lock();
    refused(folder, [&] { PartialPath(folder, true); });
    first.finish();
    tables.finish();
  }
  std::ifstream written(path);
  std::string text;
  written >> text;
  EXPECT_EQ(text, "first");
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  // Without a lock, as of files that are closed between writes: the run that lost its name says so and leaves it.
  AppendFile closed(scratch / "x.dat", false);
  closed.write(std::string_view("one"));
  {
    AppendFile other(scratch / "x.dat", false);
    other.write(std::string_view("another"));
    refused(scratch / "x.dat", [&] { closed.write(std::string_view("two")); });
    other.finish();
  }
  EXPECT_EQ(std::filesystem::file_size(scratch / "x.dat"), 7u);
}

TEST(PartialFiles, ThatGrowUnderTheirOwnNameAreKeptUnlessEmpty) {
  const tests::ScratchFolder scratch;
  const pid_t pid = fork();
  if (pid == 0) {
    for (const char* name : {"empty", "full", "forgotten"}) {
      std::ofstream(scratch / name) << (std::string_view(name) == "full" ? "x" : "");
      note_growing_file(scratch / name);
    }
    forget_growing_file(scratch / "forgotten");
    remove_partial_files();
    _exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_FALSE(std::filesystem::exists(scratch / "empty"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "full"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "forgotten"));
}

// The folders of their outputs go with them, if nothing else lies there.
TEST(PartialFiles, TakeTheFoldersThatWereMadeForThemWithThem) {
  const tests::ScratchFolder scratch;
  std::filesystem::create_directories(scratch / "there");
  const pid_t pid = fork();
  if (pid == 0) {
    const OutputFolder made("plot", scratch / "made/below"), there("plot", scratch / "there/deep");
    const OutputFolder holds("plot", scratch / "holds"), plain("plot", scratch / "there");
    { const OutputFolder given_up("plot", scratch / "given_up"); }
    std::ofstream(scratch / "holds/notes.txt") << "a user's";
    PartialFile page(made.path() + "/candidates.html", false);
    PartialFile deep(there.path() + "/candidates.html", false);
    page.write(std::string(3 << 20, 'x'));
    std::filesystem::create_directory(scratch / "given_up");  // by somebody else
    remove_partial_files();
    _exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_FALSE(std::filesystem::exists(scratch / "made"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch / "there"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "holds/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "given_up"));
}

// As a thread does that makes the tables of a Measurement Set when the program must end.
TEST(PartialFiles, FoldersThatAreBeingFilledAreRemoved) {
  const tests::ScratchFolder scratch;
  const pid_t pid = fork();
  if (pid == 0) {
    const PartialPath tables(scratch / "x.ms", false);
    std::filesystem::create_directory(tables.partial());
    std::atomic<int> made = 0;
    for (int thread = 0; thread < 8; ++thread)
      std::thread([&] {
        while (std::ofstream(fmt::format("{}/{}", tables.partial(), made++))) {
        }
      }).detach();
    while (made < 1000) std::this_thread::yield();
    remove_partial_files();
    _exit(7);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

// Space is reserved ahead of what is written.
TEST(PartialFiles, HaveNoSpaceBehindTheirEnd) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  std::string all(9 << 20, ' ');
  for (char& c : all) c = static_cast<char>(random());
  all.resize(all.size() - random() % (1 << 20));
  PartialFile file(scratch / "long.dat", false);
  for (std::size_t done = 0; done < all.size();) {
    const std::size_t count = std::min<std::size_t>(random() % (3 << 20), all.size() - done);
    file.write(std::string_view(all).substr(done, count));
    done += count;
  }
  file.finish();
  EXPECT_TRUE(all == content_of(scratch / "long.dat"));
  struct stat status {};
  ASSERT_EQ(::stat((scratch / "long.dat").c_str(), &status), 0);
  constexpr std::int64_t kStatBlockBytes = 512, kSlackBytes = 1 << 19;
  EXPECT_LE(status.st_blocks * kStatBlockBytes,
            static_cast<std::int64_t>(all.size()) + kSlackBytes);
}

// Whole windows are on their way to the disk while more is appended; what is put into them meanwhile counts.
TEST(PartialFiles, HoldWhatWasPutIntoThemWhileTheDiskTakesThem) {
  const tests::ScratchFolder scratch;
  auto random = tests::generator();
  std::string all(70 << 20, ' ');
  for (std::size_t k = 0; k < all.size(); k += 61) all[k] = static_cast<char>(random());
  PartialFile file(scratch / "long.dat", false);
  for (std::size_t done = 0; done < all.size();) {
    const std::size_t count = std::min<std::size_t>(1 + random() % (5 << 20), all.size() - done);
    file.write(std::string_view(all).substr(done, count));
    done += count;
    const std::size_t at = random() % done;
    all[at] = static_cast<char>(random());
    file.write_at(at, std::as_bytes(std::span(&all[at], 1)));
  }
  file.finish();
  EXPECT_TRUE(all == content_of(scratch / "long.dat"));
}

}  // namespace
}  // namespace tautline::formats
