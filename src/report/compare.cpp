#include "report/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>

#include "core/answer.hpp"
#include "core/id_list.hpp"
#include "core/number_of.hpp"
#include "core/parallel_for.hpp"
#include "core/printable.hpp"
#include "node/local_machine.hpp"
#include "report/attributes.hpp"
#include "report/row_table.hpp"
#include "report/scaling.hpp"
#include "report/summary.hpp"
#include "report/time_ledger.hpp"
#include "view/thread_time.hpp"
#include "wallheat/error.hpp"

namespace wallheat {
namespace {

constexpr std::string_view csv_blanks = " \t\r";

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(csv_blanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(csv_blanks) + 1 - begin));
}

/// Without blanks, of which pandas writes none and the reference one behind each comma.
std::string head_of(std::string_view line) {
  std::string head;
  for (const char letter : line)
    if (csv_blanks.find(letter) == std::string_view::npos && letter != '\n') head += letter;
  return head;
}

/// The four numbers of a line, behind the id, which may hold commas.
bool read_statistics(std::string_view line, PlanResult& row) {
  for (double* const value : {&row.statistics.pct_below_15, &row.statistics.pct_above_18,
                              &row.statistics.std_temp, &row.statistics.mean_temp}) {
    const std::size_t comma = line.rfind(',');
    if (comma == std::string::npos) return false;
    const auto number = number_of<double>(trimmed(line.substr(comma + 1)));
    if (!number) return false;
    *value = *number;
    line = line.substr(0, comma);
  }
  row.id = trimmed(line);
  return !row.id.empty();
}

/// The answer's columns that are quantities; of a CSV the statistics alone.
std::vector<RowColumn> number_columns(bool statistics_only) {
  std::vector<RowColumn> columns = all_columns();
  std::erase_if(columns, [&](const RowColumn& column) {
    const bool in_csv = reference_csv_beginning.find(column.head.key) != std::string_view::npos;
    return column.is_text || !column.is_answer || (statistics_only && !in_csv);
  });
  return columns;
}

