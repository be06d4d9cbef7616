#include "report/formula.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "view/spelling.hpp"
#include "wallheat/error.hpp"
#include "wallheat/plan_result.hpp"

namespace wallheat {
namespace {

bool is_space(char letter) { return std::isspace(static_cast<unsigned char>(letter)) != 0; }
bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }
/// SQLite, too, takes whatever is beyond ASCII for letters.
bool is_letter(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return std::isalnum(code) != 0 || letter == '_' || code >= 0x80;
}

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return text;
}

/// One past the end of what is quoted from `begin` on; a quote within it stands twice.
std::size_t end_of_quoted(const Formula& formula, std::size_t begin) {
  const std::string& text = formula.text;
  std::size_t end = begin;
  do {
    end = text.find(text[begin], end + 1);
    if (end == std::string::npos) refuse_formula(formula, "a quote that does not end", begin);
    ++end;
  } while (end < text.size() && text[end] == text[begin]);
  return end;
}

std::size_t end_of_number(const std::string& text, std::size_t begin) {
  std::size_t end = begin + 1;
  const auto goes_on = [&] {
    const bool is_exponent = text[end - 1] == 'e' || text[end - 1] == 'E';
    return is_letter(text[end]) || text[end] == '.' ||
           (is_exponent && (text[end] == '-' || text[end] == '+'));
  };
  while (end < text.size() && goes_on()) ++end;
  return end;
}

/// Refuses what other languages write. To SQLite, "&" would be a sum of bits, which binds tighter
/// than "<", "||" would join texts, and "--" would begin a comment.
std::size_t end_of_sign(const Formula& formula, std::size_t begin) {
  const std::string_view text = std::string_view(formula.text).substr(begin);
  for (const std::string_view sign : {"==", "!=", "<>", "<=", ">="})
    if (text.starts_with(sign)) return begin + sign.size();
  using Foreign = std::pair<std::string_view, std::string_view>;
  for (const auto& [sign, instead] :
       {Foreign{"&&", "and"}, Foreign{"&", "and"}, Foreign{"||", "or"}, Foreign{"|", "or"},
        Foreign{"^", "pow(a, b)"}, Foreign{"**", "pow(a, b)"}, Foreign{"!", "not"},
        Foreign{"--", "- -"}})
    if (text.starts_with(sign))
      refuse_formula(formula, fmt::format("write {} for {}", instead, sign), begin);
  const bool is_known = std::string_view("()+-*/%<>=.,").find(text[0]) != std::string_view::npos;
  if (!is_known || text.starts_with("/*"))
    refuse_formula(formula, "a sign that no formula has", begin);
  return begin + 1;
}

FormulaWord word_at(const Formula& formula, std::size_t begin) {
  const std::string& text = formula.text;
  const char first = text[begin];
  const auto word = [&](WordKind kind, std::size_t end) {
    return FormulaWord{kind, begin, end, text.substr(begin, end - begin)};
  };
  if (is_digit(first)) return word(WordKind::number, end_of_number(text, begin));
  if (first == '\'' || first == '"') {
    FormulaWord quoted = word(WordKind::text, end_of_quoted(formula, begin));
    quoted.letters = quoted.letters.substr(1, quoted.letters.size() - 2);
    return quoted;
  }
  if (!is_letter(first)) return word(WordKind::sign, end_of_sign(formula, begin));
  std::size_t end = begin;
  while (end < text.size() && is_letter(text[end])) ++end;
  FormulaWord name = word(WordKind::name, end);
  name.letters = in_lower_case(name.letters);
  return name;
}

bool is_double_quoted(const Formula& formula, const FormulaWord& word) {
  return formula.text[word.begin] == '"';
}

/// The column of this name, nullptr if there is none.
template <class AnyFormula>
auto column_named(AnyFormula& formula, const std::string& name) {
  const auto found = std::ranges::find(formula.columns, in_lower_case(name), &FormulaColumn::name);
  return found == formula.columns.end() ? nullptr : &*found;
}

