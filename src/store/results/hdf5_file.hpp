#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/id_list.hpp"
#include "store/hdf5/hdf5_object.hpp"
#include "store/results/environment.hpp"
#include "store/results/snapshot.hpp"

namespace wallheat::store {

enum class Access {
  read,        ///< a closed file
  read_live,   ///< a file that a writer has open
  write,       ///< a closed file; objects may be created
  write_live,  ///< readers may follow (SWMR); nothing may be created
  take_up,     ///< like write, for a file whose writer died
};

/// What the first bytes of a file say without HDF5's help.
enum class Hdf5State { missing, foreign, closed, left_open };
[[nodiscard]] Hdf5State peek(const StoreEnvironment& env, const std::filesystem::path& file);

/// Opens a result file. HDF5's own locks are off: a notebook that has the file open must not stop a
/// run.
[[nodiscard]] Handle open_file(const StoreEnvironment& env, const std::filesystem::path& file,
                               Access access);

/// How a new file's space is given out.
enum class Space {
  paged,  ///< metadata apart from fields and aligned, so that a kill cannot tear an object in two
  dense,  ///< no gaps: for a file that is not used before it is complete
};

/// Makes a new file with nothing in it; there must be none of that name, nor a link.
[[nodiscard]] Handle create_file(const StoreEnvironment& env, const std::filesystem::path& file,
                                 Space space = Space::paged);

// Names for the axes of datasets, so that xarray and the netCDF tools open a file as it is.
// wallheat itself never reads them.

/// The dimension of what has one entry a plan.
constexpr const char* plan_axis = "/plan";

/// Makes a dimension without coordinates, in the way of netCDF-4: a dataset of no bytes whose name
/// is that of the dimension. Leaves one of this name that is there as it is.
void make_dimension(const Handle& file, const std::string& name, std::uint64_t size);

/// The same of a dimension that can grow.
void make_growing_dimension(const Handle& file, const std::string& name);

/// Gives an axis of a dataset a dimension, if the file has one of this name.
void name_axis(const Handle& file, const Handle& dataset, unsigned axis,
               const std::string& dimension);

/// The compound type of `/rows`: a Row, byte for byte, with named columns and an enum for the
/// status.
[[nodiscard]] Handle make_row_type();

/// The dataset /rows. It is read without HDF5, see RowsInFile.
class RowTable {
 public:
  explicit RowTable(const Handle& file);
  static void create(const Handle& file, std::uint64_t count);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// Where the first row is, in bytes from the beginning of the file. Throws Hdf5Error if the file
  /// is too short to hold all.
  [[nodiscard]] std::uint64_t offset() const;
  void write(std::uint64_t first, std::span<const Row> rows);
  void write_all(const RowList& rows);
  void leak();

 private:
  Handle type_, dataset_;
  std::uint64_t count_ = 0;
};

/// The datasets /fields/{rows}x{cols}/{k}. Slot s of a shape is entry s % slots_per_dataset of
/// dataset k = s / slots_per_dataset.
class FieldTables {
 public:
  /// Above 2035 slots HDF5's index of a dataset outgrows its first blocks, see README.md.
  static constexpr std::uint64_t slots_per_dataset = 2000;
  /// Datasets that are kept open.
  static constexpr std::size_t most_open = 2000;

  struct Extent {
    Offset offset;
    std::int64_t bytes;
  };

  /// `file` must live as long as this.
  explicit FieldTables(const Handle& file) : file_(file) {}
  static void create(const Handle& file, const Capacities& capacities);
  /// Nothing if the file has no /fields.
  [[nodiscard]] static std::optional<Capacities> capacities(const Handle& file);
  /// The dataset that has a slot's field, by its name in the file.
  [[nodiscard]] static std::string dataset_of(GridShape shape, std::uint64_t slot);

  /// Puts a compressed field into a slot, and says where it came to lie.
  Extent write(GridShape shape, std::int64_t slot, std::span<const std::byte> chunk);
  /// Where a slot's field lies; nothing where none was written.
  [[nodiscard]] std::optional<Extent> find(GridShape shape, std::int64_t slot);
  void leak();

 private:
  hid_t dataset(GridShape shape, std::int64_t slot);

  const Handle& file_;
  std::map<std::pair<GridShape, std::uint64_t>, Handle> open_;
};

// The dataset /rooms: all rooms, by plan and number, and maybe blank ones behind them, of 0 cells.
// It is written when a session ends; until then the log has them. It grows but is never made anew:
// after a crash HDF5 does not know enough of the file to free something.

/// The compound type of a room.
[[nodiscard]] Handle make_room_type();
/// Puts the rooms of these rows in place of what the dataset holds, which is made if it is missing,
/// and which `rooms_of` must not read.
void write_rooms(const Handle& file, const RowList& rows, const RoomsOf& rooms_of);
/// The rooms that are whole; the others are not there. Throws Hdf5Error if there is no such
/// dataset.
[[nodiscard]] std::shared_ptr<const RoomsAt> find_rooms_in(const StoreEnvironment& env,
                                                           const Handle& file,
                                                           const std::filesystem::path& path,
                                                           const RowList& rows);

/// Text attributes of an object, or of a group, which is made if it is missing. Writing replaces
/// those that differ and leaves others alone.
void write_attributes(const Handle& object, const Attributes& values);
void write_attributes(const Handle& file, const std::string& group, const Attributes& values);
[[nodiscard]] Attributes read_attributes(const Handle& file, const std::string& group);

/// /sessions/0, /sessions/1, ...: missing ones are created.
void write_sessions(const Handle& file, const std::vector<Attributes>& sessions);
[[nodiscard]] std::vector<Attributes> read_sessions(const Handle& file);

/// /ids: the list of ids once more, with a checksum of its own, so that the plan of a damaged row
/// still has a name. Writing makes the dataset if it is missing.
void write_ids(const Handle& file, const RowList& rows);
/// Nothing if the list is missing, damaged, or not as long as it must be.
[[nodiscard]] std::optional<TextList> read_ids(const Handle& file, std::size_t count);

/// The root's attributes file_id, succeeds and format_version.
void write_identity(const Handle& file, const Snapshot& snapshot);
/// The file_id. Throws RunError if it is no result file, or one of another format version.
[[nodiscard]] std::string read_identity(const Handle& file, const std::filesystem::path& path);

/// The ids of the files that this one succeeds.
[[nodiscard]] std::vector<std::string> read_predecessors(const Handle& file);

}  // namespace wallheat::store
