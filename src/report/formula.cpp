#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "core/text.hpp"
#include "report/row_table.hpp"
#include "view/spelling.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// Column that is not equal to any value of a formula.
constexpr const char* no_column = "no column";

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_letter(char letter) {
  return letter == '_' || letter == '.' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

/// Collation of a text column: SQLite compares strings byte by byte.
struct ComparedWords {
  std::vector<std::string> words;  ///< all values of the column
  std::string unknown_word = {};   ///< a word of the formula that is not among them

  static int compare(void* compared, int size_a, const void* a, int size_b, const void* b) {
    auto& [words, unknown_word] = *static_cast<ComparedWords*>(compared);
    const std::string_view first(static_cast<const char*>(a), static_cast<std::size_t>(size_a));
    const std::string_view second(static_cast<const char*>(b), static_cast<std::size_t>(size_b));
    for (const std::string_view word : {first, second})
      if (std::ranges::find(words, word) == words.end()) unknown_word = word;
    return first.compare(second);
  }
};

struct Release {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

}  // namespace

struct Formula::Statement {
  std::string option;
  std::string text;
  std::vector<std::string> names;     ///< of all columns
  std::vector<RowColumn> named = {};  ///< columns that the formula uses
  /// A used column that has few values.
  std::string column_of_words = {};
  ComparedWords compared = {};
  std::unique_ptr<sqlite3, Release> database = {};
  std::unique_ptr<sqlite3_stmt, Release> prepared = {};

  Statement(std::string of_option, std::string of_text, const std::vector<RowColumn>& columns);
  [[noreturn]] void refuse(const std::string& reason) const {
    throw UsageError(fmt::format("--{} '{}': {}", option, text, reason));
  }
  void require_expression() const;
  void refuse_if_column_was_meant(const std::string& quoted) const;
  [[nodiscard]] std::string sql() const;
  void prepare(const std::string& sql, const std::string& behind);
  [[nodiscard]] std::string reason(std::size_t end) const;
  void step(const std::vector<Value>& values) const;
};

/// Throws UsageError unless the text can only be one expression over the columns of a row, which
/// cannot end the statement around it: outside of quotes it contains neither an unbalanced
/// parenthesis nor another statement, query, comment, parameter, or kind of quotes.
void Formula::Statement::require_expression() const {
  std::size_t depth = 0;
  char quote = 0;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char letter = i < text.size() ? text[i] : ' ';
    if (quote != 0) {
      if (letter == quote) quote = 0;
      continue;
    }
    if (is_letter(letter)) {
      word += letter;
      continue;
    }
    const std::string ended = to_lower(std::exchange(word, ""));
    for (const char* const keyword : {"select", "values", "with"})
      if (ended == keyword)
        refuse(fmt::format("it must be one value of a row, without {}", keyword));
    const std::string_view two = std::string_view(text).substr(std::min(i, text.size()), 2);
    if (two == "--" || two == "/*")
      refuse(fmt::format("'{}' begins a comment; use - -1 for the negative of -1", two));
    if (std::string_view(";[]`?:@$").find(letter) != std::string_view::npos || letter == 0)
      refuse(
          fmt::format("unexpected character '{}'", letter == 0 ? "NUL" : std::string(1, letter)));
    if (letter == '\'' || letter == '"') quote = letter;
    if (letter == '(') ++depth;
    if (letter == ')' && depth-- == 0) refuse("unmatched closing parenthesis ')'");
  }
  if (quote == 0 && depth > 0) refuse("it is not complete: missing closing parenthesis ')'");
}

void Formula::Statement::refuse_if_column_was_meant(const std::string& quoted) const {
  const bool is_column = std::ranges::find(names, to_lower(quoted)) != names.end();
  if (is_column || quoted.find('_') == std::string::npos) return;
  if (const std::string hint = column_hint(quoted, names); !hint.empty())
    refuse(fmt::format("\"{0}\" is not a column; write a string as '{0}'{1}", quoted, hint));
}

/// Rewrites the formula where SQLite would interpret it differently than intended, or throws
/// UsageError: "/" would be an integer division, "||" concatenates strings, a < b < c compares c
/// with 0 or 1, 00042 is the number 42 and not a plan ID, and an unknown name in double quotes
/// would be a string. For a list that is equal for all rows, SQLite would build an index for every
/// row.
std::string Formula::Statement::sql() const {
  std::string sql;
  std::string word;  // the last word
  bool is_signed = false;
  bool is_compared = false;  // whether a comparison followed the last "and"
  char quote = 0;
  char before = ' ';
  const auto begin_word = [&] {
    for (const char* const between : {"and", "or", "not", "when", "then", "else"})
      if (to_lower(word) == between) is_compared = false;
    word.clear();
  };
  for (const char letter : text) {
    if (quote != 0) {
      if (letter != quote)
        word += letter;
      else if (std::exchange(quote, 0) == '"')
        refuse_if_column_was_meant(word);
    } else if (letter == '\'' || letter == '"') {
      quote = letter;
      begin_word();
    } else if (letter == '&' || letter == '|') {
      refuse(fmt::format("use {} instead of {}", letter == '&' ? "and" : "or", letter));
    } else if (is_letter(letter)) {
      if (!is_letter(before)) {
        begin_word();
        is_signed = before == '-' || before == '+';  // such as 05 in 1e-05
      }
      word += letter;
      if (word.size() == 2 && word[0] == '0' && is_digit(letter) && !is_signed)
        refuse("quote strings, as in '00042'");
    } else if (letter == '<' || letter == '>') {
      if (is_compared && before != '<') refuse("use a < b and b < c instead of a < b < c");
      is_compared = true;
    } else if (letter == '/') {
      sql += "*1.0";
    } else if (letter == '(' || letter == ')' || letter == ',') {
      is_compared = false;
    }
    sql += letter;
    if (quote == 0 && letter == '(' && to_lower(word) == "in")
      sql += fmt::format("\"{}\", ", no_column);
    before = letter;
  }
  if (quote != 0) refuse("unterminated quote");
  return sql;
}

