#!/usr/bin/env bash
# All C++ and CUDA files are formatted by .clang-format with the version of this project; other versions differ.
# To format the files that this test names:
#   clang-format-14 -i FILE...
set -euo pipefail
version=14  # clang-format of Debian 12 and Ubuntu 22.04

cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
for clang_format in "clang-format-$version" clang-format ''; do
  if "$clang_format" --version 2> /dev/null | grep -q "version $version\."; then break; fi
done
if [ -z "$clang_format" ]; then
  echo "skipped: clang-format $version not found (apt-get install clang-format-$version)"
  exit 77
fi

mapfile -d '' files < <(find src include tests \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -print0)
"$clang_format" --style=file --dry-run --Werror "${files[@]}"
echo "${#files[@]} files are formatted"
