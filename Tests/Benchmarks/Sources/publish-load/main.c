// Publishes every message of a file with QoS 1, as fast as the broker accepts them.
//
//   publish-load PORT LOAD
//
// LOAD holds for each message: the length of the topic (uint16), the length of the payload (uint32), topic, payload.
// Ends when the broker has acknowledged all messages.
#include <mosquitto.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { max_in_flight = 500 };
static long acknowledged;

static void on_publish(struct mosquitto *client, void *context, int id) {
    (void)client, (void)context, (void)id;
    acknowledged++;
}

static void check(int code) {
    if (code == MOSQ_ERR_SUCCESS) return;
    fprintf(stderr, "publish-load: %s\n", mosquitto_strerror(code));
    exit(1);
}

int main(int count, char **arguments) {
    if (count != 3) {
        fputs("usage: publish-load PORT LOAD\n", stderr);
        return 64;
    }
    FILE *file = fopen(arguments[2], "rb");
    if (!file) {
        perror(arguments[2]);
        return 1;
    }
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    mosquitto_max_inflight_messages_set(client, max_in_flight);
    mosquitto_publish_callback_set(client, on_publish);
    check(mosquitto_connect(client, "127.0.0.1", atoi(arguments[1]), 60));
    uint16_t topic_size;
    uint32_t payload_size;
    long sent = 0;
    char *topic = malloc(65536), *payload = malloc(1 << 20);
    while (fread(&topic_size, sizeof topic_size, 1, file) == 1 && fread(&payload_size, sizeof payload_size, 1, file) == 1) {
        if (payload_size > 1 << 20 || fread(topic, 1, topic_size, file) != topic_size ||
            fread(payload, 1, payload_size, file) != payload_size) {
            fputs("publish-load: the load is cut off\n", stderr);
            return 1;
        }
        topic[topic_size] = 0;
        check(mosquitto_publish(client, NULL, topic, (int)payload_size, payload, 1, false));
        sent++;
        while (sent - acknowledged >= max_in_flight) check(mosquitto_loop(client, 1000, 1));
    }
    while (acknowledged < sent) check(mosquitto_loop(client, 1000, 1));
    mosquitto_disconnect(client);
    return 0;
}
