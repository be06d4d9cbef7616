#pragma once

#include <string>
#include <vector>

namespace wallheat {

/// Returns "; did you mean 'summary'?" if a choice is similar to the unknown word; otherwise an
/// empty string.
[[nodiscard]] std::string did_you_mean(const std::string& unknown,
                                       const std::vector<std::string>& choices);

/// Splits a list at its commas. Returns one empty string for an empty list.
[[nodiscard]] std::vector<std::string> split_list(const std::string& list);

/// Throws UsageError, because the word is not among the values of an option. The message ends with
/// `hint`, by default did_you_mean(word, values).
[[noreturn]] void throw_invalid_value(const std::string& option, const std::string& word,
                                      const std::vector<std::string>& values);
[[noreturn]] void throw_invalid_value(const std::string& option, const std::string& word,
                                      const std::vector<std::string>& values,
                                      const std::string& hint);

}  // namespace wallheat
