#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan_ids.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "io/standard_streams.hpp"
#include "node/local_machine.hpp"
#include "report/answer_csv.hpp"
#include "report/compare.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

struct Match {
  bool fits = true;      ///< but for the error of the iterate
  bool is_exact = true;  ///< all digits that are printed are the iterate's
  double distance = 0;   ///< the largest of a number, in °C or %
};

Match match_of(const PrintedAnswer& printed, const Iterate& iterate) {
  Match match;
  for (std::size_t i = 0; i < printed_columns.size(); ++i) {
    const auto& number = printed.numbers.at(i);
    const double value = iterate.statistics.*printed_columns.at(i).of;
    if (!number || (std::isnan(number->value) && std::isnan(value))) continue;
    constexpr double rounding = 1e-14;  // of percentages, which are computed in several ways
    const double unit = number->half_unit + (i < 2 ? 0 : rounding * std::abs(value));
    const double distance = std::abs(number->value - value);
    // A percentage is off by whole cells.
    const double cells =
        std::min(std::round(distance / iterate.pct_a_cell), iterate.doubtful_cells);
    match.fits = match.fits && (i < 2 ? distance <= unit + iterate.error
                                      : std::abs(distance - cells * iterate.pct_a_cell) <= unit);
    match.is_exact = match.is_exact && (distance <= unit || iterate.sweeps == 0);
    if (!(distance <= match.distance)) match.distance = distance;
  }
  return match;
}

/// What a plan's answer is.
struct Named {
  std::string id;
  std::map<std::string, bool> ways{};  ///< what usual programs do that print it; if it is exact
  std::int64_t first = 0, last = 0;  ///< sweeps of the iterates that fit, as far as they were made
  std::int64_t nearest = 0;          ///< sweeps of the nearest one
  double distance = not_known;       ///< from that, in °C or %
  bool is_precise = false;           ///< its digits tell one iterate from the next
  std::string fault = {};            ///< why it cannot be named

  [[nodiscard]] bool is_none() const { return fault.empty() && ways.empty() && last == 0; }
  [[nodiscard]] std::string sweeps() const {
    if (last == 0) return "";
    return first == last ? fmt::format("{}", last) : fmt::format("{} to {}", first, last);
  }
};

Named name_answer(const PrintedAnswer& printed, const FloorPlan& plan, Solver& jacobi) {
  Named named{printed.id};
  bool is_double = false;  // precision, of which sums in single one tell nothing
  const auto look_at = [&](const std::vector<Iterate>& iterates) {
    for (const Iterate& iterate : iterates) {
      const auto [fits, is_exact, distance] = match_of(printed, iterate);
      if (fits && !iterate.how.empty()) named.ways[iterate.how] |= is_exact;
      is_double = is_double || (fits && iterate.error > 0);
      if (iterate.sweeps == 0) continue;  // the steady state
      if (fits) {
        named.first = named.last == 0 ? iterate.sweeps : std::min(named.first, iterate.sweeps);
        named.last = std::max(named.last, iterate.sweeps);
      }
      if (distance >= named.distance) continue;
      named.distance = distance;
      named.nearest = iterate.sweeps;
    }
  };
  look_at(iterates_of(plan, jacobi));
  named.is_precise =
      std::ranges::any_of(std::span(printed.numbers).first(2), [](const auto& number) {
        constexpr double enough = 1e-8;  // °C, which tell iterates and precisions apart
        return number && number->half_unit < enough;
      });
  if (!is_double || !named.is_precise) look_at(single_precision_iterates(plan));
  constexpr std::int64_t around = 100;
  if (named.is_none())
    look_at(iterates_between(plan, jacobi, std::max<std::int64_t>(named.nearest - around, 0),
                             named.nearest + around));
  return named;
}

/// The first few of them.
std::string few_of(const std::vector<std::string>& ways) {
  constexpr std::size_t few = 4;
  const auto first = std::span(ways).first(std::min(few, ways.size()));
  return fmt::format("{}{}", fmt::join(first, "; "),
                     ways.size() > few ? fmt::format("; and {} more", ways.size() - few) : "");
}

/// One for each answer, in their order.
std::vector<Named> name_all(const std::vector<PrintedAnswer>& answers, const PlanSource& source) {
  std::vector<Named> all(answers.size());
  std::mutex telling;
  std::size_t done = 0;
  auto last_report = std::chrono::steady_clock::now();
  parallel_for(local_machine().cores.size(), answers.size(), [&] {
    const std::shared_ptr<Solver> jacobi = make_jacobi_solver(available_isas().back());
    return [&, jacobi](std::size_t i) {
      const auto& [id, numbers] = answers[i];
      try {
        all[i] = std::ranges::any_of(numbers, [](const auto& number) { return number.has_value(); })
                     ? name_answer(answers[i], source.load(id), *jacobi)
                     : Named{.id = id, .fault = "no number is given"};
      } catch (const InputError& error) {
        all[i] = {.id = id, .fault = error.what()};
      }
      const std::scoped_lock lock(telling);
      ++done;
      if (const auto now = std::chrono::steady_clock::now();
          now - last_report > std::chrono::seconds(5)) {
        last_report = now;
        print_error("solved {} of {}", done, counted(all.size(), "plan"));
      }
    };
  });
  return all;
}

