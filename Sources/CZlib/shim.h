#include <zlib.h>

// inflateInit2 and deflateInit2 are macros, which Swift cannot call. 32 more window bits: gzip or zlib, as the data begin.
static inline int inflate_init_any(z_stream *stream) { return inflateInit2(stream, 15 + 32); }
// 16 more window bits: gzip.
static inline int deflate_init_gzip_window(z_stream *stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, window_bits + 16, memory_level, Z_DEFAULT_STRATEGY);
}
