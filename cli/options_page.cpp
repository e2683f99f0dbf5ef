// tautline options-page: docs/guide/options.md, from what the help is made of.
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/field_options.h"
#include "cli/usage_errors.h"

namespace tautline::cli {

namespace {

// A cell of a table: no line's end, no bar that would end it.
std::string cell(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return safe;
}

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + cell(text) + "`";
}

std::string row_of(const CLI::Option& option) {
  const core::FieldDescription* field = field_of(option);
  const bool positional = option.get_lnames().empty() && option.get_snames().empty();
  std::string names = positional ? "`" + option.get_name(true) + "`" : "";
  for (const auto& [dashes, some] :
       {std::pair{"-", &option.get_snames()}, {"--", &option.get_lnames()}})
    for (const std::string& name : *some)
      names += (names.empty() ? "`" : ", `") + std::string(dashes) + name + "`";
  const std::string value = option.get_expected_max() == 0 ? "" : option.get_type_name();
  const std::string default_text =
      option.get_required() ? "required" : code(option.get_default_str());
  return fmt::format("| {} | {} | {} | {} | {} |\n", names, cell(value), default_text,
                     cell(option.get_description()), field == nullptr ? "" : code(field->name));
}

void add_table(const CLI::App& command, std::string& page) {
  page += "\n| option | value | default | meaning | field |\n| --- | --- | --- | --- | --- |\n";
  for (const CLI::Option* option : command.get_options())
    if (option != command.get_help_ptr() && option != command.get_version_ptr() &&
        !option->get_group().empty())
      page += row_of(*option);
}

// Commands that have commands of their own have no options.
void add_commands(const CLI::App& parent, std::string& page) {
  for (const CLI::App* command : parent.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_group().empty()) continue;
    if (!command->get_subcommands([](const CLI::App*) { return true; }).empty()) {
      add_commands(*command, page);
      continue;
    }
    const std::string name = full_name(*command);
    page += fmt::format("\n## {}\n\n{}.\n", name.substr(name.find(' ') + 1),
                        command->get_description());
    add_table(*command, page);
  }
}

}  // namespace

void add_options_page(CLI::App& app, const Global&, Action& action) {
  auto* command = app.add_subcommand("options-page", "docs/guide/options.md");
  command->group("");
  command->callback([&app, &action] {
    action = [&app] {
      std::string page =
          "# Options\n\n"
          "Made by `scripts/options_page.py` from the descriptions of the fields\n"
          "([how](../design/fields.md)) and the command's own options; do not edit. `field` is the "
          "option's name in the library.\n\n## Before the command\n";
      add_table(app, page);
      add_commands(app, page);
      fmt::print("{}", page);
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace tautline::cli
