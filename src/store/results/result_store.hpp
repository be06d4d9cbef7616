#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/id_list.hpp"
#include "store/results/environment.hpp"
#include "wallheat/plan_result.hpp"
#include "wallheat/result_reader.hpp"

namespace wallheat {

/// What a result file is made for. Two sessions may share a file only if these agree.
struct StorePlan {
  TextList ids;         ///< all plans; row i of the file belongs to ids[i]
  Attributes settings;  ///< everything that decides the answers: solver, tolerance, ...
  bool save_fields = false;
  std::vector<GridShape> shapes;  ///< with save_fields: shape of plan i; {0, 0} where unknown
};

/// The HDF5 library's name and version, for provenance.
[[nodiscard]] std::string hdf5_library();

/// Keeps HDF5 from flushing open files when the process ends: one that was given up after a failed
/// write would crash it. For the whole process, thus for programs, not for libraries; to be called
/// before anything else of HDF5.
void leave_hdf5_files_at_exit();

class FileLock;
namespace store {
struct Advice;
}

/// How a result file comes to be written.
enum class Opening { create, overwrite, resume };

/// The right to write a result file, taken before it is known what to write. It ends with the
/// object, unless a ResultStore was opened with it.
class ResultClaim {
 public:
  /// Throws RunError if another process writes the file, or if its name may not be taken so.
  ResultClaim(const std::filesystem::path& file, Opening opening, const StoreEnvironment& env = {});
  ResultClaim(ResultClaim&& other) noexcept;
  ResultClaim& operator=(ResultClaim&&) = delete;
  ResultClaim(const ResultClaim&) = delete;
  ResultClaim& operator=(const ResultClaim&) = delete;
  ~ResultClaim();

 private:
  friend class ResultStore;
  StoreEnvironment env_;
  std::filesystem::path file_;  // as it was named
  std::filesystem::path path_;
  std::unique_ptr<FileLock> lock_;
};

/// The writer of a result file; one per file, in one process (rank 0). Layout and protocol:
/// src/store/README.md. Every function throws RunError with one sentence that names the file; after
/// a failed write the file is left as it is and a resume takes it up.
class ResultStore {
 public:
  /// Makes a new file for `plan` with every row pending. `session` describes this run. An existing
  /// file is replaced only if `overwrite`; one that a living process writes never is.
  [[nodiscard]] static ResultStore create(const std::filesystem::path& file, StorePlan plan,
                                          const Attributes& session, bool overwrite,
                                          const StoreEnvironment& env = {});
  /// The same where the right was taken before, for creating or overwriting.
  [[nodiscard]] static ResultStore create(ResultClaim claim, StorePlan plan,
                                          const Attributes& session);

  /// Takes up a finished, partial or killed file; `report` tells what was found and repaired.
  /// Throws RunError that names each difference where the file was made for other ids or settings.
  [[nodiscard]] static ResultStore resume(const std::filesystem::path& file, StorePlan plan,
                                          const Attributes& session,
                                          std::vector<std::string>* report = nullptr,
                                          const StoreEnvironment& env = {});
  /// The same where the right was taken before, for a resume.
  [[nodiscard]] static ResultStore resume(ResultClaim claim, StorePlan plan,
                                          const Attributes& session,
                                          std::vector<std::string>* report = nullptr);

  /// Hands over the rows that create() or resume() would begin with, or throws the RunError that
  /// they would throw. Returns what resume() would report. Changes nothing; the lock is held
  /// meanwhile.
  static std::vector<std::string> look(const std::filesystem::path& file, StorePlan plan,
                                       Opening opening,
                                       const std::function<void(const PlanResult&)>& take,
                                       const StoreEnvironment& env = {});

  ResultStore(ResultStore&&) noexcept;
  ResultStore& operator=(ResultStore&&) noexcept;
  ResultStore(const ResultStore&) = delete;
  ResultStore& operator=(const ResultStore&) = delete;
  /// Without close() the file stays as after a kill: nothing stored is lost, and a resume goes on.
  ~ResultStore();

  /// Hands over all rows as they were when the file was opened, pending ones included; fields left
  /// out. There are none from the first result on that is stored.
  void for_each_restored(const std::function<void(const PlanResult&)>& take) const;
  /// The same as a list, which takes several times as much memory.
  [[nodiscard]] std::vector<PlanResult> restored() const;

  /// Stores a batch; on return it is on disk and survives a kill and a power failure. A result for
  /// a row that is already there replaces it. Returns the rows that could not be stored as asked,
  /// as they were stored: failed, with the reason. It is empty unless a field has no place.
  [[nodiscard]] std::vector<PlanResult> store(std::span<const PlanResult> results);

  /// Gives stored rows the input_stamp of these results, and changes nothing else of them.
  void restamp(std::span<const PlanResult> results);

  /// Lets readers of the open file see what was stored lately; cheap when nothing is new. Call it
  /// every now and then.
  void publish();

  /// Ends the session: writes everything to the HDF5 file with these attributes added to the
  /// session's, and removes log and lock. One plain HDF5 file is left.
  void close(const Attributes& end_of_session);

 private:
  class Impl;
  explicit ResultStore(std::unique_ptr<Impl> impl);
  template <class Step>
  static ResultStore open(ResultClaim claim, const store::Advice& advice, StorePlan plan,
                          const Attributes& session, Step step);
  std::unique_ptr<Impl> impl_;
};

}  // namespace wallheat
