#!/usr/bin/env bash
# Prints the manual page of wallheat, which consists of its help texts.
#   man-page.sh PROGRAM > wallheat.1
set -euo pipefail
program=$1
scripts=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../jobs" && pwd)
version=$("$program" version | cut -d " " -f 1,2)

# Reads a text from stdin and prints it for man, unchanged.
verbatim() { echo .nf; sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"; echo .fi; }
# Prints the help of a command. A program that is neither in its build folder nor installed does not find the scripts.
help_of() { "$program" help "$1" 2> /dev/null || "$scripts/$1.sh" --help; }

cat <<END
.TH WALLHEAT 1 "" "$version" "User Commands"
.SH NAME
wallheat \- solve the steady-state heat equation on floor plans, on a cluster
.SH SYNOPSIS
.B wallheat
.I COMMAND
[\fIoptions\fR]
.SH COMMANDS
END
overview=$("$program" --help)
tail -n +3 <<< "$overview" | verbatim
# The lines of commands are indented by two blanks, up to the examples.
sed '/^To begin:/,$d' <<< "$overview" | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p' | while IFS= read -r command; do
  printf '.SH "WALLHEAT %s"\n' "${command^^}"
  help_of "$command" < /dev/null | verbatim
done
cat <<END
.SH "SEE ALSO"
.BR mpirun (1),
.BR sbatch (1),
.BR bsub (1)
END
