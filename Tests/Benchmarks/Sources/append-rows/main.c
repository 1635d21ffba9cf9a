// For the benchmark writes: appends the same rows as a collector stores to one file, as fast as possible.
//
//   append-rows FILE ROWS ROW-SIZE WRITES SYNCS
//
// ROWS is a file of `struct row`. Each row takes ROW-SIZE bytes in FILE. The rows are appended in WRITES equal parts,
// each with one system call. fdatasync is called SYNCS times, evenly spread, at most once after each part, and once at
// the end. Prints CPU seconds, the bytes that reached the disk or will reach it (write_bytes of /proc/self/io), the
// bytes passed to the kernel (wchar) and the number of rows.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct row {
    int32_t device;
    int32_t stream;
    int64_t t;
    double x, y, z;
};

struct __attribute__((packed)) stored_row {
    int32_t device;
    int64_t t;
    double x, y, z;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static long written(const char *name) {
    FILE *file = fopen("/proc/self/io", "r");
    if (!file) fail("/proc/self/io");
    char key[64];
    long value, found = -1;
    while (fscanf(file, "%63[^:]: %ld\n", key, &value) == 2)
        if (strcmp(key, name) == 0) found = value;
    fclose(file);
    if (found < 0) fail("/proc/self/io");
    return found;
}

// Reads all rows before the measurement.
static struct row *read_rows(const char *path, long *count) {
    int file = open(path, O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status) < 0) fail(path);
    char *rows = malloc((size_t)status.st_size + 1);
    for (off_t done = 0; done < status.st_size;) {
        ssize_t part = read(file, rows + done, (size_t)(status.st_size - done));
        if (part <= 0) fail(path);
        done += part;
    }
    close(file);
    *count = status.st_size / (off_t)sizeof(struct row);
    return (struct row *)rows;
}

int main(int count, char **arguments) {
    long row_size, writes, syncs, rows;
    if (count != 6 || (row_size = atol(arguments[3])) < (long)sizeof(struct stored_row) ||
        (writes = atol(arguments[4])) < 1 || (syncs = atol(arguments[5])) < 0) {
        fputs("usage: append-rows FILE ROWS ROW-SIZE WRITES SYNCS\n", stderr);
        return 64;
    }
    struct row *all = read_rows(arguments[2], &rows);
    int file = open(arguments[1], O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0644);
    if (file < 0) fail(arguments[1]);
    char *part = calloc((size_t)(rows / writes + 2), (size_t)row_size);
    if (!part) fail("append-rows");
    long bytes = written("write_bytes"), passed = written("wchar"), row = 0;
    double begin = cpu_seconds();
    for (long write_number = 1; write_number <= writes; write_number++) {
        long end = rows * write_number / writes, size = 0;
        for (; row < end; row++, size += row_size) {
            struct stored_row stored = {all[row].device, all[row].t, all[row].x, all[row].y, all[row].z};
            memcpy(part + size, &stored, sizeof stored);
        }
        if (write(file, part, (size_t)size) != size) fail(arguments[1]);
        int is_due = syncs * write_number / writes > syncs * (write_number - 1) / writes;
        if ((is_due || write_number == writes) && fdatasync(file) < 0) fail(arguments[1]);
    }
    double cpu = cpu_seconds() - begin;
    printf("%f %ld %ld %ld\n", cpu, written("write_bytes") - bytes, written("wchar") - passed, rows);
    return 0;
}
