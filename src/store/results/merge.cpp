#include "store/results/merge.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "io/file_lock.hpp"
#include "store/results/boundary.hpp"
#include "store/field_codec.hpp"
#include "store/results/opening.hpp"
#include "store/results/result_path.hpp"
#include "store/results/write_ahead_log.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

constexpr const char* origin = "merged_from";       // of a session
constexpr const char* part_count = "merged_parts";  // of a merge's own session

/// Which of two rows of a plan says more: an answer, a failure, nothing; then the one that knows of
/// more failures.
bool says_more(const Row& a, const Row& b) {
  const auto rank = [](const Row& row) {
    const auto status = status_of(row);
    return std::array{is_answer(status)              ? 2
                      : status == PlanStatus::failed ? 1
                                                     : 0,
                      is_answer(status) ? 0 : row.failures, is_answer(status) ? 0 : row.attempts,
                      has_field(row) ? 1 : 0};
  };
  return rank(a) > rank(b);
}

[[noreturn]] void refuse_changed(const fs::path& part) {
  throw RunError(part.string() + " changed while it was merged; merge again");
}

/// The union of parts on its way: for each plan the row that says most, and the part it is from.
class Merge {
 public:
  Merge(const StoreEnvironment& env, std::vector<fs::path> parts)
      : env_(env), parts_(std::move(parts)) {
    for (const auto& part : parts_) files_.push_back(result_path(part, env_.system));
    for (std::size_t number = 0; number < parts_.size(); ++number) take(number);
    finish();
  }

  /// The whole is nobody's shard, whatever the sessions of its parts were.
  void add_session(Attributes session) {
    session[part_count] = std::to_string(parts_.size());
    all_.sessions.push_back(std::move(session));
  }

  void write(const fs::path& out) {
    const auto offsets = all_.offsets;
    FieldSource source;
    source.order = all_rows(all_);
    // Part by part: one open file at a time, read from its beginning to its end.
    std::sort(source.order.begin(), source.order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(from_[a], offsets[a]) < std::pair(from_[b], offsets[b]);
    });
    std::optional<PosixFile> part;
    std::size_t opened = 0;
    source.read = [&](std::size_t i, std::vector<std::byte>& chunk) {
      if (!part || opened != from_[i])
        part.emplace(env_.system, files_[opened = from_[i]], O_RDONLY);
      if (!read_chunk(*part, offsets[i], all_.rows[i], chunk)) refuse_changed(parts_[opened]);
      return true;
    };
    build(env_, out, all_, source);
  }

  [[nodiscard]] MergeReport& report() { return report_; }

 private:
  void take(std::size_t number) {
    const auto& path = parts_[number];
    auto view = open_for_reading(env_, files_[number], Offsets::find);
    if (!view.closed_well) {
      report_.warnings.push_back(path.string() +
                                 " was not closed: its run still writes it, or was killed; what it "
                                 "holds by now was taken");
    }
    forget_damaged_fields(view.raw, view.snapshot, view.damage);
    for (const auto& sentence : view.damage.sentences)
      report_.warnings.push_back(path.string() + " is damaged: " + sentence);
    if (number == 0) {
      begin(view.snapshot);
    } else {
      require_same_campaign(path, view.snapshot);
    }
    rooms_.push_back(view.snapshot.rooms_of);
    const auto sessions = take_sessions(path, view.snapshot.sessions);
    for (const auto& [shape, capacity] : view.snapshot.capacities) {
      all_.capacities[shape] = std::max(all_.capacities[shape], capacity);
    }
    for (const Row& row : view.snapshot.rows) take_row(number, row, view, sessions);
  }

  void begin(const Snapshot& first) {
    all_.settings = first.settings;
    all_.save_fields = first.save_fields;
    all_.ids = first.ids;
    if (keeps_rooms(all_.settings))
      all_.rooms_of = [this](std::size_t i) { return rooms_[from_[i]](i); };
    for (const auto& row : first.rows) {
      all_.rows.push_back(pending_row(all_.rows.size(), id_of(row)));
    }
    all_.offsets.assign(all_.rows.size(), -1);
    from_.assign(all_.rows.size(), 0);
    answers_.assign(all_.rows.size(), 0);
  }

  void require_same_campaign(const fs::path& path, const Snapshot& part) const {
    const auto& first = parts_.front();
    const auto found = differences(part, "it has", all_.settings, all_.save_fields, "the other");
    const auto refuse = [&](const std::string& why) {
      throw RunError(path.string() + " is a part of another campaign than " + first.string() +
                     ": " + why);
    };
    if (!found.empty()) refuse(found);
    if (part.rows.size() != all_.rows.size()) {
      refuse("it is for " + std::to_string(part.rows.size()) + " plans, the other for " +
             std::to_string(all_.rows.size()));
    }
    for (const Row& row : part.rows) {
      const Row other = all_.rows[row.index];
      if (row.id != other.id)
        refuse("its plan number " + std::to_string(row.index) + " is \"" + id_of(row) +
               "\", that of the other \"" + id_of(other) + "\"");
    }
  }

  /// Sessions that several parts have, as copies of each other, are kept once. Returns the number
  /// that each has in the whole.
  std::vector<std::uint32_t> take_sessions(const fs::path& path,
                                           std::vector<Attributes>& sessions) {
    std::vector<std::uint32_t> numbers;
    for (auto& session : sessions) {
      auto without_origin = session;
      without_origin.erase(origin);
      const auto next = static_cast<std::uint32_t>(all_.sessions.size());
      const auto [seen, is_new] = sessions_seen_.emplace(std::move(without_origin), next);
      numbers.push_back(seen->second);
      if (!is_new) continue;
      session.emplace(origin, path.filename().string());
      all_.sessions.push_back(std::move(session));
    }
    return numbers;
  }

  void take_row(std::size_t number, Row row, const ReadView& view,
                const std::vector<std::uint32_t>& sessions) {
    const std::size_t i = row.index;
    if (is_answer(status_of(row)) && ++answers_[i] > 1) compare(number, i, view);
    if (!says_more(row, all_.rows[i])) return;
    if (row.session < sessions.size()) {
      row.session = sessions[row.session];
      seal(row);
    }
    all_.rows.set(i, row);
    all_.offsets[i] = view.snapshot.offsets[i];
    from_[i] = number;
  }

  void compare(std::size_t number, std::size_t i, const ReadView& view) {
    const auto& here = view.snapshot;
    const auto& other = parts_[from_[i]];
    auto second = to_result(here.rows[i]);
    auto first = to_result(all_.rows[i]);
    if (has_field(here.rows[i]) && has_field(all_.rows[i])) {
      const PosixFile other_file(env_.system, files_[from_[i]], O_RDONLY);
      if (!read_chunk(other_file, all_.offsets[i], all_.rows[i], first.field))
        refuse_changed(other);
      if (!read_chunk(*view.raw, here.offsets[i], here.rows[i], second.field))
        refuse_changed(parts_[number]);
    }
    if (all_.rooms_of && has_rooms(here.rows[i]) && has_rooms(all_.rows[i])) {
      first.rooms = all_.rooms_of(i);
      second.rooms = here.rooms_of(i);
    }
    const auto differing = differences_with_fields(first, second);
    if (differing.empty()) return;
    report_.conflicts.push_back("plan \"" + first.id + "\" has different answers in " +
                                other.string() + " and " + parts_[number].string() + ": " +
                                to_text(differing, "in the first", "in the second"));
  }

  void finish() {
    Capacities needed;
    report_.duplicates = static_cast<std::size_t>(std::count_if(
        answers_.begin(), answers_.end(), [](std::uint32_t count) { return count > 1; }));
    for (const Row& row : all_.rows) {
      if (has_field(row)) ++needed[shape_of(row)];
      const auto status = status_of(row);
      if (is_answer(status)) {
        ++report_.done;
      } else if (status == PlanStatus::failed) {
        ++report_.failed;
      } else {
        report_.missing.push_back(id_of(row));
      }
    }
    for (const auto& [shape, count] : needed) {
      all_.capacities[shape] = std::max(all_.capacities[shape], count);
    }
    report_.plans = all_.rows.size();
  }

  const StoreEnvironment& env_;
  std::vector<fs::path> parts_;
  MergeReport report_;           // as they were named
  std::vector<fs::path> files_;  // where the names lead
  Snapshot all_;
  std::vector<std::size_t> from_;                      // the part that row i is from
  std::vector<RoomsOf> rooms_;                         // of each part
  std::map<Attributes, std::uint32_t> sessions_seen_;  // without their origins; their numbers
  std::vector<std::uint32_t> answers_;                 // how many parts answer plan i
};

