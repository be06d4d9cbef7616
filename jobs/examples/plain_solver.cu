// Solves the plans of `wallheat run --device gpu --solver-command ./plain_solver_gpu`. It uses stdin and stdout, on which it
// prints nothing else. Plans with a heat source fail. Compile it with: nvcc -O2 -fmad=false plain_solver.cu -o plain_solver_gpu
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char request[65536];  // the longest line

#define CHECK(call) ((call) == cudaSuccess ? (void)0 : (fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(cudaGetLastError())), exit(1)))

// Computes new values of the interior cells, and the largest change. Numbers that are not negative are ordered as their bits.
__global__ void iterate(const double *old, double *fresh, const unsigned char *interior, int rows, int cols,
                        unsigned long long *largest_change) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || col >= cols || !interior[(size_t)row * cols + col]) return;
  const size_t width = cols + 2, at = (row + 1) * width + col + 1;
  fresh[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
  atomicMax(largest_change, (unsigned long long)__double_as_longlong(fabs(fresh[at] - old[at])));
}

// Returns the position of a value in the request. The key includes its quotation marks and the colon.
static char *value(const char *key) { return strstr(request, key) + strlen(key); }

// Opens the file of a key and copies the header of an array. The headers that wallheat writes have less than 256 bytes.
static FILE *open_array(const char *key, unsigned char *header, size_t *header_bytes) {
  char path[4096];
  sscanf(value(key), "\"%4095[^\"]", path);
  FILE *file = fopen(path, "rb");
  if (!file || fread(header, 1, 10, file) != 10) exit(1);
  *header_bytes = 10 + header[8] + 256 * header[9];
  if (fread(header + 10, 1, *header_bytes - 10, file) != *header_bytes - 10) exit(1);
  return file;
}

int main(void) {
  puts("{\"ready\": true}");
  fflush(stdout);
  while (fgets(request, sizeof request, stdin)) {
    if (strncmp(value("\"source\":"), "null", 4) != 0) {
      puts("{\"error\": \"plain_solver_gpu does not solve plans with a heat source\"}");
      fflush(stdout);
      continue;
    }
    const size_t rows = strtoul(value("\"rows\":"), NULL, 10), cols = strtoul(value("\"columns\":"), NULL, 10);
    const size_t width = cols + 2; // with a ring of zeros around the plan
    const double tolerance = strtod(value("\"tolerance\":"), NULL);
    const long max_iterations = strtol(value("\"max_iterations\":"), NULL, 10);
    const size_t bytes = (rows + 2) * width * sizeof(double);
    double *host, *old, *fresh;
    unsigned char *interior, header[1024];
    unsigned long long *largest_change;
    CHECK(cudaMallocHost(&host, bytes));
    CHECK(cudaMalloc(&old, bytes));
    CHECK(cudaMalloc(&fresh, bytes));
    CHECK(cudaMallocManaged(&interior, rows * cols));
    CHECK(cudaMallocManaged(&largest_change, sizeof *largest_change));
    memset(host, 0, bytes);
    size_t header_bytes;
    FILE *mask = open_array("\"interior\":", header, &header_bytes);
    if (fread(interior, 1, rows * cols, mask) != rows * cols) return 1;
    fclose(mask);
    FILE *domain = open_array("\"domain\":", header, &header_bytes); // the field has the same header
    for (size_t row = 1; row <= rows; ++row)
      if (fread(host + row * width + 1, sizeof *host, cols, domain) != cols) return 1;
    fclose(domain);
    CHECK(cudaMemcpy(old, host, bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(fresh, host, bytes, cudaMemcpyHostToDevice));

    double delta = INFINITY;
    long iterations = 0;
    const dim3 block(32, 8), grid((cols + 31) / 32, (rows + 7) / 8);
    for (; iterations < max_iterations && !(delta < tolerance); ++iterations) {
      *largest_change = 0;
      iterate<<<grid, block>>>(old, fresh, interior, (int)rows, (int)cols, largest_change);
      CHECK(cudaDeviceSynchronize());
      memcpy(&delta, largest_change, sizeof delta);
      double *swap = old;
      old = fresh;
      fresh = swap;
    }
    CHECK(cudaMemcpy(host, old, bytes, cudaMemcpyDeviceToHost));

    char path[4096];
    sscanf(value("\"field\":"), "\"%4095[^\"]", path);
    FILE *field = fopen(path, "wb");
    if (!field) return 1;
    fwrite(header, 1, header_bytes, field);
    for (size_t row = 1; row <= rows; ++row) fwrite(host + row * width + 1, sizeof *host, cols, field);
    if (fclose(field)) return 1;
    printf("{\"done\": true, \"iterations\": %ld, \"converged\": %s}\n", iterations, delta < tolerance ? "true" : "false");
    fflush(stdout);
    CHECK(cudaFreeHost(host));
    for (void *memory : {(void *)old, (void *)fresh, (void *)interior, (void *)largest_change}) CHECK(cudaFree(memory));
  }
  return 0;
}
