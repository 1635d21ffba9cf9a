#pragma once

/// Until ``read_ahead_end()``, the calling thread reads from the TCP socket `descriptor` in pieces of 16 KiB: read returns the
/// next bytes of a piece without a system call. A descriptor of -1 begins nothing.
///
/// libmosquitto reads each packet with at least three system calls, which take longer than all else for a small message.
/// It takes no function to read with. Therefore this library defines read for the whole program; for any other descriptor or
/// thread, it only calls the one of the system.
void read_ahead_begin(int descriptor);

/// Removes the bytes from the socket that were read. The others stay in it, so that poll and other readers find them.
/// - descriptor: the same as before, or another one if the socket was closed meanwhile. Its number may be that of another file.
void read_ahead_end(int descriptor);
