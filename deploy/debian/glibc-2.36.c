// Functions of glibc 2.38 that the Swift runtime of Debian sid calls and Debian 12 does not have.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The variants for C23 differ only in the prefix 0b.
#define NUMBER(type, name) \
    type __isoc23_##name(const char *text, char **end, int base); \
    type __isoc23_##name(const char *text, char **end, int base) { return name(text, end, base); }
NUMBER(long, strtol)
NUMBER(long long, strtoll)
NUMBER(unsigned long, strtoul)
NUMBER(unsigned long long, strtoull)

int __isoc23_sscanf(const char *text, const char *format, ...);
int __isoc23_sscanf(const char *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsscanf(text, format, arguments);
    va_end(arguments);
    return count;
}

size_t strlcpy(char *target, const char *source, size_t size);
size_t strlcpy(char *target, const char *source, size_t size) {
    size_t length = strlen(source);
    if (size > 0) {
        size_t copied = length < size ? length : size - 1;
        memcpy(target, source, copied);
        target[copied] = 0;
    }
    return length;
}
