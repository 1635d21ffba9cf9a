#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// In C, because Swift does not import vfork, and because posix_spawn cannot ask for a signal at the parent's end.
int process_start(pid_t *id, const char *path, char *const arguments[], char *const environment[], int input,
                  int output, int death_signal) {
    sigset_t all, former;
    volatile int error = 0;
    pid_t parent = getpid();
    sigfillset(&all);
    // The child shares the memory of this process until execve, so that no handler may run in it.
    pthread_sigmask(SIG_BLOCK, &all, &former);
    pid_t child = vfork();
    if (child == 0) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        for (int number = 1; number < NSIG; number++) sigaction(number, &standard, NULL);
        setpgid(0, 0);
        if (death_signal) {
            prctl(PR_SET_PDEATHSIG, death_signal);
            // The parent may have ended before.
            if (getppid() != parent) _exit(127);
        }
        if (dup2(input, 0) >= 0 && dup2(output, 1) >= 0 && dup2(output, 2) >= 0) {
            close_range(3, ~0U, 0);
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, NULL);
            execve(path, arguments, environment);
        }
        error = errno;
        _exit(127);
    }
    if (child < 0) error = errno;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    *id = child;
    return error;
}

int process_descriptor(pid_t id) { return (int)syscall(SYS_pidfd_open, id, 0); }

int process_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }
