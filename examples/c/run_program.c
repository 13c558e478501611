/* Runs a program of `tenon build` that takes f32[batch, N], such as one of `mlp`, at several sizes of its batch. */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/c.h>

static void check(tenon_status status) {
  if (status != TENON_OK) {
    fprintf(stderr, "run_program: %s\n", tenon_error());
    exit(1);
  }
}

int main(int argc, char** argv) {
  tenon_model* model = NULL;
  tenon_options* options = NULL;
  check(tenon_load(argc > 1 ? argv[1] : "model.tenon", TENON_LOAD_DEFAULT, &model));
  check(tenon_options_new(&options));
  printf("%s: %s to %s\n", tenon_name(model), tenon_input_shape(model, 0), tenon_output_shape(model, 0));
  for (int64_t batch = 1; batch <= 4; batch *= 2) {
    int64_t dims[2];
    int64_t result_dims[2];
    check(tenon_options_set_size(options, "batch", batch));
    check(tenon_input_dims(model, 0, options, dims));
    check(tenon_output_dims(model, 0, options, result_dims));
    const size_t count = (size_t)(dims[0] * dims[1]);
    const size_t result_count = (size_t)(result_dims[0] * result_dims[1]);
    float* const values = malloc(count * sizeof(float));
    float* const results = malloc(result_count * sizeof(float));
    for (size_t i = 0; i < count; ++i)
      values[i] = 0.5F;
    const tenon_tensor input = {values, count * sizeof(float), dims, 2, TENON_F32};
    const tenon_tensor output = {results, result_count * sizeof(float), result_dims, 2, TENON_F32};
    check(tenon_run(model, &input, 1, &output, 1, options));
    printf("batch %d gives %d numbers, the first is %g\n", (int)batch, (int)result_count, results[0]);
    free(values);
    free(results);
  }
  tenon_options_free(options);
  tenon_free(model);
  return 0;
}
