#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.hpp"
#include "report/figure.hpp"

namespace wallheat {

/// The picture that an option asks for, if it does.
class PictureFile {
 public:
  /// Declares the option, and how it is drawn: --title, --size (or, if the command has another one,
  /// what it is called in its place) and --dpi. This must live as long as the Options.
  void declare(Options& options, const char* option, const char* help,
               const char* size_option = "size");
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool wanted() const { return !path_.empty(); }
  /// What the user wants instead of what a picture would have.
  [[nodiscard]] std::optional<std::string> title() const;
  [[nodiscard]] std::optional<std::pair<int, int>> size() const;
  [[nodiscard]] int dpi() const { return dpi_; }
  [[nodiscard]] PictureStyle style() const;
  /// Writes the bytes that draw() returns; nothing if no picture is wanted.
  void write(const std::function<std::string(PlotFormat)>& draw) const;

 private:
  void check() const;

  std::string option_;
  std::string size_option_;
  std::vector<std::string> titles_;  // the last one given stands
  std::string size_;
  int dpi_ = usual_dpi;
  std::filesystem::path path_;
};

}  // namespace wallheat
