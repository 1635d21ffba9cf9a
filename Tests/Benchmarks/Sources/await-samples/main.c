// Waits until a collector has committed a number of samples. It polls cheaply, because the CPU time that it uses is not
// available to the measured program; the compared programs end by themselves and need no polling.
//
//   await-samples DATABASE SAMPLES PROCESS SECONDS
//
// SAMPLES counts new samples, duplicates and conflicts. Exits with 1 after SECONDS, or if the collector with the id
// PROCESS ends first.
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pause_briefly(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

// Opens the store and prepares the query. Returns NULL if the store does not exist yet.
static sqlite3_stmt *open_store(const char *path) {
    sqlite3 *database;
    sqlite3_stmt *statement = NULL;
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
        sqlite3_prepare_v2(
            database, "SELECT sum(samples + duplicates + conflicts) FROM devices", -1, &statement, NULL);
    if (!statement) sqlite3_close(database);
    return statement;
}

int main(int count, char **arguments) {
    if (count != 5) {
        fputs("usage: await-samples DATABASE SAMPLES PROCESS SECONDS\n", stderr);
        return 64;
    }
    long wanted = atol(arguments[2]), found = 0;
    pid_t process = atoi(arguments[3]);
    double end = seconds() + atof(arguments[4]);
    sqlite3_stmt *statement = NULL;
    while (seconds() < end && kill(process, 0) == 0) {
        if (!statement) statement = open_store(arguments[1]);
        if (statement) {
            if (sqlite3_step(statement) == SQLITE_ROW) found = sqlite3_column_int64(statement, 0);
            sqlite3_reset(statement);
            if (found >= wanted) return 0;
        }
        pause_briefly();
    }
    fprintf(stderr, "await-samples: %ld of %ld samples are stored\n", found, wanted);
    return 1;
}
