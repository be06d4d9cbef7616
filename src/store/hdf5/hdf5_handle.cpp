#include "store/hdf5/hdf5_handle.hpp"

#include <algorithm>

namespace wallheat::store {
namespace {

// Only takes effect before the library starts, which any call to it does: hence before main.
[[maybe_unused]] const herr_t no_exit_handler = H5dont_atexit();

herr_t keep_first(unsigned depth, const H5E_error2_t* error, void* text) {
  // Walking upward starts at the function that failed first; the callers above only add noise.
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

/// The system's words within "file write failed: time = ..., error message = 'No space left', ...".
std::string without_noise(const std::string& text) {
  static const std::string mark = "error message = '";
  const auto begin = text.find(mark);
  if (begin == std::string::npos) return text;
  const auto end = text.find('\'', begin + mark.size());
  return text.substr(begin + mark.size(), end - begin - mark.size());
}

}  // namespace

void prepare_hdf5() {
  // The error stack, and whether it is printed, are a thread's own in a thread-safe build.
  thread_local bool quiet = false;
  if (!quiet) {
    H5open();
    // A file that somebody gave us must not lead to others.
    [[maybe_unused]] static const herr_t no_links =
        checked(H5Lunregister(H5L_TYPE_EXTERNAL), "do without links to other files");
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    quiet = true;
  }
}

void throw_hdf5_error(const std::string& what) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  reason = without_noise(reason);
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  throw Hdf5Error("cannot " + what + (reason.empty() ? "" : ": " + reason));
}

}  // namespace wallheat::store
