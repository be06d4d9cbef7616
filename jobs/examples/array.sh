#!/usr/bin/env bash
# An array: sixteen small jobs, each with a sixteenth of the plans, which start wherever there is room for one; a last
# job merges their parts into OUT. Submit it again to solve what jobs that died have left.
#   jobs/examples/array.sh DATA OUT [OPTIONS OF submit.sh]
#   jobs/examples/array.sh plans results.h5 --array 64 --time 30m
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
exec "$jobs/submit.sh" --array 16 --time 1h "${@:3}" -- --data "$1" --out "$2"
