#include "cli/manual.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string_view>

#include "core/version.hpp"

namespace wallheat {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

/// In single quotes, for bash and zsh; fish takes a backslash before the quote.
std::string quoted(const std::string& text) { return "'" + replaced(text, "'", R"('\'')") + "'"; }
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

/// The first sentence, or all that stands before a semicolon or a bracket.
std::string brief(const std::string& text) {
  return text.substr(0, std::min({text.find(". "), text.find("; "), text.find(" (")}));
}

std::vector<std::string> words_of_option(const OptionText& option) {
  std::vector<std::string> words{"--" + option.name};
  if (option.letter != 0) words.insert(words.begin(), {'-', option.letter});
  return words;
}

/// How the declarations name the value of an option that takes a directory or zip archive of plans.
constexpr std::string_view plans_value = "PLANS";

/// Of the files that a command's arguments without a name are, separated by blanks.
std::string endings_of(const CommandEntry& command) {
  if (command.name == "monitor") return "csv";
  return command.name == "compare" ? "h5 csv" : "h5";
}

std::vector<std::string> words_in(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string fish_values(const OptionText& option) {
  if (!option.words.empty())
    return fmt::format(" -f -a {}", fish_quoted(fmt::format("{}", fmt::join(option.words, " "))));
  return option.value == plans_value ? " -a '(__fish_complete_suffix .zip)'" : "";
}

// --- Manual pages: roff with the macros of man(7) -----------------------------------------------

/// Text as roff shows it unchanged.
std::string roff(std::string text) {
  text = replaced(std::move(text), "\\", "\\e");
  text = replaced(std::move(text), "-", "\\-");
  text = replaced(std::move(text), "°", "\\[de]");
  text = replaced(std::move(text), "'", "\\[aq]");
  std::istringstream lines(text);
  std::string safe;
  for (std::string line; std::getline(lines, line);)
    safe += (line.starts_with('.') ? "\\&" : "") + line + "\n";
  return safe;
}

std::string heading(const std::string& title) {
  return fmt::format(".TH {} 1 \"\" \"wallheat {}\" \"User Commands\"\n",
                     roff(title).substr(0, roff(title).size() - 1), version());
}

constexpr std::string_view exit_statuses = R"(.SH EXIT STATUS
.TP
.B 0
All is done.
.TP
.B 1
The command failed. What was stored is safe.
.TP
.B 2
The command line or a configuration file is wrong.
.TP
.B 3
It finished, but some plans failed.
.TP
.B 75
The run stopped early with work left; go on with
.BR \-\-resume .
)";

std::string described(const OptionText& option) {
  std::vector<std::string> words;
  for (const std::string& word : words_of_option(option))
    words.push_back("\\fB" + replaced(word, "-", "\\-") + "\\fR");
  std::string text = fmt::format(".TP\n{}", fmt::join(words, ", "));
  if (!option.value.empty()) text += " \\fI" + replaced(option.value, "-", "\\-") + "\\fR";
  text += "\n" + roff(option.text);
  if (!option.usual.empty()) text += "(default: " + roff(option.usual + ")");
  return text;
}

}  // namespace

std::string bash_completion(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> names;
  std::string cases;
  for (const CommandEntry& command : commands) {
    names.push_back(command.name);
    std::vector<std::string> words;
    std::string values;
    for (const OptionText& option : command.text.options) {
      words.push_back("--" + option.name);
      if (option.value.empty()) continue;
      const std::string given = fmt::format("{}", fmt::join(words_of_option(option), "|"));
      const std::string of_plain = fmt::format("{}", fmt::join(option.words, " "));
      if (!option.words.empty()) {
        values += fmt::format("        {}) values={} ;;\n", given, quoted(of_plain));
        if (option.name == command.text.positional)
          values += fmt::format("        [!-]*) values={} ;;\n", quoted(of_plain));
      } else {
        values += fmt::format("        {}) endings={} ;;\n", given,
                              quoted(option.value == plans_value ? "h5" : ""));
      }
    }
    cases += fmt::format("    {}) words={} endings={}\n      case $before in\n{}      esac ;;\n",
                         command.name, quoted(fmt::format("{}", fmt::join(words, " "))),
                         quoted(endings_of(command)), values);
  }
  return fmt::format(R"(# Completion of wallheat for bash; made by 'wallheat completion bash'.
_wallheat() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local words='' values='' endings='' ending
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W {} -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"); return ;;
  esac
  if [ -n "$values" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
    return
  fi
  COMPREPLY=()
  if [ -n "$endings" ]; then
    mapfile -t COMPREPLY < <(compgen -d -- "$word"
      for ending in $endings; do compgen -f -X "!*.$ending" -- "$word"; done)
  fi
  [ "${{#COMPREPLY[@]}}" -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}}
complete -o filenames -F _wallheat wallheat
)",
                     quoted(fmt::format("{}", fmt::join(names, " "))), cases);
}