double quantity_in(const RowColumn& column, const PlanResult& row) {
  const Value value = column.value(row);
  const auto* const whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

/// Columns whose meaning is a solver's own: they say nothing beside another solver's.
bool is_of_one_solver(const std::string& column, const std::string& first,
                      const std::string& second) {
  static const std::set<std::string> own{
      "fell_back",          "error_bound",       "pct_above_18_least", "pct_above_18_most",
      "pct_below_15_least", "pct_below_15_most", "cells_in_doubt"};
  if (first == second) return false;
  const bool steady = first == "steady" || second == "steady";
  return own.contains(column) || (steady && (column == "iterations" || column == "last_delta"));
}

/// What a file says of how its answers came to be.
std::map<std::string, std::string> facts_of(const Answers& answers) {
  std::map<std::string, std::string> facts = answers.reader->settings();
  std::set<std::string> versions;
  for (const Attributes& session : answers.reader->sessions())
    if (const auto found = session.find("wallheat_version"); found != session.end())
      versions.insert(found->second);
  std::set<std::string> devices;
  answers.reader->for_each_row([&](const PlanResult& row) {
    if (is_answer(row.status)) devices.insert(row.device);
  });
  facts["wallheat"] = fmt::format("{}", fmt::join(versions, ", "));
  facts["devices"] = fmt::format("{}", fmt::join(devices, ", "));
  return facts;
}

std::vector<Comparison::Setting> differing_settings(const Answers& first, const Answers& second) {
  std::map<std::string, Comparison::Setting> all;
  for (const auto& [name, text] : facts_of(first)) all[name] = {name, text, "-"};
  for (const auto& [name, text] : facts_of(second))
    all.try_emplace(name, Comparison::Setting{name, "-", ""}).first->second.second = text;
  std::vector<Comparison::Setting> differing;
  for (const auto& [name, both] : all)
    if (both.first != both.second) differing.push_back(both);
  return differing;
}

/// How far values of a plan are apart.
struct Distance {
  bool compared = false;  ///< a value at all
  bool same = true;       ///< bit by bit
  double largest = 0;
  double sum = 0;
  std::size_t numbers = 0;  ///< in both

  void add(double first, double second) {
    compared = true;
    same = same && same_value(first, second);
    const double step = std::abs(second - first);
    if (std::isnan(step)) return;
    largest = std::max(largest, step);
    sum += step;
    ++numbers;
  }
};

/// Sums up the distances of many plans.
class Tally {
 public:
  explicit Tally(std::string name) { column_.name = std::move(name); }
  void add(const Distance& of_plan, const std::string& plan) {
    const auto& [compared, same, largest, sum, numbers] = of_plan;
    column_.differing += same ? 0 : 1;
    // What is larger than any before, or the first that differs though no number says by how much.
    if (!same && (column_.plan.empty() || largest > column_.largest)) column_.plan = plan;
    column_.largest = std::max(column_.largest, largest);
    sum_ += sum;
    numbers_ += numbers;
  }
  [[nodiscard]] Comparison::Column column() const {
    Comparison::Column column = column_;
    if (numbers_ > 0) column.mean = sum_ / static_cast<double>(numbers_);
    if (numbers_ == 0) column.largest = column.mean = std::nan("");  // no plan has one in both
    return column;
  }

 private:
  Comparison::Column column_;
  double sum_ = 0;
  std::size_t numbers_ = 0;
};

/// A plan with an answer in both, by its places in the rows.
struct CommonPlan {
  std::size_t first = 0;
  std::size_t second = 0;
};

/// Of the plans whose fields both have in one shape.
std::vector<Distance> field_distances(const Answers& first, const Answers& second,
                                      std::span<const CommonPlan> plans) {
  std::vector<Distance> found(plans.size());
  if (first.reader == nullptr || second.reader == nullptr) return found;
  parallel_for(local_machine().cores.size(), plans.size(), [&] {
    return [&](std::size_t i) {
      const auto a = first.reader->field(plans[i].first);
      const auto b = a ? second.reader->field(plans[i].second) : std::nullopt;
      if (!a || !b || a->rows != b->rows || a->cols != b->cols) return;
      for (std::size_t cell = 0; cell < a->cells.size(); ++cell)
        found[i].add(a->cells[cell], b->cells[cell]);
    };
  });
  return found;
}

constexpr std::size_t plans_at_once = 4096;

/// What is kept of answers to find the plans of others among them.
struct Plans {
  IdList ids;
  std::vector<std::size_t> rows;  ///< the number of each one's row
  std::vector<PlanStatus> statuses;
};

Plans plans_of(const Answers& answers, bool answered_only) {
  Plans plans;
  std::size_t number = 0;
  plans.rows.reserve(answers.count());
  plans.statuses.reserve(answers.count());
  const Rows rows = answers.reader ? rows_of(*answers.reader) : rows_of(answers.listed);
  rows([&](const PlanResult& row) {
    const std::size_t of_row = number++;
    if (answered_only && !is_answer(row.status)) return;
    if (!plans.ids.add(row.id)) return;
    plans.rows.push_back(of_row);
    plans.statuses.push_back(row.status);
  });
  return plans;
}

void require_whole(const Answers& answers) {
  if (answers.reader == nullptr || answers.reader->damage().empty()) return;
  throw RunError(
      fmt::format("{} is damaged, so it is not compared; 'wallheat repair' mends what it can: {}",
                  answers.name, answers.reader->damage().front()));
}

std::vector<std::string> missing_in(const IdList& ids, const IdList& other) {
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (!other.find(ids[i])) missing.emplace_back(ids[i]);
  return missing;
}

/// Says in `found` which plans and statuses only one of the two has.
std::vector<CommonPlan> common_plans(const Answers& first, const Answers& second,
                                     Comparison& found) {
  // A CSV leaves plans without an answer out.
  const bool answered_only = first.reader == nullptr || second.reader == nullptr;
  const Plans in_first = plans_of(first, answered_only);
  const Plans in_second = plans_of(second, answered_only);
  found.only_first = missing_in(in_first.ids, in_second.ids);
  found.only_second = missing_in(in_second.ids, in_first.ids);
  std::vector<CommonPlan> plans;
  plans.reserve(in_first.ids.size());
  for (std::size_t i = 0; i < in_first.ids.size(); ++i) {
    const auto place = in_second.ids.find(in_first.ids[i]);
    if (!place) continue;
    const PlanStatus a = in_first.statuses[i];
    const PlanStatus b = in_second.statuses[*place];
    if (a != b && !answered_only) found.statuses.push_back({std::string(in_first.ids[i]), a, b});
    if (is_answer(a) && is_answer(b)) plans.push_back({in_first.rows[i], in_second.rows[*place]});
  }
  return plans;
}

}  // namespace

