#include "cli/field_options.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace tautline::cli {

namespace {

constexpr const char* kNameLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";

// CLI11's options carry nothing of their user's. Filled before the line is parsed.
std::map<const CLI::Option*, core::FieldDescription>& noted() {
  static std::map<const CLI::Option*, core::FieldDescription> fields;
  return fields;
}

// Files that the run made for itself, and what the user calls them.
std::vector<std::pair<std::string, std::string>>& made_files() {
  static std::vector<std::pair<std::string, std::string>> files;
  return files;
}

std::string in_users_words(std::string text) {
  for (const auto& [path, name] : made_files())
    for (std::size_t at = text.find(path); at != std::string::npos;
         at = text.find(path, at + name.size()))
      text.replace(at, path.size(), name);
  return text;
}

// Whether it is among the words of the command's line that no option takes: a file's name.
bool names_input(const CLI::App* command, const std::string& word) {
  if (command == nullptr) return false;
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) continue;
    const auto& words = option->results();
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
  }
  return false;
}

OptionWords& chosen_words() {
  static OptionWords words;
  return words;
}

std::string scaled(const std::string& text, double factor) {
  return text.empty() ? text : core::text::write_number(core::text::read_number(text) * factor);
}

// "1, expected 2 to 65536": CLI11 puts the option's name before it.
std::string reason(const core::Error& error) {
  std::string text = error.value();
  if (!error.limit().empty()) text += ", expected " + error.limit();
  if (!error.advice().empty()) text += "; " + error.advice();
  return text;
}

// "1ms, expected a time (20ms, 1.5s, 5min; ...), above 0": what the user wrote, what an option of the field's kind
// takes, and what the field allows.
std::string refused(const core::FieldDescription& field, const std::string& given,
                    const core::Error& error) {
  const bool seconds = field.unit == "s" && field.in_option.unit.empty();
  return reason({error.kind(), error.field(), seconds ? given : error.value(), error.limit(),
                 error.advice()});
}

// The text behind the option's name in the help.
std::string value_name(const core::FieldDescription& field) {
  if (!field.form.empty()) return field.form;
  if (!field.in_option.unit.empty()) return field.in_option.unit;
  if (!field.names.empty()) {
    std::string names;
    for (const std::string& name : field.names) names += (names.empty() ? "" : "|") + name;
    return names;
  }
  if (!field.unit.empty()) return field.unit;
  switch (field.kind) {
    case core::FieldKind::integer:
      return "INTEGER";
    case core::FieldKind::number:
      return "NUMBER";
    case core::FieldKind::list:
      return "LIST";
    default:
      return "TEXT";
  }
}

std::string help_of(const core::FieldDescription& field) {
  const std::string& allowed =
      field.in_option.unit.empty() ? field.allowed : field.in_option.allowed;
  if (allowed.empty() || !field.names.empty()) return field.help;
  return field.help + "; " + allowed;
}

// "array" of "array-path", "memory" of "memory-bytes".
std::string without_unit(const std::string& name) {
  for (const char* suffix : {"-path", "-bytes", "-s", "-hz", "-mhz"})
    if (name.ends_with(suffix)) return name.substr(0, name.rfind('-'));
  return name;
}

// The option's value in the field's unit. A time may have a unit of its own.
std::string in_field_unit(const core::FieldDescription& field, const std::string& text) {
  if (field.in_option.unit.empty()) return text;
  if (const std::string seconds = core::text::in_seconds(text);
      field.unit == "s" && seconds != text)
    return seconds;
  return core::text::write_number(core::text::read_number(text) / field.in_option.per_unit);
}

// "--bin,--bin-time"
std::string dashed(const core::FieldDescription& field) {
  std::string names;
  for (const std::string& name : core::text::split(core::option_name(field), ','))
    names += (names.empty() ? "--" : ",--") + name;
  return names;
}

CLI::Option* add_flag(CLI::App& command, const core::FieldDescription& field,
                      const std::string& default_text,
                      const std::function<void(const std::string&)>& set) {
  const std::string opposite = default_text == "true" ? "false" : "true";
  return command.add_flag_callback(
      dashed(field), [set, opposite] { set(opposite); },
      field.in_option.help.empty() ? field.help : field.in_option.help);
}

const core::FieldDescription* find_field(const CLI::App& command, const std::string& name,
                                         std::string& option) {
  const core::FieldDescription* found = nullptr;
  for (const CLI::Option* one : command.get_options()) {
    const core::FieldDescription* field = field_of(*one);
    if (field == nullptr || !core::is_field(*field, name)) continue;
    if (found != nullptr && field->name != name) continue;  // the whole name goes first
    found = field;
    option = one->get_name();
  }
  return found;
}

// Whether a text has a name that is not a part of another one.
bool has_word(const std::string& text, const std::string& word) {
  const auto is_letter = [&](std::size_t k) {
    return k < text.size() &&
           std::string_view(kNameLetters).find(text[k]) != std::string_view::npos;
  };
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at)
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + word.size())) return true;
  return false;
}

// The option of one command for a field; empty: none.
std::string option_at(const CLI::App& command, const std::string& field) {
  std::string option;
  if (find_field(command, field, option) != nullptr) return option;
  // Options of the command alone: "overwrite", or a field of another's, as "array_path". A file's name is neither.
  if (field.find_first_not_of(kNameLetters) != std::string::npos) return {};
  const std::string name = core::option_name({.name = field});
  for (const std::string& tried : {name, without_unit(name)})
    for (const CLI::Option* one : command.get_options())
      if (one->check_lname(tried)) return "--" + tried;
  return {};
}

}  // namespace

void note_field(const CLI::Option& option, const core::FieldDescription& field) {
  noted()[&option] = field;
}