std::string column_meant(const Formula& formula, const std::string& word) {
  std::vector<std::string> names;
  for (const FormulaColumn& column : formula.columns) names.push_back(column.name);
  return did_you_mean(word, names);
}

/// Whether word k is one of these, and not in quotes.
bool is_any(const Formula& formula, std::size_t k, std::initializer_list<std::string_view> words) {
  return k < formula.words.size() && formula.words[k].kind != WordKind::text &&
         std::ranges::find(words, formula.words[k].letters) != words.end();
}

bool compares(const Formula& formula, std::size_t k) {
  return is_any(formula, k, {"=", "==", "!=", "<>", "<", ">", "<=", ">="});
}

/// A query sees other rows and may never end; 00042 is 42, which is no plan's id.
void refuse_words(const Formula& formula) {
  for (std::size_t k = 0; k < formula.words.size(); ++k) {
    const FormulaWord& word = formula.words[k];
    if (is_any(formula, k, {"select", "values"}))
      refuse_formula(formula, "a formula sees one row, and takes no query", word.begin);
    if (is_any(formula, k, {"asc", "desc"}))
      refuse_formula(formula, "write - in front of the formula to sort descending", word.begin);
    if (word.kind == WordKind::number && word.letters[0] == '0' && is_digit(word.letters[1]))
      refuse_formula(formula, fmt::format("a text stands in quotes: '{}'", word.letters),
                     word.begin);
  }
}

/// a < b < c compares c with 0 or 1, and what is compared with NULL never holds. A parenthesis too
/// many would end the expression.
void refuse_vain_comparisons(const Formula& formula) {
  std::vector<bool> compared{false};  // since the last "and", in each open parenthesis
  for (std::size_t k = 0; k < formula.words.size(); ++k) {
    const std::size_t at = formula.words[k].begin;
    if (is_any(formula, k, {"("})) compared.push_back(false);
    if (is_any(formula, k, {")"})) compared.pop_back();
    if (compared.empty()) refuse_formula(formula, "no parenthesis is open", at);
    if (is_any(formula, k, {"and", "or", "not", ",", "when", "then", "else"}))
      compared.back() = false;
    if (!compares(formula, k)) continue;
    if (compared.back()) refuse_formula(formula, "write a < b and b < c for a < b < c", at);
    if (is_any(formula, k + 1, {"null", "nan"}))
      refuse_formula(formula, "write is null, or is not null", at);
    compared.back() = true;
  }
}

std::vector<std::string> status_names() {
  std::vector<std::string> names;
  for (const PlanStatus status :
       {PlanStatus::pending, PlanStatus::converged, PlanStatus::max_iterations, PlanStatus::empty,
        PlanStatus::failed})
    names.emplace_back(to_string(status));
  return names;
}

bool is_status(const std::string& name) {
  const std::vector<std::string> names = status_names();
  return std::ranges::find(names, name) != names.end();
}

bool is_value(const Formula& formula, std::size_t k) {
  return k < formula.words.size() &&
         (formula.words[k].kind == WordKind::text || formula.words[k].kind == WordKind::number);
}

/// The texts and numbers that column k is compared with.
std::vector<std::size_t> compared_with(const Formula& formula, std::size_t k) {
  std::vector<std::size_t> values;
  if (k >= 2 && compares(formula, k - 1) && is_value(formula, k - 2)) values.push_back(k - 2);
  std::size_t next = k + 1;
  while (compares(formula, next) || is_any(formula, next, {"is", "not", "like", "glob"})) ++next;
  const bool is_list = is_any(formula, next, {"in"});
  if (is_list) next += 2;
  for (; is_value(formula, next); next += 2) {
    values.push_back(next);
    if (!is_list || !is_any(formula, next + 1, {","})) break;
  }
  return values;
}

void require_status(const Formula& formula, const FormulaWord& word) {
  if (is_status(word.letters)) return;
  std::string hint = did_you_mean(word.letters, status_names());
  if (hint.empty()) hint = fmt::format("; there are {}", fmt::join(status_names(), ", "));
  refuse_formula(formula, "no such status", word.begin, hint);
}

