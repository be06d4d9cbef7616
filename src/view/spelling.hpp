#pragma once

#include <string>
#include <vector>

namespace wallheat {

/// "; did you mean 'summary'?" if one of the choices looks like the given word, which is none of
/// them; else empty.
[[nodiscard]] std::string did_you_mean(const std::string& unknown,
                                       const std::vector<std::string>& choices);

/// What stands between the commas of a list; one empty word for an empty list.
[[nodiscard]] std::vector<std::string> split_list(const std::string& list);

/// Throws UsageError: the word is not among the values that an option can have. The message ends
/// with `hint`, which is did_you_mean(word, values) if it is left out.
[[noreturn]] void throw_invalid_value(const std::string& option, const std::string& word,
                                      const std::vector<std::string>& values);
[[noreturn]] void throw_invalid_value(const std::string& option, const std::string& word,
                                      const std::vector<std::string>& values,
                                      const std::string& hint);

}  // namespace wallheat
