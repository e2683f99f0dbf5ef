// Messages about a command line that cannot be understood.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tautline::cli {

/// The innermost command that a parsed line names.
const CLI::App& chosen(const CLI::App& app);

/// "tautline" or "tautline simulate".
std::string full_name(const CLI::App& command);

/// What `error`, thrown by app.parse, means: CLI11's words, or, where a command is missing or
/// unknown, that word and the nearest command; and where to find what there is.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

/// `text` as a terminal may be sent it: control characters, as of a file that is no text, as "\\x00". Lines stay lines.
std::string printable(const std::string& text);

/// The message about a word that is no command where a command has to be; empty: there is no such word.
std::string unknown_command(const CLI::App& app);

/// `tautline help search` as `tautline search --help`; other command lines as they are.
std::vector<std::string> with_help_as_option(int argc, char** argv);

/// What is wrong with a line that has an empty word, as a script writes one for a variable that is not set; empty:
/// nothing.
std::string empty_word(int argc, char** argv);

/// --json among the words of a line, which may not have been understood.
bool asks_for_json(int argc, char** argv);

}  // namespace tautline::cli
