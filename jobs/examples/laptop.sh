#!/usr/bin/env bash
# Solves all plans on all cores of a laptop or workstation, and shows the results.
#   jobs/examples/laptop.sh [DATA [OUT]]          e.g.: jobs/examples/laptop.sh plans results.h5
# If you need the machine, stop the script with Ctrl-C; the same command resumes the run.
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 0 "$@"
wallheat=$("$jobs/find-wallheat.sh")
data=${1:-plans} out=${2:-results.h5}

"$wallheat" run --data "$data" --out "$out" --save-fields --resume
"$wallheat" summary "$out"
"$wallheat" list "$out" --sort mean_temp --first 5      # the coldest
"$wallheat" summary "$out" --page "${out%.h5}.html" --overwrite
