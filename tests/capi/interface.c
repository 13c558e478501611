/* The C interface from C11. Arguments: programs of examples/softmax.graph and of examples/selection.graph, and a
 * scratch file's path. The status is 0 when all of it holds. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/c.h>

static void require(int holds, const char* what, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: %s\n  tenon_error(): %s\n", line, what, tenon_error());
    exit(1);
  }
}
#define REQUIRE(condition) require((condition), #condition, __LINE__)

/* The status, and that the message has these words. */
static void require_error(tenon_status got, tenon_status expected, const char* words, int line) {
  require(got == expected, "another status was expected", line);
  require(strstr(tenon_error(), words) != NULL, words, line);
}
#define REQUIRE_ERROR(call, status, words) require_error((call), (status), (words), __LINE__)

enum { ROWS = 3, COLS = 17 };

static tenon_tensor tensor(void* data, size_t bytes, const int64_t* dims, int32_t rank) {
  const tenon_tensor result = {.data = data, .bytes = bytes, .dims = dims, .rank = rank, .dtype = TENON_F32};
  return result;
}

static void describes_itself(const tenon_model* model) {
  REQUIRE(strcmp(tenon_name(model), "softmax.graph") == 0);
  REQUIRE(tenon_input_count(model) == 1 && tenon_output_count(model) == 1);
  REQUIRE(strcmp(tenon_input_name(model, 0), "x") == 0 && strcmp(tenon_output_name(model, 0), "y") == 0);
  REQUIRE(tenon_input_dtype(model, 0) == TENON_F32 && tenon_output_dtype(model, 0) == TENON_F32);
  REQUIRE(tenon_input_rank(model, 0) == 2 && tenon_output_rank(model, 0) == 2);
  REQUIRE(strcmp(tenon_input_shape(model, 0), "f32[row, col]") == 0);
  REQUIRE(strcmp(tenon_output_shape(model, 0), "f32[row, col]") == 0);
  REQUIRE(tenon_axis_count(model) == 2);
  REQUIRE(strcmp(tenon_axis_name(model, 0), "row") == 0 && strcmp(tenon_axis_name(model, 1), "col") == 0);
  REQUIRE(strcmp(tenon_dtype_name(TENON_BF16), "bf16") == 0 && tenon_dtype_bytes(TENON_BF16) == 2);
  /* What there is not. */
  REQUIRE(tenon_input_name(model, 1) == NULL && tenon_output_shape(model, 7) == NULL);
  REQUIRE(tenon_axis_name(model, 2) == NULL && tenon_input_rank(model, 1) == -1 && tenon_output_dtype(model, 1) == -1);
  REQUIRE(tenon_name(NULL) == NULL && tenon_input_count(NULL) == 0 && tenon_input_rank(NULL, 0) == -1);
  REQUIRE(tenon_dtype_name(13) == NULL && tenon_dtype_name(-1) == NULL && tenon_dtype_bytes(99) == 0);
}

