#include "report/thresholds.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/interior_values.hpp"
#include "core/number_of.hpp"
#include "core/parallel_for.hpp"
#include "core/printable.hpp"
#include "node/local_machine.hpp"
#include "plans/plan_hash.hpp"
#include "report/attributes.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

/// What of a row follows from the thresholds.
struct Shares {
  double pct_above = 0;
  double pct_below = 0;
  std::uint32_t in_doubt = 0;
};

Shares shares_of(const PlanResult& row, const Grid<double>& field, const PlanSource& plans,
                 const Thresholds& thresholds) {
  const auto refuse = [&](const std::string& why) {
    throw RunError(
        fmt::format("the cells of plan {} cannot be counted again: {}", printable(row.id), why));
  };
  try {
    const FloorPlan plan = plans.load(row.id);
    if (plan_hash(plan) != row.input_hash)
      refuse(fmt::format("it is not the one in {} any more", plans.path().string()));
    const bool is_bounded = !std::isnan(row.error_bound);
    const auto [statistics, doubt] = summary_of(interior_values(field, plan.interior), thresholds,
                                                is_bounded ? row.error_bound : 0);
    return {statistics.pct_above_18, statistics.pct_below_15,
            is_bounded ? static_cast<std::uint32_t>(doubt.cells) : 0};
  } catch (const InputError& error) {
    refuse(error.what());
  }
  return {};
}

}  // namespace

Thresholds recorded_thresholds(const ResultReader& reader) {
  const auto recorded = [&](const char* name, double fallback) {
    return number_of<double>(text_in(reader.settings(), name)).value_or(fallback);
  };
  const Thresholds defaults;
  return {recorded("above", defaults.above), recorded("below", defaults.below)};
}

Rows counted_again(const ResultReader& reader, const PlanSource& plans,
                   const Thresholds& thresholds) {
  std::vector<Shares> shares(reader.count());
  parallel_for(local_machine().cores.size(), shares.size(), [&] {
    return [&](std::size_t i) {
      const PlanResult row = reader.row(i);
      if (!is_answer(row.status) || row.status == PlanStatus::empty) return;
      const auto field = reader.field(i);
      if (!field)
        throw RunError(fmt::format(
            "plan {} has no stored field whose cells could be counted again: name the thresholds "
            "when the plans are solved, or run with --save-fields",
            printable(row.id)));
      shares[i] = shares_of(row, *field, plans, thresholds);
    };
  });
  return [&reader, shares = std::move(shares)](const auto& take) {
    std::size_t i = 0;
    reader.for_each_row([&](const PlanResult& stored) {
      PlanResult row = stored;
      const Shares& counted = shares[i++];
      row.statistics.pct_above_18 = counted.pct_above;
      row.statistics.pct_below_15 = counted.pct_below;
      row.cells_in_doubt = counted.in_doubt;
      for (double* const share : {&row.pct_above_18_least, &row.pct_above_18_most,
                                  &row.pct_below_15_least, &row.pct_below_15_most})
        *share = std::nan("");
      take(row);
    });
  };
}

}  // namespace wallheat
