// What a program that must end at once leaves of its outputs.
#include "tautline/formats/partial_file.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/scratch.h"

namespace tautline::formats {
namespace {

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

}  // namespace
}  // namespace tautline::formats
