#pragma once
#include <sys/types.h>

/// Starts a program in a process group of its own, with default signal handling and without other descriptors than 0, 1
/// and 2. Returns 0, or the error of execve.
/// - id: receives the id of the process.
/// - input, output: become its descriptors 0, and 1 and 2.
/// - death_signal: the signal that it gets when the calling *thread* ends, or 0.
int process_start(pid_t *id, const char *path, char *const arguments[], char *const environment[], int input,
                  int output, int death_signal);

/// Returns a descriptor that can be read when the process has ended, or -1.
int process_descriptor(pid_t id);

/// Opens a pipe whose ends no other child inherits, as pipe2 with O_CLOEXEC.
int process_pipe(int ends[2]);
