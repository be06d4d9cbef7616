#include <fmt/format.h>

#include <algorithm>

#include "report/row_table.hpp"
#include "wallheat/error.hpp"

// Formulas in a build without SQLite: only names of columns, as for --sort.

namespace wallheat {

struct Formula::Statement {
  RowColumn column;
};

Formula::Formula(std::string option, std::string text, const std::vector<RowColumn>& columns) {
  const auto named = std::ranges::find(
      columns, text, [](const RowColumn& column) -> const std::string& { return column.head.key; });
  if (named == columns.end())
    throw UsageError(
        fmt::format("--{} '{}': this wallheat was built without SQLite, which computes formulas; "
                    "only the name of a column is possible",
                    option, text));
  statement_ = std::make_shared<Statement>(*named);
}

Value Formula::value(const PlanResult& row) const { return statement_->column.value(row); }

}  // namespace wallheat
