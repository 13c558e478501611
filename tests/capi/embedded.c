/* A program that is linked in (`tenon build --emit`), the graph of embedded_test.py: y = relu(x @ w), f32. Sizes below,
 * at and above those of vectors. The status is 0 when all of it holds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "dense.h"

static void require(int holds, const char* what, int line) {
  if (!holds) {
    fprintf(stderr, "line %d: %s\n  tenon_error(): %s\n", line, what, tenon_error());
    exit(1);
  }
}
#define REQUIRE(condition) require((condition), #condition, __LINE__)

/* Whole numbers, so that sums are exact in any order. */
static void run(int64_t batch, int64_t in, int64_t out) {
  const int64_t x_dims[2] = {batch, in};
  const int64_t w_dims[2] = {in, out};
  int64_t y_dims[2] = {-1, -1};
  float* const x = malloc((size_t)(batch * in) * sizeof(float) + 1);
  float* const w = malloc((size_t)(in * out) * sizeof(float) + 1);
  float* const y = malloc((size_t)(batch * out) * sizeof(float) + 1);
  tenon_tensor inputs[DENSE_INPUT_COUNT];
  tenon_tensor output = {y, (size_t)(batch * out) * sizeof(float), y_dims, 2, TENON_F32};
  for (int64_t i = 0; i < batch * in; ++i)
    x[i] = (float)(i % 7 - 3);
  for (int64_t i = 0; i < in * out; ++i)
    w[i] = (float)(i % 5 - 2);
  inputs[DENSE_X] = (tenon_tensor){x, (size_t)(batch * in) * sizeof(float), x_dims, 2, TENON_F32};
  inputs[DENSE_W] = (tenon_tensor){w, (size_t)(in * out) * sizeof(float), w_dims, 2, TENON_F32};
  REQUIRE(dense_output_shape(DENSE_Y_1, inputs, NULL, y_dims) == TENON_OK);
  REQUIRE(y_dims[0] == batch && y_dims[1] == out);
  REQUIRE(dense_run(inputs, &output, NULL) == TENON_OK);
  for (int64_t row = 0; row < batch; ++row) {
    for (int64_t col = 0; col < out; ++col) {
      float sum = 0;
      for (int64_t k = 0; k < in; ++k)
        sum += x[row * in + k] * w[k * out + col];
      REQUIRE(y[row * out + col] == (sum > 0 ? sum : 0));
    }
  }
  free(x);
  free(w);
  free(y);
}

static void* load(void* model) {
  REQUIRE(dense_model((const tenon_model**)model) == TENON_OK);
  return NULL;
}

int main(void) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  const tenon_model* models[THREADS];
  for (int i = 0; i < THREADS; ++i)
    REQUIRE(pthread_create(&threads[i], NULL, load, (void*)&models[i]) == 0);
  for (int i = 0; i < THREADS; ++i)
    REQUIRE(pthread_join(threads[i], NULL) == 0 && models[i] == models[0]);
  for (int64_t batch = 0; batch < 20; batch += 1 + batch / 3) {
    run(batch, 1, 1);
    run(batch, 17, 16);
    run(batch, 33, 5);
  }
  dense_unload();
  run(3, 4, 5); /* loads it anew */
  dense_unload();
  REQUIRE(tenon_embedded_model(NULL, &models[0]) == TENON_INVALID_ARGUMENT && models[0] == NULL);
  REQUIRE(tenon_embedded_model(&dense_program, NULL) == TENON_INVALID_ARGUMENT);
  puts("the embedded program holds");
  return 0;
}
