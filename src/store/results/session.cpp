#include "store/results/session.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "io/checksum.hpp"
#include "store/results/field_codec.hpp"
#include "store/results/recovery.hpp"
#include "wallheat/error.hpp"

namespace wallheat::store {

FieldSlots::FieldSlots(const Snapshot& snapshot) {
  if (!snapshot.save_fields) return;
  for (const auto& [shape, capacity] : snapshot.capacities) pools_[shape].capacity = capacity;
  slots_.resize(snapshot.rows.size());
  std::size_t place = 0;
  for (const Row& row : snapshot.rows) {
    const std::size_t i = place++;
    if (!has_field(row)) continue;
    slots_[i] = {shape_of(row), row.field_slot};
    pools_[shape_of(row)].used.insert(row.field_slot);
  }
}

std::optional<std::int64_t> FieldSlots::assign(std::size_t i, GridShape shape) {
  auto& slot = slots_.at(i);
  if (slot.number >= 0 && slot.shape == shape) return slot.number;
  const auto found = pools_.find(shape);
  if (found == pools_.end()) return std::nullopt;
  auto& pool = found->second;
  auto& next = pool.first_maybe_free;
  while (pool.used.contains(next)) ++next;
  if (static_cast<std::uint64_t>(next) >= pool.capacity) return std::nullopt;
  pool.used.insert(next);
  slot = {shape, next};
  return slot.number;
}

Session::Session(StoreEnvironment env, std::filesystem::path file, Snapshot& snapshot)
    : env_(std::move(env)),
      path_(std::move(file)),
      save_fields_(snapshot.save_fields),
      sessions_(snapshot.sessions),
      slots_(snapshot) {
  ids_.reserve(snapshot.rows.size());
  for (const Row& row : snapshot.rows) ids_.push_back(text_in(row.id));
  // The log first: from here on a kill at any moment leaves enough to build the file from.
  log_.emplace(env_, path_, snapshot);
  bring_up_to_date(env_, path_, Access::write, snapshot, {});
  file_ = open_file(env_, path_, Access::write_live);
  rows_.emplace(file_);
  fields_.emplace(file_);
  given_up_ = false;
}

Session::~Session() {
  if (!given_up_) return;
  // HDF5 may crash when it closes a file that it could not write: leave it, as a kill would.
  if (rows_) rows_->leak();
  if (fields_) fields_->leak();
  file_.leak();
}

bool Session::write_field(const PlanResult& result, LoggedRow& logged) {
  auto& row = logged.row;
  const GridShape shape{result.rows, result.cols};
  const auto slot = slots_.assign(result.index, shape);
  if (!slot) {
    row.status = static_cast<std::int32_t>(PlanStatus::failed);
    const auto too_large = too_large_to_keep(shape);
    put_text(row.error, !too_large.empty()
                            ? too_large
                            : "the plan's shape " + std::to_string(shape.rows) + " x " +
                                  std::to_string(shape.cols) +
                                  " was not foreseen when the file was opened, so its field has "
                                  "no place; resume to solve it again");
    return false;
  }
  // HDF5 overwrites a chunk in place only if the new one has the same size, and the old field must
  // survive until the log holds the new row. A byte behind the deflate stream changes the size, and
  // no reader looks at it.
  std::span<const std::byte> chunk = result.field;
  const auto old = fields_->find(shape, *slot);
  if (old && old->bytes == static_cast<std::int64_t>(chunk.size())) {
    padded_.assign(chunk.begin(), chunk.end());
    padded_.push_back(std::byte{0});
    chunk = padded_;
  }
  logged.offset = fields_->write(shape, *slot, chunk).offset;
  row.field_slot = *slot;
  row.field_bytes = static_cast<std::int64_t>(chunk.size());
  row.field_crc32 = crc32_of(chunk);
  return true;
}

std::vector<PlanResult> Session::store(std::span<const PlanResult> results) {
  if (given_up_) throw RunError(path_.string() + " was given up after a failed write");
  std::vector<PlanResult> refused;
  if (results.empty()) return refused;
  for (const auto& result : results) {
    if (result.index >= ids_.size() || ids_[result.index] != result.id) {
      throw RunError(path_.string() + " has no row " + std::to_string(result.index) +
                     " for a plan called \"" + result.id + "\"");
    }
  }
  given_up_ = true;  // an exception on the way leaves it so
  batch_.clear();
  bool wrote_field = false;
  for (const auto& result : results) {
    auto& logged = batch_.emplace_back(LoggedRow{-1, to_row(result)});
    logged.row.session = static_cast<std::uint32_t>(sessions_.size() - 1);
    if (save_fields_ && !result.field.empty()) {
      if (write_field(result, logged)) {
        wrote_field = true;
      } else {
        refused.push_back(to_result(logged.row));
      }
    }
    seal(logged.row);
  }
  if (wrote_field && env_.system.fdatasync(descriptor_of(file_)) != 0) {
    throw_system_error(path_, "be made durable", errno);
  }
  log_->append(batch_);
  write_rows();
  unpublished_ = true;
  given_up_ = false;
  return refused;
}

void Session::restamp(std::span<const PlanResult> results) {
  if (given_up_) throw RunError(path_.string() + " was given up after a failed write");
  constexpr std::size_t batch_size = 1024;
  for (std::size_t first = 0; first < results.size(); first += batch_size) {
    given_up_ = true;
    batch_.clear();
    for (const auto& result :
         results.subspan(first, std::min(batch_size, results.size() - first))) {
      Row row{};
      if (result.index < rows_->count()) rows_->read(result.index, std::span(&row, 1));
      if (!is_intact(row) || id_of(row) != result.id) {
        throw RunError(path_.string() + " has no row for the plan \"" + result.id + "\"");
      }
      const auto extent = has_field(row) ? fields_->find(shape_of(row), row.field_slot)
                                         : std::optional<FieldTables::Extent>{};
      PlanResult stamped = to_result(row);
      stamped.input_stamps = result.input_stamps;
      put_columns(row, stamped);
      seal(row);
      batch_.push_back({extent ? extent->offset : -1, row});
    }
    log_->append(batch_);
    write_rows();
    unpublished_ = true;
    given_up_ = false;
  }
}

/// Neighbours go in one call: HDF5 compares all columns of two row types in every one, which
/// costs far more than writing the row.
void Session::write_rows() {
  std::stable_sort(batch_.begin(), batch_.end(), [](const LoggedRow& a, const LoggedRow& b) {
    return a.row.index < b.row.index;
  });
  std::vector<Row> run;
  for (const auto& logged : batch_) {
    if (!run.empty() && logged.row.index != run.back().index + 1) {
      rows_->write(run.front().index, run);
      run.clear();
    }
    run.push_back(logged.row);
  }
  rows_->write(run.front().index, run);
}

void Session::publish() {
  const auto now = env_.system.uptime();
  if (given_up_ || !unpublished_ || now - published_ < std::chrono::seconds(1)) return;
  given_up_ = true;
  checked(H5Fflush(file_.get(), H5F_SCOPE_LOCAL), "show the rows to readers");
  given_up_ = false;
  unpublished_ = false;
  published_ = now;
}

void Session::close(const Attributes& end) {
  if (given_up_) throw RunError(path_.string() + " was given up after a failed write");
  given_up_ = true;
  auto& session = sessions_.back();
  for (const auto& [name, value] : end) session[name] = value;
  // Into the log first, so that a kill between the next steps keeps the end of the session too.
  log_->append_session(sessions_.size() - 1, session);
  checked(H5Fflush(file_.get(), H5F_SCOPE_LOCAL), "write the rows");
  rows_.reset();
  fields_.reset();
  file_.close("close the file");
  file_ = open_file(env_, path_, Access::write);
  write_sessions(file_, sessions_);
  file_.close("close the file");
  sync_file(env_.system, path_);
  // Only now does the HDF5 file alone hold everything.
  log_.reset();
  remove_durably(env_.system, log_path(path_));
}

}  // namespace wallheat::store
