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
};

/// What a command declares of itself.
struct CommandText {
  std::string synopsis;  ///< the line of usage after "wallheat"
  std::string purpose;   ///< a line a paragraph
  std::vector<OptionText> options;
};

/// What a command is called with.
class Arguments : public std::vector<std::string> {
 public:
  using vector::vector;
  /// Where this is not null, the command only says there what it declares.
  CommandText* describe = nullptr;
};

}  // namespace wallheat
