#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "core/text.hpp"
#include "iterates/iterate_matching.hpp"
#include "wallheat/solver.hpp"

// Whether the results of a result file are those that its settings request.

namespace wallheat {
namespace {

/// Returns the index of the rule of a solve, which checks every sweep.
std::size_t find_requested_rule(Norm norm) {
  const auto quantity = norm == Norm::l2 ? StopRule::Quantity::l2 : StopRule::Quantity::largest;
  const auto rule = std::ranges::find_if(stop_rules(), [&](const StopRule& each) {
    return each.quantity == quantity && each.lookahead == 0 && each.interval == 1;
  });
  return static_cast<std::size_t>(rule - stop_rules().begin());
}

/// Returns the problem of a plan, whose program has reported these iterations.
RequestProblem find_request_problem(const Recognition& recognition, std::size_t plan,
                                    const std::optional<std::int64_t>& reported,
                                    const SolverOptions& requested) {
  if (!recognition.faults[plan].empty()) return {"cannot be compared", true};
  const PlanFit& fit = recognition.fits.front().front()[plan];
  const std::int64_t max_compared = SolveParameters().max_iterations;
  // The iterates no longer change if they agree up to the last one that is compared.
  const bool is_fixed_point = fit.agrees && fit.first < fit.last && fit.last == max_compared;
  if (requested.kind == SolverKind::steady)
    return {recognition.fits.back().front()[plan].agrees || is_fixed_point
                ? ""
                : "not the steady state"};
  const auto [tolerance, max_sweeps, accuracy, norm, spacing] = requested.limits;
  if (!fit.agrees)
    return max_sweeps > max_compared
               ? RequestProblem{fmt::format("cannot be compared: not one of the first {} iterates",
                                            max_compared),
                                true}
               : RequestProblem{"not an iterate of the Jacobi method in double precision"};
  const Bracket& stops = fit.tolerances[find_requested_rule(norm)];
  if (fit.first > max_sweeps || tolerance > stops.upper) return {"more sweeps than requested"};
  if (!stops.contains(tolerance) && max_sweeps > fit.last && !is_fixed_point)
    return {"fewer sweeps than requested"};
  if (!reported || is_fixed_point || fit.contains(*reported)) return {};
  const std::int64_t difference = *reported - (*reported < fit.first ? fit.first : fit.last);
  return {fmt::format("the reported iterations are {} {} than those of the field",
                      std::abs(difference), difference < 0 ? "less" : "more")};
}

/// Returns how a program with this hypothesis deviates from the request; an empty string if it
/// stops as requested, or iterates in another way than the reference.
std::string describe_deviation(const Hypothesis& of, const SolverOptions& requested) {
  const auto& [tolerance, max_sweeps, accuracy, norm, spacing] = requested.limits;
  if (of.kind != iteration_kinds().data() || requested.kind == SolverKind::steady) return "";
  const auto sweeps = of.rule == nullptr ? static_cast<std::int64_t>(of.parameter) : of.limit;
  if (of.rule == &stop_rules()[find_requested_rule(norm)] && !of.bracket.contains(tolerance))
    return fmt::format("the tolerance was {}", of.parameter);
  const bool has_limit = of.rule == nullptr || of.limit != SolveParameters().max_iterations;
  return has_limit && sweeps != max_sweeps ? fmt::format("{} sweeps were made", sweeps) : "";
}

}  // namespace

std::vector<RequestProblem> find_request_problems(const Recognition& recognition,
                                                  const ResultCsv& csv,
                                                  const SolverOptions& requested) {
  std::vector<RequestProblem> problems;
  for (std::size_t plan = 0; plan < csv.plans.size(); ++plan)
    problems.push_back(
        find_request_problem(recognition, plan, csv.plans[plan].iterations, requested));
  return problems;
}

void add_request(const ResultCsv& csv, const Recognition& recognition,
                 const SolverOptions& requested, const std::vector<RequestProblem>& problems,
                 Report& report) {
  std::map<RequestProblem, std::size_t> plans_by_problem;
  for (const RequestProblem& problem : problems)
    if (!problem.text.empty()) ++plans_by_problem[problem];
  for (const MissingResult& plan : csv.missing.value())
    if (plan.status != PlanStatus::empty) ++plans_by_problem[{std::string(to_string(plan.status))}];
  const std::string settings =
      requested.kind == SolverKind::steady
          ? "--solver steady"
          : fmt::format("--tolerance {}, --max-iterations {}{}", requested.limits.tolerance,
                        requested.limits.max_iterations,
                        requested.limits.norm == Norm::l2 ? ", --norm l2" : "");
  std::vector<std::string> reasons;
  bool is_unknown = true;
  for (const auto& [problem, plans] : plans_by_problem) {
    reasons.push_back(count_text(plans, "plan") + ": " + problem.text);
    is_unknown = is_unknown && problem.is_unknown;
  }
  if (recognition.is_decided() && !is_unknown)
    if (const auto how = describe_deviation(recognition.hypotheses.front(), requested);
        !how.empty())
      reasons.insert(reasons.begin(), how);
  const char* const verdict = reasons.empty() ? "as requested"
                              : is_unknown    ? "not known to be as requested"
                                              : "NOT as requested";
  report.add_json_fact("as_requested", is_unknown && !reasons.empty() ? Value() : reasons.empty());
  report.add_json_fact("request",
                       fmt::format("{} ({}){}{}", verdict, settings, reasons.empty() ? "" : ": ",
                                   fmt::join(reasons, "; ")));
}

}  // namespace wallheat