/// Returns why SQLite rejected the statement. `end` is the position in bytes at which the formula
/// ends in it.
std::string Formula::Statement::reason(std::size_t end) const {
  const std::string reason = sqlite3_errmsg(database.get());
  if (reason == "incomplete input" || sqlite3_error_offset(database.get()) >= static_cast<int>(end))
    return "it is not complete";
  if (reason == "row value misused") return "it must be one value";
  if (reason.starts_with("misuse of")) return reason + "; a formula applies to one row";
  constexpr std::string_view unknown_name = "no such column: ";
  if (!reason.starts_with(unknown_name)) return reason;
  const std::string word = reason.substr(unknown_name.size());
  const std::string hint = column_hint(word, names);
  return reason + (hint.empty() ? fmt::format("; quote strings: '{}'", word) : hint);
}

void Formula::Statement::prepare(const std::string& sql, const std::string& behind) {
  sqlite3_stmt* made = nullptr;
  const std::string all = sql + behind;
  const char* end = nullptr;
  const int result = sqlite3_prepare_v2(database.get(), all.c_str(), -1, &made, &end);
  prepared.reset(made);
  if (result != SQLITE_OK) refuse(reason(sql.size()));
  if (end != all.c_str() + all.size()) refuse("it must be one value of a row");
}

Formula::Statement::Statement(std::string of_option, std::string of_text,
                              const std::vector<RowColumn>& columns)
    : option(std::move(of_option)), text(std::move(of_text)), names(names_of(columns)) {
  // An empty database in memory, without extensions.
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  database.reset(opened);
  if (result != SQLITE_OK)
    throw RunError(fmt::format("cannot initialize SQLite: {}", sqlite3_errstr(result)));
  constexpr int longest_text = 1'000'000;  // in bytes; strings in columns are shorter
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, longest_text);
  // Allow double-quoted strings, such as id == "villa", which some distributions disable.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DQS_DML, 1, nullptr);
  sqlite3_create_collation(opened, "words", SQLITE_UTF8, &compared, ComparedWords::compare);

  std::string row = fmt::format("FROM (SELECT x'00' AS \"{}\"", no_column);
  std::vector<Value> trial;
  for (const RowColumn& column : columns) {
    const std::string& name = column.head.key;
    // Bind only the columns that the formula uses, because each value costs time in each row.
    if (to_lower(text).find(name) == std::string::npos) continue;
    named.push_back(column);
    trial.emplace_back();
    // The type affinity makes a comparison of a string with 10000 equal to one with '10000'.
    row += fmt::format(", CAST(?{} AS {}) {} AS \"{}\"", named.size(),
                       column.is_text ? "TEXT" : "REAL",
                       column.words.empty() ? "" : "COLLATE words", name);
    if (column.words.empty()) continue;
    column_of_words = name;
    compared.words = column.words;
    trial.back() = column.words.front();
  }
  row += ')';
  require_expression();
  const std::string formula = sql();
  // Unlike SELECT, WHERE accepts neither aggregates nor lists.
  prepare("SELECT 1 " + row + " WHERE (" + formula, "\n)");
  prepare("SELECT (" + formula, "\n) " + row);
  step(trial);
}

void Formula::Statement::step(const std::vector<Value>& values) const {
  sqlite3_reset(prepared.get());
  int parameter = 0;
  for (const Value& value : values) {
    ++parameter;
    if (const auto* const letters = std::get_if<std::string>(&value))
      sqlite3_bind_text(prepared.get(), parameter, letters->data(),
                        static_cast<int>(letters->size()), SQLITE_STATIC);
    else if (const auto* const number = std::get_if<double>(&value))
      sqlite3_bind_double(prepared.get(), parameter, *number);
    else if (const auto* const whole = std::get_if<std::int64_t>(&value))
      sqlite3_bind_double(prepared.get(), parameter, static_cast<double>(*whole));
    else
      sqlite3_bind_null(prepared.get(), parameter);
  }
  if (sqlite3_step(prepared.get()) != SQLITE_ROW) refuse(sqlite3_errmsg(database.get()));
  const auto& [words, unknown_word] = compared;
  if (unknown_word.empty()) return;
  const std::string hint = did_you_mean(unknown_word, words);
  refuse(fmt::format("no such {}: '{}'{}", column_of_words, unknown_word,
                     hint.empty() ? fmt::format("; available: {}", fmt::join(words, ", ")) : hint));
}

Formula::Formula(std::string option, std::string text, const std::vector<RowColumn>& columns)
    : statement_(std::make_shared<Statement>(std::move(option), std::move(text), columns)) {}

Value Formula::value(const PlanResult& of) const {
  std::vector<Value> values;
  for (const RowColumn& column : statement_->named) values.push_back(column.value(of));
  statement_->step(values);
  sqlite3_stmt* const row = statement_->prepared.get();
  switch (sqlite3_column_type(row, 0)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return sqlite3_column_double(row, 0);
    default:
      const auto* const letters = static_cast<const char*>(sqlite3_column_blob(row, 0));
      return std::string_view(letters, static_cast<std::size_t>(sqlite3_column_bytes(row, 0)));
  }
}

}  // namespace wallheat
