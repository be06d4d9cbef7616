#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/text.hpp"
#include "iterates/iterate_matching.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {
namespace {

const SolveParameters reference_parameters;

/// A number with few digits, and how many they are.
struct RoundNumber {
  double value = 0;
  double cost = 0;  ///< significant digits; half a digit more if the number is not a power of ten
};

/// Returns the number with the fewest digits in a bracket of positive numbers, preferably a power
/// of ten.
RoundNumber find_round_number(const Bracket& bracket) {
  const int exponent = static_cast<int>(std::floor(std::log10(bracket.upper)));
  const auto decimal = [](double digits, int power) {
    return *parse_number<double>(fmt::format("{:.0f}e{}", digits, power));
  };
  if (const double power = decimal(1, exponent); bracket.contains(power)) return {power, 1};
  constexpr int max_digits = 17;
  for (int digits = 1; digits < max_digits; ++digits) {
    const int power = exponent - digits + 1;
    const double value = decimal(std::floor(bracket.upper / std::pow(10, power)), power);
    if (bracket.contains(value)) return {value, digits + 0.5};
  }
  return {bracket.upper, max_digits};
}

/// Values that the most of some brackets contain.
struct Overlap {
  Bracket values{};
  std::size_t count = 0;
};

Overlap find_largest_overlap(const std::vector<Bracket>& brackets) {
  std::vector<std::pair<double, int>> ends;  // an end comes before a beginning at the same value
  for (const Bracket& bracket : brackets) {
    if (!(bracket.lower < bracket.upper)) continue;
    ends.emplace_back(bracket.lower, 1);
    ends.emplace_back(bracket.upper, -1);
  }
  std::ranges::sort(ends);
  Overlap largest;
  std::size_t count = 0;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    count += ends[i].second > 0 ? 1 : std::size_t(-1);
    if (count > largest.count && ends[i].first < ends[i + 1].first)
      largest = {{ends[i].first, ends[i + 1].first}, count};
  }
  return largest;
}

/// Returns what the brackets around a value have in common, or nothing (count 0) if it is in none.
Overlap overlap_at(double value, const std::vector<Bracket>& brackets) {
  Overlap overlap{{0, std::numeric_limits<double>::infinity()}, 0};
  for (const Bracket& bracket : brackets) {
    if (!bracket.contains(value)) continue;
    overlap.values = {std::max(overlap.values.lower, bracket.lower),
                      std::min(overlap.values.upper, bracket.upper)};
    ++overlap.count;
  }
  return overlap;
}

/// Adds the plans whose brackets contain the parameter.
void add_plans(const Fits& fits, const std::vector<Bracket>& brackets, Hypothesis& hypothesis) {
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (!fits[i].agrees || !brackets[i].contains(hypothesis.parameter)) continue;
    hypothesis.fits.push_back(i);
    hypothesis.exact += fits[i].is_exact ? 1U : 0U;
  }
  hypothesis.cost += hypothesis.exact == hypothesis.fits.size() ? 0 : 1;
}

/// Returns the hypothesis of a fixed number of sweeps, without plans if none has iterates.
Hypothesis find_fixed_sweeps(Hypothesis hypothesis, const Fits& fits) {
  std::vector<Bracket> sweeps(fits.size());  // of plans that do not fit: empty
  for (std::size_t i = 0; i < fits.size(); ++i)
    if (fits[i].agrees)
      sweeps[i] = {static_cast<double>(fits[i].first - 1), static_cast<double>(fits[i].last)};
  const Overlap overlap = find_largest_overlap(sweeps);
  if (overlap.count == 0) return hypothesis;
  const RoundNumber number = find_round_number(overlap.values);
  hypothesis.parameter = number.value;
  hypothesis.bracket = overlap.values;
  hypothesis.cost += 0.5 + number.cost;
  add_plans(fits, sweeps, hypothesis);
  hypothesis.cost += hypothesis.is_open_ended() ? 0.5 : 0;  // rather the steady state
  return hypothesis;
}

/// Returns the hypothesis of a rule with a limit of sweeps, without plans if no tolerance fits any.
Hypothesis find_tolerance(Hypothesis hypothesis, std::size_t rule, std::int64_t limit,
                          const Fits& fits) {
  std::vector<Bracket> tolerances(fits.size());
  std::vector<Bracket> below_limit;  // of plans that did not stop because of the limit
  for (std::size_t i = 0; i < fits.size(); ++i) {
    if (!fits[i].agrees || fits[i].first > limit) continue;
    tolerances[i] = fits[i].tolerances[rule];
    if (fits[i].contains(limit))
      tolerances[i].lower = 0;
    else if (tolerances[i].lower < tolerances[i].upper)
      below_limit.push_back(tolerances[i]);
  }
  Overlap overlap = find_largest_overlap(tolerances);
  const double usual = reference_parameters.tolerance;
  if (const Overlap at_usual = overlap_at(usual, tolerances); at_usual.count == overlap.count)
    overlap = at_usual;
  const auto [lower, upper] = overlap.values;
  if (overlap.count == 0 || !(lower > 0) || !std::isfinite(upper)) return hypothesis;
  const RoundNumber number =
      overlap.values.contains(usual) ? RoundNumber{usual} : find_round_number(overlap.values);
  hypothesis.rule = &stop_rules()[rule];
  hypothesis.parameter = number.value;
  hypothesis.bracket = overlap.values;
  hypothesis.limit = limit;
  hypothesis.cost += hypothesis.rule->cost + number.cost;
  // A tolerance that is not the usual one is a conclusion from several plans.
  constexpr std::size_t enough = 3;
  if (number.cost > 0 && overlap_at(number.value, below_limit).count < enough) return hypothesis;
  add_plans(fits, tolerances, hypothesis);
  return hypothesis;
}

