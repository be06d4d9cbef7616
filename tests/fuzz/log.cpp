// The write-ahead log. An input that begins with 0 is a log's bytes; any other begins with a byte
// that is passed over, and records follow, which get sound checksums: one byte of kind, 16 bits of
// length, payload.

#include <algorithm>
#include <cstring>

#include "io/checksum.hpp"
#include "plans.hpp"
#include "store/results/write_ahead_log.hpp"
#include "target.hpp"
#include "wallheat/error.hpp"

namespace wallheat::fuzz {
namespace {

constexpr std::size_t beginning_size = 16, head_size = 12;

template <class Number>
Number number_at(std::string_view text, std::size_t at) {
  Number number{};
  std::memcpy(&number, text.data() + at, sizeof number);
  return number;
}

template <class Number>
std::string bytes_of_number(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string sealed_log(std::string_view records) {
  std::string log = "wallhlog" + bytes_of_number(std::uint32_t{store::format_version});
  log += bytes_of_number(crc32_of(bytes_of(log)));
  while (records.size() >= 3) {
    const auto kind = std::uint32_t{static_cast<unsigned char>(records[0])};
    const auto length = number_at<std::uint16_t>(records, 1);
    records.remove_prefix(3);
    std::string payload(records.substr(0, length));
    records.remove_prefix(payload.size());
    if (payload.size() == sizeof(store::LoggedRow)) {
      auto row = number_at<store::LoggedRow>(payload, 0);
      store::seal(row.row);
      payload = bytes_of_number(row);
    }
    const std::string head =
        bytes_of_number(kind) + bytes_of_number(static_cast<std::uint32_t>(payload.size()));
    log += head + bytes_of_number(crc32_of(bytes_of(head + payload))) + payload;
  }
  return log;
}

/// The inverse.
std::string records_of(std::string_view log) {
  std::string records;
  for (log.remove_prefix(beginning_size); !log.empty();) {
    const auto length = number_at<std::uint32_t>(log, 4);
    records += log[0] + bytes_of_number(static_cast<std::uint16_t>(length));
    records += log.substr(head_size, length);
    log.remove_prefix(head_size + length);
  }
  return records;
}

/// What an HDF5 file beside the log says, which a damaged beginning is replaced by.
const store::Snapshot& in_file() {
  static const auto snapshot = [] {
    auto made = store::snapshot_for("beside.h5", campaign());
    made.file_id = store::new_file_id(real_system());
    made.sessions = {{{"host", "node"}}};
    for (const auto& result : known_results(0, 2)) {
      auto row = store::to_row(result);
      store::seal(row);
      made.rows.set(result.index, row);
    }
    return made;
  }();
  return snapshot;
}

void require_sound(const store::LogReading& log) {
  const auto& rows = log.snapshot.rows;
  require(log.snapshot.offsets.size() == rows.size(), "rows without offsets");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    require(store::is_intact(rows[i]) && rows[i].index == i, "a damaged row as sound");
  }
  for (const auto i : log.stored_here) require(i < rows.size(), "a row that is not there");
  for (const auto i : log.damaged_rows) require(i < rows.size(), "a lost row that never was");
  require(!log.damaged || !log.damage.empty(), "damage without a word");
}

}  // namespace

std::vector<std::string> seeds() {
  const auto file = directory() / "seed.h5";
  std::string log;
  {
    auto store = ResultStore::create(file, campaign(), {{"host", "node"}}, true);
    static_cast<void>(store.store(known_results(0, 2)));
    static_cast<void>(store.store(known_results(2, 4)));
    log = read_file(log_path(file));
    store.close({});
  }
  require(sealed_log(records_of(log)) == log, "this target does not know the log's format");
  const std::string none(1, '\0');
  auto headless = log;
  headless[beginning_size + head_size] ^= 1;
  return {none + log, none + log.substr(0, log.size() - 20), none + headless,
          "+" + records_of(log)};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  if (size == 0) return 0;
  const auto input = text_of(data, size).substr(1);
  const auto file = directory() / "results.h5";
  write_file(log_path(file), data[0] == 0 ? std::string(input) : sealed_log(input));
  accepts<RunError>([&] {
    for (const auto* beside : {static_cast<const store::Snapshot*>(nullptr), &in_file()}) {
      if (const auto log = store::read_log({}, file, beside)) require_sound(*log);
    }
  });
  // What others see of it. There is no HDF5 file, so only the log can be meant.
  accepts<RunError>([&] {
    const ResultReader reader(file);
    for (std::size_t i = 0; i < reader.rows().size(); ++i) {
      accepts<RunError>([&] { (void)reader.field(i); });
      accepts<RunError>([&] { (void)reader.rooms(i); });
    }
  });
  return 0;
}
