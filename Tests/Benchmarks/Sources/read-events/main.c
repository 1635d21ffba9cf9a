// For the benchmark serve-live: many clients of one stream of Server-Sent Events, in one process.
//
//   read-events PORT PATH CLIENTS
//
// Runs until SIGTERM. Each second, prints the number of clients whose connection is open, and the events and bytes that
// all of them have received so far. An event ends with an empty line; comments do not count.
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct client {
    int socket;
    // The state of the current line: whether it is an `event:` line so far, and its length.
    int matched, length;
};

static const char name[] = "event: samples";
static long open_clients, events, bytes;
static volatile sig_atomic_t stopped;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static void fail(const char *what) {
    fprintf(stderr, "read-events: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void scan(struct client *client, const char *text, ssize_t count) {
    for (ssize_t index = 0; index < count; index++) {
        if (text[index] == '\n') {
            if (client->matched == (int)sizeof name - 1 && client->length == client->matched) events++;
            client->matched = client->length = 0;
            continue;
        }
        if (client->length < (int)sizeof name - 1 && client->matched == client->length && text[index] == name[client->length])
            client->matched++;
        client->length++;
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        fputs("usage: read-events PORT PATH CLIENTS\n", stderr);
        return 64;
    }
    signal(SIGTERM, stop);
    int clients = atoi(arguments[3]), poll = epoll_create1(0);
    struct client *list = calloc((size_t)clients, sizeof *list);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arguments[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char request[1024];
    int length = snprintf(
        request, sizeof request, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAccept: text/event-stream\r\n\r\n", arguments[2],
        arguments[1]);
    for (int index = 0; index < clients; index++) {
        int handle = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (handle < 0 || connect(handle, (struct sockaddr *)&address, sizeof address)) fail("connect");
        if (write(handle, request, (size_t)length) != length) fail("write");
        list[index].socket = handle;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &list[index]};
        if (epoll_ctl(poll, EPOLL_CTL_ADD, handle, &event)) fail("epoll_ctl");
        open_clients++;
    }
    static char buffer[1 << 16];
    time_t printed = time(NULL);
    while (!stopped) {
        struct epoll_event ready[64];
        int found = epoll_wait(poll, ready, 64, 200);
        for (int index = 0; index < found; index++) {
            struct client *client = ready[index].data.ptr;
            ssize_t got = read(client->socket, buffer, sizeof buffer);
            if (got > 0) {
                bytes += got;
                scan(client, buffer, got);
            } else {
                close(client->socket);
                open_clients--;
            }
        }
        if (time(NULL) != printed) {
            printed = time(NULL);
            printf("%ld %ld %ld\n", open_clients, events, bytes);
            fflush(stdout);
        }
    }
    return 0;
}
