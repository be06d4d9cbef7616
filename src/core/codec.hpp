#pragma once

#include <chrono>
#include <concepts>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/bytes.hpp"
#include "wallheat/plan_result.hpp"

// A record is described once, by a function beside it,
//   template <class Visit, Is<Task> R>
//   void fields_of(Visit& visit, R& task) { visit(task.index, task.id); }
// or in it: static void fields(auto& visit, auto& self) { visit(self.index, self.id); }
// Encoder and Decoder walk the same list, so that they cannot disagree.
namespace wallheat {

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <class Record, class T>
concept Is = std::same_as<std::remove_const_t<Record>, T>;

template <class Visit, class Record>
requires requires(Visit& visit, Record& record) { Record::fields(visit, record); }
void fields_of(Visit& visit, Record& record) { Record::fields(visit, record); }

/// Turns records into bytes.
class Encoder {
 public:
  template <class... T>
  void operator()(const T&... fields) {
    (put(fields), ...);
  }
  Bytes take() { return writer_.take(); }

 private:
  template <Scalar T>
  void put(T value) {
    writer_.put(value);
  }
  void put(const std::string& text) { writer_.put(text); }
  void put(const Bytes& block) { writer_.put(std::span(block)); }
  void put(const std::filesystem::path& path) { writer_.put(path.string()); }
  void put(std::chrono::duration<double> seconds) { writer_.put(seconds.count()); }
  template <class T>
  void put(const std::vector<T>& items) {
    writer_.put_length(items.size());
    for (const T& item : items) put(item);
  }
  template <class T>
  void put(const std::optional<T>& item) {
    put(static_cast<std::uint8_t>(item.has_value()));
    if (item) put(*item);
  }
  template <class Record>
  requires std::is_class_v<Record>
  void put(const Record& record) { fields_of(*this, record); }

  ByteWriter writer_;
};

/// Turns bytes into records. Throws DecodeError if they hold none.
class Decoder {
 public:
  explicit Decoder(std::span<const std::byte> bytes) : reader_(bytes) {}
  template <class... T>
  void operator()(T&... fields) {
    (get(fields), ...);
  }
  void expect_end() const { reader_.expect_end(); }

 private:
  template <Scalar T>
  void get(T& value) {
    value = reader_.get<T>();
  }
  void get(bool& value) { value = reader_.get<std::uint8_t>() != 0; }
  void get(PlanStatus& status) {
    status = reader_.get<PlanStatus>();
    if (status > PlanStatus::failed) throw DecodeError("no such status");
  }
  void get(std::string& text) { text = reader_.get_text(); }
  void get(std::filesystem::path& path) { path = reader_.get_text(); }
  void get(std::chrono::duration<double>& seconds) {
    seconds = std::chrono::duration<double>(reader_.get<double>());
  }
  void get(Bytes& block) {
    const auto bytes = reader_.get_block();
    block.assign(bytes.begin(), bytes.end());
  }
  template <class T>
  void get(std::vector<T>& items) {
    items.clear();
    for (std::size_t count = reader_.get_count(1); count > 0; --count) get(items.emplace_back());
  }
  template <class T>
  void get(std::optional<T>& item) {
    item.reset();
    if (reader_.get<std::uint8_t>() != 0) get(item.emplace());
  }
  template <class Record>
  requires std::is_class_v<Record>
  void get(Record& record) { fields_of(*this, record); }

  ByteReader reader_;
};

template <class Record>
[[nodiscard]] Bytes bytes_of(const Record& record) {
  Encoder encoder;
  encoder(record);
  return encoder.take();
}
/// Throws DecodeError if the bytes are not that record.
template <class Record>
[[nodiscard]] Record record_in(std::span<const std::byte> bytes) {
  Record record;
  Decoder decoder(bytes);
  decoder(record);
  decoder.expect_end();
  return record;
}

}  // namespace wallheat
