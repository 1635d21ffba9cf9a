#define _GNU_SOURCE
#include "readahead.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The read of the system, by the name that the C library itself uses.
extern ssize_t __read(int descriptor, void *bytes, size_t count);

// About the packets that a collector reads at once. A larger piece would be copied again by the next read ahead.
enum { piece_size = 16384 };

static _Thread_local int socket_ahead = -1;
// The bytes of `piece` that were read, and those that are there. They stay in the socket until `take_read`.
static _Thread_local size_t position, end;
static _Thread_local char piece[piece_size];

// Removes what was read from the socket.
static void take_read(void) {
    while (position > 0) {
        // The bytes are there, so that this neither waits nor fails.
        ssize_t count = recv(socket_ahead, piece, position, MSG_DONTWAIT);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        position -= (size_t)count;
    }
    position = end = 0;
}

void read_ahead_begin(int descriptor) {
    if (socket_ahead >= 0) take_read();
    socket_ahead = descriptor;
}

void read_ahead_end(int descriptor) {
    if (descriptor == socket_ahead) take_read();
    position = end = 0;
    socket_ahead = -1;
}

#ifndef __has_feature
#define __has_feature(name) 0
#endif
// A sanitizer needs its own read.
#if !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer)
ssize_t read(int descriptor, void *bytes, size_t count) {
    if (descriptor < 0 || descriptor != socket_ahead) return __read(descriptor, bytes, count);
    if (position == end) {
        take_read();
        // A long payload is copied once.
        if (count >= piece_size / 4) return __read(descriptor, bytes, count);
        ssize_t ahead = recv(descriptor, piece, piece_size, MSG_PEEK | MSG_DONTWAIT);
        if (ahead <= 0) return ahead;
        end = (size_t)ahead;
    }
    if (count > end - position) count = end - position;
    memcpy(bytes, piece + position, count);
    position += count;
    return (ssize_t)count;
}
#endif
