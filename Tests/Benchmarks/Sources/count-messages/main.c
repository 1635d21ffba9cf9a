// For the benchmark ingest-small: a subscriber that only counts the messages that the broker has queued for it.
//
//   count-messages PORT CLIENT-ID MESSAGES
//
// Prints elapsed seconds and CPU seconds from the start to the last message, and the number of messages.
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long wanted, received;

static void on_message(
    struct mosquitto *client, void *context, const struct mosquitto_message *message,
    const mosquitto_property *properties) {
    (void)client, (void)context, (void)message, (void)properties;
    received++;
}

static void check(int code) {
    if (code == MOSQ_ERR_SUCCESS) return;
    fprintf(stderr, "count-messages: %s\n", mosquitto_strerror(code));
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fputs("usage: count-messages PORT CLIENT-ID MESSAGES\n", stderr);
        return 64;
    }
    wanted = atol(arguments[3]);
    double begin = seconds(CLOCK_MONOTONIC);
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(arguments[2], false, NULL);
    mosquitto_int_option(client, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(client, MOSQ_OPT_RECEIVE_MAXIMUM, 2000);
    mosquitto_message_v5_callback_set(client, on_message);
    mosquitto_property *properties = NULL;
    mosquitto_property_add_int32(&properties, MQTT_PROP_SESSION_EXPIRY_INTERVAL, 3600);
    check(mosquitto_connect_bind_v5(client, "127.0.0.1", atoi(arguments[1]), 60, NULL, properties));
    while (received < wanted) check(mosquitto_loop(client, 1000, 1));
    printf("%f %f %ld\n", seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID), received);
    mosquitto_disconnect(client);
    return 0;
}