std::string stop_text(const Hypothesis& of) {
  const StopRule& rule = *of.rule;
  const bool is_short = rule.lookahead > 0 && !rule.is_residual;
  const bool is_usual = rule.quantity == StopRule::Quantity::largest && !rule.is_residual &&
                        of.parameter == reference_parameters.tolerance;
  const bool is_every = rule.interval == 1;
  std::string text;
  if (is_usual && is_every && rule.lookahead == 0) {
    text = of.kind->text.empty() ? "the result of the reference program, simulate.py"
                                 : "iterates at which the reference program stops";
  } else if (is_usual && is_every) {
    text = is_short ? "iterates one sweep short: the field before the last update is returned"
                    : "iterates one sweep after the reference program stops";
  } else {
    if (is_usual) {
      text = fmt::format("iterates at multiples of {}", rule.interval);
    } else {
      text = fmt::format("iterates whose {} is below {}", rule.quantity_name(), of.parameter);
    }
    if (!is_every)
      text += fmt::format("{} checked every {}th sweep{}", is_usual ? ": convergence is" : ",",
                          rule.interval, rule.starts_at_first ? ", starting at the first" : "");
    if (rule.lookahead != 0 && !rule.is_residual)
      text += is_short ? ", one sweep short: the field before the last update is returned"
                       : ", one sweep after the stop";
  }
  if (of.limit != reference_parameters.max_iterations)
    text += fmt::format(", after at most {} sweeps", of.limit);
  return text;
}

std::vector<StopRule> make_stop_rules() {
  using enum StopRule::Quantity;
  const std::vector<StopRule> quantities{
      {},      {largest, 1},  {largest, -1},      {largest, 1, true},         {l2},
      {l2, 1}, {l2, 1, true}, {root_mean_square}, {root_mean_square, 1, true}};
  std::vector<StopRule> all;
  for (const std::int64_t interval :
       {1, 10, 20, 25, 50, 64, 100, 128, 200, 250, 256, 500, 512, 1000, 1024, 2000, 5000}) {
    for (const bool starts_at_first : {false, true}) {
      if (interval == 1 && starts_at_first) continue;
      for (StopRule rule : quantities) {
        rule.cost = (rule.quantity == largest && rule.lookahead == 0 ? 0 : 1) +
                    (interval == 1 ? 0 : 1) + (starts_at_first ? 0.5 : 0);
        rule.interval = interval;
        rule.starts_at_first = starts_at_first;
        all.push_back(rule);
      }
    }
  }
  return all;
}

}  // namespace

const std::vector<StopRule>& stop_rules() {
  static const std::vector<StopRule> rules = make_stop_rules();
  return rules;
}

std::string StopRule::quantity_name() const {
  const char* const norm = quantity == Quantity::largest ? "largest"
                           : quantity == Quantity::l2    ? "2-norm of the"
                                                         : "root mean square of the";
  return fmt::format("{} {}", norm, is_residual ? "residual" : "change");
}

bool Hypothesis::is_open_ended() const {
  const auto max_sweeps = static_cast<double>(reference_parameters.max_iterations);
  return rule == nullptr && bracket.upper == max_sweeps && bracket.lower < max_sweeps - 1;
}

std::string Hypothesis::name() const {
  if (kind->is_steady_state) return "the steady state" + average->text;
  const std::string stop =
      rule != nullptr ? stop_text(*this)
                      : fmt::format("iterates after {} without a stop",
                                    count_text(static_cast<std::size_t>(parameter), "sweep"));
  return stop + kind->text + average->text;
}

std::vector<Hypothesis> find_hypotheses(const IterationKind& kind, const Average& average,
                                        const Fits& fits, std::size_t min_plans) {
  Hypothesis common{&kind, &average};
  common.cost = kind.cost + average.cost;
  std::vector<Hypothesis> found;
  const auto add = [&](Hypothesis hypothesis) {
    if (hypothesis.fits.size() >= std::max<std::size_t>(min_plans, 1))
      found.push_back(std::move(hypothesis));
  };
  if (kind.is_steady_state) {
    add_plans(fits, std::vector<Bracket>(fits.size(), Bracket{-1, 0}), common);
    add(common);
    return found;
  }
  const Hypothesis fixed = find_fixed_sweeps(common, fits);
  add(fixed);
  std::vector<std::int64_t> limits{reference_parameters.max_iterations};
  if (const auto sweeps = static_cast<std::int64_t>(fixed.parameter);
      fixed.fits.size() > 1 && sweeps < limits.front())
    limits.push_back(sweeps);
  for (const std::int64_t limit : limits) {
    Hypothesis limited = common;
    if (limit != limits.front()) limited.cost += fixed.cost - common.cost;
    for (std::size_t rule = 0; rule < stop_rules().size(); ++rule) {
      Hypothesis hypothesis = find_tolerance(limited, rule, limit, fits);
      // If the plans have a number of sweeps in common, nothing is known about their tolerance.
      const bool is_usual = hypothesis.parameter == reference_parameters.tolerance;
      if (is_usual || !std::ranges::includes(fixed.fits, hypothesis.fits)) add(hypothesis);
    }
  }
  return found;
}

}  // namespace wallheat
