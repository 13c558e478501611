/* The C interface: models that run, in plain C11. libtenon_run has it for programs that `tenon build` wrote; libtenon,
 * which has the compiler, has the same functions and loads ONNX models too. docs/c.md shows it at work.
 *
 * Functions give a tenon_status; tenon_error() says in words what went wrong. Handles are opaque, and NULL is an error
 * wherever one is asked for, but to be freed. Text is UTF-8; a text or list that belongs to a handle stays as it is
 * until the handle is freed. A model and a result may be used by many threads at once, and so may options while no
 * thread changes them, tenon_options_cancel() excepted; frees are for the last user.
 *
 * Functions, structs and numbers keep their meaning in all releases with the same symbol version (TENON_1). */
#ifndef TENON_C_H
#define TENON_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names of C */

typedef int32_t tenon_status;
enum {
  TENON_OK = 0,
  TENON_INVALID_ARGUMENT = 1, /* the call is wrong: NULL, an index, a name, a size, a dtype, a buffer too small */
  TENON_INVALID_FILE = 2,     /* what was to be loaded is not there, damaged, of another version or machine */
  TENON_CANCELLED = 3,        /* tenon_options_cancel() ended the run */
  TENON_OUT_OF_MEMORY = 4,
  TENON_INTERNAL = 5 /* Tenon itself is wrong */
};

/* Types of elements. Half types are IEEE binary16 and bfloat16; a bool is a byte, 0 or 1. */
typedef int32_t tenon_dtype;
enum {
  TENON_F32 = 0,
  TENON_F64 = 1,
  TENON_F16 = 2,
  TENON_BF16 = 3,
  TENON_I8 = 4,
  TENON_I16 = 5,
  TENON_I32 = 6,
  TENON_I64 = 7,
  TENON_U8 = 8,
  TENON_U16 = 9,
  TENON_U32 = 10,
  TENON_U64 = 11,
  TENON_BOOL = 12
};

typedef struct tenon_model tenon_model;     /* a program, loaded */
typedef struct tenon_options tenon_options; /* how to run it */
typedef struct tenon_result tenon_result;   /* outputs in memory of the library's */

/* Memory of the caller's as a tensor: row-major, without gaps. */
typedef struct tenon_tensor {
  void* data;   /* of an input only read; may be NULL where there are no elements, or where sizes alone are asked */
  size_t bytes; /* how many there are at `data`: at least as many as the elements take */
  const int64_t* dims; /* `rank` many; may be NULL where rank is 0 */
  int32_t rank;
  tenon_dtype dtype;
} tenon_tensor;

/* A program inside of this one, as `tenon build --emit` makes it. */
typedef struct tenon_embedded {
  const void* bytes; /* at a multiple of 64 */
  uint64_t size;
  tenon_model* model; /* tenon_embedded_model()'s; NULL at first */
} tenon_embedded;

#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* "0.1.0" */
const char* tenon_version(void);
/* What the last function that failed on this thread has to say; "" before the first. Until the next one fails here. */
const char* tenon_error(void);
/* "f32", and the bytes of one element; NULL and 0 where there is no such dtype. */
const char* tenon_dtype_name(tenon_dtype dtype);
size_t tenon_dtype_bytes(tenon_dtype dtype);

/* Flags of loading. Unverified: constants are not held against their checksums, so that a file is ready before its
 * weights were read, and a damaged one may give wrong numbers; all else is always checked. */
enum { TENON_LOAD_DEFAULT = 0, TENON_LOAD_UNVERIFIED = 1 };

/* A program file is mapped, and its weights are shared with all processes that map it: it may be renamed over or
 * removed while it is in use, but not written to in place. Its machine code is trusted as that of a shared library is:
 * load no file that you would not run. */
tenon_status tenon_load(const char* path, uint32_t flags, tenon_model** model);
/* A program file's bytes, which must stay as they are until the model and all of its results are freed. They are used
 * in place where they begin at a multiple of 64, else copied. */
tenon_status tenon_load_memory(const void* bytes, size_t size, uint32_t flags, tenon_model** model);
void tenon_free(tenon_model* model);

/* The model of an embedded program, which belongs to it: do not free it. The first call loads it, without checksums of
 * its constants; any number of threads may call. Unloading is for the last user, and a later call loads it anew. */
tenon_status tenon_embedded_model(tenon_embedded* program, const tenon_model** model);
void tenon_embedded_unload(tenon_embedded* program);

/* What a model says of itself. Asked of NULL, or of an input or output that there is not, names and shapes are NULL,
 * numbers -1 and counts 0. A shape is text such as "f32[batch, seq+1, 768]". */