static void tells_sizes(const tenon_model* model) {
  tenon_options* options = NULL;
  int64_t dims[2] = {-5, -5};
  const int64_t given[2] = {0, 9};
  const tenon_tensor input = tensor(NULL, 0, given, 2);
  REQUIRE(tenon_options_new(&options) == TENON_OK);
  REQUIRE_ERROR(tenon_input_dims(model, 0, options, dims), TENON_INVALID_ARGUMENT, "`row`");
  REQUIRE(tenon_options_set_size(options, "row", 4) == TENON_OK);
  REQUIRE(tenon_options_set_size(options, "col", 5) == TENON_OK);
  REQUIRE(tenon_options_set_size(options, "col", 6) == TENON_OK);
  REQUIRE(tenon_input_dims(model, 0, options, dims) == TENON_OK && dims[0] == 4 && dims[1] == 6);
  REQUIRE(tenon_output_dims(model, 0, options, dims) == TENON_OK && dims[0] == 4 && dims[1] == 6);
  REQUIRE(tenon_prepare(model, options) == TENON_OK);
  REQUIRE(tenon_output_dims_for(model, 0, &input, 1, NULL, dims) == TENON_OK && dims[0] == 0 && dims[1] == 9);
  REQUIRE_ERROR(tenon_output_dims_for(model, 0, &input, 1, options, dims), TENON_INVALID_ARGUMENT, "`col`");
  REQUIRE_ERROR(tenon_output_dims_for(model, 0, &input, 2, NULL, dims), TENON_INVALID_ARGUMENT, "2 tensors are given");
  REQUIRE_ERROR(tenon_output_dims_for(model, 1, &input, 1, NULL, dims), TENON_INVALID_ARGUMENT, "no output 1");
  REQUIRE_ERROR(tenon_input_dims(model, 3, options, dims), TENON_INVALID_ARGUMENT, "no input 3");
  REQUIRE_ERROR(tenon_input_dims(model, 0, options, NULL), TENON_INVALID_ARGUMENT, "`dims` is NULL");
  REQUIRE_ERROR(tenon_options_set_size(options, "row", -1), TENON_INVALID_ARGUMENT, "-1");
  REQUIRE_ERROR(tenon_options_set_size(options, NULL, 1), TENON_INVALID_ARGUMENT, "`axis` is NULL");
  REQUIRE_ERROR(tenon_options_set_threads(options, -2), TENON_INVALID_ARGUMENT, "-2");
  REQUIRE(tenon_options_set_size(options, "depth", 1) == TENON_OK);
  REQUIRE_ERROR(tenon_prepare(model, options), TENON_INVALID_ARGUMENT, "`depth`");
  tenon_options_free(options);
}

/* Rows that add up to 1, and the same bits each time. */
static void run_softmax(const tenon_model* model, const tenon_options* options, int64_t rows, int64_t cols) {
  const int64_t dims[2] = {rows, cols};
  const size_t bytes = (size_t)(rows * cols) * sizeof(float);
  float* const x = malloc(bytes + 1);
  float* const y = malloc(bytes + 1);
  float* const again = malloc(bytes + 1);
  tenon_tensor input = tensor(x, bytes, dims, 2);
  tenon_tensor output = tensor(y, bytes, dims, 2);
  for (int64_t i = 0; i < rows * cols; ++i)
    x[i] = (float)(i % 7) - 3.0F;
  REQUIRE(tenon_run(model, &input, 1, &output, 1, options) == TENON_OK);
  for (int64_t row = 0; row < rows; ++row) {
    double sum = 0;
    double exponentials = 0;
    for (int64_t col = 0; col < cols; ++col)
      exponentials += exp(x[row * cols + col]);
    for (int64_t col = 0; col < cols; ++col) {
      sum += y[row * cols + col];
      REQUIRE(fabs(y[row * cols + col] - exp(x[row * cols + col]) / exponentials) < 1e-6);
    }
    REQUIRE(fabs(sum - 1) < 1e-5);
  }
  output.data = again;
  REQUIRE(tenon_run(model, &input, 1, &output, 1, NULL) == TENON_OK);
  REQUIRE(memcmp(y, again, bytes) == 0);
  free(x);
  free(y);
  free(again);
}

static void* run_many(void* model) {
  for (int64_t i = 0; i < 40; ++i)
    run_softmax(model, NULL, 1 + i % 5, 1 + i % 19);
  return NULL;
}

static void runs_from_many_threads(tenon_model* model) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    REQUIRE(pthread_create(&threads[i], NULL, run_many, model) == 0);
  for (int i = 0; i < THREADS; ++i)
    REQUIRE(pthread_join(threads[i], NULL) == 0);
}

