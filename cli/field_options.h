// Options made from the descriptions of a Config's fields, and errors in the words of the options.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tautline/core/field_words.h"
#include "tautline/core/fields.h"

namespace tautline::cli {

/// Notes that `option` sets `field`: errors that name the field then say the option.
void note_field(const CLI::Option& option, const core::FieldDescription& field);
/// The field that an option sets; nothing: one of the command's own.
const core::FieldDescription* field_of(const CLI::Option& option);

/// An option as its field describes it, without note_field(). `default_text` is the Config's; `set` throws core::Error.
CLI::Option* add_described(CLI::App& command, const core::FieldDescription& field,
                           const std::string& default_text,
                           std::function<void(const std::string&)> set);

/// Adds the option that sets a field of `config`, which must outlive the parsing. A flag sets the
/// opposite of its default.
template <class Config>
CLI::Option* add_field(CLI::App& command, Config& config, const std::string& name,
                       const std::string& group = {}) {
  const core::Field<Config>& field = fields(config).named(name);
  CLI::Option* option =
      add_described(command, field, core::default_text(field),
                    [&config, &field](const std::string& text) { field.set(config, text); });
  note_field(*option, field);
  if (!group.empty()) option->group(group);
  return option;
}

/// One whose default nobody would mean.
template <class Config>
void add_required_field(CLI::App& command, Config& config, const std::string& name) {
  add_field(command, config, name)->required()->default_str("");
}

template <class Config>
void add_fields(CLI::App& command, Config& config, const std::vector<std::string>& names,
                const std::string& group = {}) {
  for (const std::string& name : names) add_field(command, config, name, group);
}

/// An option of the command alone: described as a field is, though no Config has it. `value` must outlive the parsing.
template <class T>
CLI::Option* add_own(CLI::App& command, T& value, core::FieldDescription description,
                     core::FieldText<T> form = core::plain_text<T>()) {
  core::Fields<T> described;
  described.add(
      std::move(description), [](auto& one) -> auto& { return one; }, std::move(form));
  const core::Field<T>& field = described.all().front();
  return add_described(command, field, field.text(value),
                       [&value, field](const std::string& text) { field.set(value, text); });
}

/// One of these words.
core::FieldText<std::string> word_of(const std::vector<std::string>& words);

/// What a file of voltages may not say: the fields of formats::ReaderOptions, which `config` is or
/// has as the part `prefix`, "reader.".
template <class Config>
void add_reader_options(CLI::App& command, Config& config, const std::string& prefix) {
  for (const char* name : {"receivers", "format", "rate_hz", "centre_hz", "bandwidth_hz",
                           "utc_start", "antennas", "polarisations", "threads_are"})
    add_field(command, config, prefix + name, "What a file's header may not say");
}

/// Fields whose options were given, of those whose name begins with `prefix`, without it.
std::vector<std::string> given_members(const CLI::App& command, const std::string& prefix);

/// Throws Error(config) where an option of one of `fields` was given, which has no effect: "`value`, expected `limit`".
void refuse_given(const CLI::App& command, const std::vector<std::string>& fields,
                  const std::string& value, const std::string& limit,
                  const std::string& advice = "leave it out");

/// Texts of the library, which name fields, in the words of one command.
class OptionWords {
 public:
  OptionWords() = default;
  explicit OptionWords(const CLI::App& command) : command_(&command) {}

  /// "--integration" for "integration_s"; a name that the command has no option for as it is.
  std::string option_of(const std::string& field) const;
  /// Names of fields in a longer text stand between backquotes. A name that the command has no option for becomes the
  /// option of another command that the text names.
  std::string text(const std::string& text) const;
  std::string message(const core::Error& error) const;

 private:
  std::string option_elsewhere(const std::string& field, const std::string& text) const;

  const CLI::App* command_ = nullptr;
};

/// From here on all that is said names `name` where it would name the file `path`, which the run made for itself.
void say_instead(const std::string& path, const std::string& name);
/// That name, or the path of a file that has no other.
std::string said_name(const std::string& path);

/// Replaces fields by options in the help of `app` and of its commands.
void say_options_in_help(CLI::App& app);

/// The options of the command that the line names; before the line is parsed: of none.
const OptionWords& option_words();
void choose_option_words(const CLI::App& command);
/// The same for what a run writes for people, as pages.
core::FieldWords words_of_options();

}  // namespace tautline::cli
