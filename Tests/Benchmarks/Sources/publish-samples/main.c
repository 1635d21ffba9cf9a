// For the benchmark agent: plays a recording in real time and publishes each sample of three sensors as one JSON
// message with QoS 1. It has no outbox, no batches and no derived streams.
//
//   publish-samples PORT RECORDING
//
// Each line of RECORDING has the time in µs and nine values: gyroscope, accelerometer, magnetometer. Runs until the end
// of the recording or until it is killed.
#define _GNU_SOURCE
#include <mosquitto.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const sensors[] = {"gyroscope", "accelerometer", "magnetometer"};

static void check(int code) {
    if (code == MOSQ_ERR_SUCCESS) return;
    fprintf(stderr, "publish-samples: %s\n", mosquitto_strerror(code));
    exit(1);
}

static int64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

// Serves the connection until the deadline, in µs of the monotonic clock.
static void wait_until(struct mosquitto *client, int64_t deadline) {
    int64_t left;
    while ((left = deadline - now(CLOCK_MONOTONIC)) > 0) {
        struct pollfd socket = {.fd = mosquitto_socket(client), .events = POLLIN};
        struct timespec limit = {left / 1000000, left % 1000000 * 1000};
        if (ppoll(&socket, 1, &limit, NULL) > 0) check(mosquitto_loop_read(client, 1));
    }
    check(mosquitto_loop_misc(client));
}

int main(int count, char **arguments) {
    if (count != 3) {
        fputs("usage: publish-samples PORT RECORDING\n", stderr);
        return 64;
    }
    FILE *file = fopen(arguments[2], "r");
    if (!file) {
        perror(arguments[2]);
        return 1;
    }
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    check(mosquitto_connect(client, "127.0.0.1", atoi(arguments[1]), 60));
    int64_t begin = now(CLOCK_MONOTONIC);
    char line[1024], topic[128], payload[256];
    while (fgets(line, sizeof line, file)) {
        long long t;
        double v[9];
        if (sscanf(line, "%lld,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf,%lf", &t, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6,
                   v + 7, v + 8) != 10)
            continue;
        wait_until(client, begin + t);
        int64_t time = now(CLOCK_REALTIME);
        for (int sensor = 0; sensor < 3; sensor++) {
            double *value = v + 3 * sensor;
            snprintf(topic, sizeof topic, "samples/bench/%s", sensors[sensor]);
            int length = snprintf(payload, sizeof payload, "{\"t\":%lld,\"x\":%.6g,\"y\":%.6g,\"z\":%.6g}",
                                  (long long)time, value[0], value[1], value[2]);
            check(mosquitto_publish(client, NULL, topic, length, payload, 1, false));
        }
    }
    return 0;
}
