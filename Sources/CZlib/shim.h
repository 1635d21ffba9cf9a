#include <zlib.h>

// deflateInit2 and inflateInit2 are macros, which Swift cannot call. 16 more window bits: with a header of gzip.
static inline int deflate_init_gzip(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

// 32 more: gzip or zlib, as the data begin.
static inline int inflate_init_any(z_stream *stream) { return inflateInit2(stream, 15 + 32); }
