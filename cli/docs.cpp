// tautline docs: the documentation's site, where a copy of it was installed with the command.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cli/command.h"
#include "tautline/core/error.h"

namespace tautline::cli {

namespace {

namespace fs = std::filesystem;

struct DocsOptions {
  bool open = false;
};

// From the command's folder: of `cmake --install` and the bundle, of the Python package's wheel, and of a build folder.
constexpr const char* kSites[] = {"../share/doc/tautline/html", "../docs/html", "docs/html"};

fs::path find_site() {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  for (const char* place : kSites) {
    const fs::path page = (folder / place / "index.html").lexically_normal();
    std::error_code ignored;
    if (fs::is_regular_file(page, ignored)) return page;
  }
  throw core::Error(
      core::ErrorKind::io, "documentation", "none beside " + folder.string(),
      fmt::format("{} or {}", (folder / kSites[0]).lexically_normal().string(),
                  (folder / kSites[2]).lexically_normal().string()),
      "scripts/docs in the source tree builds it, and bundles and wheels made after that have it");
}

// Whether a browser took the page: what it prints is its own.
bool open_in_browser(const std::string& page) {
  const char* chosen = std::getenv("BROWSER");
  const std::string browser = chosen != nullptr && *chosen != '\0' ? chosen : "xdg-open";
  char* words[] = {const_cast<char*>(browser.c_str()), const_cast<char*>(page.c_str()), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, words[0], &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return failed == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

int run_docs(const Global& global, const DocsOptions& options) {
  const std::string page = find_site().string();
  const bool opened = options.open && open_in_browser(page);
  if (global.json)
    print_json("tautline.docs", 1, {{"page", page}, {"opened", opened}});
  else
    fmt::print("{}\n", page);
  if (!options.open || opened) return kDone;
  spdlog::error("no browser took the page; open it in one, or name yours in BROWSER");
  return kFailed;
}

}  // namespace

void add_docs(CLI::App& app, const Global& global, Action& action) {
  auto* command = app.add_subcommand("docs", "the documentation, offline");
  auto options = std::make_shared<DocsOptions>();
  command->add_flag("--open", options->open, "open it in a browser (BROWSER, or xdg-open)");
  command->footer("Example: tautline docs --open");
  when_chosen(*command, global, action, options, run_docs);
}

}  // namespace tautline::cli
