// Solves floor plans in plain C, for comparison with wallheat (benchmark.sh), and prints the CSV of the published
// program. The definition is in reference.py.
//   cc -O3 -march=native -ffp-contract=off plain.c -o plain -lm     # -ffp-contract=off: round as NumPy does
//   ./plain PLANS --ids FILE     # PLANS is a folder of floor plans, FILE contains one ID per line
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char* name, const char* problem) {
  fprintf(stderr, "plain: %s: %s\n", name, problem);
  exit(1);
}

static void* allocate(size_t size) {
  void* memory = calloc(size, 1);
  if (memory == NULL) fail("calloc", "out of memory");
  return memory;
}

// Reads an NPY file of version 1 with this dtype, in C order. Sets the shape.
static void* read_npy(const char* folder, const char* id, const char* array, const char* dtype, size_t size,
                      size_t* rows, size_t* cols) {
  char name[4096];
  snprintf(name, sizeof name, "%s/%s_%s.npy", folder, id, array);
  FILE* file = fopen(name, "rb");
  if (file == NULL) fail(name, "cannot be opened");
  unsigned char start[10];
  if (fread(start, 1, sizeof start, file) != sizeof start || memcmp(start, "\x93NUMPY\x01", 7) != 0)
    fail(name, "is not an NPY file of version 1");
  const size_t length = start[8] + 256U * start[9];
  char* header = allocate(length + 1);
  if (fread(header, 1, length, file) != length) fail(name, "the header is incomplete");
  const char* shape = strstr(header, "'shape': (");
  if (shape == NULL || sscanf(shape, "'shape': (%zu, %zu)", rows, cols) != 2) fail(name, "has no shape (rows, columns)");
  if (strstr(header, dtype) == NULL || strstr(header, "'fortran_order': False") == NULL) fail(name, "has another dtype or order");
  free(header);
  void* values = allocate(*rows * *cols * size + 1);
  if (fread(values, size, *rows * *cols, file) != *rows * *cols) fail(name, "the values are incomplete");
  fclose(file);
  return values;
}

// Makes one iteration. The arrays have a border. Returns the largest change. `largest` has one value per column, so that
// the compiler can use vector instructions.
static double sweep(const double* restrict old, double* restrict new, const unsigned char* restrict interior, size_t rows,
                    size_t cols, double* restrict largest) {
  const size_t width = cols + 2;
  memset(largest, 0, cols * sizeof *largest);
  for (size_t row = 0; row < rows; ++row) {
    const double* here = old + (row + 1) * width + 1;
    const double* up = here - width;
    const double* down = here + width;
    double* made = new + (row + 1) * width + 1;
    const unsigned char* mask = interior + row * cols;
    for (size_t col = 0; col < cols; ++col) {
      const double value = 0.25 * (((here[(long)col - 1] + here[col + 1]) + up[col]) + down[col]);
      const double next = mask[col] ? value : here[col];
      const double change = fabs(next - here[col]);
      largest[col] = change > largest[col] ? change : largest[col];
      made[col] = next;
    }
  }
  double delta = 0;
  for (size_t col = 0; col < cols; ++col) delta = largest[col] > delta ? largest[col] : delta;
  return delta;
}

static void solve(const char* folder, const char* id) {
  size_t rows = 0, cols = 0, mask_rows = 0, mask_cols = 0;
  double* domain = read_npy(folder, id, "domain", "'<f8'", sizeof *domain, &rows, &cols);
  unsigned char* interior = read_npy(folder, id, "interior", "'|b1'", 1, &mask_rows, &mask_cols);
  if (rows != mask_rows || cols != mask_cols) fail(id, "domain and interior differ in shape");
  const size_t width = cols + 2, cells = (rows + 2) * width;
  double* old = allocate(cells * sizeof *old);
  double* new = allocate(cells * sizeof *new);
  double* largest = allocate((cols + 1) * sizeof *largest);
  for (size_t row = 0; row < rows; ++row) memcpy(old + (row + 1) * width + 1, domain + row * cols, cols * sizeof *old);
  memcpy(new, old, cells * sizeof *new);
  size_t count = 0, above = 0, below = 0;
  for (size_t cell = 0; cell < rows * cols; ++cell) count += interior[cell] != 0;
  double delta = 1;
  for (int iterations = 0; count > 0 && iterations < 20000 && !(delta < 1e-4); ++iterations) {
    delta = sweep(old, new, interior, rows, cols, largest);
    double* swapped = old;
    old = new;
    new = swapped;
  }
  // The sums are not in the order of NumPy, so the last digits of mean and deviation may differ.
  double sum = 0, squares = 0;
  for (size_t cell = 0; cell < rows * cols; ++cell) {
    if (!interior[cell]) continue;
    const double value = old[(cell / cols + 1) * width + cell % cols + 1];
    sum += value;
    above += value > 18;
    below += value < 15;
  }
  const double mean = sum / (double)count;
  for (size_t cell = 0; cell < rows * cols; ++cell) {
    const double value = old[(cell / cols + 1) * width + cell % cols + 1];
    if (interior[cell]) squares += (value - mean) * (value - mean);
  }
  printf("%s, %.17g, %.17g, %.17g, %.17g\n", id, mean, sqrt(squares / (double)count), 100 * ((double)above / (double)count),
         100 * ((double)below / (double)count));
  free(domain);
  free(interior);
  free(old);
  free(new);
  free(largest);
}

int main(int count, char** arguments) {
  if (count != 4 || strcmp(arguments[2], "--ids") != 0) {
    fprintf(stderr, "usage: plain PLANS --ids FILE\n");
    return 2;
  }
  FILE* ids = fopen(arguments[3], "r");
  if (ids == NULL) fail(arguments[3], "cannot be opened");
  printf("building_id, mean_temp, std_temp, pct_above_18, pct_below_15\n");
  char id[256];
  while (fscanf(ids, "%255s", id) == 1) solve(arguments[1], id);
  fclose(ids);
  return 0;
}