std::string zsh_completion(const std::vector<CommandEntry>& commands) {
  // A colon ends a name, brackets end a description.
  const auto plain = [](std::string text) {
    for (const char* sign : {"[", "]", ":"}) text = replaced(text, sign, " ");
    return text;
  };
  std::string names;
  std::string cases;
  for (const CommandEntry& command : commands) {
    names += "    " + quoted(command.name + ":" + plain(command.purpose)) + "\n";
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const OptionText& option : command.text.options) {
      const std::string what = !option.words.empty()
                                   ? fmt::format("({})", fmt::join(option.words, " "))
                               : option.value == plans_value ? "_files -g \"*.h5\""
                                                             : "_files";
      const std::string value = option.value.empty() ? "" : ":" + plain(option.value) + ":" + what;
      for (const std::string& word : words_of_option(option))
        cases +=
            fmt::format("        {} \\\n",
                        quoted(fmt::format("{}[{}]{}", word, plain(brief(option.text)), value)));
    }
    const std::string files = fmt::format("{}", fmt::join(words_in(endings_of(command)), "|"));
    cases += fmt::format("        '*:file:_files{}'\n      ;;\n",
                         files.empty() ? "" : fmt::format(" -g \"*.({})\"", files));
  }
  return fmt::format(R"(#compdef wallheat
# Completion of wallheat for zsh; made by 'wallheat completion zsh'.
_wallheat() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=${{words[2]}}
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_wallheat "$@"
)",
                     names, cases);
}

std::string fish_completion(const std::vector<CommandEntry>& commands) {
  std::string text = "# Completion of wallheat for fish; made by 'wallheat completion fish'.\n";
  for (const CommandEntry& command : commands)
    text += fmt::format("complete -c wallheat -f -n __fish_use_subcommand -a {} -d {}\n",
                        command.name, fish_quoted(command.purpose));
  for (const CommandEntry& command : commands) {
    for (const OptionText& option : command.text.options)
      text += fmt::format(
          "complete -c wallheat -n '__fish_seen_subcommand_from {}' -l {}{}{}{} -d {}\n",
          command.name, option.name, option.letter != 0 ? fmt::format(" -s {}", option.letter) : "",
          option.value.empty() ? "" : " -r", fish_values(option), fish_quoted(brief(option.text)));
  }
  return text;
}

std::string manual_page(const std::vector<CommandEntry>& commands) {
  std::string text = heading("WALLHEAT") +
                     ".SH NAME\nwallheat \\- steady\\-state heat of many floor plans\n"
                     ".SH SYNOPSIS\n.B wallheat\n.I COMMAND\n[options]\n.SH COMMANDS\n";
  for (const CommandEntry& command : commands)
    text += fmt::format(".TP\n.BR wallheat\\-{} (1)\n{}", replaced(command.name, "-", "\\-"),
                        roff(command.purpose));
  return text + std::string(exit_statuses);
}

std::string manual_page(const CommandEntry& command) {
  std::string upper = "wallheat-" + command.name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char letter) { return std::toupper(letter); });
  std::string text = heading(upper) +
                     fmt::format(".SH NAME\nwallheat\\-{} \\- {}.SH SYNOPSIS\n.B wallheat\n{}",
                                 replaced(command.name, "-", "\\-"), roff(command.purpose),
                                 roff(command.text.synopsis)) +
                     ".SH DESCRIPTION\n";
  std::istringstream paragraphs(command.text.purpose);
  for (std::string paragraph; std::getline(paragraphs, paragraph);)
    text += ".PP\n" + roff(paragraph);
  text += ".SH OPTIONS\n";
  for (const OptionText& option : command.text.options) text += described(option);
  text += ".SH EXAMPLES\n";
  for (const std::string& example : command.text.examples) text += ".PP\n" + roff(example);
  return text + std::string(exit_statuses) + ".SH SEE ALSO\n.BR wallheat (1)\n";
}

}  // namespace wallheat