static void refuses_wrong_calls(const tenon_model* model) {
  float x[ROWS * COLS] = {0};
  float y[ROWS * COLS];
  const int64_t dims[2] = {ROWS, COLS};
  const int64_t less[2] = {ROWS, COLS - 1};
  const int64_t negative[2] = {ROWS, -1};
  const int64_t huge[2] = {INT64_MAX, INT64_MAX};
  const tenon_tensor in = tensor(x, sizeof x, dims, 2);
  const tenon_tensor out = tensor(y, sizeof y, dims, 2);
  tenon_tensor bad = in;
  REQUIRE_ERROR(tenon_run(NULL, &in, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "`model` is NULL");
  REQUIRE_ERROR(tenon_run(model, NULL, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "`inputs` is NULL");
  REQUIRE_ERROR(tenon_run(model, &in, 1, NULL, 1, NULL), TENON_INVALID_ARGUMENT, "`outputs` is NULL");
  REQUIRE_ERROR(tenon_run(model, &in, 0, &out, 1, NULL), TENON_INVALID_ARGUMENT, "has 1 inputs, and 0 tensors");
  REQUIRE_ERROR(tenon_run(model, &in, 1, &out, 3, NULL), TENON_INVALID_ARGUMENT, "has 1 outputs, and 3 tensors");
  bad.data = NULL;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "input `x`: `data` is NULL");
  bad = in;
  bad.bytes -= 1;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "f32[3, 17] takes 204 bytes");
  bad = in;
  bad.dims = NULL;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "`dims` is NULL");
  bad.rank = -1;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "of rank -1");
  bad.rank = INT32_MAX;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "of rank 2147483647");
  bad = tensor(x, sizeof x, negative, 2);
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "axis 1 is -1");
  bad = tensor(x, sizeof x, huge, 2);
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "`bytes` is 204");
  bad = in;
  bad.dtype = 40;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "no dtype 40");
  bad.dtype = TENON_F64; /* before its bytes, which are too few for that */
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT,
                "is f32[row, col], and a tensor of f64 is given");
  bad.dtype = TENON_I32;
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "i32");
  bad = tensor(x, sizeof x, dims, 1);
  REQUIRE_ERROR(tenon_run(model, &bad, 1, &out, 1, NULL), TENON_INVALID_ARGUMENT, "rank");
  bad = tensor(y, sizeof y, less, 2);
  REQUIRE_ERROR(tenon_run(model, &in, 1, &bad, 1, NULL), TENON_INVALID_ARGUMENT, "output");
  run_softmax(model, NULL, ROWS, COLS); /* after all of these it is as good as before */
}

static void cancels(const tenon_model* model) {
  float x[ROWS * COLS] = {0};
  float y[ROWS * COLS];
  const int64_t dims[2] = {ROWS, COLS};
  const tenon_tensor in = tensor(x, sizeof x, dims, 2);
  const tenon_tensor out = tensor(y, sizeof y, dims, 2);
  tenon_options* options = NULL;
  REQUIRE(tenon_options_new(&options) == TENON_OK);
  REQUIRE(tenon_options_set_threads(options, 1) == TENON_OK);
  REQUIRE(tenon_options_cancel(options) == TENON_OK);
  REQUIRE_ERROR(tenon_run(model, &in, 1, &out, 1, options), TENON_CANCELLED, "cancelled");
  REQUIRE(tenon_options_resume(options) == TENON_OK);
  run_softmax(model, options, ROWS, COLS);
  tenon_options_free(options);
  REQUIRE_ERROR(tenon_options_cancel(NULL), TENON_INVALID_ARGUMENT, "`options` is NULL");
  REQUIRE_ERROR(tenon_options_new(NULL), TENON_INVALID_ARGUMENT, "`options` is NULL");
}

