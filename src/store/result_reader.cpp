#include "wallheat/result_reader.hpp"

#include <mutex>

#include "store/field_codec.hpp"
#include "store/result_path.hpp"
#include "store/snapshot.hpp"

namespace wallheat {

namespace fs = std::filesystem;
using namespace store;

namespace {

Snapshot snapshot_of(const fs::path& path) {
  try {
    return Snapshot(path);
  } catch (const Hdf5Error& error) {
    if (!error.hint.empty())
      throw RunError(path.string() + ": " + error.what() + "; " + error.hint);
    throw RunError(path.string() + " is damaged: " + error.what() +
                   "; restore a copy of it, or solve all plans again");
  } catch (const fs::filesystem_error& error) {
    throw RunError(path.string() + " cannot be read: " + error.code().message());
  }
}

}  // namespace

class ResultReader::Impl {
 public:
  explicit Impl(const fs::path& file) : path_(result_path(file)), snapshot_(snapshot_of(path_)) {}

  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }

  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const {
    const ResultRow row = row_of(index);
    if (!has_field(row)) return std::nullopt;
    const auto chunk = snapshot_.field(row);
    if (!chunk) refuse_damaged("a damaged field", row);
    return decompress_field(*chunk, shape_of(row));
  }

  [[nodiscard]] std::vector<RoomResult> rooms(std::size_t index) const {
    const ResultRow row = row_of(index);
    if (!snapshot_.header().has_rooms(row)) return {};
    auto rooms = snapshot_.rooms(index);
    if (!are_intact(rooms, row)) refuse_damaged("damaged rooms", row);
    return rooms;
  }

  /// Returns the rows. They are created on first use, because they take most of the memory of a
  /// reader.
  [[nodiscard]] const std::vector<PlanResult>& rows() const {
    std::call_once(rows_are_made_, [&] {
      rows_.reserve(snapshot_.count());
      snapshot_.for_each_row([&](const ResultRow& row) { rows_.push_back(to_result(row)); });
    });
    return rows_;
  }

 private:
  [[nodiscard]] ResultRow row_of(std::size_t index) const {
    if (index >= snapshot_.count())
      throw RunError(path_.string() + " has no row " + std::to_string(index));
    return snapshot_.row(index);
  }
  [[noreturn]] void refuse_damaged(const std::string& what, const ResultRow& row) const {
    throw RunError(path_.string() + " contains " + what + " of plan " + std::string(id_of(row)) +
                   ", or was replaced while it was being read");
  }

  fs::path path_;
  Snapshot snapshot_;
  mutable std::once_flag rows_are_made_;
  mutable std::vector<PlanResult> rows_;
};

ResultReader::ResultReader(const fs::path& file) : impl_(std::make_unique<Impl>(file)) {}
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;
ResultReader::~ResultReader() = default;

const std::vector<PlanResult>& ResultReader::rows() const { return impl_->rows(); }
std::size_t ResultReader::count() const { return impl_->snapshot().count(); }
PlanResult ResultReader::row(std::size_t index) const {
  return to_result(impl_->snapshot().row(index));
}
void ResultReader::for_each_row(const std::function<void(const PlanResult&)>& take) const {
  PlanResult result;
  impl_->snapshot().for_each_row([&](const ResultRow& row) {
    assign_row(row, result);
    take(result);
  });
}
const Attributes& ResultReader::settings() const { return impl_->snapshot().header().settings; }
const std::vector<Attributes>& ResultReader::sessions() const {
  return impl_->snapshot().header().sessions;
}
const std::vector<std::size_t>& ResultReader::damaged_rows() const {
  return impl_->snapshot().damage().lost;
}
std::optional<Grid<double>> ResultReader::field(std::size_t index) const {
  return impl_->field(index);
}
bool ResultReader::has_rooms() const { return impl_->snapshot().header().keeps_rooms(); }
std::vector<RoomResult> ResultReader::rooms(std::size_t index) const { return impl_->rooms(index); }
bool ResultReader::closed_cleanly() const { return impl_->snapshot().ended_cleanly(); }
bool ResultReader::is_compacted() const { return impl_->snapshot().journals() == 0; }
const std::vector<std::string>& ResultReader::damage_messages() const {
  return impl_->snapshot().damage().messages;
}

std::vector<FieldLocation> stored_fields(const fs::path& file) {
  const Snapshot snapshot = snapshot_of(result_path(file));
  if (snapshot.journals() > 0)
    throw RunError(file.string() +
                   " is not compacted yet: other programs can read its fields when the run has "
                   "finished, or after 'wallheat repair'; during the run, use 'wallheat merge "
                   "--allow-missing' to write a complete copy");
  std::vector<FieldLocation> fields;
  snapshot.for_each_row([&](const ResultRow& row) {
    if (has_field(row))
      fields.push_back(
          {row.index, std::string(id_of(row)), shape_of(row), "/fields/" + field_name(id_of(row))});
  });
  return fields;
}

}  // namespace wallheat
