#!/usr/bin/env bash
# Solves all plans with a job on all cores of one node of a cluster, with one worker for each of its two sockets.
#   jobs/examples/one-node.sh DATA OUT [OPTIONS OF submit.sh]
#   jobs/examples/one-node.sh plans results.h5 --dry-run
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
exec "$jobs/submit.sh" --nodes 1 --workers 2 --time 2h "${@:3}" -- --data "$1" --out "$2" --save-fields
