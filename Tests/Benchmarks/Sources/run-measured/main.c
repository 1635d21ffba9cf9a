// Runs a program to its end, with its output thrown away.
//
//   run-measured PROGRAM [ARGUMENT...]
//
// Prints seconds, seconds of CPU, and bytes of memory at its peak. A program of its own, and a small one, because what
// Linux tells of a child's memory is no less than its parent's was when it was started.
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void become(char **program) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0 && dup2(nowhere, STDOUT_FILENO) >= 0) execvp(program[0], program);
    perror(program[0]);
    _exit(127);
}

int main(int count, char **arguments) {
    if (count < 2) {
        fputs("usage: run-measured PROGRAM [ARGUMENT...]\n", stderr);
        return 64;
    }
    double begin = now();
    pid_t child = fork();
    if (child == 0) become(arguments + 1);
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        perror("run-measured");
        return 1;
    }
    double end = now();
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 1;
    printf("%.6f %.6f %ld\n", end - begin, seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss * 1024);
    return 0;
}
