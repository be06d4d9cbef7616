/* Solves the plans of `wallheat run --solver-command ./plain_solver`. It uses stdin and stdout, on which it prints nothing
   else. Plans with a heat source fail. Compile it with: cc -O2 -ffp-contract=off plain_solver.c -o plain_solver -lm */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char request[65536]; /* the longest line */
static char buffer[1 << 18]; /* of the open file: with a large one, a plan needs few system calls */

/* Returns the position of a value in the request. The key includes its quotation marks and the colon. */
static char *value(const char *key) { return strstr(request, key) + strlen(key); }

/* Opens the file of a key and copies the header of an array. The headers that wallheat writes have less than 256 bytes. */
static FILE *open_array(const char *key, unsigned char *header, size_t *header_bytes) {
  char path[4096];
  sscanf(value(key), "\"%4095[^\"]", path);
  FILE *file = fopen(path, "rb");
  if (!file || setvbuf(file, buffer, _IOFBF, sizeof buffer) || fread(header, 1, 10, file) != 10) exit(1);
  *header_bytes = 10 + header[8] + 256 * header[9];
  if (fread(header + 10, 1, *header_bytes - 10, file) != *header_bytes - 10) exit(1);
  return file;
}

int main(void) {
  puts("{\"ready\": true}");
  fflush(stdout);
  /* The arrays are kept from plan to plan, because the kernel clears memory that is new. */
  double *old = NULL, *new = NULL;
  unsigned char *interior = NULL, header[1024];
  while (fgets(request, sizeof request, stdin)) {
    if (strncmp(value("\"source\":"), "null", 4) != 0) {
      puts("{\"error\": \"plain_solver does not solve plans with a heat source\"}");
      fflush(stdout);
      continue;
    }
    const size_t rows = strtoul(value("\"rows\":"), NULL, 10), cols = strtoul(value("\"columns\":"), NULL, 10);
    const size_t width = cols + 2; /* with a ring of zeros around the plan */
    const double tolerance = strtod(value("\"tolerance\":"), NULL);
    const long max_iterations = strtol(value("\"max_iterations\":"), NULL, 10);
    const size_t field_bytes = (rows + 2) * width * sizeof *old;
    old = realloc(old, field_bytes);
    new = realloc(new, field_bytes);
    interior = realloc(interior, rows * cols);
    if (!old || !new || !interior) return 1;
    memset(old, 0, field_bytes);
    size_t header_bytes;
    FILE *mask = open_array("\"interior\":", header, &header_bytes);
    if (fread(interior, 1, rows * cols, mask) != rows * cols) return 1;
    fclose(mask);
    FILE *domain = open_array("\"domain\":", header, &header_bytes); /* the field has the same header */
    for (size_t row = 1; row <= rows; ++row)
      if (fread(old + row * width + 1, sizeof *old, cols, domain) != cols) return 1;
    fclose(domain);
    memcpy(new, old, field_bytes);

    double delta = INFINITY;
    long iterations = 0;
    while (iterations < max_iterations && !(delta < tolerance)) {
      delta = 0;
      for (size_t row = 1; row <= rows; ++row)
        for (size_t col = 1; col <= cols; ++col) {
          if (!interior[(row - 1) * cols + col - 1]) continue;
          const size_t at = row * width + col;
          new[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
          delta = fmax(delta, fabs(new[at] - old[at]));
        }
      double *swap = old;
      old = new;
      new = swap;
      ++iterations;
    }

    char path[4096];
    sscanf(value("\"field\":"), "\"%4095[^\"]", path);
    FILE *field = fopen(path, "wb");
    if (!field || setvbuf(field, buffer, _IOFBF, sizeof buffer)) return 1;
    fwrite(header, 1, header_bytes, field);
    for (size_t row = 1; row <= rows; ++row) fwrite(old + row * width + 1, sizeof *old, cols, field);
    if (fclose(field)) return 1;
    printf("{\"done\": true, \"iterations\": %ld, \"converged\": %s}\n", iterations, delta < tolerance ? "true" : "false");
    fflush(stdout);
  }
  return 0;
}
