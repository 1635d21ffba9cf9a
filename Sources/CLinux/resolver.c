#define _GNU_SOURCE
#include "resolver.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

typedef int resolve(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static _Thread_local const char *chosen_name, *chosen_address;

void resolver_choose(const char *name, const char *address) {
    chosen_name = name;
    chosen_address = address;
}

int getaddrinfo(const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict result) {
    static _Atomic(resolve *) system_resolve;
    resolve *next = atomic_load(&system_resolve);
    if (!next) {
        next = (resolve *)dlsym(RTLD_NEXT, "getaddrinfo");
        if (!next) return EAI_FAIL;
        atomic_store(&system_resolve, next);
    }
    int is_chosen = chosen_name && chosen_address && node && strcmp(node, chosen_name) == 0;
    return next(is_chosen ? chosen_address : node, service, hints, result);
}
