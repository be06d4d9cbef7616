#include "cli/result_file.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "core/number_of.hpp"
#include "core/printable.hpp"
#include "io/print_error.hpp"
#include "report/attributes.hpp"
#include "wallheat/error.hpp"

namespace wallheat {

void declare_result_file(Options& options, std::string& file) {
  options.add("file", value(file, "FILE"), "the result file (also as an argument)");
  options.positional("file", 1);
  options.require({"file"});
}

void declare_where(Options& options, std::string& where) {
  options.add("where", value(where, "FORMULA"),
              "only plans for which this holds, as 'pct_below_15 > 50 and mean_temp < 14' or "
              "'status == failed' or 'host(\"gpu\")': columns, numbers, + - * / ^ == != < > <= >=, "
              "and, or, not(), abs(), sqrt(), ...");
}

void declare_rows(Options& options, RowChoice& choice) {
  declare_where(options, choice.where);
  options.add("sort", value(choice.sort, "FORMULA"),
              "ascending by this column or formula; with a - in front, descending");
  options.words("sort", all_column_names());
}

ResultReader open_result_file(const std::string& file) {
  ResultReader reader(file);
  for (const std::string& sentence : reader.damage())
    print_error("wallheat: {}", printable(sentence));
  return reader;
}

namespace {

std::string setting_of(const std::string& file, const ResultReader& reader, const char* name) {
  const auto found = reader.settings().find(name);
  if (found == reader.settings().end())
    throw RunError(fmt::format("{} does not say its {}", file, name));
  return found->second;
}

/// A run refuses numbers below 0, and doubles that are not finite.
template <class Number>
Number number_in(const std::string& file, const ResultReader& reader, const char* name) {
  const std::string text = setting_of(file, reader, name);
  const auto value = number_of<Number>(text);
  if (!value || !(*value >= 0 && *value <= std::numeric_limits<Number>::max()))
    throw RunError(fmt::format("{}: its {} is '{}'", file, name, printable(text)));
  return *value;
}

}  // namespace

SolverOptions recorded_solver(const std::string& file, const ResultReader& reader) {
  const std::string name = setting_of(file, reader, "solver");
  (void)setting_of(file, reader, "solver_version");
  SolverOptions made_with;
  made_with.isa = available_isas().back();
  for (const SolverKind kind : {SolverKind::fastforward, SolverKind::steady})
    if (name == to_string(kind)) made_with.kind = kind;
  made_with.limits.max_iterations = number_in<std::int64_t>(file, reader, "max_iterations");
  if (made_with.kind == SolverKind::steady) {
    made_with.limits.accuracy = number_in<double>(file, reader, "accuracy");
  } else {
    made_with.limits.tolerance = number_in<double>(file, reader, "tolerance");
  }
  // Runs store these two only where they are not the default.
  if (reader.settings().contains("spacing"))
    made_with.limits.spacing = number_in<double>(file, reader, "spacing");
  if (reader.settings().contains("norm")) {
    const std::string norm = setting_of(file, reader, "norm");
    if (norm != to_string(Norm::l2))
      throw RunError(fmt::format("{}: its norm is '{}'", file, norm));
    made_with.limits.norm = Norm::l2;
  }
  return made_with;
}

std::string recorded_solver_text(const ResultReader& reader) {
  return text_in(reader.settings(), "solver") + " " + text_in(reader.settings(), "solver_version");
}

void refuse_empty(const std::string& file, const std::string& where, std::size_t plans) {
  throw RunError(
      fmt::format("--where '{}' holds for none of the {} plans of {}", where, plans, file));
}

std::vector<std::size_t> selected_rows(const std::string& file, const ResultReader& reader,
                                       const RowChoice& choice) {
  auto rows = chosen_rows(rows_of(reader), choice);
  if (rows.empty() && !choice.where.empty()) refuse_empty(file, choice.where, reader.count());
  return rows;
}

}  // namespace wallheat
