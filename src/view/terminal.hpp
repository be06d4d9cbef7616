#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wallheat {

/// Columns of the terminal behind a file descriptor: what the terminal says, else $COLUMNS. Nothing
/// if there is no terminal: what goes to a file or a pipe is not folded.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);

/// The same for stderr, which mpirun on this machine may hand on to its own: its ranks have pipes.
[[nodiscard]] std::optional<std::size_t> stderr_columns();

/// Columns that a text takes: its characters, not its bytes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

/// Breaks each line of a text at blanks so that it fits the columns; what goes on in a further line
/// is indented. A word that is longer than a line is cut.
[[nodiscard]] std::string folded(std::string_view text, std::size_t columns, std::size_t indent);

/// The same for the terminal behind a file descriptor; unchanged if there is none.
[[nodiscard]] std::string folded_for(int descriptor, std::string_view text, std::size_t indent);

/// Prints a line to stdout, folded if that is a terminal, with control characters escaped.
void print_line(std::string_view line, std::size_t indent);

/// The lines of a table whose columns are as wide as what stands in them. `alignment` has an l or
/// an r for each column.
[[nodiscard]] std::vector<std::string> table_lines(
    std::string_view alignment, const std::vector<std::vector<std::string>>& rows);

}  // namespace wallheat
