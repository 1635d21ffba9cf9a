// Runs a program with its output discarded, and measures it.
//
//   run-measured PROGRAM [ARGUMENT...]
//
// Prints elapsed seconds, CPU seconds and peak memory in bytes. This is a separate, small program because the peak
// memory that Linux reports for a child is at least the memory of its parent at the time of the fork.
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

static void execute(char **program) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0) execvp(program[0], program);
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
    if (child == 0) execute(arguments + 1);
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
