#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace wallheat {

/// A column that formulas can name.
struct FormulaColumn {
  std::string name;
  bool is_text = false;
  bool is_named = false;  ///< by the formula
};

enum class WordKind { name, number, text, sign };
struct FormulaWord {
  WordKind kind = WordKind::sign;
  std::size_t begin = 0;  ///< byte of the formula
  std::size_t end = 0;    ///< one past its last byte
  std::string letters{};  ///< names in lower case, texts without their quotes
};

/// A formula in SQL's words, as somebody gave it to an option.
struct Formula {
  std::string option;
  std::string text;
  std::vector<FormulaColumn> columns{};  ///< all that it can name
  std::vector<FormulaWord> words{};
};

/// Cuts a formula into words. Throws UsageError, which names the option, the formula and the
/// character, for what SQLite would silently take for something else than was meant, and for what
/// looks beyond one row.
[[nodiscard]] Formula read_formula(const std::string& option, const std::string& text,
                                   std::vector<FormulaColumn> columns);

/// A column of sql_of() that is equal to nothing that a formula can name.
constexpr const char* no_column = "no column";
/// As an expression of SQL whose divisions keep the remainder, which SQLite's drop between whole
/// numbers, and whose lists have no_column in them: of a list that is the same for all rows SQLite
/// would build an index, anew for each row.
[[nodiscard]] std::string sql_of(const Formula& formula);

/// Throws the UsageError; it names no character if `at` is none.
[[noreturn]] void refuse_formula(const Formula& formula, const std::string& reason,
                                 std::optional<std::size_t> at, const std::string& hint = "");
/// The same for a name that no column has.
[[noreturn]] void refuse_name(const Formula& formula, const std::string& name,
                              std::optional<std::size_t> at);

}  // namespace wallheat
