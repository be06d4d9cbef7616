# shellcheck shell=bash disable=SC2154,SC2034  # a study sets me, out and wallheat
# For the studies in jobs/examples to source: steps that are made once each, and a page of what they made.
# A step's result is a file in $out. A step whose file is there is passed over, so the same command goes on where it was
# stopped. Commands run in $out. With --list the steps are printed and nothing is done.

# study NAME... -- "$@"    sets the variable of each option --NAME VALUE; one that is empty must be given
study() {
  local name options=()
  while [ "$1" != -- ]; do
    options+=("$1")
    shift
  done
  shift
  list_only=
  while [ $# -gt 0 ]; do
    case $1 in
      --list) list_only=yes ;;
      --?*)
        name=${1#--}
        case " ${options[*]} " in *" $name "*) ;; *) echo "$me: there is no option '$1'; see $me --help" >&2; exit 2 ;; esac
        [ $# -ge 2 ] || { echo "$me: $1 wants a value" >&2; exit 2; }
        declare -g "$name=$2"
        shift ;;
      *) echo "$me: '$1' is no option; see $me --help" >&2; exit 2 ;;
    esac
    shift
  done
  for name in "${options[@]}"; do
    [ -n "${!name}" ] || { echo "$me: give --$name; see $me --help" >&2; exit 2; }
  done
  if [ "${data:-}" ]; then data=$(realpath -- "$data"); fi
  if [ ! "$list_only" ]; then
    mkdir -p "$out"
    cd "$out" || exit
    : > page.parts
  fi
  trap 'echo "$me: stopped at: $step; the same command goes on there" >&2' ERR
}

escaped() { sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'; }
on_page() { if [ "$list_only" ]; then cat > /dev/null; else cat >> page.parts; fi; }

# task NUMBER TITLE
task() {
  if [ "$list_only" ]; then printf '%s  %s\n' "$1" "$2"; else printf '<h2 id="task-%s">%s&ensp;%s</h2>\n' "$1" "$1" "$2" | on_page; fi
}
# note TEXT    a paragraph of the page
note() { printf '<p>%s</p>\n' "$(escaped <<< "$1")" | on_page; }
# left_out WHAT WHY
left_out() {
  if [ "$list_only" ]; then printf '    left out: %s: %s\n' "$1" "$2"; else echo "$me: left out: $1: $2" >&2; fi
  note "Left out: $1: $2."
}

# made FILE COMMAND...    runs the command unless FILE is there; @OUT@ among its words is the file to write,
# without it the output is the file. Nothing stands under the file's name before the command has ended well.
made() {
  local file=$1 part word words=() to=
  step=$1
  part=part-$1
  shift
  for word; do
    case $word in *@OUT@*) to=yes ;; esac
    words+=("${word//@OUT@/$part}")
  done
  if [ "$list_only" ]; then printf '    %-24s %s\n' "$step" "${words[*]//part-/}"; return; fi
  [ ! -e "$file" ] || return 0
  echo "$me: $step" >&2
  rm -f "$part"*  # also what lies beside a result file while it is written
  if [ "$to" ]; then "${words[@]}" > /dev/null; else "${words[@]}" > "$part"; fi
  mv "$part" "$file"
}
# text NAME CAPTION COMMAND...    what a command prints, on the page
text() {
  local name=$1 caption=$2
  shift 2
  made "$name.txt" "$@"
  [ "$list_only" ] || { printf '<h3>%s</h3>\n<pre>' "$(escaped <<< "$caption")"; escaped < "$name.txt"; echo '</pre>'; } | on_page
}
# table NAME CAPTION COMMAND...    the same; its table, columns two blanks apart, also as CSV and Markdown: the first one,
# or the one whose first line begins with $head
head=
table() {
  text "$@"
  [ ! "$list_only" ] || return 0
  # shellcheck disable=SC2016  # awk's
  local rows='{ sub(/^ +/, "") } !begun && index($0, head) != 1 { next } NF < 2 { if (begun) exit; next } { begun++ }'
  awk -F '  +' -v head="$head" "$rows"' { for (i = 1; i <= NF; i++)
    printf "%s%s", $i ~ /[",]/ ? "\"" $i "\"" : $i, i < NF ? "," : "\n" }' "$1.txt" > "$1.csv"
  awk -F '  +' -v head="$head" "$rows"' { for (i = 1; i <= NF; i++) printf "| %s ", $i; print "|"
    if (begun == 1) { for (i = 1; i <= NF; i++) printf "|---"; print "|" } }' "$1.txt" > "$1.md"
}
# figure NAME CAPTION COMMAND...    a picture, @OUT@ among the words, as SVG and PNG
figure() {
  local name=$1 caption=$2 kind
  shift 2
  for kind in svg png; do made "$name.$kind" "$@"; done
  picture "$name" "$caption"
}
# picture NAME CAPTION    one that a table's command has drawn
picture() {
  printf '<figure><img src="%s.svg" alt="%s"><figcaption>%s</figcaption></figure>\n' "$1" "$1" \
    "$(escaped <<< "$2")" | on_page
}

