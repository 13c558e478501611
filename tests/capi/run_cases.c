/* run_cases PROGRAM CASES RESULTS: runs a program at each case of a file by the C interface alone, and writes what it
 * gives. tests/build/run_library_test.cpp writes the cases and reads the results; numbers
 * are int64_t but for elements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/c.h>

enum { MOST_PORTS = 1024, MOST_RANK = 32 };

static FILE* cases;
static FILE* results;

static void require(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "run_cases: %s\n  tenon_error(): %s\n", what, tenon_error());
    exit(1);
  }
}

static void read_bytes(void* to, size_t bytes) { require(fread(to, 1, bytes, cases) == bytes, "the cases end"); }

static int64_t read_number(void) {
  int64_t number = 0;
  read_bytes(&number, sizeof number);
  return number;
}

static void write_bytes(const void* from, size_t bytes) {
  require(fwrite(from, 1, bytes, results) == bytes, "results cannot be written");
}

static void write_number(int64_t number) { write_bytes(&number, sizeof number); }

/* A tensor and its sizes, in memory of its own. */
typedef struct {
  tenon_tensor tensor;
  int64_t dims[MOST_RANK];
} Held;

static void read_tensor(Held* held) {
  tenon_tensor* const tensor = &held->tensor;
  tensor->dtype = (tenon_dtype)read_number();
  tensor->rank = (int32_t)read_number();
  require(tensor->rank <= MOST_RANK, "too many axes");
  read_bytes(held->dims, (size_t)tensor->rank * sizeof(int64_t));
  tensor->dims = held->dims;
  tensor->bytes = (size_t)read_number();
  tensor->data = malloc(tensor->bytes + 1);
  read_bytes(tensor->data, tensor->bytes);
}

static void write_tensor(const tenon_tensor* tensor) {
  write_number(tensor->dtype);
  write_number(tensor->rank);
  write_bytes(tensor->dims, (size_t)tensor->rank * sizeof(int64_t));
  write_number((int64_t)tensor->bytes);
  write_bytes(tensor->data, tensor->bytes);
}

/* Where all sizes are known ahead, outputs that the caller gives must have the bits of the library's. */
static void require_same_in_place(const tenon_model* model, const tenon_tensor* inputs, const tenon_options* options,
                                  const tenon_result* expected) {
  static Held outputs[MOST_PORTS];
  static tenon_tensor places[MOST_PORTS];
  const size_t count = tenon_output_count(model);
  size_t made = 0;
  for (; made < count; ++made) {
    Held* const held = &outputs[made];
    if (tenon_output_dims_for(model, made, inputs, tenon_input_count(model), options, held->dims) != TENON_OK) break;
    tenon_tensor wanted;
    require(tenon_result_tensor(expected, made, &wanted) == TENON_OK, "no such output");
    for (int32_t axis = 0; axis < wanted.rank; ++axis)
      require(held->dims[axis] == wanted.dims[axis], "sizes of an output that were told ahead are others");
    places[made] = wanted;
    places[made].data = malloc(wanted.bytes + 1);
  }
  if (made == count) {
    require(tenon_run(model, inputs, tenon_input_count(model), places, count, options) == TENON_OK, "tenon_run()");
    for (size_t i = 0; i < count; ++i) {
      tenon_tensor wanted;
      require(tenon_result_tensor(expected, i, &wanted) == TENON_OK, "no such output");
      require(memcmp(places[i].data, wanted.data, wanted.bytes) == 0, "tenon_run() gives other bits");
    }
  }
  while (made > 0)
    free(places[--made].data);
}

static void run_case(const tenon_model* model) {
  static Held inputs[MOST_PORTS];
  static tenon_tensor given[MOST_PORTS];
  tenon_options* options = NULL;
  tenon_result* result = NULL;
  require(tenon_options_new(&options) == TENON_OK, "options");
  const int64_t sizes = read_number();
  for (int64_t i = 0; i < sizes; ++i) {
    char name[256] = "";
    const int64_t length = read_number();
    require(length < (int64_t)sizeof name, "a long name");
    read_bytes(name, (size_t)length);
    require(tenon_options_set_size(options, name, read_number()) == TENON_OK, "a size");
  }
  const int64_t count = read_number();
  require(count == (int64_t)tenon_input_count(model) && count <= MOST_PORTS, "another number of inputs");
  for (int64_t i = 0; i < count; ++i) {
    read_tensor(&inputs[i]);
    given[i] = inputs[i].tensor;
  }
  const tenon_status status = tenon_run_result(model, given, (size_t)count, options, &result);
  write_number(status);
  if (status == TENON_OK) {
    require_same_in_place(model, given, options, result);
    for (size_t i = 0; i < tenon_output_count(model); ++i) {
      tenon_tensor output;
      require(tenon_result_tensor(result, i, &output) == TENON_OK, "no such output");
      write_tensor(&output);
    }
  } else {
    write_number((int64_t)strlen(tenon_error()));
    write_bytes(tenon_error(), strlen(tenon_error()));
  }
  tenon_result_free(result);
  tenon_options_free(options);
  for (int64_t i = 0; i < count; ++i)
    free(given[i].data);
}

int main(int argc, char** argv) {
  require(argc == 4, "usage: run_cases PROGRAM CASES RESULTS");
  tenon_model* model = NULL;
  require(tenon_load(argv[1], TENON_LOAD_DEFAULT, &model) == TENON_OK, "tenon_load()");
  cases = fopen(argv[2], "rb");
  results = fopen(argv[3], "wb");
  require(cases != NULL && results != NULL, "a file cannot be opened");
  for (int64_t count = read_number(); count > 0; --count)
    run_case(model);
  tenon_free(model);
  require(fclose(results) == 0, "results cannot be written");
  fclose(cases);
  return 0;
}