static void counts(const tenon_model* model) {
  int64_t before = 0;
  int64_t after = 0;
  REQUIRE(tenon_count(model, TENON_RUNS, &before) == TENON_OK);
  run_softmax(model, NULL, ROWS, COLS);
  REQUIRE(tenon_count(model, TENON_RUNS, &after) == TENON_OK && after == before + 2);
  REQUIRE(tenon_count(model, TENON_HITS, &after) == TENON_OK && after > 0);
  for (tenon_counter each = TENON_RUNS; each <= TENON_RUN_NANOSECONDS; ++each) {
    REQUIRE(tenon_count(model, each, &after) == TENON_OK && after >= 0);
  }
  size_t needed = 0;
  REQUIRE(tenon_metrics(&model, 1, NULL, 0, &needed) == TENON_OK && needed > 100);
  char* const text = malloc(needed + 64); /* figures may have grown by then */
  REQUIRE(tenon_metrics(&model, 1, text, 1, &needed) == TENON_OK);
  REQUIRE(tenon_metrics(&model, 1, text, needed + 64, &needed) == TENON_OK && strlen(text) + 1 == needed);
  REQUIRE(strstr(text, "# TYPE tenon_runs_total counter\ntenon_runs_total{model=\"") != NULL);
  free(text);
  REQUIRE(tenon_metrics(NULL, 0, NULL, 0, &needed) == TENON_OK);
  REQUIRE_ERROR(tenon_metrics(NULL, 1, NULL, 0, &needed), TENON_INVALID_ARGUMENT, "`models` is NULL");
  REQUIRE_ERROR(tenon_count(model, 10, &after), TENON_INVALID_ARGUMENT, "no counter 10");
  REQUIRE_ERROR(tenon_count(model, TENON_RUNS, NULL), TENON_INVALID_ARGUMENT, "`value` is NULL");
}

/* How many rows each output has, only data decide. */
static void gives_results_of_sizes_that_data_decide(const char* path) {
  tenon_model* model = NULL;
  tenon_result* result = NULL;
  float x[6] = {1, 2, -1, 4, 0, 6};
  float y[6];
  const int64_t dims[2] = {3, 2};
  const tenon_tensor in = tensor(x, sizeof x, dims, 2);
  tenon_tensor outs[2] = {tensor(y, sizeof y, dims, 2), tensor(y, sizeof y, dims, 2)};
  tenon_tensor kept;
  tenon_tensor rows;
  REQUIRE(tenon_load(path, TENON_LOAD_UNVERIFIED, &model) == TENON_OK);
  REQUIRE(tenon_run_result(model, &in, 1, NULL, &result) == TENON_OK);
  tenon_free(model); /* a result stands alone */
  REQUIRE(tenon_result_tensor(result, 0, &kept) == TENON_OK && tenon_result_tensor(result, 1, &rows) == TENON_OK);
  REQUIRE(kept.rank == 2 && kept.dims[0] == 2 && kept.dims[1] == 2 && kept.dtype == TENON_F32 && kept.bytes == 16);
  REQUIRE(fabs((double)((float*)kept.data)[2] + (double)((float*)kept.data)[3] - 1) < 1e-6);
  REQUIRE(rows.dtype == TENON_I64 && rows.bytes == 16 && ((int64_t*)rows.data)[1] == 1);
  REQUIRE_ERROR(tenon_result_tensor(result, 2, &kept), TENON_INVALID_ARGUMENT, "no output 2");
  REQUIRE_ERROR(tenon_result_tensor(NULL, 0, &kept), TENON_INVALID_ARGUMENT, "`result` is NULL");
  REQUIRE_ERROR(tenon_result_tensor(result, 0, NULL), TENON_INVALID_ARGUMENT, "`tensor` is NULL");
  tenon_result_free(result);
  REQUIRE(tenon_load(path, TENON_LOAD_DEFAULT, &model) == TENON_OK);
  REQUIRE_ERROR(tenon_run(model, &in, 1, outs, 2, NULL), TENON_INVALID_ARGUMENT,
                "output `rows` is i64[1, found], and a tensor of f32 is given");
  outs[1].dtype = TENON_I64;
  REQUIRE_ERROR(tenon_run(model, &in, 1, outs, 2, NULL), TENON_INVALID_ARGUMENT, "takes 48 bytes, and `bytes` is 24");
  outs[1] = tensor(y, sizeof y, dims, 1);
  outs[1].dtype = TENON_I64;
  REQUIRE_ERROR(tenon_run(model, &in, 1, outs, 2, NULL), TENON_INVALID_ARGUMENT, "kept");
  REQUIRE_ERROR(tenon_run_result(model, &in, 1, NULL, NULL), TENON_INVALID_ARGUMENT, "`result` is NULL");
  tenon_free(model);
}

static char* read_file(const char* path, size_t* size) {
  FILE* const file = fopen(path, "rb");
  REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char* const bytes = malloc(*size + 1);
  REQUIRE(bytes != NULL && fread(bytes, 1, *size, file) == *size);
  REQUIRE(fclose(file) == 0);
  return bytes;
}

