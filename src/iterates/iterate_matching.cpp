#include "iterates/iterate_matching.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "core/plan_ids.hpp"
#include "core/text.hpp"
#include "core/threads.hpp"
#include "io/standard_streams.hpp"
#include "node/placement.hpp"
#include "wallheat/error.hpp"
#include "wallheat/solver.hpp"

namespace wallheat {

std::span<const Hypothesis> Recognition::candidates() const {
  if (hypotheses.empty()) return {};
  const Hypothesis& best = hypotheses.front();
  // Few digits exclude little, so even an unusual program may have printed them.
  const double margin = is_precise ? 1 : 2.5;
  const auto end = std::ranges::find_if(hypotheses, [&](const Hypothesis& each) {
    return each.fits.size() < best.fits.size() || each.cost >= best.cost + margin;
  });
  return {hypotheses.begin(), end};
}

bool Recognition::is_decided() const {
  if (!is_precise && !has_all_kinds) return false;
  if (candidates().size() != 1 || contradictions(hypotheses.front()) > 0) return false;
  const Hypothesis& best = hypotheses.front();
  constexpr std::size_t enough = 3;
  if (best.fits.size() >= enough) return true;
  // One or two plans may stop at any number of sweeps, and at multiples of any interval.
  const bool is_every = best.rule == nullptr || best.rule->interval == 1;
  return is_precise && best.cost <= 1 && is_every;
}

namespace {

/// A plan that will be compared with a kind of iteration.
struct FitTask {
  std::size_t kind, plan;
};

/// Compares plans on all cores. Logs the progress to stderr.
void fit_plans(const std::vector<CsvResult>& answers, const PlanSource& source,
               const WallOverrides& walls, const std::vector<FitTask>& tasks,
               Recognition& recognition) {
  std::mutex mutex;
  std::size_t done = 0;
  auto last_report = std::chrono::steady_clock::now();
  const auto fit = [&](const FitTask& task) {
    const CsvResult& printed = answers[task.plan];
    if (std::ranges::none_of(printed.numbers, [](const auto& each) { return each.has_value(); }))
      throw InputError("the result contains no number");
    FloorPlan plan = source.load(printed.id);
    apply_wall_overrides(plan, walls);
    if (plan.has_heat_source())
      throw InputError("has a heat source, which the known programs do not support");
    if ((recognition.cells[task.plan] = count_interior(plan)) == 0)
      throw InputError("has no interior cell, so it has no iterates");
    return fit_plan(printed, plan, iteration_kinds()[task.kind]);
  };
  parallel_for(default_thread_count(), tasks.size(), [&] {
    return [&](std::size_t i) {
      const FitTask& task = tasks[i];
      try {
        std::vector<PlanFit> found = fit(task);
        for (std::size_t average = 0; average < found.size(); ++average)
          recognition.fits[task.kind][average][task.plan] = std::move(found[average]);
      } catch (const InputError& error) {
        recognition.faults[task.plan] = error.what();
      }
      const std::scoped_lock lock(mutex);
      ++done;
      if (const auto now = std::chrono::steady_clock::now();
          now - last_report > std::chrono::seconds(5)) {
        last_report = now;
        print_error("{} of {} done", done, count_text(tasks.size(), "comparison"));
      }
    };
  });
}

/// Sets the hypotheses that agree with at least half of the plans. Fewer fit by chance.
void rank_hypotheses(Recognition& recognition) {
  recognition.sound = static_cast<std::size_t>(std::ranges::count(recognition.faults, ""));
  std::vector<Hypothesis>& all = recognition.hypotheses;
  all.clear();
  for (std::size_t kind = 0; kind < recognition.fits.size(); ++kind) {
    const IterationKind& of = iteration_kinds()[kind];
    for (std::size_t average = 0; average < of.averages.size(); ++average)
      std::ranges::move(find_hypotheses(of, of.averages[average], recognition.fits[kind][average],
                                        (recognition.sound + 1) / 2),
                        std::back_inserter(all));
  }
  // A hypothesis that contradicts some plans and has an unusual parameter is meaningless.
  constexpr double usual = 3;
  std::erase_if(all, [&](const Hypothesis& each) {
    return recognition.contradictions(each) > 0 && each.cost > usual;
  });
  std::ranges::stable_sort(all, [](const Hypothesis& a, const Hypothesis& b) {
    return std::tuple(b.fits.size(), a.cost, b.exact) < std::tuple(a.fits.size(), b.cost, a.exact);
  });
  std::set<std::string> names;  // several kinds have one name
  std::erase_if(all, [&](const Hypothesis& each) { return !names.insert(each.name()).second; });
}

/// Returns the plans without a fault: first those that contradict the best hypothesis, and small
/// plans before large ones.
std::vector<std::size_t> order_plans(const Recognition& recognition) {
  std::vector<std::size_t> order;
  for (std::size_t plan = 0; plan < recognition.faults.size(); ++plan)
    if (recognition.faults[plan].empty()) order.push_back(plan);
  std::ranges::stable_sort(order, {}, [&](std::size_t plan) {
    const bool is_explained = !recognition.hypotheses.empty() &&
                              std::ranges::binary_search(recognition.hypotheses.front().fits, plan);
    return std::pair(is_explained, recognition.cells[plan]);
  });
  return order;
}

/// Compares all plans with the reference's kind of iteration. If that does not decide what the
/// program is, compares a few plans with all other kinds, and then the other plans with the kinds
/// that agree with these few.
Recognition recognize(const std::vector<CsvResult>& answers, const PlanSource& source,
                      const WallOverrides& walls) {
  const std::size_t plans = answers.size();
  const std::vector<IterationKind>& kinds = iteration_kinds();
  Recognition recognition{std::vector<std::string>(plans), std::vector<std::int64_t>(plans),
                          std::vector<std::vector<Fits>>(kinds.size())};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    recognition.fits[kind].assign(kinds[kind].averages.size(), Fits(plans));
  std::vector<FitTask> tasks;
  for (std::size_t plan = 0; plan < plans; ++plan) tasks.push_back({0, plan});
  fit_plans(answers, source, walls, tasks, recognition);
  recognition.is_precise =
      2 * static_cast<std::size_t>(std::ranges::count_if(answers, identifies_iterates)) > plans;
  rank_hypotheses(recognition);
  if (recognition.is_decided() && !recognition.hypotheses.front().is_open_ended())
    return recognition;

  // Few digits exclude no kind, and to compare many plans with all kinds takes hours.
  constexpr std::size_t many_plans = 50;
  if (!recognition.is_precise && recognition.sound > many_plans &&
      !recognition.hypotheses.empty() &&
      recognition.contradictions(recognition.hypotheses.front()) == 0)
    return recognition;
  recognition.has_all_kinds = true;
  const std::vector<std::size_t> order = order_plans(recognition);
  constexpr std::size_t few = 3;
  const auto sample = std::span(order).first(std::min(few, order.size()));
  std::vector<std::size_t> open;  // kinds that agree with all plans so far
  for (std::size_t kind = 1; kind < kinds.size(); ++kind) open.push_back(kind);
  for (const std::size_t plan : sample) {
    tasks.clear();
    for (const std::size_t kind : open) tasks.push_back({kind, plan});
    fit_plans(answers, source, walls, tasks, recognition);
    std::erase_if(open, [&](std::size_t kind) {
      const bool agrees = std::ranges::any_of(recognition.fits[kind],
                                              [&](const Fits& fits) { return fits[plan].agrees; });
      for (Fits& fits : recognition.fits[kind])
        if (!agrees) fits.assign(plans, {});
      return !agrees;
    });
  }
  // Few digits, or another order of sums, agree with kinds that differ in the last digits only.
  // These have one text; the one that agrees in the most digits remains.
  std::ranges::stable_sort(open, std::greater(), [&](std::size_t kind) {
    std::size_t exact = 0;
    for (const Fits& fits : recognition.fits[kind])
      exact += static_cast<std::size_t>(std::ranges::count_if(
          sample, [&](std::size_t plan) { return fits[plan].agrees && fits[plan].is_exact; }));
    return exact;
  });
  std::set<std::string> texts;
  std::erase_if(open, [&](std::size_t kind) { return !texts.insert(kinds[kind].text).second; });
  tasks.clear();
  for (const std::size_t plan : std::span(order).subspan(sample.size()))
    for (const std::size_t kind : open) tasks.push_back({kind, plan});
  fit_plans(answers, source, walls, tasks, recognition);
  rank_hypotheses(recognition);
  return recognition;
}

/// Returns the first few items, and how many more there are.
std::string join_few(const std::vector<std::string>& items, const char* separator) {
  constexpr std::size_t few = 4;
  return fmt::format(
      "{}{}", fmt::join(std::span(items).first(std::min(few, items.size())), separator),
      items.size() > few ? fmt::format("{}and {} more", separator, items.size() - few) : "");
}

std::string join_names(std::span<const Hypothesis> hypotheses) {
  std::vector<std::string> names;
  std::ranges::transform(hypotheses, std::back_inserter(names), &Hypothesis::name);
  return join_few(names, "; ");
}

/// Returns the range of the parameter that gives the same answers; empty if a usual program has it.
std::string parameter_text(const Hypothesis& of, const Recognition& recognition) {
  if (of.kind->is_steady_state) return "";
  const double usual = SolveParameters().tolerance;
  const auto [lower, upper] = of.bracket;
  if (of.rule != nullptr)
    return of.parameter == usual
               ? ""
               : fmt::format(
                     " (any tolerance above {:.6g} and up to {:.6g} gives the same results)", lower,
                     upper);
  if (upper - lower > 1)
    return fmt::format(" (any number of sweeps from {} to {} gives the same results)", lower + 1,
                       upper);
  const auto& averages = of.kind->averages;
  const auto average = static_cast<std::size_t>(of.average - averages.data());
  const auto kind = static_cast<std::size_t>(of.kind - iteration_kinds().data());
  bool all_have_stopped = true;
  bool one_stops_now = false;
  for (const std::size_t plan : of.fits) {
    const Bracket& tolerance = recognition.fits[kind][average][plan].tolerances.front();
    all_have_stopped = all_have_stopped && tolerance.lower < usual;
    one_stops_now = one_stops_now || tolerance.contains(usual);
  }
  return all_have_stopped && one_stops_now && of.fits.size() > 1
             ? " (the sweep at which the reference program stops for the slowest plan, as in a "
               "batch)"
             : "";
}

std::string verdict_text(const Recognition& recognition, const std::vector<CsvResult>& answers) {
  const auto candidates = recognition.candidates();
  if (candidates.empty()) return "no known program prints these results";
  const Hypothesis& best = candidates.front();
  const std::string of_all =
      fmt::format("{} of {}", best.fits.size(), count_text(answers.size(), "plan"));
  if (const std::size_t contradictions = recognition.contradictions(best); contradictions > 0) {
    std::vector<std::string> ids;
    for (std::size_t plan = 0; plan < answers.size(); ++plan)
      if (recognition.faults[plan].empty() && !std::ranges::binary_search(best.fits, plan))
        ids.push_back(answers[plan].id);
    return fmt::format("no known program prints all of these results: {} match {}, but {} it: {}",
                       of_all, join_names(candidates),
                       count_text(contradictions, "plan contradicts", "plans contradict"),
                       join_few(ids, ", "));
  }
  if (!recognition.is_decided())
    return fmt::format("{} may be, given their digits and number: {}", of_all,
                       join_names(candidates));
  return fmt::format("{} are {}{}{}", of_all, best.name(), parameter_text(best, recognition),
                     best.exact == best.fits.size() || best.kind->is_steady_state
                         ? ""
                         : ", except for the last digits: its sums have another order, "
                           "or use fused multiply-add");
}

/// Returns the comparison of a plan with the best hypothesis, or else with any program that it
/// agrees with, or else with the reference.
const PlanFit& find_fit(const Recognition& recognition, std::size_t plan) {
  const PlanFit* found = &recognition.fits.front().front()[plan];
  for (std::size_t kind = 0; kind < recognition.fits.size(); ++kind) {
    for (std::size_t i = 0; i < recognition.fits[kind].size(); ++i) {
      const PlanFit& fit = recognition.fits[kind][i][plan];
      const bool is_best =
          !recognition.hypotheses.empty() &&
          recognition.hypotheses.front().average == &iteration_kinds()[kind].averages[i];
      if (fit.agrees && (is_best || !found->agrees)) found = &fit;
    }
  }
  return *found;
}

/// Returns the number of sweeps of a plan, or the range of numbers that its digits allow.
std::string sweeps_text(const Recognition& recognition, const PlanFit& fit) {
  if (fit.last == 0) return "";
  if (recognition.is_decided() && recognition.hypotheses.front().rule == nullptr)
    return fmt::format("{:.0f}", recognition.hypotheses.front().parameter);
  return fit.first == fit.last ? fmt::format("{}", fit.last)
                               : fmt::format("{} to {}", fit.first, fit.last);
}

/// Returns the verdict on the result of a plan, given the verdict on all plans.
std::string verdict_on_plan(const Recognition& recognition, std::size_t plan) {
  if (!recognition.faults[plan].empty()) return recognition.faults[plan];
  const PlanFit& fit = find_fit(recognition, plan);
  if (!fit.agrees) return "no iterate of this plan";
  std::vector<Hypothesis> own;
  std::ranges::copy_if(
      recognition.candidates(), std::back_inserter(own),
      [&](const Hypothesis& each) { return std::ranges::binary_search(each.fits, plan); });
  if (own.empty()) return fit.first == fit.last ? "another iterate" : "may be another iterate";
  return recognition.is_decided() ? own.front().name() : "may be: " + join_names(own);
}

/// Returns the table of all hypotheses, for scripts with their parameters.
Table make_hypothesis_table(const Recognition& recognition) {
  Table table{"ways",
              "number of matching plans",
              {{"answer", "program"},
               {"plans", "plans"},
               {"contradictions", "contradictions"},
               json_only_column("exact"),
               json_only_column("is_candidate"),
               json_only_column("stop"),
               json_only_column("quantity"),
               json_only_column("tolerance"),
               json_only_column("tolerance_above"),
               json_only_column("tolerance_up_to"),
               json_only_column("check_interval"),
               json_only_column("max_sweeps"),
               json_only_column("sweeps"),
               json_only_column("sweeps_from"),
               json_only_column("sweeps_to"),
               json_only_column("iteration"),
               json_only_column("average")}};
  const std::size_t candidates = recognition.candidates().size();
  for (const Hypothesis& each : recognition.hypotheses) {
    Table::Row row{each.name(), each.fits.size(), recognition.contradictions(each), each.exact,
                   table.rows.size() < candidates};
    if (each.kind->is_steady_state) {
      row.emplace_back("steady state");
      row.resize(table.columns.size() - 2);
    } else if (each.rule != nullptr) {
      row.insert(row.end(), {"stop rule",
                             each.rule->quantity_name(),
                             each.parameter,
                             each.bracket.lower,
                             each.bracket.upper,
                             each.rule->interval,
                             each.limit,
                             {},
                             {},
                             {}});
    } else {
      row.insert(row.end(), {"fixed number of sweeps",
                             {},
                             {},
                             {},
                             {},
                             {},
                             {},
                             static_cast<std::int64_t>(each.parameter),
                             static_cast<std::int64_t>(each.bracket.lower) + 1,
                             static_cast<std::int64_t>(each.bracket.upper)});
    }
    row.insert(row.end(), {each.kind->text, each.average->text});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Report identify_iterates(const ResultCsv& csv, const PlanSource& source,
                         const SolverOptions* requested) {
  const std::string& file = csv.name;
  if (csv.thresholds != Thresholds())
    throw RunError(fmt::format(
        "{} counts cells above {} °C and below {} °C, but the known programs count cells above "
        "{} °C and below {} °C; remove its columns of shares",
        file, csv.thresholds.above, csv.thresholds.below, Thresholds().above, Thresholds().below));
  const Recognition recognition =
      recognize(csv.plans, source, requested == nullptr ? WallOverrides() : requested->walls);
  std::vector<RequestProblem> problems(csv.plans.size());
  if (requested != nullptr) problems = find_request_problems(recognition, csv, *requested);
  Report report{file};
  report.add_note(verdict_text(recognition, csv.plans));
  Table table{"answers",
              "",
              {{"id", "plan"},
               {"answer", "verdict"},
               {"sweeps", "sweeps"},
               {"nearest", "nearest iterate"},
               {"distance", "difference from it, °C or %", {ValueFormat::digits, 3}},
               json_only_column("iterations"),
               json_only_column("problem")}};
  constexpr std::size_t few_plans = 20;
  table.max_text_rows = few_plans;
  std::size_t none = 0;
  IdIndex answered;
  for (std::size_t plan = 0; plan < csv.plans.size(); ++plan) {
    const std::string& id = csv.plans[plan].id;
    answered.add(id);
    Table::Row& row = table.rows.emplace_back(Table::Row{id, verdict_on_plan(recognition, plan)});
    row.resize(table.columns.size());
    row[5] = csv.plans[plan].iterations;
    row[6] = problems[plan].text.empty() ? Value() : Value(problems[plan].text);
    if (!recognition.faults[plan].empty()) continue;
    const PlanFit& fit = find_fit(recognition, plan);
    none += fit.agrees ? 0U : 1U;
    row[2] = sweeps_text(recognition, fit);
    row[3] = fit.nearest;
    row[4] = fit.distance;
  }
  for (const std::string& id : csv.unavailable) answered.add(id);
  const std::size_t answers = table.rows.size();
  for (const auto& [id, status, error] : csv.missing.value_or(std::vector<MissingResult>()))
    table.rows.push_back(
        {id, fmt::format("{}{}{}", to_string(status), error.empty() ? "" : ": ", error)});
  if (!csv.missing)
    for (const std::string_view id : source.ids().ids)
      if (!answered.find(id)) table.rows.push_back({id, "missing in " + file});
  for (Table::Row& row : table.rows) row.resize(table.columns.size());
  const std::size_t missing = table.rows.size() - answers;
  if (none > 0) report.add_note(fmt::format("no iterate matches {}", count_text(none, "plan")));
  if (missing > 0)
    report.add_note(count_text(missing, "plan is", "plans are") +
                    (csv.missing ? " without a result in " : " missing in ") + file);
  report.add_json_fact("plans", csv.plans.size());
  report.add_json_fact("none", none);
  report.add_json_fact("missing", missing);
  for (const std::string& note : csv.notes) report.add_note(note);
  report.add_json_fact("unavailable", csv.unavailable.size());
  report.add_json_fact("skipped_lines", csv.skipped_lines);
  const Hypothesis* const best =
      recognition.hypotheses.empty() ? nullptr : &recognition.hypotheses.front();
  report.add_json_fact("is_decided", recognition.is_decided());
  report.add_json_fact("fits", best == nullptr ? 0 : best->fits.size());
  report.add_json_fact("contradictions",
                       best == nullptr ? Value() : Value(recognition.contradictions(*best)));
  report.add(std::move(table));
  Table hypotheses = make_hypothesis_table(recognition);
  hypotheses.max_text_rows = few_plans;
  report.add(std::move(hypotheses));
  if (requested != nullptr) add_request(csv, recognition, *requested, problems, report);
  return report;
}

}  // namespace wallheat
