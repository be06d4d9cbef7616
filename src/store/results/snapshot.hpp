#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/posix_file.hpp"
#include "store/results/result_store.hpp"
#include "store/results/rooms.hpp"
#include "store/results/row_list.hpp"

namespace wallheat::store {

/// Throws the RunError of that refusal.
[[noreturn]] void refuse_version(const std::filesystem::path& file, std::int64_t found);

/// A field's bytes in the HDF5 file begin here (in bytes from its start); -1: no field.
using Offset = std::int64_t;

/// How many fields of each shape a file has room for.
using Capacities = std::map<GridShape, std::uint64_t>;

/// All that a result file holds except the bytes of the fields. It is read from a closed HDF5 file
/// or from a log alike, and either can be written anew from it.
struct Snapshot {
  std::string file_id;  ///< ties a log to the one HDF5 file whose offsets it gives
  /// The files that this one was built from or in the place of: their logs are of no use any more.
  std::vector<std::string> succeeds;
  Attributes settings;
  bool save_fields = false;
  Capacities capacities;
  std::vector<Attributes> sessions;
  TextList ids;                 ///< of the plans
  RowList rows;                 ///< row i has index i, and is of plan ids[i]
  std::vector<Offset> offsets;  ///< of row i's field
  RoomsOf rooms_of;             ///< of a file that keeps rooms; empty while none has any
};

/// What was found wrong with a file.
struct DamageReport {
  std::vector<std::string> sentences;  ///< for people, without the file's name
  std::vector<std::size_t> lost;       ///< rows that became pending for it
  bool in_file = false;                ///< the closed HDF5 file itself is damaged
  /// Adds "2 rows were damaged; pending again: "a", "b"" where `rows` names any.
  void add_lost(const std::string& noun, const std::string& what,
                const std::vector<std::size_t>& rows, const Snapshot& snapshot);
  /// The same of `rows` whose records in the log were damaged, as far as they are pending for it.
  void add_lost_with_log(std::vector<std::size_t> rows, const Snapshot& snapshot);
};

/// "3 rows were".
[[nodiscard]] std::string count_were(std::size_t count, const std::string& noun);

/// The first few ids in quotes, and how many more there are.
[[nodiscard]] std::string few_of(const std::vector<std::string>& ids);

/// What a new file for `plan` begins with: all rows pending, no session, no id yet. Throws RunError
/// where the plan contradicts itself; `file` is for that sentence.
[[nodiscard]] Snapshot snapshot_for(const std::filesystem::path& file, const StorePlan& plan);

[[nodiscard]] std::string new_file_id(System& system);

/// True if `all` has every attribute of `some`.
[[nodiscard]] bool includes(const Attributes& all, const Attributes& some);

/// Names each difference between the settings of two campaigns, "tolerance: A has 1, B 2; ..."
/// where `a` and `b` are "A has" and "B"; empty if there is none.
[[nodiscard]] std::string differences(const Snapshot& snapshot, const std::string& a,
                                      const Attributes& settings, bool save_fields,
                                      const std::string& b);

/// Throws RunError that names each difference between what a file was made for and `plan`.
void require_agreement(const std::filesystem::path& file, const Snapshot& snapshot,
                       const StorePlan& plan);

/// The same answers in the order of plan.ids, ids without an answer left out or added as pending.
/// Throws RunError if an answer would be lost.
[[nodiscard]] Snapshot rearranged(const std::filesystem::path& file, Snapshot old,
                                  const StorePlan& plan);

/// True if the file must be built anew to serve `plan`: other ids, or not enough room for
/// fields.
[[nodiscard]] bool needs_new_layout(const Snapshot& snapshot, const StorePlan& plan);

/// Finds rows that name the same field: nothing in them tells whose it is.
class SharedFields {
 public:
  /// To be called for each row that has a field; `offset` is -1 where it is not known.
  void look_at(std::size_t i, const Row& row, Offset offset);
  /// In order.
  [[nodiscard]] const std::set<std::size_t>& rows() const { return rows_; }

 private:
  void share(std::size_t i, std::size_t other);

  std::map<GridShape, std::unordered_map<std::int64_t, std::size_t>> by_slot_;
  std::unordered_map<Offset, std::size_t> by_offset_;
  std::set<std::size_t> rows_;
};

/// Reads a field's compressed bytes from where they lie in the HDF5 file. False if they are not
/// what the row says they are.
[[nodiscard]] bool read_chunk(const PosixFile& source, Offset offset, const Row& row,
                              std::vector<std::byte>& chunk);

/// Turns row i into a pending one.
void forget_row(Snapshot& snapshot, std::size_t i);

/// The numbers of all rows.
[[nodiscard]] std::vector<std::size_t> all_rows(const Snapshot& snapshot);

/// Turns rows whose fields are not what they say into pending ones, and says so. `raw`: the HDF5
/// file; none where it is gone.
void forget_damaged_fields(const std::optional<PosixFile>& raw, Snapshot& snapshot,
                           DamageReport& damage);

}  // namespace wallheat::store
