#include "cli/usage_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "tautline/core/nearest_name.h"

namespace tautline::cli {

namespace {

// Long names of a command's options and of those that go before it.
std::vector<std::string> options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent())
    for (const CLI::Option* option : at->get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// The command in whose help the option stands that `said` begins with, or, of a wrong one, its nearest: "--threads:
// ...".
std::string help_for(const CLI::App& at, const std::string& said, const std::string& nearest = {}) {
  const std::string option = nearest.empty() ? said.substr(0, said.find_first_of(":=")) : nearest;
  if (option.starts_with("--"))
    for (const CLI::App* app = &at; app != nullptr; app = app->get_parent())
      for (const CLI::Option* one : app->get_options())
        if (one->check_lname(option.substr(2))) return full_name(*app);
  return full_name(at);
}

// "--treshold: unknown option of tautline search, did you mean --threshold"; empty where no word of
// the line is an unknown option. One that stands before its command is unknown there.
std::string unknown_option(const CLI::App& app, const CLI::App& at) {
  for (const std::string& word : app.remaining(true)) {
    if (word.size() < 2 || word[0] != '-' || word.find_first_of("0123456789.") == 1) continue;
    const std::string name = word.substr(0, word.find('='));
    const std::string nearest = core::nearest_name(name, options_of(at));
    if (nearest == name)
      return fmt::format(
          "{}: stands before the command whose option it is; write {} {} ...; {} --help lists the "
          "options",
          name, full_name(at), name, full_name(at));
    return fmt::format("{}: unknown option of {}{}; {} --help lists the options", name,
                       full_name(at), nearest.empty() ? "" : ", did you mean " + nearest,
                       help_for(at, name, nearest));
  }
  return {};
}

// The example that a command's help ends with, or the first of several.
std::string example_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  const std::size_t first = footer.find(": ");
  return first == std::string::npos ? "" : footer.substr(first + 2, footer.find('\n') - first - 2);
}

// "tautline delays needs --dec-deg and -o too, as in: tautline delays ..."
std::string missing_options(const CLI::App& at) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : at.get_options())
    if (option->get_required() && option->count() == 0) missing.push_back(option->get_name());
  const std::string last = missing.back();
  missing.pop_back();
  const std::string example = example_of(at);
  return fmt::format("{} needs {}{}{}{}", full_name(at), fmt::join(missing, ", "),
                     missing.empty() ? "" : " and ", last,
                     example.empty() ? "" : ", as in: " + example);
}

// CLI11's messages about numbers of values, in other words.
std::string counted_values(const std::string& said) {
  const std::size_t colon = said.find(": ");
  if (said.find(" missing", colon) != std::string::npos)
    return said.substr(0, colon) + ": no value given, expected one";
  constexpr std::string_view kReceived = "At Most 1 required but received ";
  if (const std::size_t at = said.find(kReceived); at != std::string::npos)
    return said.substr(0, colon) + ": " + said.substr(at + kReceived.size()) +
           " values given, expected one";
  return said;
}

// "b.ptu: a word more than tautline autocorrelate takes"; of a file that there is: a second input.
std::string unexpected_words(const CLI::App& app, const CLI::App& at, const std::string& said) {
  const std::size_t colon = said.find(": ");
  if (colon == std::string::npos) return said;
  const std::vector<std::string> words = app.remaining(true);
  std::error_code ignored;
  if (!words.empty() && std::filesystem::exists(words.front(), ignored))
    return fmt::format("{}: a second input, and {} takes one{}", words.front(), full_name(at),
                       at.get_option_no_throw("--resume") == nullptr
                           ? ""
                           : "; --save-state after the first file and --resume with the next one "
                             "give the curves of both");
  return fmt::format(
      "{}: a word more than {} takes; the name of an option may be missing before it",
      said.substr(colon + 2), full_name(at));
}

// Commands that the help shows.
std::vector<std::string> commands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
    if (!one->get_group().empty()) names.push_back(one->get_name());
  return names;
}

}  // namespace

const CLI::App& chosen(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = chosen(app);
  const std::string here = full_name(at);
  // Where a command is missing, the first word is the mistake, whatever options come with it.
  if (at.get_require_subcommand_min() == 0)
    if (const std::string unknown = unknown_option(app, at); !unknown.empty()) return unknown;
  if (error.get_name() != "RequiredError" || at.get_require_subcommand_min() == 0) {
    std::string said = error.get_name() == "RequiredError" ? missing_options(at) : error.what();
    if (error.get_name() == "ArgumentMismatch") said = counted_values(said);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
      said = unexpected_words(app, at, said);
    return fmt::format("{}; {} --help lists the options", said, help_for(at, said));
  }
  const std::string unknown = unknown_command(app);
  if (!unknown.empty()) return unknown;
  return fmt::format("no command given after {}; {} --help lists the commands", here, here);
}

std::string printable(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 32 && c != '\n' && c != '\t') || byte == 127)
      shown += fmt::format("\\x{:02x}", byte);
    else
      shown += c;
  }
  return shown;
}

std::string unknown_command(const CLI::App& app) {
  const CLI::App& at = chosen(app);
  const std::vector<std::string> unknown = app.remaining(true);
  if (at.get_require_subcommand_min() == 0 || unknown.empty()) return {};
  const std::string here = full_name(at);
  const std::string advice = fmt::format("{} --help lists the commands", here);
  const std::string& word = unknown.front();
  if (word.starts_with('-'))
    return fmt::format("{}: unknown option before a command; {}", word, advice);
  const std::string nearest = core::nearest_name(word, commands_of(at));
  return fmt::format("{}: unknown command of {}{}; {}", word, here,
                     nearest.empty() ? "" : fmt::format(", perhaps {}", nearest), advice);
}

std::string empty_word(int argc, char** argv) {
  for (int a = 1; a < argc; ++a) {
    const std::string word = argv[a], before = argv[a - 1];
    if (!word.empty()) continue;
    return before.starts_with('-')
               ? before +
                     ": an empty text, expected a value; leave the option out, or fill what the "
                     "text comes from"
               : "an empty text behind " + before +
                     ", expected a name; leave it out, or fill what it comes from";
  }
  return {};
}

bool asks_for_json(int argc, char** argv) {
  return std::find(argv + 1, argv + std::max(argc, 1), std::string_view("--json")) !=
         argv + std::max(argc, 1);
}

std::vector<std::string> with_help_as_option(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + std::max(argc, 1));
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    words.push_back("--help");
  }
  return words;
}

}  // namespace tautline::cli
