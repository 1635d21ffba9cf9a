// Of Linux, what Swift's Glibc module does not include: epoll, adjtimex, child processes, the choice of a host's address,
// reading ahead.
#include <sys/epoll.h>
#include <sys/timex.h>

#include "process.h"
#include "readahead.h"
#include "resolver.h"