bool is_reference_csv(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string start(2 * reference_csv_beginning.size(), '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return head_of(start.substr(0, start.find('\n'))) == head_of(reference_csv_beginning);
}

Answers read_reference_csv(const std::string& file) {
  std::ifstream stream(file);
  Answers answers{file, {}, nullptr};
  std::string line;
  std::getline(stream, line);
  std::unordered_set<std::string> known;
  for (std::size_t number = 2; std::getline(stream, line); ++number) {
    if (trimmed(line).empty()) continue;
    PlanResult& row = answers.listed.emplace_back();
    row.status = PlanStatus::converged;  // or another answer: a CSV does not tell
    if (!read_statistics(line, row))
      throw RunError(fmt::format(
          "{}, line {}: there must be an id and four numbers, separated by commas", file, number));
    if (!known.insert(row.id).second)
      throw RunError(fmt::format("{}, line {}: plan {} is there twice", file, number, row.id));
  }
  if (stream.bad()) throw RunError(file + " cannot be read to its end");
  if (answers.listed.empty()) throw RunError(file + " holds no plan");
  return answers;
}

bool Comparison::equal() const {
  return only_first.empty() && only_second.empty() && statuses.empty() && identical == compared;
}

Histogram Comparison::histogram() const {
  double largest = 0;
  for (const double value : means)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  if (largest == 0) return {};
  // Differences have no natural unit: the largest is from ten to a hundred of these.
  const double unit = std::pow(10, std::floor(std::log10(largest)) - 1);
  return histogram_of(means, std::max(unit, std::numeric_limits<double>::min()));
}

Comparison compare(const Answers& first, const Answers& second) {
  require_whole(first);
  require_whole(second);
  const bool statistics_only = first.reader == nullptr || second.reader == nullptr;
  Comparison found;
  found.first = first.name;
  found.second = second.name;
  found.has_settings = !statistics_only;
  if (found.has_settings) found.settings = differing_settings(first, second);

  const auto plans = common_plans(first, second, found);
  found.compared = plans.size();

  found.means.reserve(plans.size());
  Tally fields("field");
  auto columns = number_columns(statistics_only);
  if (!statistics_only) {
    const std::string a = text_in(first.reader->settings(), "solver", "");
    const std::string b = text_in(second.reader->settings(), "solver", "");
    std::erase_if(columns, [&](const RowColumn& column) {
      if (!is_of_one_solver(column.head.key, a, b)) return false;
      found.left_out.push_back(column.head.key);
      return true;
    });
  }
  std::vector<Tally> tallies;
  tallies.reserve(columns.size());
  for (const RowColumn& column : columns) tallies.emplace_back(column.head.key);
  std::vector<Distance> distances;  // of some plans at a time, as there may be millions
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::size_t place = i % plans_at_once;
    if (place == 0)
      distances = field_distances(
          first, second, std::span(plans).subspan(i, std::min(plans_at_once, plans.size() - i)));
    const PlanResult a = first.row(plans[i].first);
    const PlanResult b = second.row(plans[i].second);
    bool same = distances[place].same;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Distance distance;
      distance.add(quantity_in(columns[c], a), quantity_in(columns[c], b));
      tallies[c].add(distance, a.id);
      same = same && distance.same;
    }
    if (!statistics_only)
      same = same && a.status == b.status && a.input_hash == b.input_hash &&
             (!found.left_out.empty() || differences({a}, {b}).empty());
    found.identical += same ? 1 : 0;
    if (!statistics_only && a.input_hash != b.input_hash) found.other_inputs.push_back(a.id);
    if (distances[place].compared) {
      ++found.compared_fields;
      fields.add(distances[place], a.id);
    }
    const double step = b.statistics.mean_temp - a.statistics.mean_temp;
    if (std::isnan(step)) continue;
    found.means.push_back(step);
    found.plans.push_back(a.id);
  }
  for (const Tally& tally : tallies) found.columns.push_back(tally.column());
  if (found.compared_fields > 0) found.fields = fields.column();
  return found;
}

std::optional<ProgramTime> time_of(const std::string& file, const ResultReader& reader) {
  const WallTime wall = wall_time(reader.sessions());
  if (!(wall.seconds > 0) || !(wall.plans > 0)) return std::nullopt;
  ProgramTime time{file, wall.seconds / wall.plans, workers_of(reader), {}, {}};
  GpuSeconds on_gpus;
  for (const Attributes& session : reader.sessions())
    for (const auto& [name, part] : gpu_seconds_names)
      if (const double seconds = number_in(session, name); seconds > 0)
        on_gpus.*part += seconds / wall.plans;
  if (on_gpus.all() > 0) time.gpu_seconds_a_plan = on_gpus;
  ThreadTime spent;
  std::size_t plans = 0;
  reader.for_each_row([&](const PlanResult& row) {
    if (!is_answer(row.status)) return;
    spent.add(row);
    ++plans;
  });
  if (plans > 0 && !std::isnan(spent.cpu_seconds()))
    time.cpu_seconds_a_plan = spent.cpu_seconds() / static_cast<double>(plans);
  return time;
}

ThreadSeconds thread_seconds_of(const ResultReader& reader) {
  ThreadSeconds sum;
  for (const TimeLedger& ledger : ledgers_of(lanes_of(rows_of(reader)), reader.sessions())) {
    auto place = sum.begin();  // only sessions with GPUs have entries for them
    for (const auto& [name, seconds] : ledger.entries) {
      const auto found = std::ranges::find(sum, name, &ThreadSeconds::value_type::first);
      place = found == sum.end() ? sum.insert(place, {name, 0}) : found;
      place->second += seconds;
      ++place;
    }
  }
  return sum;
}

const ProgramTime& Compared::base_time() const {
  const auto named = std::ranges::find(times, base, &ProgramTime::name);
  if (named != times.end()) return *named;
  return *std::ranges::max_element(times, {}, &ProgramTime::seconds_a_plan);
}

}  // namespace wallheat
