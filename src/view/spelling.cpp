#include "view/spelling.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "core/text.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Returns the number of characters to insert, remove, replace or swap with their neighbours that
/// turn one word into the other (optimal string alignment distance).
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> steps(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = steps[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      steps[i][j] = std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(const std::string& unknown, const std::vector<std::string>& choices) {
  const std::string word = to_lower(unknown);
  constexpr std::size_t longest = 64;  // longer than any choice; the cost grows with its square
  if (word.size() < 2 || word.size() > longest) return "";
  const std::string* nearest = nullptr;
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (const std::string& choice : choices) {
    // An abbreviation counts like a single typing error.
    const std::size_t steps = choice.starts_with(word) ? 1 : distance(word, choice);
    if (steps < least) {
      least = steps;
      nearest = &choice;
    }
  }
  const std::size_t tolerated = std::max<std::size_t>(1, word.size() / 3);
  if (nearest == nullptr || least > tolerated || least >= nearest->size()) return "";
  return fmt::format("; did you mean '{}'?", *nearest);
}

std::vector<std::string> split_list(const std::string& list) {
  const std::vector<std::string_view> words = split(list, ',');
  return {words.begin(), words.end()};
}

void throw_invalid_value(const std::string& option, const std::string& word,
                         const std::vector<std::string>& values) {
  throw_invalid_value(option, word, values, did_you_mean(word, values));
}

void throw_invalid_value(const std::string& option, const std::string& word,
                         const std::vector<std::string>& values, const std::string& hint) {
  throw UsageError(fmt::format("--{} must be one of {}, not '{}'{}", option,
                               fmt::join(values, ", "), escape_control_chars(word), hint));
}

}  // namespace wallheat
