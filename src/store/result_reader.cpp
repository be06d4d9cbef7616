#include <fcntl.h>

#include <mutex>

#include "store/checksum.hpp"
#include "store/recovery.hpp"
#include "store/write_ahead_log.hpp"
#include "wallheat/error.hpp"
#include "wallheat/field_codec.hpp"
#include "wallheat/result_store.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

namespace {

/// What one look at a file finds.
struct View {
  Contents contents;
  bool has_addresses = false;
  bool closed_well = false;
  std::optional<PosixFile> raw;  ///< the HDF5 file's bytes; none where only the log is left
};

/// Where there is a log, it alone says what was stored: it is complete, and unlike the HDF5 file it
/// can be read at any moment of its writer's life or death.
View look(const fs::path& path, Addresses addresses) {
  const auto state = peek(path);
  View view;
  if (state != FileState::missing) view.raw.emplace(path, O_RDONLY);
  if (fs::exists(log_path(path))) {
    auto log = read_log(path);
    if (log && !is_another_file(path, state, log->contents.file_id)) {
      view.contents = std::move(log->contents);
      view.has_addresses = true;
      return view;
    }
  }
  if (state == FileState::missing) throw RunError(path.string() + " does not exist");
  if (state == FileState::foreign) throw RunError(path.string() + " is not an HDF5 file");
  std::vector<std::string> complaints;
  view.closed_well = state == FileState::closed;
  view.has_addresses = addresses == Addresses::find;
  try {
    view.contents =
        load(path, view.closed_well ? Access::read : Access::read_live, addresses, complaints);
  } catch (const Hdf5Error& error) {
    throw RunError(path.string() +
                   (view.closed_well ? " is damaged, " : " was left open by a killed run, ") +
                   error.what() + "; --resume may mend it");
  }
  return view;
}

/// A writer may begin or end its session between two steps of a look; then the next one succeeds.
View look_again_if_disturbed(const fs::path& path, Addresses addresses) {
  constexpr int tries = 5;
  for (int attempt = 1;; ++attempt) {
    try {
      return look(path, addresses);
    } catch (const RunError&) {
      if (attempt == tries) throw;
    } catch (const fs::filesystem_error& error) {
      throw RunError(path.string() + " cannot be read: " + error.code().message());
    }
  }
}

}  // namespace

class ResultReader::Impl {
 public:
  explicit Impl(fs::path file)
      : path_(std::move(file)), view_(look_again_if_disturbed(path_, Addresses::leave_out)) {
    rows_.reserve(view_.contents.rows.size());
    for (const auto& row : view_.contents.rows) rows_.push_back(to_result(row));
  }

  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const {
    if (index >= rows_.size()) {
      throw RunError(path_.string() + " has no row " + std::to_string(index));
    }
    const auto& row = view_.contents.rows[index];
    if (!has_field(row)) return std::nullopt;
    const auto address = address_of(index);
    const auto& raw = view_.raw;
    std::vector<std::byte> chunk;
    bool sound = raw && address >= 0 && static_cast<std::uint64_t>(row.field_bytes) <= raw->size();
    if (sound) {
      chunk.resize(static_cast<std::size_t>(row.field_bytes));
      sound = raw->read_at(static_cast<std::uint64_t>(address), chunk) &&
              crc32_of(chunk) == row.field_crc32;
    }
    if (!sound) {
      throw RunError(path_.string() + " holds a damaged field of plan " + id_of(row) +
                     ", or was replaced while it was read");
    }
    return decompress_field(chunk, shape_of(row));
  }

  [[nodiscard]] const Contents& contents() const { return view_.contents; }
  [[nodiscard]] const std::vector<PlanResult>& rows() const { return rows_; }
  [[nodiscard]] bool closed_well() const { return view_.closed_well; }

 private:
  /// To find the addresses takes a while and most readers want rows only, hence on first use. A
  /// writer may have begun a session since, so it is a whole new look.
  Address address_of(std::size_t index) const {
    const std::scoped_lock lock(finding_);
    if (!view_.has_addresses) {
      auto now = look_again_if_disturbed(path_, Addresses::find);
      if (now.contents.file_id == view_.contents.file_id) {
        view_.contents.addresses = std::move(now.contents.addresses);
      }
      view_.has_addresses = true;
    }
    return view_.contents.addresses.at(index);
  }

  fs::path path_;
  mutable View view_;
  mutable std::mutex finding_;  ///< of addresses: HDF5 is for one thread at a time
  std::vector<PlanResult> rows_;
};

ResultReader::ResultReader(const fs::path& file) : impl_(std::make_unique<Impl>(file)) {}
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;
ResultReader::~ResultReader() = default;

const std::vector<PlanResult>& ResultReader::rows() const { return impl_->rows(); }
const Attributes& ResultReader::settings() const { return impl_->contents().settings; }
const std::vector<Attributes>& ResultReader::sessions() const { return impl_->contents().sessions; }
const std::vector<std::size_t>& ResultReader::damaged() const {
  return impl_->contents().forgotten;
}
std::optional<Grid<double>> ResultReader::field(std::size_t index) const {
  return impl_->field(index);
}
bool ResultReader::closed_well() const { return impl_->closed_well(); }

}  // namespace wallheat