static void write_file(const char* path, const char* bytes, size_t size) {
  FILE* const file = fopen(path, "wb");
  REQUIRE(file != NULL && fwrite(bytes, 1, size, file) == size);
  REQUIRE(fclose(file) == 0);
}

static void loads_memory_and_refuses_what_is_damaged(const char* path, const char* scratch) {
  size_t size = 0;
  char* const bytes = read_file(path, &size);
  char* const block = aligned_alloc(64, (size + 128) / 64 * 64);
  tenon_model* model = NULL;
  for (size_t shift = 0; shift < 2; ++shift) { /* where programs may lie, and where they may not */
    memcpy(block + shift, bytes, size);
    REQUIRE(tenon_load_memory(block + shift, size, TENON_LOAD_DEFAULT, &model) == TENON_OK);
    run_softmax(model, NULL, ROWS, COLS);
    tenon_free(model);
  }
  for (size_t cut = 0; cut < size; cut += cut < 300 ? 1 : size / 97) {
    memcpy(block, bytes, cut);
    REQUIRE_ERROR(tenon_load_memory(block, cut, TENON_LOAD_DEFAULT, &model), TENON_INVALID_FILE, "program");
    REQUIRE(model == NULL);
  }
  bytes[size / 2] = (char)~bytes[size / 2];
  write_file(scratch, bytes, size);
  REQUIRE_ERROR(tenon_load(scratch, TENON_LOAD_DEFAULT, &model), TENON_INVALID_FILE, scratch);
  write_file(scratch, bytes, 40);
  REQUIRE_ERROR(tenon_load(scratch, TENON_LOAD_DEFAULT, &model), TENON_INVALID_FILE, scratch);
  write_file(scratch, "", 0);
  REQUIRE_ERROR(tenon_load(scratch, TENON_LOAD_DEFAULT, &model), TENON_INVALID_FILE, scratch);
  REQUIRE(remove(scratch) == 0);
  REQUIRE_ERROR(tenon_load(scratch, TENON_LOAD_DEFAULT, &model), TENON_INVALID_FILE, scratch);
  REQUIRE_ERROR(tenon_load("/", TENON_LOAD_DEFAULT, &model), TENON_INVALID_FILE, "/");
  REQUIRE_ERROR(tenon_load(path, 8, &model), TENON_INVALID_ARGUMENT, "0x8");
  REQUIRE_ERROR(tenon_load(path, 0, NULL), TENON_INVALID_ARGUMENT, "`model` is NULL");
  REQUIRE_ERROR(tenon_load(NULL, 0, &model), TENON_INVALID_ARGUMENT, "`path` is NULL");
  REQUIRE_ERROR(tenon_load_memory(NULL, 9, 0, &model), TENON_INVALID_ARGUMENT, "`bytes` is NULL");
  REQUIRE_ERROR(tenon_load_memory(bytes, 9, 0, NULL), TENON_INVALID_ARGUMENT, "`model` is NULL");
  free(bytes);
  free(block);
}

int main(int argc, char** argv) {
  tenon_model* model = NULL;
  if (argc != 4) return 2;
  REQUIRE(strcmp(tenon_error(), "") == 0);
  REQUIRE(strlen(tenon_version()) >= 5);
  REQUIRE(tenon_load(argv[1], TENON_LOAD_DEFAULT, &model) == TENON_OK);
  describes_itself(model);
  tells_sizes(model);
  run_softmax(model, NULL, 0, 5);
  run_softmax(model, NULL, 1, 1);
  run_softmax(model, NULL, ROWS, COLS);
  refuses_wrong_calls(model);
  cancels(model);
  counts(model);
  runs_from_many_threads(model);
  tenon_free(model);
  gives_results_of_sizes_that_data_decide(argv[2]);
  loads_memory_and_refuses_what_is_damaged(argv[1], argv[3]);
  tenon_free(NULL);
  tenon_options_free(NULL);
  tenon_result_free(NULL);
  puts("the C interface holds");
  return 0;
}
