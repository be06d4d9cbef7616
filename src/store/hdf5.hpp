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

/// An HDF5 call failed. The text says what was tried and the library's deepest reason.
struct Hdf5Error : std::runtime_error {
  explicit Hdf5Error(const std::string& text, int code_ = 0)
      : std::runtime_error(text), code(code_) {}
  int code;  ///< errno, if it was a system call that failed; else 0
  /// Command or action that solves this error; empty if the caller's ErrorHints apply.
  std::string hint{};
};

/// Keeps HDF5 from printing its errors as long as it lives. Whether it does is a setting of the
/// thread, or of the whole process, and perhaps of a host that uses HDF5 itself: it gets it back.
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

  /// Closes now and says whether that worked; closing a file may be what finds the disk full.
  void close(const std::string& what) {
    if (id_ >= 0) checked(closer_(std::exchange(id_, H5I_INVALID_HID)), what);
  }
  /// Forgets the identifier without a call: after a failed write even closing can crash in HDF5.
  void forget() { id_ = H5I_INVALID_HID; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  Closer closer_ = nullptr;
};

// HDF5's own locks are off: a notebook that has a file open must not stop a run.

/// Opens a file. Throws Hdf5Error. If another HDF5 program has marked the file as open for writing,
/// the hint of the error contains the command that removes the mark.
[[nodiscard]] Handle open_to_read(const std::filesystem::path& file);
/// Returns true if a program has marked the file as open for writing. HDF5 opens no such file. A
/// program that is killed leaves its mark. Only superblock version 3 has a mark: wallheat writes
/// version 2, but another program may have rewritten the file.
[[nodiscard]] bool is_marked_as_open(const std::filesystem::path& file);
/// Removes the mark. Call this only if no program has the file open for writing.
void clear_open_mark(const std::filesystem::path& file);
/// Makes a new file with nothing in it; there must be none of that name, nor a link.
[[nodiscard]] Handle create_new(const std::filesystem::path& file);

// An HDF5 file may hold anything under the names that are looked for, and HDF5 reads all of an
// object into the room that it is given. So an object's form is compared before anything is read.

/// Texts of `bytes` bytes, UTF-8, ending in NUL.
[[nodiscard]] Handle text_type(std::size_t bytes);

/// Whether there is anything under a name, which may have several parts. Throws Hdf5Error if one of
/// them is a link that may lead to another file.
[[nodiscard]] bool has_object(const Handle& file, const std::string& name);
[[nodiscard]] Handle create_group(const Handle& file, const std::string& name);
/// Throws Hdf5Error if there is no such group.
[[nodiscard]] Handle open_group(const Handle& file, const std::string& name);

/// Throws Hdf5Error if there is no such dataset, or if it is not of this type and layout with all
/// its bytes in its own file.
[[nodiscard]] Handle open_dataset(const Handle& file, const std::string& name, hid_t type,
                                  H5D_layout_t layout);
[[nodiscard]] Handle create_dataset(const Handle& file, const std::string& name, hid_t type,
                                    const std::vector<hsize_t>& size, hid_t creation);
[[nodiscard]] std::vector<hsize_t> size_of(const Handle& dataset);

/// The names of an object's attributes.
[[nodiscard]] std::vector<std::string> attributes_of(const Handle& object);
/// Gives an object an attribute of one value.
void write_attribute(const Handle& object, const std::string& name, hid_t type, const void* value);
/// Nothing if there is no such attribute, or if it is anything but one text of fixed length, of at
/// most `max_bytes`.
[[nodiscard]] std::optional<std::string> read_text(const Handle& object, const std::string& name,
                                                   std::uint64_t max_bytes);
/// Nothing if the attribute is anything but one whole number, or is missing.
[[nodiscard]] std::optional<std::int64_t> read_integer(const Handle& object,
                                                       const std::string& name);
/// Text attributes of an object.
void write_texts(const Handle& object, const Attributes& values);
/// Reads them. Throws Hdf5Error if they, names included, have more than `max_bytes`. Takes
/// their bytes from `max_bytes`.
[[nodiscard]] Attributes read_texts(const Handle& object, std::uint64_t& max_bytes);

/// Copies the root's attributes, and all objects in it, whose names the other file does not have.
/// Soft and external links are copied as links, also if they lead nowhere. Hard links to one object
/// stay links to one object, also to an object that the other file has already.
void copy_foreign_objects(const Handle& from, const Handle& to);

}  // namespace wallheat::store
