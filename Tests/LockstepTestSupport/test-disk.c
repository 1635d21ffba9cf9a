// The disk of an SQLite database, with faults. Loaded with LD_PRELOAD.
//
//   LOCKSTEP_TEST_DISK            the path of the database; PATH-wal and PATH-journal are on the disk, too
//   LOCKSTEP_TEST_DISK_LOG        a log of every change, so that a test can build the files as a power cut leaves them
//   LOCKSTEP_TEST_DISK_DELAY      µs that a sync takes with a log (default: 0)
//   LOCKSTEP_TEST_DISK_READ_ONLY  a file of one byte; while it is not 0, all changes of the files fail with EROFS, as on a
//                                 memory card that the operating system has made read-only
//
// A real file system cannot be made read-only by mount while a program writes to it, and needs the rights of root.
//
// A record is written before the change, and the record of a sync after it: a killed program may leave the record of a
// change that it did not make, but never that of a sync that did not happen. Files are not really synced, since killing
// a program does not empty the cache of the operating system.
//
// libsqlite3 imports these functions: open64, pwrite64, ftruncate64, fsync, fdatasync, unlink. It uses write only for
// other files, and mmap only for the -shm file, which it rebuilds after a crash.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum operation { create = 1, change, truncation, sync_file, removal, sync_folder };

struct record {
    uint32_t operation;
    uint32_t file;
    int64_t offset;
    int64_t length;  // of the data that follows a change; the new size for a truncation
};

enum { descriptors = 1024, folder = 4, unlogged = 5 };
static const char *const suffixes[] = {"", "-wal", "-journal"};
static unsigned char file_of[descriptors];  // 1 + index in suffixes, folder, or unlogged
static const char *database;
static size_t folder_length;
static int log_file = -1;
static useconds_t delay;
static const volatile unsigned char *is_read_only;
// The order of records is the order of changes.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
    database = getenv("LOCKSTEP_TEST_DISK");
    const char *log = getenv("LOCKSTEP_TEST_DISK_LOG"), *time = getenv("LOCKSTEP_TEST_DISK_DELAY");
    const char *read_only = getenv("LOCKSTEP_TEST_DISK_READ_ONLY");
    if (!database) return;
    folder_length = (size_t)(strrchr(database, '/') - database);
    if (time) delay = (useconds_t)atoi(time);
    if (log) {
        log_file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (log_file < 0) abort();
    }
    if (read_only) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, read_only, O_RDONLY | O_CLOEXEC);
        if (file < 0) abort();
        void *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) abort();
        is_read_only = map;
        syscall(SYS_close, file);
    }
}

// Whether a change of a file has to fail.
static int refuses(int file) {
    if (!file || file == folder || !is_read_only || !*is_read_only) return 0;
    errno = EROFS;
    return 1;
}

static void append(enum operation operation, int file, int64_t offset, int64_t length, const void *data) {
    struct record record = {operation, (uint32_t)file, offset, length};
    struct iovec parts[] = {{&record, sizeof record}, {(void *)data, data ? (size_t)length : 0}};
    if (writev(log_file, parts, 2) != (ssize_t)(sizeof record + parts[1].iov_len)) abort();
}

// The kind of file at a path, as in file_of.
static int kind_of(const char *path) {
    if (!database) return 0;
    size_t length = strlen(database);
    if (strncmp(path, database, length) != 0)
        return strlen(path) == folder_length && strncmp(path, database, folder_length) == 0 ? folder : 0;
    for (int index = 0; index < 3; index++)
        if (strcmp(path + length, suffixes[index]) == 0) return 1 + index;
    return unlogged;
}

static int is_logged(int file) { return log_file >= 0 && file > 0 && file < folder; }

static int entry(int descriptor) {
    return descriptor >= 0 && descriptor < descriptors ? file_of[descriptor] : 0;
}

static int opened(const char *path, int flags, mode_t mode) {
    int file = kind_of(path), creates = (flags & O_CREAT) && access(path, F_OK) != 0;
    if (((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) || creates) && refuses(file)) return -1;
    pthread_mutex_lock(&mutex);
    if (is_logged(file) && creates) append(create, file - 1, 0, 0, NULL);
    if (is_logged(file) && (flags & O_TRUNC)) append(truncation, file - 1, 0, 0, NULL);
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (descriptor >= 0 && descriptor < descriptors) file_of[descriptor] = (unsigned char)file;
    pthread_mutex_unlock(&mutex);
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
    if (entry(descriptor)) file_of[descriptor] = 0;
    return (int)syscall(SYS_close, descriptor);
}

static ssize_t written_at(int descriptor, const void *data, size_t length, off_t offset) {
    int file = entry(descriptor);
    if (refuses(file)) return -1;
    if (!is_logged(file)) return syscall(SYS_pwrite64, descriptor, data, length, offset);
    pthread_mutex_lock(&mutex);
    append(change, file - 1, offset, (int64_t)length, data);
    ssize_t result = syscall(SYS_pwrite64, descriptor, data, length, offset);
    pthread_mutex_unlock(&mutex);
    return result;
}

ssize_t pwrite(int descriptor, const void *data, size_t length, off_t offset) {
    return written_at(descriptor, data, length, offset);
}

ssize_t pwrite64(int descriptor, const void *data, size_t length, off64_t offset) {
    return written_at(descriptor, data, length, offset);
}

ssize_t write(int descriptor, const void *data, size_t length) {
    if (refuses(entry(descriptor))) return -1;
    if (is_logged(entry(descriptor))) abort();  // no part of the model
    return syscall(SYS_write, descriptor, data, length);
}

static int truncated(int descriptor, off_t length) {
    int file = entry(descriptor);
    if (refuses(file)) return -1;
    if (!is_logged(file)) return (int)syscall(SYS_ftruncate, descriptor, length);
    pthread_mutex_lock(&mutex);
    append(truncation, file - 1, 0, length, NULL);
    int result = (int)syscall(SYS_ftruncate, descriptor, length);
    pthread_mutex_unlock(&mutex);
    return result;
}

int ftruncate(int descriptor, off_t length) { return truncated(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return truncated(descriptor, length); }

static int synced(int descriptor, long call) {
    int file = entry(descriptor);
    if (refuses(file)) return -1;
    if (log_file < 0 || !file || file == unlogged) return (int)syscall(call, descriptor);
    pthread_mutex_lock(&mutex);
    if (delay) usleep(delay);
    append(file == folder ? sync_folder : sync_file, file - 1, 0, 0, NULL);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }

int unlink(const char *path) {
    int file = kind_of(path);
    if (refuses(file)) return -1;
    pthread_mutex_lock(&mutex);
    if (is_logged(file)) append(removal, file - 1, 0, 0, NULL);
    int result = (int)syscall(SYS_unlink, path);
    pthread_mutex_unlock(&mutex);
    return result;
}