const char* tenon_name(const tenon_model* model);
size_t tenon_input_count(const tenon_model* model);
size_t tenon_output_count(const tenon_model* model);
const char* tenon_input_name(const tenon_model* model, size_t input);
const char* tenon_output_name(const tenon_model* model, size_t output);
tenon_dtype tenon_input_dtype(const tenon_model* model, size_t input);
tenon_dtype tenon_output_dtype(const tenon_model* model, size_t output);
int32_t tenon_input_rank(const tenon_model* model, size_t input);
int32_t tenon_output_rank(const tenon_model* model, size_t output);
const char* tenon_input_shape(const tenon_model* model, size_t input);
const char* tenon_output_shape(const tenon_model* model, size_t output);
/* The names in the shapes of inputs: tenon_options_set_size() binds them. */
size_t tenon_axis_count(const tenon_model* model);
const char* tenon_axis_name(const tenon_model* model, size_t axis);

/* Options of runs. Where a function takes options, NULL stands for those that tenon_options_new() gives. */
tenon_status tenon_options_new(tenon_options** options);
void tenon_options_free(tenon_options* options);
/* At most so many threads; 0, the default: as many as the machine has. Never changes results. */
tenon_status tenon_options_set_threads(tenon_options* options, int32_t threads);
/* The size of an axis name; a later call replaces it. Runs need it only of names that no input's shape determines. */
tenon_status tenon_options_set_size(tenon_options* options, const char* axis, int64_t size);
/* Denormal numbers count as 0, which is faster on most processors. 0, the default: they do not. */
tenon_status tenon_options_set_flush_denormals(tenon_options* options, int32_t flush);
/* Ends all runs with these options, on whatever threads, and those that are begun before tenon_options_resume(). */
tenon_status tenon_options_cancel(tenon_options* options);
tenon_status tenon_options_resume(tenon_options* options);

/* The sizes of an input, or of an output, at the sizes that the options give to names: as many numbers as its rank. */
tenon_status tenon_input_dims(const tenon_model* model, size_t input, const tenon_options* options, int64_t* dims);
tenon_status tenon_output_dims(const tenon_model* model, size_t output, const tenon_options* options, int64_t* dims);
/* The sizes of an output where the inputs are such: one tensor for each input, in order, whose elements are not read.
 */
tenon_status tenon_output_dims_for(const tenon_model* model, size_t output, const tenon_tensor* inputs,
                                   size_t input_count, const tenon_options* options, int64_t* dims);

/* Do what a first run at the options' sizes does beside computing, so that it takes what later ones take. */
tenon_status tenon_prepare(const tenon_model* model, const tenon_options* options);
/* One tensor for each input and each output, in order; outputs are written where they lie and have the sizes that
 * tenon_output_dims_for() gives. Apart from an output that takes over its input's memory no two may overlap. After an
 * error the outputs' contents are undefined. */
tenon_status tenon_run(const tenon_model* model, const tenon_tensor* inputs, size_t input_count,
                       const tenon_tensor* outputs, size_t output_count, const tenon_options* options);
/* The same with outputs in memory of the library's: for outputs whose sizes only data decide. */
tenon_status tenon_run_result(const tenon_model* model, const tenon_tensor* inputs, size_t input_count,
                              const tenon_options* options, tenon_result** result);
/* An output of a result, for reading, until the result is freed. */
tenon_status tenon_result_tensor(const tenon_result* result, size_t output, tenon_tensor* tensor);
void tenon_result_free(tenon_result* result);

/* What a model has done so far, by all threads together. */
typedef int32_t tenon_counter;
enum {
  TENON_RUNS = 0,            /* that were begun */
  TENON_SPECIALIZATIONS = 1, /* sizes that were prepared */
  TENON_HITS = 2,            /* runs that found their sizes prepared */
  TENON_EVICTIONS = 3,       /* of prepared sizes, for want of memory budget */
  TENON_CACHED_BYTES = 4,    /* of prepared sizes that are kept */
  TENON_MEMORY_BYTES = 5,    /* kept for the next run, or in use */
  TENON_PEAK_MEMORY_BYTES = 6,
  TENON_LOAD_NANOSECONDS = 7,
  TENON_SPECIALIZE_NANOSECONDS = 8,
  TENON_RUN_NANOSECONDS = 9 /* preparing sizes included */
};
tenon_status tenon_count(const tenon_model* model, tenon_counter counter, int64_t* value);
/* All counters of some models, and how long it took to prepare sizes, as text that Prometheus reads. It is written with
 * its end where `size` bytes hold that; `needed` gets how many do, so that one can ask with NULL and 0 first. */
tenon_status tenon_metrics(const tenon_model* const* models, size_t count, char* text, size_t size, size_t* needed);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif /* TENON_C_H */