/// What usual programs do, and how many plans say so.
struct Ways {
  struct Count {
    std::size_t plans = 0, exact = 0;
  };
  std::map<std::string, Count> counts;
  std::vector<std::string> commonest;  ///< the simplest first; empty if no program fits half of all
  std::size_t most = 0;                ///< plans that they fit
  bool is_precise = false;             ///< the answers have many digits

  /// Whether there is one, and it fits by no chance: one plan may be at any stride, and few digits
  /// fit what they are not.
  [[nodiscard]] bool is_decided() const {
    constexpr std::size_t enough = 3;
    return commonest.size() == 1 &&
           (most >= enough ||
            (is_precise && commonest.front().find("multiples") == std::string::npos));
  }
  /// Whether all digits that are printed are those of the way that was decided for.
  [[nodiscard]] bool is_exact() const { return counts.at(commonest.front()).exact == most; }
};

Ways ways_of(const std::vector<Named>& all) {
  Ways ways;
  std::size_t faults = 0;
  for (const Named& named : all) {
    faults += named.fault.empty() ? 0U : 1U;
    ways.is_precise = ways.is_precise || named.is_precise;
    for (const auto& [way, is_exact] : named.ways) {
      ++ways.counts[way].plans;
      ways.counts[way].exact += is_exact ? 1U : 0U;
    }
  }
  // A program does the same to all plans: what fits a few of them does so by chance.
  ways.most = (all.size() - faults + 1) / 2;
  for (const auto& [way, count] : ways.counts) {
    if (count.plans > ways.most) ways.commonest.clear();
    ways.most = std::max(ways.most, count.plans);
    if (count.plans == ways.most) ways.commonest.push_back(way);
  }
  std::ranges::stable_sort(ways.commonest, {}, &std::string::size);
  return ways;
}

std::string verdict_of(const Ways& ways, std::size_t plans) {
  if (ways.commonest.empty()) return "no usual program prints these answers";
  const std::string of_all = fmt::format("{} of {}", ways.most, counted(plans, "plan"));
  if (!ways.is_decided())
    return fmt::format("{} may be, as far as their digits and number tell: {}", of_all,
                       few_of(ways.commonest));
  return fmt::format("{} are {}{}", of_all, ways.commonest.front(),
                     ways.is_exact() ? ""
                                     : ", but for the last digits: its sums are in another order, "
                                       "or by fused multiply-add");
}

/// What one plan's answer is, by what all are.
std::string verdict_on_plan(const Named& named, const Ways& ways) {
  if (!named.fault.empty()) return named.fault;
  if (named.is_none()) return "no iterate of this plan";
  std::vector<std::string> own;
  std::ranges::copy_if(ways.commonest, std::back_inserter(own),
                       [&](const std::string& way) { return named.ways.contains(way); });
  if (own.empty()) return named.is_precise ? "another iterate" : "may be another iterate";
  return ways.is_decided() ? own.front() : "may be: " + few_of(own);
}

}  // namespace

Report name_iterates(const std::string& file, const PlanSource& source) {
  const std::vector<Named> all = name_all(read_answers(file), source);
  const Ways ways = ways_of(all);
  Report report{file};
  report.add_note(verdict_of(ways, all.size()));
  Table table{"answers",
              "",
              {{"id", "plan"},
               {"answer", "is"},
               {"sweeps", "sweeps"},
               {"nearest", "nearest iterate"},
               {"distance", "largest difference", {Form::digits, 3}}}};
  constexpr std::size_t few_plans = 20;
  table.most_shown = few_plans;
  std::size_t none = 0;
  IdList answered;
  for (const Named& named : all) {
    answered.add(named.id);
    none += named.is_none() ? 1U : 0U;
    Table::Row& row = table.rows.emplace_back(Table::Row{named.id, verdict_on_plan(named, ways)});
    if (named.fault.empty())
      row.insert(row.end(), {named.sweeps(), named.nearest, named.distance});
    else
      row.resize(table.columns.size());
  }
  std::size_t missing = 0;
  for (const std::string_view id : source.ids().ids) {
    if (answered.find(id)) continue;
    ++missing;
    table.rows.push_back({id, "missing in " + file, {}, {}, {}});
  }
  if (none > 0) report.add_note(counted(none, "plan is", "plans are") + " no iterate of theirs");
  if (missing > 0)
    report.add(
        Note{fmt::format("{} missing in {}", counted(missing, "plan is", "plans are"), file)});
  report.add_data("plans", all.size());
  report.add_data("none", none);
  report.add_data("missing", missing);
  report.add(std::move(table));
  Table how{"ways", "how many plans fit", {{"answer", "what"}, {"plans", "plans"}}};
  how.most_shown = few_plans;
  for (const auto& [way, count] : ways.counts) how.rows.push_back({way, count.plans});
  std::ranges::stable_sort(how.rows, std::greater(),
                           [](const Table::Row& row) { return std::get<std::int64_t>(row[1]); });
  report.add(std::move(how));
  return report;
}

}  // namespace wallheat
