// For the benchmark writes: publishes every message of a file with QoS 1 at the time at which it is due.
//
//   publish-paced PORT LOAD CONNECTIONS
//
// LOAD holds for each message: the time at which it is due in µs from the start (int64), the number of the device
// (uint32), the length of the topic (uint16), the length of the payload (uint32), topic, payload. Messages are in order
// of time. All messages of a device use the same connection, so that the broker keeps their order. Ends when the broker
// has acknowledged all messages. Prints how many seconds the latest message was late.
#define _GNU_SOURCE
#include <mosquitto.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { max_connections = 100, shortest_wait = 1000 };

struct __attribute__((packed)) head {
    int64_t due;
    uint32_t device;
    uint16_t topic_size;
    uint32_t payload_size;
};

static struct mosquitto *clients[max_connections];
static int connections;
static long acknowledged;

static void on_publish(struct mosquitto *client, void *context, int id) {
    (void)client, (void)context, (void)id;
    acknowledged++;
}

static void fail(const char *reason) {
    fprintf(stderr, "publish-paced: %s\n", reason);
    exit(1);
}

static void check(int code) {
    if (code != MOSQ_ERR_SUCCESS) fail(mosquitto_strerror(code));
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

// Serves all connections for `duration` µs. Returns early if one of them is ready, but not before `shortest_wait`:
// waking up for each single message would use CPU time that the measured program needs.
static void serve(int64_t duration) {
    struct pollfd sockets[max_connections];
    for (int index = 0; index < connections; index++)
        sockets[index] = (struct pollfd){
            .fd = mosquitto_socket(clients[index]),
            .events = mosquitto_want_write(clients[index]) ? POLLIN | POLLOUT : POLLIN};
    if (duration <= shortest_wait) {
        nanosleep(&(struct timespec){.tv_nsec = shortest_wait * 1000}, NULL);
        duration = 0;
    }
    struct timespec limit = {duration / 1000000, duration % 1000000 * 1000};
    if (ppoll(sockets, (nfds_t)connections, &limit, NULL) <= 0) return;
    for (int index = 0; index < connections; index++) {
        if (sockets[index].revents & ~POLLOUT) check(mosquitto_loop_read(clients[index], 1000));
        if (sockets[index].revents & POLLOUT) check(mosquitto_loop_write(clients[index], 1));
    }
}

static void keep_alive(void) {
    for (int index = 0; index < connections; index++) check(mosquitto_loop_misc(clients[index]));
}

static void connect_all(int port) {
    for (int index = 0; index < connections; index++) {
        clients[index] = mosquitto_new(NULL, true, NULL);
        // No limit: the load determines how many messages are in flight.
        mosquitto_max_inflight_messages_set(clients[index], 0);
        mosquitto_publish_callback_set(clients[index], on_publish);
        check(mosquitto_connect(clients[index], "127.0.0.1", port, 60));
    }
}

int main(int count, char **arguments) {
    if (count != 4 || (connections = atoi(arguments[3])) < 1 || connections > max_connections) {
        fputs("usage: publish-paced PORT LOAD CONNECTIONS\n", stderr);
        return 64;
    }
    FILE *file = fopen(arguments[2], "rb");
    if (!file) {
        perror(arguments[2]);
        return 1;
    }
    mosquitto_lib_init();
    connect_all(atoi(arguments[1]));
    struct head head;
    long sent = 0;
    int64_t latest = 0, checked = 0;
    char *topic = malloc(65536), *payload = malloc(1 << 20);
    int64_t begin = now();
    while (fread(&head, sizeof head, 1, file) == 1) {
        if (head.payload_size > 1 << 20 || fread(topic, 1, head.topic_size, file) != head.topic_size ||
            fread(payload, 1, head.payload_size, file) != head.payload_size)
            fail("the load is cut off");
        topic[head.topic_size] = 0;
        int64_t time;
        while ((time = now() - begin) < head.due) {
            serve(head.due - time);
            if (time - checked >= 1000000) {
                keep_alive();
                checked = time;
            }
        }
        if (time - head.due > latest) latest = time - head.due;
        struct mosquitto *client = clients[head.device % (uint32_t)connections];
        check(mosquitto_publish(client, NULL, topic, (int)head.payload_size, payload, 1, false));
        sent++;
        // If this program is late, nothing else reads the acknowledgements.
        if (sent % 1000 == 0) serve(0);
    }
    while (acknowledged < sent) serve(100000);
    for (int index = 0; index < connections; index++) mosquitto_disconnect(clients[index]);
    printf("%.3f\n", (double)latest / 1e6);
    return 0;
}
