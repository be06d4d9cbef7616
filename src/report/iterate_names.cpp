#include "report/iterate_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "core/id_list.hpp"
#include "core/input_file.hpp"
#include "core/number_of.hpp"
#include "core/parallel_for.hpp"
#include "core/plural.hpp"
#include "io/print_error.hpp"
#include "node/local_machine.hpp"
#include "report/iterates.hpp"
#include "report/not_known.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::array printed_names{"mean_temp", "std_temp", "pct_above_18", "pct_below_15"};
constexpr std::array printed_columns{&Statistics::mean_temp, &Statistics::std_temp,
                                     &Statistics::pct_above_18, &Statistics::pct_below_15};

/// What a CSV says of a plan.
struct PrintedAnswer {
  struct Number {
    double value = 0;
    double half_unit = 0;  ///< of its last digit: how far rounding may have moved it
  };
  std::string id;
  std::array<std::optional<Number>, printed_columns.size()> numbers;
};

/// What stands between the commas, without blanks and quotes.
std::vector<std::string> cells_of_line(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char letter : line) {
    if (letter == ',')
      cells.emplace_back();
    else if (std::string_view(" \t\r\"").find(letter) == std::string_view::npos)
      cells.back() += letter;
  }
  return cells;
}

std::optional<PrintedAnswer::Number> printed_number_in(const std::string& text) {
  const auto value = number_of<double>(text);
  if (!value) return std::nullopt;
  const std::size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), mark);
  const auto decimals = static_cast<double>(mark - std::min(point + 1, mark));
  const double exponent =
      number_of<double>(text.substr(std::min(mark + 1, text.size()))).value_or(0);
  return PrintedAnswer::Number{*value, 0.5 * std::pow(10, exponent - decimals)};
}

/// Throws RunError.
std::vector<PrintedAnswer> read_printed_answers(const std::string& file) {
  const std::vector<std::byte> bytes = read_input(file).bytes;
  std::istringstream stream({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> heads = cells_of_line(line);
  const auto place_of = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(heads, name) - heads.begin());
  };
  const std::size_t id = std::min(place_of("building_id"), place_of("id"));
  std::array<std::size_t, printed_columns.size()> places{};
  std::ranges::transform(printed_names, places.begin(), place_of);
  if (id == heads.size() || std::ranges::count(places, heads.size()) == std::ssize(places))
    throw RunError(fmt::format("{} is no CSV with the columns building_id and some of {}", file,
                               fmt::join(printed_names, ", ")));
  std::vector<PrintedAnswer> answers;
  IdList known;
  for (std::size_t number = 2; std::getline(stream, line); ++number) {
    const std::vector<std::string> cells = cells_of_line(line);
    if (cells.size() == 1 && cells.front().empty()) continue;
    const auto refuse = [&](const std::string& cause) {
      throw RunError(fmt::format("{}, line {}: {}", file, number, cause));
    };
    if (cells.size() != heads.size() || cells[id].empty())
      refuse(fmt::format("there must be {}, as in the first line", counted(heads.size(), "value")));
    PrintedAnswer& answer = answers.emplace_back(PrintedAnswer{cells[id], {}});
    if (!known.add(answer.id)) refuse(fmt::format("plan {} is there twice", answer.id));
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places.at(i) == heads.size() || cells[places.at(i)].empty()) continue;
      answer.numbers.at(i) = printed_number_in(cells[places.at(i)]);
      if (!answer.numbers.at(i)) refuse(fmt::format("'{}' is no number", cells[places.at(i)]));
    }
  }
  return answers;
}

struct Match {
  bool fits = true;      ///< but for the error of the iterate
  bool is_exact = true;  ///< all digits that are printed are the iterate's
  double distance = 0;   ///< the largest of a number, in °C or %
};

Match match_of(const PrintedAnswer& printed, const Iterate& iterate) {
  Match match;
  for (std::size_t i = 0; i < printed_columns.size(); ++i) {
    const auto& number = printed.numbers.at(i);
    const double value = iterate.statistics.*printed_columns.at(i);
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

/// Of each plan, in their order.
std::vector<Named> name_all(const std::vector<PrintedAnswer>& answers, const PlanSource& source) {
  std::vector<Named> all(answers.size());
  std::mutex telling;
  std::size_t done = 0;
  auto told = std::chrono::steady_clock::now();
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
      if (const auto now = std::chrono::steady_clock::now(); now - told > std::chrono::seconds(5)) {
        told = now;
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
  /// Of the one that is decided: whether all digits that are printed are its own.
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

}  // namespace

Report name_iterates(const std::string& file, const PlanSource& source) {
  const std::vector<Named> all = name_all(read_printed_answers(file), source);
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
    if (!named.fault.empty()) {
      table.rows.push_back({named.id, named.fault, {}, {}, {}});
      continue;
    }
    none += named.is_none() ? 1U : 0U;
    std::vector<std::string> own;
    std::ranges::copy_if(ways.commonest, std::back_inserter(own),
                         [&](const std::string& way) { return named.ways.contains(way); });
    const std::string answer = named.is_none() ? "no iterate of this plan"
                               : own.empty()
                                   ? named.is_precise ? "another iterate" : "may be another iterate"
                               : ways.is_decided() ? own.front()
                                                   : "may be: " + few_of(own);
    table.rows.push_back({named.id, answer, named.sweeps(), named.nearest, named.distance});
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
