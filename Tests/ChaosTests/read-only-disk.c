// Makes the files of a program read-only while it runs, as an operating system does with a memory card that fails. Loaded
// with LD_PRELOAD.
//
//   LOCKSTEP_TEST_DISK            the path with which the names of the files begin: PATH, PATH-wal, …
//   LOCKSTEP_TEST_DISK_READ_ONLY  a file of one byte; while it is not 0, all changes of these files fail with EROFS
//
// A real file system cannot be made read-only by mount while a program writes to it, and needs the rights of root.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { descriptors = 1024 };
static volatile unsigned char *is_read_only;
static const char *prefix;
static unsigned char is_on_disk[descriptors];

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LOCKSTEP_TEST_DISK_READ_ONLY");
    prefix = getenv("LOCKSTEP_TEST_DISK");
    if (!path || !prefix) return;
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) abort();
    void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) abort();
    is_read_only = map;
    close(file);
}

static int contains(const char *path) { return is_read_only && strncmp(path, prefix, strlen(prefix)) == 0; }

// Whether a change has to fail.
static int refuses(int is_of_disk) {
    if (!is_of_disk || !is_read_only || !*is_read_only) return 0;
    errno = EROFS;
    return 1;
}

static int entry(int descriptor) { return descriptor >= 0 && descriptor < descriptors && is_on_disk[descriptor]; }

static int opened(const char *path, int flags, mode_t mode) {
    int is_of_disk = contains(path);
    int changes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) || ((flags & O_CREAT) && access(path, F_OK) != 0);
    if (changes && refuses(is_of_disk)) return -1;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (descriptor >= 0 && descriptor < descriptors) is_on_disk[descriptor] = (unsigned char)is_of_disk;
    return descriptor;
}

static mode_t mode_of(int flags, va_list list) { return flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return opened(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    va_list list;
    va_start(list, flags);
    mode_t mode = mode_of(flags, list);
    va_end(list);
    return opened(path, flags | O_LARGEFILE, mode);
}

int close(int descriptor) {
    // Before the call: another thread may get the number at once.
    if (entry(descriptor)) is_on_disk[descriptor] = 0;
    return (int)syscall(SYS_close, descriptor);
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return refuses(entry(descriptor)) ? -1 : syscall(SYS_pwrite64, descriptor, data, length, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
    return refuses(entry(descriptor)) ? -1 : syscall(SYS_pwrite64, descriptor, data, length, offset);
}

ssize_t write(int descriptor, const void *data, size_t length) {
    return refuses(entry(descriptor)) ? -1 : syscall(SYS_write, descriptor, data, length);
}

int ftruncate(int descriptor, off_t length) {
    return refuses(entry(descriptor)) ? -1 : (int)syscall(SYS_ftruncate, descriptor, length);
}

int ftruncate64(int descriptor, off64_t length) {
    return refuses(entry(descriptor)) ? -1 : (int)syscall(SYS_ftruncate, descriptor, length);
}

int fsync(int descriptor) { return refuses(entry(descriptor)) ? -1 : (int)syscall(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return refuses(entry(descriptor)) ? -1 : (int)syscall(SYS_fdatasync, descriptor); }

int unlink(const char *path) { return refuses(contains(path)) ? -1 : (int)syscall(SYS_unlink, path); }
