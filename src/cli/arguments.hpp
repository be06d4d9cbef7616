#pragma once

#include <string>
#include <vector>

namespace wallheat {

/// One option, for people.
struct OptionText {
  std::string name;   ///< without dashes
  char letter = 0;    ///< of its short form; 0: it has none
  std::string value;  ///< what stands for its value, "FILE"; empty: it has none
  std::string usual;  ///< its default; empty: it has none
  std::string text;
  std::vector<std::string> words;  ///< what the value may be; empty: anything
  bool folded = false;             ///< --help only names it, as one that many commands have
};

/// What a command declares of itself.
struct CommandText {
  std::string synopsis;  ///< the line of usage after "wallheat"
  std::string purpose;   ///< a line a paragraph
  std::vector<OptionText> options;
  std::string positional;  ///< the option for which arguments without a name stand; empty: none
  std::vector<std::string> examples;  ///< command lines
};

/// What a command is called with.
class Arguments : public std::vector<std::string> {
 public:
  using vector::vector;
  /// Where this is not null, the command only says there what it declares.
  CommandText* describe = nullptr;
  /// With --help: whether it shows the options, too, that many commands have in common.
  bool all_options = false;
};

}  // namespace wallheat
