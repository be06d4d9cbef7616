#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/plan_ids.hpp"
#include "io/write_lock.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

namespace store {
class JournalWriter;
class ResultFile;
class Snapshot;
struct ResultRow;
}  // namespace store

/// What a result file is made for. Two sessions may share a file only if these agree.
struct ResultFileSpec {
  StringList ids;       ///< all plans; row i of the file belongs to ids[i]
  Attributes settings;  ///< everything that decides the answers: solver, tolerance, ...
  bool save_fields = false;
};

/// The HDF5 library's name and version, for provenance.
[[nodiscard]] std::string hdf5_library();

/// Keeps HDF5 from printing its errors, and from flushing open files when the process ends: one
/// that could not be written would crash it. For the whole process, so for programs and not for
/// libraries; to be called before anything else of HDF5.
void prepare_program_for_hdf5();

/// How a result file comes to be written.
enum class OpenMode { create, overwrite, resume };

/// The right to write a result file, taken before it is known what to write.
struct ResultClaim {
  /// Throws RunError if another process writes the file, or if that mode does not allow the name.
  /// `stop_` is asked while something is waited for.
  ResultClaim(std::filesystem::path file, OpenMode mode_, StopPredicate stop_ = {});

  OpenMode mode;
  StopPredicate stop;
  std::filesystem::path path;  ///< that of result_path()
  std::optional<WriteLock> lock;
};

/// The writer of a result file, in one process (rank 0). How nothing is lost: src/store/README.md.
/// Every function throws RunError with one sentence that names the file; after a failed write the
/// file is left as it is, and a resume goes on with it.
class ResultStore {
 public:
  /// To make a new file for `plan` with every row pending, or to go on with a finished, stopped or
  /// killed one. `session` describes this run. Throws RunError that names each difference if the
  /// file was made for other settings, or holds answers of plans that `plan` does not name. Nothing
  /// is changed before the session begins.
  ResultStore(ResultClaim claim, ResultFileSpec plan, const Attributes& session);
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  /// Without close() the file stays as after a kill: nothing stored is lost, and a resume goes on.
  ~ResultStore();

  /// Hands over the rows that a store would begin with, or throws the RunError that it would throw.
  /// Returns what it would report. Changes nothing.
  static std::vector<std::string> dry_run(const std::filesystem::path& file, ResultFileSpec plan,
                                          OpenMode mode,
                                          const std::function<void(const PlanResult&)>& take);

  /// What was found damaged, and all rows as they were, when the file was opened: pending ones
  /// included; fields and rooms left out. There are none once the session has begun.
  [[nodiscard]] std::vector<std::string> damage() const;
  void for_each_existing_row(const std::function<void(const PlanResult&)>& take) const;

  /// Returns the attributes of the last session if only a journal contains them, otherwise none.
  /// Call this before the session begins.
  [[nodiscard]] Attributes journaled_session() const;

  /// Begins the session: makes the file if it is new or for other plans, and the journal. What
  /// store() would else do before the first results. False if the claim's `stop` returned true
  /// first; then nothing is changed.
  [[nodiscard]] bool begin_unless_stopped();

  /// Stores a batch; on return it is on disk and survives a kill and a loss of power. A result for
  /// a row that is already there replaces it, but a failure no answer of another session.
  void store(std::span<const PlanResult> results);

  /// How long close() will take to fold what is there by now, in s, at the rate at which this
  /// session wrote the file, or at 100 MB/s if it did not. Any thread may ask.
  [[nodiscard]] double compaction_seconds() const {
    return static_cast<double>(bytes_) / bytes_per_s_;
  }

  struct CloseReport {
    bool stopped = false;               ///< it was asked to stop: the journals are still there
    std::vector<std::string> messages;  ///< about damage that was found
    std::size_t lost = 0;               ///< rows that are pending for it
    std::optional<WriteLock> lock;      ///< lock of the file, until the report is destroyed
  };
  /// Ends the session, with these attributes added to its own. Of a `finished` run one plain HDF5
  /// file is left; that of any other keeps its journals, so that it ends at once. A session that
  /// stored nothing and is not finished leaves nothing behind.
  CloseReport close(const Attributes& end_of_session, bool finished = true,
                    const StopPredicate& stop = {});

 private:
  [[nodiscard]] const std::filesystem::path& path() const { return claim_.path; }
  /// Writes something. If that throws, the file is given up.
  template <class Step>
  auto write(Step step);
  bool begin_session();
  void create_file();
  void remove_leftovers();
  void begin_journal();
  [[nodiscard]] store::ResultRow to_stored_row(const PlanResult& result) const;
  void add_to_batch(const store::ResultRow& row, const PlanResult& result);
  void end_session(const Attributes& end, bool finished);
  /// False if it was stopped.
  bool compact_all(const StopPredicate& stop);
  void remove_all();

  ResultClaim claim_;
  ResultFileSpec plan_;
  Attributes session_;
  std::unique_ptr<store::Snapshot>
      existing_;  ///< what is there, until the session begins; null if new
  std::unique_ptr<store::ResultFile> file_;
  std::unique_ptr<store::JournalWriter> journal_;
  std::size_t stored_ = 0;
  bool is_first_ = false;                 ///< there was nothing of this name before
  std::atomic<std::uint64_t> bytes_ = 0;  ///< of the file and its journals
  double bytes_per_s_ = 100e6;
  bool poisoned_ = false;
  CloseReport closed_;
};

}  // namespace wallheat
