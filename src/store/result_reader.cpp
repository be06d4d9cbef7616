#include <fcntl.h>

#include "store/checksum.hpp"
#include "store/recovery.hpp"
#include "store/write_ahead_log.hpp"
#include "wallheat/error.hpp"
#include "wallheat/field_codec.hpp"
#include "wallheat/result_store.hpp"

namespace wallheat {
namespace fs = std::filesystem;
using namespace store;

/// Where there is a log, it alone says what was stored: it is complete, and unlike the HDF5 file it can
/// be read at any moment of its writer's life or death. Fields are read from their addresses.
class ResultReader::Impl {
 public:
  explicit Impl(fs::path file) : path_(std::move(file)) {
    // A writer may begin or end its session between two steps of ours; then the next try succeeds.
    constexpr int tries = 5;
    for (int attempt = 1;; ++attempt) {
      try {
        read();
        break;
      } catch (const Hdf5Error& error) {
        if (attempt == tries) throw RunError(path_.string() + ": " + error.what());
      } catch (const RunError&) {
        if (attempt == tries) throw;
      } catch (const fs::filesystem_error& error) {
        throw RunError(path_.string() + " cannot be read: " + error.code().message());
      }
    }
    for (const auto& row : contents_.rows) rows_.push_back(to_result(row));
  }

  [[nodiscard]] std::optional<Grid<double>> field(std::size_t index) const {
    if (index >= contents_.rows.size()) {
      throw RunError(path_.string() + " has no row " + std::to_string(index));
    }
    const auto& row = contents_.rows[index];
    if (!has_field(row)) return std::nullopt;
    std::vector<std::byte> chunk(static_cast<std::size_t>(row.field_bytes));
    const auto address = address_of(index);
    if (!raw_ || address < 0 || !raw_->read_at(static_cast<std::uint64_t>(address), chunk) ||
        crc32_of(chunk) != row.field_crc32) {
      throw RunError(path_.string() + " holds a damaged field of plan " + id_of(row) +
                     ", or was replaced while it was read");
    }
    return decompress_field(chunk, shape_of(row));
  }

  [[nodiscard]] const Contents& contents() const { return contents_; }
  [[nodiscard]] const std::vector<PlanResult>& rows() const { return rows_; }
  [[nodiscard]] bool closed_well() const { return closed_well_; }

 private:
  void read() {
    const auto state = peek(path_);
    if (state != FileState::missing) raw_.emplace(path_, O_RDONLY);
    std::vector<std::string> complaints;
    closed_well_ = false;
    if (fs::exists(log_path(path_))) {
      auto log = read_log(path_);
      if (log && !is_of_another_file(*log, state)) {
        contents_ = std::move(log->contents);
        addresses_known_ = true;
        return;
      }
    }
    switch (state) {
      case FileState::missing: throw RunError(path_.string() + " does not exist");
      case FileState::foreign: throw RunError(path_.string() + " is not an HDF5 file");
      case FileState::left_open:
        contents_ = load(path_, Access::read_live, Addresses::find, complaints);
        addresses_known_ = true;
        return;
      case FileState::closed: break;
    }
    contents_ = load(path_, Access::read, Addresses::leave_out, complaints);
    closed_well_ = true;
  }

  bool is_of_another_file(const LogReading& log, FileState state) const {
    if (state != FileState::closed) return false;
    try {
      return read_identity(open_file(path_, Access::read), path_) != log.contents.file_id;
    } catch (const Hdf5Error&) {
      return false;
    }
  }

  /// To find them takes a while and most readers want rows only, hence on first use.
  Address address_of(std::size_t index) const {
    if (!addresses_known_) {
      std::vector<std::string> complaints;
      try {
        contents_.addresses = load(path_, Access::read, Addresses::find, complaints).addresses;
      } catch (const Hdf5Error& error) {
        throw RunError(path_.string() + ": " + error.what());
      }
      addresses_known_ = true;
    }
    return index < contents_.addresses.size() ? contents_.addresses[index] : -1;
  }

  fs::path path_;
  mutable Contents contents_;
  mutable bool addresses_known_ = false;
  std::vector<PlanResult> rows_;
  std::optional<PosixFile> raw_;
  bool closed_well_ = false;
};

ResultReader::ResultReader(const fs::path& file) : impl_(std::make_unique<Impl>(file)) {}
ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader& ResultReader::operator=(ResultReader&&) noexcept = default;
ResultReader::~ResultReader() = default;

const std::vector<PlanResult>& ResultReader::rows() const { return impl_->rows(); }
const Attributes& ResultReader::settings() const { return impl_->contents().settings; }
const std::vector<Attributes>& ResultReader::sessions() const {
  return impl_->contents().sessions;
}
std::optional<Grid<double>> ResultReader::field(std::size_t index) const {
  return impl_->field(index);
}
bool ResultReader::closed_well() const { return impl_->closed_well(); }

}  // namespace wallheat
