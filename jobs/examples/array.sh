#!/usr/bin/env bash
# Solves the plans with a job array of sixteen small jobs, each of which solves one sixteenth of the plans and starts as
# soon as the cluster has room for it. A last job merges their results into OUT. If jobs have died, submit the array
# again to solve the plans that they have left.
#   jobs/examples/array.sh DATA OUT [OPTIONS OF submit.sh]
#   jobs/examples/array.sh plans results.h5 --array 64 --time 30m
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
exec "$jobs/submit.sh" --array 16 --time 1h "${@:3}" -- --data "$1" --out "$2"
