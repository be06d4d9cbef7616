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
#include "store/write_lock.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

namespace store {
class JournalWriter;
class ResultFile;
class Snapshot;
struct ResultRow;
}  // namespace store

/// Plans and settings of a campaign. Two sessions can write to one file only if the settings agree.
struct ResultFileSpec {
  StringList ids;       ///< IDs of all plans; row i of the file belongs to ids[i]
  Attributes settings;  ///< everything that affects the results: solver, tolerance, ...
  bool save_fields = false;
  /// Settings that identify the program of a solver command. If only they differ from those of an
  /// existing file, the error message names the files of the program.
  std::vector<std::string> program_settings{};
  bool accepts_changed_program =
      false;  ///< the values of `program_settings` in a file are accepted
};

/// Returns name and version of the HDF5 library, for provenance.
[[nodiscard]] std::string hdf5_library();

/// Prevents HDF5 from printing errors, and from flushing open files when the process exits, which
/// crashes if a file could not be written. This affects the whole process, so call it in programs
/// only, not in libraries, and before any other use of HDF5.
void prepare_program_for_hdf5();

/// How to open a result file for writing: `create` requires that it does not exist, `overwrite`
/// replaces it, and `resume` continues it if it exists.
enum class OpenMode { create, overwrite, resume };

/// The exclusive right to write a result file. It is acquired before the plans are listed, so that
/// a second run fails early.
struct ResultClaim {
  /// Locks the file. Throws RunError if another process writes the file, or if `mode` does not
  /// allow a file of this name. `stop_` is called while this waits, and may return true to give up.
  ResultClaim(std::filesystem::path file, OpenMode mode_, StopPredicate stop_ = {});

  OpenMode mode;
  StopPredicate stop;
  std::filesystem::path path;  ///< as returned by result_path()
  std::optional<WriteLock> lock;
};

/// Writes a result file, in one process (rank 0). src/store/README.md explains why nothing is lost.
/// All functions throw RunError with a message that names the file. After a failed write the file
/// is left as it is, and can be resumed.
///
/// The order of calls: constructor, begin_unless_stopped() or the first store(), store(), ...,
/// close(). Not thread-safe except for compaction_seconds().
class ResultStore {
 public:
  /// Prepares a new file with all rows pending, or continues a finished, stopped or killed one.
  /// `session` describes this run. Throws RunError with a list of the differences if the file has
  /// other settings and a solved plan, or if it has results of plans that `plan` does not contain.
  /// A file with other settings and without a solved plan is replaced. Nothing is changed before
  /// the session begins.
  ResultStore(ResultClaim claim, ResultFileSpec plan, const Attributes& session);
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  /// Without close() the file is left as after a kill: all acknowledged results are kept, and the
  /// file can be resumed.
  ~ResultStore();

  /// Calls take() with the rows with which a session would begin, or throws the RunError that the
  /// constructor would throw. Returns the warnings. Changes nothing.
  static std::vector<std::string> dry_run(const std::filesystem::path& file, ResultFileSpec plan,
                                          OpenMode mode,
                                          const std::function<void(const PlanResult&)>& take);

  /// Returns messages about damage that was found when the file was opened, or about settings that
  /// are replaced.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  /// Calls take() with all rows that the file had when it was opened, pending ones included,
  /// without fields and rooms. Call this before the session begins.
  void for_each_existing_row(const std::function<void(const PlanResult&)>& take) const;

  /// Returns the random ID of the session, which ResultReader::sessions() contains as "session_id".
  /// It differs from the ID of every other session of any result file.
  [[nodiscard]] std::string session_id() const;

  /// Returns the attributes of the last session if only a journal contains them, otherwise none.
  /// Call this before the session begins.
  [[nodiscard]] Attributes journaled_session() const;

  /// Begins the session: creates the journal, and the file if it does not exist or has other plans.
  /// Otherwise the first store() does this. Returns false, and changes nothing, if the claim's
  /// `stop` returned true first.
  [[nodiscard]] bool begin_unless_stopped();

  /// Stores a batch of results. When this returns, they are acknowledged: they survive a kill and a
  /// power loss. A result replaces an earlier result of its row; but a failure does not replace a
  /// solved result of another session.
  void store(std::span<const PlanResult> results);
  /// Throws RunError if the file was removed, moved or replaced meanwhile: its journals alone are
  /// of no use, so the results of a long run would otherwise get lost. If no file has its name, it
  /// is first written again.
  void require_named();

  /// Returns the predicted time that close() takes for the compaction, in s: from the current size,
  /// at the rate at which this session wrote the file, or at 100 MB/s if it did not. Thread-safe.
  [[nodiscard]] double compaction_seconds() const {
    return static_cast<double>(bytes_) / bytes_per_s_;
  }

  struct CloseReport {
    bool stopped = false;               ///< the compaction was stopped, so journals remain
    std::vector<std::string> messages;  ///< about damage that was found
    std::size_t lost = 0;               ///< rows that became pending because of damage
    std::optional<WriteLock> lock;      ///< lock of the file, until the report is destroyed
  };
  /// Ends the session, and adds the given attributes to the session's. If the run is `finished`,
  /// the file is compacted; otherwise its journals remain, so that this returns quickly. A session
  /// that is not finished and stored nothing leaves no trace.
  CloseReport close(const Attributes& end_of_session, bool finished = true,
                    const StopPredicate& stop = {});

 private:
  [[nodiscard]] const std::filesystem::path& path() const { return claim_.path; }
  /// Calls step(). If it throws, marks the store as unusable.
  template <class Step>
  auto write(Step step);
  bool begin_session();
  void create_file();
  void remove_leftovers();
  void begin_journal();
  [[nodiscard]] store::ResultRow to_stored_row(const PlanResult& result) const;
  void add_to_batch(const store::ResultRow& row, const PlanResult& result);
  void end_session(const Attributes& end, bool finished);
  /// Compacts the file. Returns false if it was stopped.
  bool compact_all(const StopPredicate& stop);
  void remove_all();

  ResultClaim claim_;
  ResultFileSpec plan_;
  Attributes session_;
  std::vector<std::string> warnings_;
  /// The existing results, until the session begins; null for a new file.
  std::unique_ptr<store::Snapshot> existing_;
  std::unique_ptr<store::ResultFile> file_;
  std::unique_ptr<store::JournalWriter> journal_;
  std::size_t stored_ = 0;
  bool is_first_ = false;                 ///< the file did not exist before this session
  std::atomic<std::uint64_t> bytes_ = 0;  ///< size of the file and its journals
  double bytes_per_s_ = 100e6;
  bool poisoned_ = false;
  CloseReport closed_;
};

}  // namespace wallheat
