// For the benchmark serve-live: many MQTT subscribers in one process.
//
//   subscribe-many PORT TOPIC-FILTER CLIENTS
//
// Runs until SIGTERM. Each second, prints the number of connected clients, and the messages and bytes of payload that all
// of them have received so far.
#include <mosquitto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long connected, messages, bytes;
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void check(int code) {
    if (code == MOSQ_ERR_SUCCESS) return;
    fprintf(stderr, "subscribe-many: %s\n", mosquitto_strerror(code));
    exit(1);
}

static void on_connect(struct mosquitto *client, void *filter, int code) {
    check(code);
    check(mosquitto_subscribe(client, NULL, filter, 0));
    connected++;
}

static void on_message(struct mosquitto *client, void *context, const struct mosquitto_message *message) {
    (void)client, (void)context;
    messages++;
    bytes += message->payloadlen;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fputs("usage: subscribe-many PORT TOPIC-FILTER CLIENTS\n", stderr);
        return 64;
    }
    signal(SIGTERM, stop);
    int clients = atoi(arguments[3]);
    mosquitto_lib_init();
    struct mosquitto **list = calloc((size_t)clients, sizeof *list);
    struct pollfd *sockets = calloc((size_t)clients, sizeof *sockets);
    for (int index = 0; index < clients; index++) {
        list[index] = mosquitto_new(NULL, true, arguments[2]);
        mosquitto_connect_callback_set(list[index], on_connect);
        mosquitto_message_callback_set(list[index], on_message);
        check(mosquitto_connect(list[index], "127.0.0.1", atoi(arguments[1]), 60));
        sockets[index].fd = mosquitto_socket(list[index]);
    }
    time_t printed = time(NULL);
    while (!stopped) {
        for (int index = 0; index < clients; index++)
            sockets[index].events = (short)(POLLIN | (mosquitto_want_write(list[index]) ? POLLOUT : 0));
        poll(sockets, (nfds_t)clients, 200);
        for (int index = 0; index < clients; index++) {
            if (sockets[index].revents & POLLOUT) check(mosquitto_loop_write(list[index], 1));
            if (sockets[index].revents & (POLLIN | POLLHUP)) check(mosquitto_loop_read(list[index], 1));
        }
        if (time(NULL) != printed) {
            printed = time(NULL);
            for (int index = 0; index < clients; index++) check(mosquitto_loop_misc(list[index]));
            printf("%ld %ld %ld\n", connected, messages, bytes);
            fflush(stdout);
        }
    }
    return 0;
}
