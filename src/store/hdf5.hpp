#pragma once

#include <hdf5.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "wallheat/result_reader.hpp"

namespace wallheat::store {

/// Thrown if an HDF5 call fails. The message contains the operation, and the reason of the
/// innermost function that failed.
struct Hdf5Error : std::runtime_error {
  explicit Hdf5Error(const std::string& text, int code_ = 0)
      : std::runtime_error(text), code(code_) {}
  int code;  ///< errno of the system call that failed; 0 if the reason is another one
  /// Command or action that solves this error; empty if the caller's ErrorHints apply.
  std::string hint{};
};

/// Prevents HDF5 from printing errors while it exists. The destructor restores the previous setting
/// of the thread (or of the process, if HDF5 is not thread-safe), because a program that uses this
/// library may also use HDF5 itself.
class SuppressHdf5Errors {
 public:
  SuppressHdf5Errors();
  SuppressHdf5Errors(const SuppressHdf5Errors&) = delete;
  SuppressHdf5Errors& operator=(const SuppressHdf5Errors&) = delete;
  ~SuppressHdf5Errors();

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
  bool known_ = false;
};

[[noreturn]] void throw_hdf5_error(const std::string& what);

/// Throws Hdf5Error "cannot <what>: <reason>" if an HDF5 call returned a negative number.
template <class Result>
Result checked(Result result, const std::string& what) {
  if (result < 0) throw_hdf5_error(what);
  return result;
}

/// Owner of an HDF5 identifier of any kind.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);

  Handle() = default;
  Handle(hid_t id, Closer closer, const std::string& what)
      : id_(checked(id, what)), closer_(closer) {}
  Handle(Handle&& other) noexcept
      : id_(std::exchange(other.id_, H5I_INVALID_HID)), closer_(other.closer_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (id_ >= 0) closer_(id_);
  }

  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool open() const { return id_ >= 0; }

  /// Closes the object now. Throws Hdf5Error if that fails: closing a file may be the first
  /// operation that finds the disk full.
  void close(const std::string& what) {
    if (id_ >= 0) checked(closer_(std::exchange(id_, H5I_INVALID_HID)), what);
  }
  /// Drops the identifier without closing the object: after a failed write, closing can crash in
  /// HDF5.
  void forget() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

// HDF5's own file locks are disabled, because a notebook that has a file open must not stop a run.

/// Opens a file. Throws Hdf5Error. If another HDF5 program has marked the file as open for writing,
/// the hint of the error contains the command that removes the mark.
[[nodiscard]] Handle open_to_read(const std::filesystem::path& file);
/// Returns true if a program has marked the file as open for writing. HDF5 opens no such file. A
/// program that is killed leaves its mark. Only superblock version 3 has a mark: wallheat writes
/// version 2, but another program may have rewritten the file.
[[nodiscard]] bool is_marked_as_open(const std::filesystem::path& file);
/// Removes the mark. Call this only if no program has the file open for writing.
void clear_open_mark(const std::filesystem::path& file);
/// Creates an empty file. Throws Hdf5Error if a file or a link of this name exists.
[[nodiscard]] Handle create_new(const std::filesystem::path& file);

// An HDF5 file may contain an object of any type under an expected name, and HDF5 reads a complete
// object into the given buffer. So type and size of an object are verified before it is read.

/// Returns the type of UTF-8 texts of `bytes` bytes, terminated by NUL.
[[nodiscard]] Handle text_type(std::size_t bytes);

/// Returns true if an object exists. The name may have several components. Throws Hdf5Error if one
/// of them is a link that may refer to another file.
[[nodiscard]] bool has_object(const Handle& file, const std::string& name);
[[nodiscard]] Handle create_group(const Handle& file, const std::string& name);
/// Opens a group. Throws Hdf5Error if it does not exist.
[[nodiscard]] Handle open_group(const Handle& file, const std::string& name);

/// Opens a dataset. Throws Hdf5Error if it does not exist, has another type or layout, or is stored
/// in another file.
[[nodiscard]] Handle open_dataset(const Handle& file, const std::string& name, hid_t type,
                                  H5D_layout_t layout);
[[nodiscard]] Handle create_dataset(const Handle& file, const std::string& name, hid_t type,
                                    const std::vector<hsize_t>& size, hid_t creation);
[[nodiscard]] std::vector<hsize_t> size_of(const Handle& dataset);

/// Returns the names of an object's attributes.
[[nodiscard]] std::vector<std::string> attributes_of(const Handle& object);
/// Adds an attribute with one value to an object.
void write_attribute(const Handle& object, const std::string& name, hid_t type, const void* value);
/// Returns the value of a text attribute. Returns nullopt if it does not exist, or is not a single
/// text of fixed length with at most `max_bytes`.
[[nodiscard]] std::optional<std::string> read_text(const Handle& object, const std::string& name,
                                                   std::uint64_t max_bytes);
/// Returns the value of an integer attribute. Returns nullopt if it does not exist, or is not a
/// single integer.
[[nodiscard]] std::optional<std::int64_t> read_integer(const Handle& object,
                                                       const std::string& name);
/// Adds text attributes to an object.
void write_texts(const Handle& object, const Attributes& values);
/// Returns the text attributes of an object, and subtracts their size, including their names, from
/// `max_bytes`. Throws Hdf5Error if they are larger than that.
[[nodiscard]] Attributes read_texts(const Handle& object, std::uint64_t& max_bytes);

/// Copies the attributes of the root group, and the objects in it, whose names the other file does
/// not have. Soft and external links are copied as links, also dangling ones. Several hard links to
/// one object remain links to one object, even if the other file has that object already.
void copy_foreign_objects(const Handle& from, const Handle& to);

}  // namespace wallheat::store