# curves PICTURE TABLE X NAME Y XLABEL YLABEL    draws column Y over column X of a table, both logarithmic, a curve for
# each word of column NAME, in its order in the table, in the style of wallheat's own pictures; for figure
curves() {
  { case $1 in
      *.png) echo "set terminal pngcairo noenhanced size 960,600 font 'sans,11'" ;;
      *) echo "set terminal svg noenhanced size 960,600 font 'sans-serif,13' background '#ffffff'" ;;
    esac
    cat << 'END_OF_STYLE'
set encoding utf8
set border 3 linecolor rgb '#686e7a'
set tics nomirror out
set grid ytics back linetype 1 linecolor rgb '#d0d4da' linewidth 1
set linetype 1 linecolor rgb '#4a1c76' linewidth 2 pointtype 7
set linetype 2 linecolor rgb '#e96042' linewidth 2 pointtype 5
set linetype 3 linecolor rgb '#2a8a8a' linewidth 2 pointtype 9
set linetype 4 linecolor rgb '#8a8f99' linewidth 2 pointtype 13
set linetype 5 linecolor rgb '#c9962b' linewidth 2 pointtype 11
set linetype 6 linecolor rgb '#262a33' linewidth 2 pointtype 3
set key outside right top vertical reverse Left samplen 2 noautotitle
END_OF_STYLE
    echo "set output '$1'"
    awk -F '  +' -v x="$3" -v name="$4" -v y="$5" -v xlabel="$6" -v ylabel="$7" '
      NR > 1 && $x + 0 > 0 && $y + 0 > 0 {
        if (!($name in of)) order[++names] = $name
        of[$name] = of[$name] $x " " $y "\n"
        if (!($x in at)) { at[$x]; ticks = ticks (ticks ? ", " : "") $x }
        if (!least || $x < least) least = $x
        if ($x > most) most = $x }
      END {
        print "set logscale xy; set format y \"%g\"; set xlabel \"" xlabel "\"; set ylabel \"" ylabel "\""
        print "set xtics (" ticks "); set xrange [" least / 1.2 ":" 1.2 * most "]"
        for (i = 1; i <= names; i++) printf "$data%d << EOD\n%sEOD\n", i, of[order[i]]
        for (i = 1; i <= names; i++)
          printf "%s $data%d with linespoints linetype %d title \"%s\"", i == 1 ? "plot" : ",", i, i, order[i]
        print "" }' "$2"; } | gnuplot --default-settings
}

# page TITLE    $out/index.html, of all that was said since study
page() {
  [ ! "$list_only" ] || return 0
  { printf '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>%s</title>\n' "$1"
    echo '<style>body{font:16px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}'
    echo 'pre{background:#f4f4f4;padding:1em;overflow-x:auto;font-size:13px}img{max-width:100%}figcaption{color:#555}</style>'
    printf '<h1>%s</h1>\n' "$1"
    cat page.parts
    echo '</html>'; } > part-index.html
  mv part-index.html index.html
  rm page.parts
  echo "$out/index.html"
}

# solved FILE [OPTIONS OF wallheat run]    a result file; plans that fail are left to who looks at it
solved() {
  local file=$1 status=0
  step=$1
  shift
  if [ "$list_only" ]; then printf '    %-24s wallheat run %s\n' "$step" "$*"; return; fi
  echo "$me: $step" >&2
  "$wallheat" run --out "$file" --resume --progress none --log-level warning "$@" || status=$?
  [ $status = 0 ] || [ $status = 3 ] || { echo "$me: stopped at: $step; the same command goes on there" >&2; exit $status; }
}

# find_python    sets $python to one that has NumPy, or to nothing
find_python() {
  local each
  python=
  for each in ${PYTHON:-python3 /usr/bin/python3}; do
    if "$each" -c 'import numpy' 2> /dev/null; then python=$each; return; fi
  done
}
has_gpu() { "$wallheat" devices --json | grep -q '"no_gpu": null'; }
