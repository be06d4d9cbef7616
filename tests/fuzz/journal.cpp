// A session's journal. An input that begins with 0 is a journal's bytes; any other begins with a
// byte that is passed over, and records follow, which get sound checksums: one byte of kind, 16
// bits each of the lengths of payload and field, payload, field.

#include <algorithm>
#include <cstring>

#include "io/checksum.hpp"
#include "io/file_names.hpp"
#include "plans.hpp"
#include "store/view.hpp"
#include "target.hpp"

namespace wallheat::fuzz {
namespace {

constexpr std::size_t head_size = 40;
constexpr std::size_t row_crc32 = offsetof(store::Row, row_crc32);

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

/// A closed file, and the journal that a session began beside it.
struct Original {
  std::string file, journal;
};

const Original& original() {
  static const auto made = [] {
    Original original;
    const auto path = directory() / "original.h5";
    auto store = ResultStore::create(path, campaign(), {{"host", "node"}}, true);
    store.store(known_results(0, 2));
    store.store(known_results(2, 4));
    original = {read_file(path), read_file(journal_path(path, 0))};
    store.close({});
    return original;
  }();
  return made;
}

std::string sealed_journal(std::string_view records) {
  const std::string_view known = original().journal;
  std::string journal;
  while (records.size() >= 5) {
    const auto kind = std::uint32_t{static_cast<unsigned char>(records[0])};
    const std::size_t payload_size = number_at<std::uint16_t>(records, 1);
    const std::size_t field_size = number_at<std::uint16_t>(records, 3);
    records.remove_prefix(5);
    std::string payload(records.substr(0, payload_size));
    const std::string field(records.substr(payload.size(), field_size));
    records.remove_prefix(payload.size() + field.size());
    if (payload.size() >= sizeof(store::Row)) {
      auto row = number_at<store::Row>(payload, 0);
      store::seal(row);
      std::memcpy(payload.data() + row_crc32, &row.row_crc32, sizeof row.row_crc32);
    }
    std::string head(known.substr(0, 16));  // marker and file
    head += bytes_of_number(std::uint64_t{payload.size()}) +
            bytes_of_number(std::uint64_t{field.size()}) + bytes_of_number(kind);
    journal += head + bytes_of_number(crc32_of(bytes_of(head + payload))) + payload + field;
  }
  return journal;
}

/// The inverse.
std::string records_of(std::string_view journal) {
  std::string records;
  while (!journal.empty()) {
    const auto payload = number_at<std::uint64_t>(journal, 16);
    const auto field = number_at<std::uint64_t>(journal, 24);
    records += journal[32] + bytes_of_number(static_cast<std::uint16_t>(payload)) +
               bytes_of_number(static_cast<std::uint16_t>(field));
    records += journal.substr(head_size, payload + field);
    journal.remove_prefix(head_size + payload + field);
  }
  return records;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string& journal = original().journal;
  require(sealed_journal(records_of(journal)) == journal,
          "this target does not know the journal's format");
  const std::string none(1, '\0');
  auto headless = journal;
  headless[head_size] ^= 1;
  return {none + journal, none + journal.substr(0, journal.size() - 20), none + headless,
          "+" + records_of(journal)};
}

}  // namespace wallheat::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wallheat;
  using namespace wallheat::fuzz;
  if (size == 0) return 0;
  const auto input = text_of(data, size).substr(1);
  const auto file = directory() / "results.h5";
  write_file(file, original().file);
  write_file(journal_path(file, 0), data[0] == 0 ? std::string(input) : sealed_journal(input));
  accepts<RunError>([&] {
    const store::View view(file);
    std::size_t next = 0;
    view.for_each_row([&](const store::Row& row) {
      require(store::is_intact(row) && row.index == next++, "a damaged row as sound");
    });
    require(next == campaign().ids.size(), "rows that there never were");
  });
  accepts<RunError>([&] {
    const ResultReader reader(file);
    for (std::size_t i = 0; i < reader.count(); ++i) {
      accepts<RunError>([&] { (void)reader.field(i); });
      accepts<RunError>([&] { (void)reader.rooms(i); });
    }
  });
  return 0;
}