const core::FieldDescription* field_of(const CLI::Option& option) {
  const auto found = noted().find(&option);
  return found == noted().end() ? nullptr : &found->second;
}

CLI::Option* add_described(CLI::App& command, const core::FieldDescription& field,
                           const std::string& default_text,
                           std::function<void(const std::string&)> set) {
  if (field.kind == core::FieldKind::flag) return add_flag(command, field, default_text, set);
  const std::string names = dashed(field), name = names.substr(0, names.find(','));
  const auto take = [field, name, set = std::move(set)](const CLI::results_t& results) {
    std::string text;
    for (const std::string& one : results)
      text += (text.empty() ? std::string() : std::string(1, field.separator)) + one;
    try {
      set(in_field_unit(field, text));
    } catch (const core::Error& error) {
      const std::string& allowed = field.in_option.allowed;
      throw CLI::ValidationError(
          name, allowed.empty() ? refused(field, text, error) : text + ", expected " + allowed);
    }
    return true;
  };
  CLI::Option* option = command.add_option(names, take, help_of(field));
  option->type_name(value_name(field));
  option->default_str(
      field.in_option.unit.empty() ? default_text : scaled(default_text, field.in_option.per_unit));
  if (field.kind == core::FieldKind::list) {
    option->expected(CLI::detail::expected_max_vector_size);
    // Texts with commas of their own are given one by one.
    option->allow_extra_args(field.separator == ',');
  }
  return option;
}

core::FieldText<std::string> word_of(const std::vector<std::string>& words) {
  std::vector<std::pair<std::string, std::string>> same;
  for (const std::string& word : words) same.emplace_back(word, word);
  return core::choice(std::move(same));
}

std::vector<std::string> given_members(const CLI::App& command, const std::string& prefix) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (const auto* field = field_of(*option);
        field != nullptr && option->count() > 0 && field->name.starts_with(prefix))
      names.push_back(field->name.substr(prefix.size()));
  return names;
}

void refuse_given(const CLI::App& command, const std::vector<std::string>& fields,
                  const std::string& value, const std::string& limit, const std::string& advice) {
  for (const std::string& given : given_members(command, ""))
    if (std::find(fields.begin(), fields.end(), given) != fields.end())
      throw core::Error(core::ErrorKind::config, given, value, limit, advice);
}

std::string OptionWords::option_of(const std::string& field) const {
  for (const CLI::App* at = command_; at != nullptr; at = at->get_parent())
    if (const std::string option = option_at(*at, field); !option.empty()) return option;
  // "autocorrelate bins": a stage and its field.
  const std::size_t blank = field.find(' ');
  if (blank == std::string::npos || field.find_first_not_of(kNameLetters) != blank) return field;
  const std::string member = field.substr(blank + 1);
  if (member.find(' ') != std::string::npos) return field;  // "inputs of array four antennas"
  const std::string option = option_of(member);
  return option == member ? field : option;
}

// In the words of a command that the text names; run has the fields themselves.
std::string OptionWords::option_elsewhere(const std::string& field, const std::string& text) const {
  if (command_ == nullptr || command_->get_option_no_throw("--set") != nullptr) return field;
  const CLI::App* all = command_;
  while (all->get_parent() != nullptr) all = all->get_parent();
  std::string found;
  const std::function<void(const CLI::App&, const std::string&)> look = [&](const CLI::App& at,
                                                                            const std::string& in) {
    for (const CLI::App* command : at.get_subcommands([](const CLI::App*) { return true; })) {
      const std::string name = in + command->get_name();
      if (found.empty() && has_word(text, name)) found = option_at(*command, field);
      look(*command, name + " ");
    }
  };
  look(*all, "");
  return found.empty() ? field : found;
}

std::string OptionWords::text(const std::string& given) const {
  const std::string text = in_users_words(given);
  std::string said;
  std::size_t at = 0;
  for (;;) {
    const std::size_t open = text.find('`', at);
    const std::size_t close =
        open == std::string::npos
            ? open
            : text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.", open + 1);
    if (open == std::string::npos) return said + text.substr(at);
    if (close == std::string::npos || text[close] != '`' || close == open + 1) {
      said += text.substr(at, open + 1 - at);
      at = open + 1;
      continue;
    }
    const std::string field = text.substr(open + 1, close - open - 1), option = option_of(field);
    said += text.substr(at, open - at) + (option != field ? option : option_elsewhere(field, text));
    at = close + 1;
  }
}

std::string OptionWords::message(const core::Error& error) const {
  // Errors of bytes name a file's field, not a Config's; a file may have the name of one.
  const bool input = names_input(command_, error.field());
  const bool of_config = error.kind() != core::ErrorKind::format && !input;
  std::string advice = text(error.advice());
  // "--integration 0.25 s": the unit is taken for a file.
  const std::string file = error.field().substr(0, error.field().find(": "));
  if (names_input(command_, file) && core::text::in_seconds("1" + file) != "1" + file)
    advice += "; a number and its unit are one word: 1" + file;
  return core::Error(error.kind(), of_config ? text(option_of(error.field())) : text(error.field()),
                     text(error.value()), text(error.limit()), advice)
      .what();
}

void say_instead(const std::string& path, const std::string& name) {
  made_files().emplace_back(path, name);
}

std::string said_name(const std::string& path) {
  return in_users_words(path);
}

void say_options_in_help(CLI::App& app) {
  const OptionWords words(app);
  for (CLI::Option* option : app.get_options())
    option->description(words.text(option->get_description()));
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    say_options_in_help(*command);
}

const OptionWords& option_words() {
  return chosen_words();
}

void choose_option_words(const CLI::App& command) {
  chosen_words() = OptionWords(command);
}

core::FieldWords words_of_options() {
  return [](const std::string& text) { return option_words().text(text); };
}

}  // namespace tautline::cli
