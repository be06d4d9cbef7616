#pragma once

#include <gmock/gmock.h>

#include <cctype>
#include <concepts>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace wallheat {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// Facts of a message: names of files, IDs, options, columns, numbers.
using Facts = std::vector<std::string>;

/// Returns true if `text` contains `fact`, and the fact does not continue a longer word or number:
/// "13 plans" does not contain the fact "3".
inline bool contains_fact(const std::string& text, const std::string& fact) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  for (auto at = text.find(fact); at != std::string::npos; at = text.find(fact, at + 1)) {
    const auto end = at + fact.size();
    if (at > 0 && in_word(fact.front()) && in_word(text[at - 1])) continue;
    if (end < text.size() && in_word(fact.back()) && in_word(text[end])) continue;
    return true;
  }
  return false;
}

/// Matches a message that contains each of the facts. Use this instead of HasSubstr for messages,
/// so that their wording can change without a change of the tests.
class MentionsMatcher {
 public:
  using is_gtest_matcher = void;
  explicit MentionsMatcher(Facts facts) : facts_(std::move(facts)) {}

  bool MatchAndExplain(const std::string& text, std::ostream* explanation) const {
    for (const std::string& fact : facts_) {
      if (contains_fact(text, fact)) continue;
      if (explanation != nullptr) *explanation << "which does not mention '" << fact << "'";
      return false;
    }
    return true;
  }
  void DescribeTo(std::ostream* out) const { describe("mentions", *out); }
  void DescribeNegationTo(std::ostream* out) const { describe("does not mention all of", *out); }

 private:
  void describe(const char* verb, std::ostream& out) const {
    out << verb;
    for (const std::string& fact : facts_) out << " '" << fact << "'";
  }

  Facts facts_;
};

inline testing::Matcher<const std::string&> Mentions(Facts facts) {
  return MentionsMatcher(std::move(facts));
}
/// A braced list is always a list of facts: this overload takes a single string only.
template <std::convertible_to<std::string> Fact>
testing::Matcher<const std::string&> Mentions(const Fact& fact) {
  return MentionsMatcher(Facts{fact});
}

}  // namespace wallheat
