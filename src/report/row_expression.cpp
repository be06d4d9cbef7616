#include "report/row_expression.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "report/table_columns.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// `text` must live until the statement has made its step.
void bind_value(sqlite3_stmt* statement, int place, std::string_view text) {
  sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}
void bind_value(sqlite3_stmt* statement, int place, PlanStatus status) {
  bind_value(statement, place, to_string(status));
}
void bind_value(sqlite3_stmt* statement, int place, std::uint64_t hash) {
  const std::string text = fmt::format("{:016x}", hash);
  sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}
template <class Number>
requires std::is_arithmetic_v<Number>
void bind_value(sqlite3_stmt* statement, int place, Number number) {
  sqlite3_bind_double(statement, place, static_cast<double>(number));
}

template <class Value>
constexpr bool is_bound_as_text = !std::is_arithmetic_v<std::remove_cvref_t<Value>> ||
                                  std::is_same_v<std::remove_cvref_t<Value>, std::uint64_t>;

/// A database without a table, a file or an extension.
std::shared_ptr<sqlite3> empty_database() {
  sqlite3* opened = nullptr;
  const int result =
      sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  std::shared_ptr<sqlite3> database(opened, sqlite3_close);
  if (result != SQLITE_OK)
    throw RunError(fmt::format("SQLite does not start: {}", sqlite3_errstr(result)));
  constexpr int longest_text = 1'000'000;  // bytes; the columns' texts are shorter
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, longest_text);
  // id == "villa" compares with a text, which some distributions forbid.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DQS_DML, 1, nullptr);
  return database;
}

/// Says why SQLite takes no statement that has the formula's text from byte `begin` on.
[[noreturn]] void refuse_sql(const Formula& formula, sqlite3* database, std::size_t begin) {
  const std::string reason = sqlite3_errmsg(database);
  std::optional<std::size_t> at;
  if (const int offset = sqlite3_error_offset(database); offset >= static_cast<int>(begin))
    at = static_cast<std::size_t>(offset) - begin;
  if (reason == "incomplete input" || (at && *at >= formula.text.size()))
    refuse_formula(formula, "it is not complete", {});
  if (reason == "row value misused") refuse_formula(formula, "it must be one value", {});
  if (constexpr std::string_view unknown = "no such column: "; reason.starts_with(unknown))
    refuse_name(formula, reason.substr(unknown.size()), at);
  std::string hint;
  if (reason.starts_with("misuse of")) hint = "; a formula sees one row";
  for (const FormulaColumn& column : formula.columns)
    if (reason.starts_with(fmt::format("near \"{}\"", column.name)) &&
        sqlite3_keyword_check(column.name.data(), static_cast<int>(column.name.size())) != 0)
      hint = fmt::format("; the column is \"{}\" in quotes", column.name);
  refuse_formula(formula, reason, at, hint);
}

std::shared_ptr<sqlite3_stmt> prepared(const Formula& formula) {
  const std::shared_ptr<sqlite3> database = empty_database();
  // Each value costs time in each row, so that only those are there which the formula names.
  std::string row = fmt::format("FROM (SELECT x'00' AS \"{}\"", no_column);
  for (std::size_t k = 0; k < formula.columns.size(); ++k) {
    const auto& [name, is_text, is_named] = formula.columns[k];
    // With a type of its own, a text is compared with 10000 as with '10000'.
    if (is_named)
      row += fmt::format(", CAST(?{} AS {}) AS \"{}\"", k + 1, is_text ? "TEXT" : "REAL", name);
  }
  row += ")";
  const auto prepare = [&](const std::string& begin, const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database.get(), (begin + sql).c_str(), -1, &statement, nullptr) !=
        SQLITE_OK)
      refuse_sql(formula, database.get(), begin.size());
    return std::shared_ptr<sqlite3_stmt>(statement,
                                         [database](auto* made) { sqlite3_finalize(made); });
  };
  // A condition takes no aggregate and no list, as a SELECT does.
  (void)prepare("SELECT 1 " + row + " WHERE (", formula.text + ")");
  return prepare("SELECT (", sql_of(formula) + ") " + row);
}

}  // namespace

template <class Record>
Expression<Record>::Expression(const std::string& option, const std::string& formula) {
  std::vector<FormulaColumn> columns;
  for_each_column_of(static_cast<const Record*>(nullptr), [&](const char* name, auto of) {
    columns.push_back({name, is_bound_as_text<decltype(of(std::declval<const Record&>()))>});
  });
  formula_ = read_formula(option, formula, std::move(columns));
  int place = 0;
  for_each_column_of(static_cast<const Record*>(nullptr), [&](const char*, auto of) {
    ++place;
    if (formula_.columns[static_cast<std::size_t>(place - 1)].is_named)
      binds_.emplace_back([of, place](sqlite3_stmt* statement, const Record& row) {
        bind_value(statement, place, of(row));
      });
  });
  statement_ = prepared(formula_);
}

template <class Record>
void Expression<Record>::step(const Record& row) const {
  sqlite3_stmt* const statement = statement_.get();
  sqlite3_reset(statement);
  for (const auto& bind_column : binds_) bind_column(statement, row);
  if (sqlite3_step(statement) != SQLITE_ROW)
    refuse_formula(formula_, sqlite3_errmsg(sqlite3_db_handle(statement)), {});
}

template <class Record>
FormulaValue Expression<Record>::value(const Record& row) const {
  step(row);
  sqlite3_stmt* const statement = statement_.get();
  switch (sqlite3_column_type(statement, 0)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, 0);
    default:
      const auto* const letters = static_cast<const char*>(sqlite3_column_blob(statement, 0));
      return std::string_view(letters,
                              static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
  }
}

template <class Record>
bool Expression<Record>::holds(const Record& row) const {
  step(row);
  return sqlite3_column_double(statement_.get(), 0) != 0;
}

template class Expression<PlanResult>;
template class Expression<RoomRow>;

}  // namespace wallheat