void require_free_for_merge(const StoreEnvironment& env, const fs::path& out, bool overwrite) {
  if (overwrite) return require_own(env, out, OwnKind::results);
  if (!exists(env.system, out) && !exists(env.system, log_path(out))) return;
  throw RunError(out.string() +
                 (exists(env.system, out) ? " exists" : " has a log of a killed run") +
                 "; name another file, or replace it by --overwrite");
}

/// False if one of them is not there.
bool are_one_file(System& system, const fs::path& a, const fs::path& b) {
  struct stat first {};
  struct stat second {};
  return system.stat(a.c_str(), &first) == 0 && system.stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

MergeReport merge(const StoreEnvironment& env, const fs::path& out,
                  const std::vector<fs::path>& parts, const MergeOptions& options) {
  require_free_for_merge(env, out, options.overwrite);
  Merge merged(env, parts);
  auto& report = merged.report();
  if (!report.conflicts.empty() || (!report.missing.empty() && !options.allow_missing)) {
    return std::move(report);
  }
  remove_leftovers(env, out);
  merged.add_session(options.session);
  merged.write(out);
  // That of a killed run whose file was replaced.
  remove_durably(env.system, log_path(out));
  report.written = true;
  return std::move(report);
}

}  // namespace

std::optional<std::size_t> merged_parts(const Attributes& session) {
  const auto found = session.find(part_count);
  if (found == session.end()) return std::nullopt;
  return std::strtoul(found->second.c_str(), nullptr, 10);
}

bool is_from_part(const Attributes& session) { return session.contains(origin); }

MergeReport merge_results(const fs::path& out, const std::vector<fs::path>& parts,
                          const MergeOptions& options, const StoreEnvironment& env) {
  if (parts.empty()) throw RunError("there are no parts to merge into " + out.string());
  return in_one_sentence(out, {"make room and merge again", "merge again"}, [&] {
    const auto path = real_path(env, out);
    for (const auto& part : parts) {
      if (are_one_file(env.system, path, part) || path == result_path(part, env.system)) {
        throw RunError(out.string() + " is one of the parts; name another file for the whole");
      }
    }
    return with_file_lock(env.system, path, [&] { return merge(env, path, parts, options); });
  });
}

}  // namespace wallheat