void check_texts(const Formula& formula) {
  std::vector<bool> is_compared(formula.words.size());  // with a column of text
  for (std::size_t k = 0; k < formula.words.size(); ++k) {
    const FormulaWord& word = formula.words[k];
    const FormulaColumn* const column =
        word.kind == WordKind::name ? column_named(formula, word.letters) : nullptr;
    if (column == nullptr || !column->is_text) continue;
    if (is_any(formula, k + 1, {"("})) {
      const bool has_text =
          k + 2 < formula.words.size() && formula.words[k + 2].kind == WordKind::text;
      refuse_formula(formula,
                     fmt::format("write {} LIKE '%{}%'", column->name,
                                 has_text ? formula.words[k + 2].letters : "abc"),
                     word.begin);
    }
    for (const std::size_t value : compared_with(formula, k)) {
      is_compared[value] = true;
      const bool is_pattern = is_any(formula, value - 1, {"like", "glob"});
      if (column->name == "status" && !is_pattern) require_status(formula, formula.words[value]);
    }
  }
  // SQLite takes for a text what stands in double quotes and is no column.
  for (std::size_t k = 0; k < formula.words.size(); ++k) {
    const FormulaWord& word = formula.words[k];
    if (is_compared[k] || !is_double_quoted(formula, word) || column_named(formula, word.letters))
      continue;
    if (const std::string hint = column_meant(formula, word.letters); !hint.empty())
      refuse_formula(formula,
                     fmt::format("\"{0}\" is no column, and the text is '{0}'", word.letters),
                     word.begin, hint);
  }
}

}  // namespace

Formula read_formula(const std::string& option, const std::string& text,
                     std::vector<FormulaColumn> columns) {
  Formula formula{option, text, std::move(columns)};
  for (std::size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    const FormulaWord word = word_at(formula, at);
    if (FormulaColumn* const column = column_named(formula, word.letters)) column->is_named = true;
    formula.words.push_back(word);
    at = word.end;
  }
  refuse_words(formula);
  refuse_vain_comparisons(formula);
  check_texts(formula);
  return formula;
}

std::string sql_of(const Formula& formula) {
  std::string sql;
  std::size_t at = 0;
  const auto replace = [&](std::size_t begin, std::size_t end, const std::string& by) {
    sql.append(formula.text, at, begin - at).append(by);
    at = end;
  };
  for (std::size_t k = 0; k < formula.words.size(); ++k) {
    const FormulaWord& word = formula.words[k];
    if (is_any(formula, k, {"/"})) replace(word.begin, word.end, "*1.0/");
    if (k > 0 && is_any(formula, k - 1, {"in"}) && is_any(formula, k, {"("}) &&
        !is_any(formula, k + 1, {")"}))
      replace(word.end, word.end, fmt::format("\"{}\", ", no_column));
  }
  return sql.append(formula.text, at);
}

void refuse_formula(const Formula& formula, const std::string& reason,
                    std::optional<std::size_t> at, const std::string& hint) {
  std::string where;
  if (at) {
    const auto characters = std::count_if(
        formula.text.begin(), formula.text.begin() + static_cast<std::ptrdiff_t>(*at),
        [](char letter) { return (static_cast<unsigned char>(letter) & 0xC0) != 0x80; });
    where = fmt::format(" at character {}", characters + 1);
  }
  throw UsageError(
      fmt::format("--{} '{}': {}{}{}", formula.option, formula.text, reason, where, hint));
}

void refuse_name(const Formula& formula, const std::string& name, std::optional<std::size_t> at) {
  std::string hint = column_meant(formula, name);
  if (column_named(formula, "status") && is_status(name))
    hint = fmt::format("; write status = '{}'", name);
  if (hint.empty()) hint = fmt::format("; a text stands in quotes: '{}'", name);
  refuse_formula(formula, fmt::format("no such column: {}", name), at, hint);
}

}  // namespace wallheat
