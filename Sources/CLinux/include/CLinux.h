// Of Linux, what Swift's Glibc module does not include, and the choice of a host's address.
#include <sys/epoll.h>
#include <sys/timex.h>

#include "resolver.h"
