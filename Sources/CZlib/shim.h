#include <zlib.h>

// inflateInit2 is a macro, which Swift cannot call. 32 more window bits: gzip or zlib, as the data begin.
static inline int inflate_init_any(z_stream *stream) { return inflateInit2(stream, 15 + 32); }
