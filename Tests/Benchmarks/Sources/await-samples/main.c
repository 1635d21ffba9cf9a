// Waits until a collector has committed all that it was sent. In C, and with little work for each look, for the cores that
// it takes are missing to what is measured: the other sides of a comparison tell by themselves when they have ended.
//
//   await-samples DATABASE SAMPLES PROCESS SECONDS
//
// SAMPLES counts new ones, duplicates and conflicts. Ends with 1 where they are not there within SECONDS, or when the
// collector, PROCESS, has ended before.
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

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL); }

// Nothing before there is such a store.
static sqlite3_stmt *look(const char *path) {
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
        if (!statement) statement = look(arguments[1]);
        if (statement) {
            if (sqlite3_step(statement) == SQLITE_ROW) found = sqlite3_column_int64(statement, 0);
            sqlite3_reset(statement);
            if (found >= wanted) return 0;
        }
        rest();
    }
    fprintf(stderr, "await-samples: %ld of %ld samples are there\n", found, wanted);
    return 1;
}
